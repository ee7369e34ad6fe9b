"""Words: cleaning of texts, tokens, stop words, shingles, passages and vectors."""

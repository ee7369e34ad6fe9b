"""A person's folder of documents: looked at, written down in a few lines, run."""

"""What a reader of the stream gets: budgets, tail probabilities, emerging topics."""

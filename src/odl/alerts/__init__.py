"""Alerts for a reader of the stream: budgets, tail probabilities, emerging topics."""

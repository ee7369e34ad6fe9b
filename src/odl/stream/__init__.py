"""From documents to features: order, batches, and the chain of vocabulary and frequencies."""

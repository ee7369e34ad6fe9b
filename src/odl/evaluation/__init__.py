"""Evaluation of scores: metrics, baselines, and tables over timesteps and seeds."""

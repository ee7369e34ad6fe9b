"""How good scores are: metrics, baselines, regret, and tables over timesteps and seeds."""

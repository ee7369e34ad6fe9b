"""Experiments of the four papers, other methods to compare with, emerging topics and regret.

Nothing outside imports this package.
"""

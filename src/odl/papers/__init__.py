"""Experiments of the four papers, rival methods, emerging topics and regret.

This subpackage is optional: no module outside imports it directly.
"""

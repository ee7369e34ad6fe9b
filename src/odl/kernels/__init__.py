"""Compiled code by subject, and how it is loaded: from a library made ahead of time, or by numba."""

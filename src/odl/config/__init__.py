"""Configuration of a study: settings, their checks, and the file paths and runs derived from them.

The workflow imports only this subpackage, which depends only on the standard library.
"""


def drop_timers():
    """Do nothing. Snakefiles that ``odl init`` of odl 0.2 wrote call this function."""

"""The configuration of a study: settings, their checks, and the paths and runs that follow.

The workflow imports only this part of the package, which needs only the standard library.
"""


def drop_timers():
    """Do nothing. Snakefiles written by `odl init` of odl 0.2 call this function at their end."""

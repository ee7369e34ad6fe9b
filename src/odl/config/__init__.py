"""The configuration of a study: its settings, their checks, and the paths and runs that follow from them.

The workflow imports this part of the package only. It uses the standard library only.
"""


def drop_timers():
    """Do nothing. Snakefiles written by `odl init` of odl 0.2 call this function at their end."""

"""The configuration of a study: checked against a closed schema, and what follows from it.

Standard library only: this is the one part of the package that the workflow itself imports (with the errors, trees
and tables that it imports).
"""


def drop_timers():
    """Do nothing: for the Snakefiles that `odl init` of odl 0.2 wrote, which call it at their end."""

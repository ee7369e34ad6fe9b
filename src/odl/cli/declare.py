"""Declaration of a subcommand of ``odl``: beside the function that it calls, with its arguments."""

import argparse
import json
import reprlib
from typing import Any, NamedTuple

COMMANDS = {}  # those that people type: name -> Declared, in the order of their declaration
STEPS = {}  # those that the rules of the workflow call, by `odl step NAME`


class Declared(NamedTuple):
    """A subcommand.

    Parameters
    ----------
    function : callable
        Of the parsed arguments.
    help : str
        One line for the list of all.
    arguments : tuple
        What `argument` returned.
    more : str
        What its own help says beside that line.
    examples : tuple of str
        Lines to type.
    """

    function: Any
    help: str
    arguments: tuple
    more: str = ""
    examples: tuple = ()


def command(help, *arguments, more="", examples=()):
    """Declare a function of the parsed arguments as the subcommand of its name, for people."""

    def declared(function):
        COMMANDS[function.__name__] = Declared(function, help, arguments, more, examples)
        return function

    return declared


def step(help, *arguments, name=None, more=""):
    """Declare a function of the parsed arguments as the step of its name, or of another."""

    def declared(function):
        STEPS[name or function.__name__] = Declared(function, help, arguments, more)
        return function

    return declared


def argument(*flags, **options):
    """Describe an argument, as for `argparse.ArgumentParser.add_argument`."""
    return flags, options


def begins_in(*files):
    """Say where the code of a result begins, for a subcommand that imports more or less than makes it.

    `odl.cli.registry` tells the rules, which follow the imports from there (`odl.config.sources`).
    """

    def declared(function):
        function.begins_in = files
        return function

    return declared


def parse_map(text):
    """Parse an argument that is a JSON map."""

    def refuse(constant):
        raise argparse.ArgumentTypeError(f"{constant}, where a finite number is expected")

    try:
        value = json.loads(text, parse_constant=refuse)
    except (ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(f"not JSON: {reprlib.repr(str(error))[1:-1]}") from error
    if not isinstance(value, dict):
        raise argparse.ArgumentTypeError(f"{reprlib.repr(text)}, where a JSON map is expected")
    return value


def parse_span(text):
    """Parse a range FIRST:END of rows."""
    first, _, end = text.partition(":")
    if not (first.isdecimal() and end.isdecimal() and int(first) < int(end)):
        raise argparse.ArgumentTypeError(f"{text!r}, where FIRST:END with FIRST before END is expected")
    return int(first), int(end)

"""Declaration of a subcommand of ``odl``: beside the function that it calls, with its arguments."""

import argparse
import json
import reprlib
from typing import Any, NamedTuple


class Declared(NamedTuple):
    """A subcommand.

    Parameters
    ----------
    name : str
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

    name: str
    function: Any
    help: str
    arguments: tuple
    more: str = ""
    examples: tuple = ()


def subcommand(help, *arguments, name=None, more="", examples=()):
    """Declare a function of the parsed arguments as the subcommand of its name, or of another."""

    def declared(function):
        function.declared = Declared(name or function.__name__, function, help, arguments, more, examples)
        return function

    return declared


def declared_in(*modules):
    """Return the subcommands of some modules: name -> `Declared`, in their order."""
    functions = (one for module in modules for one in vars(module).values() if hasattr(one, "declared"))
    return {one.declared.name: one.declared for one in functions}


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


STATE = argument("--state", required=True, help="checkpoint to write")
SCORES = argument("--scores", required=True, help="score file to write")
TIMINGS = argument("--timings", required=True, help="CPU seconds to write")
CHAIN = (
    argument("--run", type=parse_map, required=True, help="JSON: corpus, seed, run, atoms, learner, features"),
    argument("--previous", help="checkpoint of the timestep before"),
    argument("--corpus-features", help="last features of the stream, for idf: corpus"),
)

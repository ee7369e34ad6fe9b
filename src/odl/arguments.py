"""Arguments of the command that are JSON maps or ranges of rows."""

import argparse
import json
import reprlib


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

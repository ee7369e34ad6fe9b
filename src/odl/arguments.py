"""Arguments of the command that are JSON maps: parsed, and refused in one sentence where their shape is wrong."""

import argparse
import json
import reprlib

from odl.errors import ParameterError


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


def check_map(given, flag, wanted, optional=False):
    """Refuse a JSON map whose keys, or the kinds of their values, are not the wanted ones."""
    for key in wanted:
        if key not in given and not optional:
            raise ParameterError(f"{flag} has no '{key}'", ", ".join(wanted), "add it")
    for key, value in given.items():
        if key not in wanted:
            raise ParameterError(f"{flag} has a key '{key}'", ", ".join(wanted), "remove it")
        kinds, words = wanted[key]
        if not isinstance(value, kinds) or (isinstance(value, bool) and kinds is not bool):
            raise ParameterError(f"{flag}: {key} is {value!r}", words, "correct it")


TEXT, WHOLE, FLAG = (str, "text"), (int, "a whole number"), (bool, "true or false")
NUMBER, MAP, LIST = ((int, float), "a number"), (dict, "a map"), (list, "a list")
TEXT_OR_NONE, WHOLE_OR_NONE = ((str, type(None)), "text or null"), ((int, type(None)), "a whole number or null")

STREAM = {"batches": MAP, "protocol": TEXT, "topic_entry": MAP, "ties": TEXT}
BATCHES = {"by": TEXT, "documents": WHOLE, "period": TEXT, "initial": WHOLE, "flush": FLAG}
ENTRY = {"held_back": NUMBER, "first": WHOLE, "last": WHOLE}
RUN = {"corpus": TEXT, "seed": WHOLE, "run": TEXT, "atoms": WHOLE, "learner": MAP, "features": MAP}
RUN |= {"hash_terms": WHOLE}  # may be left out
FEATURES = {"tf": TEXT, "idf": TEXT, "min_df": WHOLE, "vocabulary": TEXT}
EVALUATE = {
    "timesteps": LIST,
    "min_novel": WHOLE,
    "min_known": WHOLE,
    "topics": TEXT,
    "bootstrap": WHOLE,
    "seed": WHOLE,
}
STUDY = {"study": TEXT, "results": TEXT, "streams": LIST, "corpora": MAP, "seeds": LIST, "features": MAP}
STUDY |= {"atoms": LIST, "runs": LIST, "learners": MAP, "baselines": MAP}
SHOWN = {"runs": LIST, "run": TEXT_OR_NONE, "k": WHOLE_OR_NONE, "seed": WHOLE_OR_NONE, "topics": TEXT}

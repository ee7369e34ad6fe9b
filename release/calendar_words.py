"""Months and weekdays of 73 languages, from the Unicode CLDR: `python release/calendar_words.py` writes calendar.txt.

It needs babel (`pip install babel`), which has the CLDR. The file was made with babel 2.19.0.
"""

import re
import textwrap
from pathlib import Path

import babel
from babel import localedata

PATH = Path(__file__).resolve().parents[1] / "src/odl/text/calendar.txt"
LANGUAGES = (
    "en de fr es it pt nl sv da nb nn is pl cs sk sl hr ro hu fi et lv lt tr id vi ca gl eu af ga cy sq eo fil sw ru "
    "uk be bg mk sr kk mn el hy ka ar fa ur ps he am hi mr ne bn as gu pa or ta te kn ml si ms az uz ko ja zh th"
)
ABBREVIATED = {"sept", "tues", "thur", "thurs"}  # in English, beside those of the CLDR
HEAD = """Months and weekdays of {n} languages: full names, in English abbreviations as well.
From the Unicode CLDR by release/calendar_words.py. Licence: Unicode-3.0, as follows.
"""
WIDTH = 118


def words(language):
    """Return the words of the names of months and weekdays, without short ones that mean other things elsewhere."""
    locale, found = babel.Locale.parse(language), set()
    for names in (locale.months, locale.days):
        for context in ("format", "stand-alone"):
            for width in ("wide", "abbreviated") if language == "en" else ("wide",):
                for name in names[context].get(width, {}).values():
                    found |= {part.strip(".,'’").casefold() for part in re.split(r"[\s\u200c\u200f\u200e-]+", name)}
    return {word for word in found if not re.search(r"\d", word) and (language == "en" or _is_long(word))}


def _is_long(word):
    return len(word) > 3 or word == "mai" or (len(word) > 1 and not word.isascii())


def main():
    """Write the file."""
    found = sorted(ABBREVIATED.union(*map(words, LANGUAGES.split())) - {""})
    licence = Path(localedata.__file__).with_name("locale-data") / "LICENSE.unicode"
    head = HEAD.format(n=len(LANGUAGES.split())) + "\n" + licence.read_text(encoding="utf-8")
    lines = [f"# {line}".rstrip() for line in head.splitlines()]
    lines += textwrap.wrap(" ".join(found), WIDTH, break_long_words=False, break_on_hyphens=False)
    PATH.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

"""Months and weekdays of the Unicode CLDR: the script writes calendar.txt and months.txt.

The first has the words of 73 languages, which are no news; the second the months of 42 by number,
to read dates. It needs babel (`pip install babel`), which has the CLDR. The files were made with
babel 2.19.0.
"""

import re
import textwrap
import unicodedata
from pathlib import Path

import babel
from babel import localedata

PATH = Path(__file__).resolve().parents[1] / "src/odl/text/calendar.txt"
MONTHS = PATH.parents[1] / "corpora/months.txt"
# languages of dates; with more of them, short names of one are those of another month in the next
DATED = (
    "de de_AT fr es it pt nl pl cs sk ru uk be bg sr sr_Latn hr sl bs da sv nb fi et lv lt hu ro "
    "el tr id ca gl is af sq mk az hy ka he ar fa hi"
)
# Words between day, month, year and clock.
FILLERS = (
    "a alle as da das de del den der do e el er h ha kell kl klo la las le los o om op ore r roku "
    "um uhr ur v à às в г год года о р року"
)
LANGUAGES = (
    "en de fr es it pt nl sv da nb nn is pl cs sk sl hr ro hu fi et lv lt tr id vi ca gl eu af ga "
    "cy sq eo fil sw ru uk be bg mk sr kk mn el hy ka ar fa ur ps he am hi mr ne bn as gu pa or "
    "ta te kn ml si ms az uz ko ja zh th"
)
ABBREVIATED = {"sept", "tues", "thur", "thurs"}  # in English, beside those of the CLDR
HEAD = """Months and weekdays of {n} languages: full names, in English abbreviations as well.
From the Unicode CLDR by release/calendar_words.py. Licence: Unicode-3.0, as follows.
"""
MONTHS_HEAD = (
    "# Names of the months 1 to 12, of weekdays, and words between the parts of a date, in 42 "
    "languages.\n# From the Unicode CLDR by release/calendar_words.py. "
    "Licence: Unicode-3.0, as in odl/text/calendar.txt."
)
WIDTH = 118
WORD = re.compile(r"[^\W\d_]{2,}")


def words(language):
    """Return words of names of months and weekdays, but short ones with meanings elsewhere."""
    locale, found = babel.Locale.parse(language), set()
    for names in (locale.months, locale.days):
        for context in ("format", "stand-alone"):
            for width in ("wide", "abbreviated") if language == "en" else ("wide",):
                for name in names[context].get(width, {}).values():
                    found |= {
                        part.strip(".,'’").casefold()
                        for part in re.split(r"[\s\u200c\u200f\u200e-]+", name)
                    }
    return {
        word
        for word in found
        if not re.search(r"\d", word) and (language == "en" or _is_long(word))
    }


def months():
    """Return months by name, without names that two months share, and names of weekdays."""
    numbers, days = {}, set()
    for locale in map(babel.Locale.parse, DATED.split()):
        for context in ("format", "stand-alone"):
            for width in ("wide", "abbreviated"):
                for number, name in locale.months[context].get(width, {}).items():
                    numbers.setdefault(_plain(name), set()).add(number)
                days |= {*map(_plain, locale.days[context].get(width, {}).values())}
    days = {name for name in days - numbers.keys() if WORD.fullmatch(name)}
    return {
        name: min(n)
        for name, n in numbers.items()
        if len(n) == 1 and name not in days and WORD.fullmatch(name)
    }, days


def _plain(name):
    return unicodedata.normalize("NFKC", name).lower().strip(" .")


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
    numbers, days = months()
    lines = [
        MONTHS_HEAD,
        *(" ".join(sorted(name for name in numbers if numbers[name] == n)) for n in range(1, 13)),
    ]
    MONTHS.write_text("\n".join([*lines, " ".join(sorted(days)), FILLERS]) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

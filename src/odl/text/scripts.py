"""Characters of scripts, and splitting of text in scripts without spaces between words.

A character class is the inside of a pair of brackets in a regular expression, such as "a-cx".
"""

import logging
import re
import tempfile
import unicodedata
from functools import cache

from odl.errors import ConfigError

# Character classes of the scripts without spaces. Han and kana are one class in `SPACELESS`, since
# a Japanese word may mix them. `HANGUL` has the syllables and letters of Korean.
HAN = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
KANA = (
    "\u3041-\u3096\u3099-\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\U0001b000-\U0001b16f"
)
THAI = "\u0e01-\u0e3a\u0e40-\u0e4e"
LAO = "\u0e81-\u0ebd\u0ec0-\u0ece\u0edc-\u0edf"
KHMER = "\u1780-\u17d3\u17dc-\u17dd"
BURMESE = (
    "\u1000-\u103f\u1050-\u108f\u109a-\u109d\ua9e0-\ua9ef\ua9fa-\ua9fe\uaa60-\uaa76\uaa7a-\uaa7f"
)
SPACELESS = (HAN + KANA, THAI, LAO, KHMER, BURMESE)
HANGUL = "\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7fb"

# Optional vowel points of Hebrew and Arabic, and the Arabic tatweel, which fills a line.
POINTS = (
    "\u0591-\u05bd\u05bf\u05c1-\u05c2\u05c4-\u05c5\u05c7"
    "\u0610-\u061a\u0640\u064b-\u0652\u0656-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7-\u06e8"
    "\u06ea-\u06ed"
)
SELECTORS = "\u034f\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"  # invisible marks
# Compatibility forms of letters and digits: full and half width, ligatures, subscripts,
# mathematical letters.
FORMS = (
    "\u2080-\u2089\ufb00-\ufdff\ufe70-\ufefc"
    "\uff03\uff10-\uff19\uff20-\uff3a\uff41-\uff5a\uff66-\uffdc"
    "\U0001d400-\U0001d7ff"
)

SKIN, FLAG = "\U0001f3fb-\U0001f3ff", "\U0001f1e6-\U0001f1ff"
EMOJI = (  # Unicode's emoji without arrows, geometric shapes and signs that are also letters
    "\u231a-\u231b\u23e9-\u23f3\u23f8-\u23fa\u2600-\u2604\u260e\u2614-\u2615\u2618\u261d\u2620"
    "\u2622-\u2623\u2626\u262a\u262e-\u262f\u2638-\u263a\u2640\u2642\u2648-\u2653\u265f-\u2660"
    "\u2663\u2665-\u2666\u2668\u267b\u267e-\u267f"
    "\u2692-\u2697\u2699\u269b-\u269c\u26a0-\u26a1\u26a7\u26aa-\u26ab\u26b0-\u26b1\u26bd-\u26be"
    "\u26c4-\u26c5\u26c8\u26ce-\u26cf\u26d1\u26d3-\u26d4\u26e9-\u26ea\u26f0-\u26f5\u26f7-\u26fa"
    "\u26fd\u2702\u2705\u2708-\u270d\u270f\u2712"
    "\u271d\u2721\u2728\u2744\u2747\u274c\u274e\u2753-\u2755\u2757\u2763-\u2764\u2b50\u2b55"
    "\U0001f004\U0001f0cf\U0001f300-\U0001f3fa\U0001f400-\U0001f64f\U0001f680-\U0001f6ff\U0001f7e0-\U0001f7eb"
    "\U0001f90c-\U0001f9ff\U0001fa70-\U0001faff"
)
# Ranges of code points (first, last + 1) with letters, and with format characters.
ALPHABETS = (
    (0x30, 0x2E80),
    (0xA4D0, 0xD7FC),
    (0xFB00, 0xFFDD),
    (0x10000, 0x1B000),
    (0x1BC00, 0x1F000),
)
FORMATS = ((0x80, 0x2070), (0xFE00, 0x10000), (0x11000, 0x1E000), (0xE0000, 0xE0080))
# Category in `unicodedata` -> kind, one character: L for letters and digits, M for marks, F for
# format characters, 0 for unassigned code points.
KIND_OF_CATEGORY = {
    **dict.fromkeys(("Lu", "Ll", "Lt", "Lm", "Lo", "Nd"), "L"),
    **dict.fromkeys(("Mn", "Mc", "Me"), "M"),
    "Cf": "F",
    "Cn": "0",
}
# Patterns of `_ranges` for runs of letters and runs of marks. The unassigned code points that
# follow a run are included, which gives fewer ranges.
LETTERS_AND_MARKS = ("L[L0]*", "M[M0]*")
# First code points of the Unicode blocks Devanagari to Sinhala, each with the 128 code points of
# one script.
INDIC_BLOCK_SIZE = 128
INDIC_BLOCKS = range(0x900, 0xE00, INDIC_BLOCK_SIZE)


@cache
def alphabets(hangul=True):
    """Return two character classes for all scripts with spaces between words.

    Vowel points and variation selectors are in neither, since words ignore them.

    Parameters
    ----------
    hangul : bool
        Whether the classes contain Korean letters and syllables.

    Returns
    -------
    letters : str
        Letters and digits.
    letters_and_marks : str
        Letters, digits, marks and "_".
    """
    excluded_classes = [*SPACELESS[1:], POINTS, SELECTORS]  # `ALPHABETS` has no Han and kana
    if not hangul:
        excluded_classes.append(HANGUL)
    excluded = set().union(*map(points, excluded_classes))
    letters, marks = _ranges(ALPHABETS, LETTERS_AND_MARKS, excluded)
    return letters, "_" + letters + marks


def indic():
    """Return a pattern for words without digits in one Indic script, Devanagari to Sinhala.

    A word is a letter, then letters and marks of the same script.
    """
    patterns = []
    for first in INDIC_BLOCKS:
        block = range(first, first + INDIC_BLOCK_SIZE)
        digits = {point for point in block if chr(point).isdecimal()}
        letters, marks = _ranges([(block.start, block.stop)], LETTERS_AND_MARKS, digits)
        patterns.append(f"[{letters}][{letters}{marks}]*")
    return "|".join(patterns)


@cache
def ignored():
    """Return the character class of format and control characters, vowel points and selectors.

    Words are split and compared as if these characters were absent.
    """
    (formats,) = _ranges(FORMATS, ("F+",), {0x200D})  # 0x200D joins emoji
    return r"\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f" + formats + SELECTORS + POINTS


def _ranges(spans, patterns, excluded):
    """Return one character class per pattern, such as "A-Za-z" for the pattern "L+".

    Patterns are searched in a string with one character for each code point: its kind
    (`KIND_OF_CATEGORY`), or a space if it is excluded or has no kind. Each match is a range of
    consecutive code points in the class.

    Parameters
    ----------
    spans : sequence of (int, int)
        First code point and last code point + 1 of each range that is searched.
    patterns : sequence of str
        Regular expressions over kinds.
    excluded : set of int
        Code points that belong to no class.

    Returns
    -------
    list of str
    """
    classes = [""] * len(patterns)
    for first, end in spans:
        kinds = ""
        for point in range(first, end):
            category = unicodedata.category(chr(point))
            kinds += " " if point in excluded else KIND_OF_CATEGORY.get(category, " ")
        for number, pattern in enumerate(patterns):
            for match in re.finditer(pattern, kinds):
                classes[number] += f"{chr(first + match.start())}-{chr(first + match.end() - 1)}"
    return classes


def points(part):
    """Return the code points in a character class as a set: {97, 98, 99, 120} for "a-cx"."""
    code_points, position = set(), 0
    while position < len(part):
        last = position + 2 if part[position + 1 : position + 2] == "-" else position
        code_points.update(range(ord(part[position]), ord(part[last]) + 1))
        position = last + 1
    return code_points


@cache
def script_of(letter):
    """Return the script of a letter: the first word of its Unicode name, such as "CYRILLIC".

    The result is "" for digits, marks and modifier letters.
    """
    if unicodedata.category(letter)[0] != "L":
        return ""
    name = unicodedata.name(letter, "").split(" ")[0]
    return "" if name == "MODIFIER" else name


# Matches the start of a text in Thai, Lao, Khmer or Burmese.
LETTERED = re.compile(f"[{THAI}{LAO}{KHMER}{BURMESE}]").match


def pairs(run):
    """Return all pairs of adjacent characters in a run of Chinese or Japanese text.

    The result has triples for Thai, Lao, Khmer and Burmese, whose words have more characters.
    """
    size = 3 if LETTERED(run) else 2
    return [run[start : start + size] for start in range(max(len(run) - size, 0) + 1)]


def _load_segmenter(name):
    """Import a package, and return its function that splits a text into words."""
    if name == "jieba":
        import jieba

        jieba.setLogLevel(logging.WARNING)
        tokenizer = jieba.Tokenizer()
        with tempfile.TemporaryDirectory() as folder:  # jieba's cache may be of another version
            tokenizer.tmp_dir = folder
            tokenizer.initialize()
        return tokenizer.lcut
    if name == "janome":
        from janome.tokenizer import Tokenizer

        return Tokenizer(wakati=True).tokenize
    from pythainlp.tokenize import word_tokenize  # by its dictionary

    return word_tokenize


# Package -> character class of the texts that it splits
SEGMENTERS = {"jieba": HAN, "janome": HAN + KANA, "pythainlp": THAI}


@cache
def segmenter(name):
    """Return the function that splits a run of text without spaces into words.

    Parameters
    ----------
    name : str or None
        One of `SEGMENTERS`, for runs entirely in its script. Other runs, and all runs if it is
        None, are split by `pairs`.

    Raises
    ------
    ConfigError
        If the package is not installed.
    """
    if name is None:
        return pairs
    try:
        segment = _load_segmenter(name)
    except (ImportError, OSError) as error:
        raise ConfigError(
            f"tokens.segment is {name!r}, which cannot be loaded ({error})",
            f"the extra {name}",
            f"pip install 'online-dictionary-learning[{name}]', or remove the option `segment`",
        ) from error
    in_script = re.compile(f"[{SEGMENTERS[name]}]+").fullmatch
    return lambda run: segment(run) if in_script(run) else pairs(run)

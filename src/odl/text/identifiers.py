"""Addresses, encoded data and names with digits, such as 737-MAX, among the words of a text."""

import re

from odl.text import scripts

# Character of a host name. Scripts without spaces are excluded, because in them the text continues
# directly after an address.
HOST_CHARACTER = f"[^\\W{''.join(scripts.SPACELESS)}]"
WEB_ADDRESS = re.compile(
    "(?i)(?:[a-z][a-z0-9+.-]{0,20}://|(?<![\\w.])www\\.)"  # scheme, or www.
    "(?:[^\\s/?#@]{0,64}@)?"  # user
    f"((?:{HOST_CHARACTER}|[.-])+)"
    f"(?:[!-~]|{HOST_CHARACTER})*"  # path
)
MAIL_ADDRESS = re.compile(
    f"(?:{HOST_CHARACTER}|[.+%-]){{1,64}}"
    f"@((?:(?:{HOST_CHARACTER}|-){{1,63}}\\.)+(?:{HOST_CHARACTER}|-){{2,63}})"
)
ASCII_MAIL_ADDRESS = re.compile(rb"[\w.+%-]{1,64}@((?:[0-9A-Za-z][\w-]*\.)+[A-Za-z]{2,63})[.:?]*")
GUID = re.compile(r"(?i)(?<![0-9a-z])[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?![0-9a-z])")
may_have_encoded_data = re.compile(r"[A-Za-z0-9+/_-]{20}").search  # matches any base64 and GUID
BASE64 = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
CASE_CHANGES = re.compile(r"[a-z][A-Z0-9]|[A-Z][a-z0-9]|[0-9][A-Za-z]")
MIN_CASE_CHANGES = 0.3  # changes per character of base64; names in code have fewer


def simplify_addresses(piece):
    """Replace addresses in a piece of text by their hosts, and GUIDs and base64 by spaces.

    Hosts are put between NUL characters.
    """
    if "://" in piece or ("." in piece and "www." in piece.lower()):
        piece = WEB_ADDRESS.sub(_host, piece)
    if "@" in piece:
        piece = MAIL_ADDRESS.sub(_host, piece)
    if may_have_encoded_data(piece):
        piece = BASE64.sub(_without_base64, GUID.sub(" ", piece))
    return piece


def _host(match):
    """Return the matched host between NUL characters, or a space if it contains no letter.

    GUIDs in the host are removed, because they would later be replaced by spaces.
    """
    host, n_guids = GUID.subn("", match[1].lower())
    host = re.sub(r"\.{2,}", ".", host) if n_guids else host
    host = host.strip(".-_").removeprefix("www.")
    return f"\x00{host}\x00" if len(host) > 1 and any(map(str.isalpha, host)) else " "


def _without_base64(match):
    """Return a space if the matched string is base64, else the string.

    Base64 contains lower case, upper case and digits, and changes between them often.
    """
    text = match[0]
    if not all(re.search(characters, text) for characters in ("[a-z]", "[A-Z]", r"\d")):
        return text
    return " " if len(CASE_CHANGES.findall(text)) >= MIN_CASE_CHANGES * len(text) else text


# Words with digits: a name such as covid-19, or a number, quantity, date or hash.

MAX_NAME = 40  # maximum number of characters in a name with digits
# Maximum number of changes between letters and digits in a part of a name; generated ids have more.
MAX_CHANGES = 3
HAS_DIGIT, HAS_LONG_NUMBER = re.compile(r"\d").search, re.compile(r"\d{5}").search
MONTHS = "(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)"
UNITS = (  # letters that may follow a number that is not a name: 5a, 12th, 10km, 8gb
    "[a-ce-fh-jl-z]|st|nd|rd|th|am|pm|[ckmn]m|[kmu]g|ms|ns|us|min|sec|hrs?|yrs?"
    "|[kmgt]i?b(?:ps|it)?|bits?|dpi|px|pt"
    "|[kmg]?hz|k[mw]h?|kv|mph|ft|in|lbs?|oz|usd|eur|days?|mos?|mth|pct"
)
# Most names: letters, then digits, such as covid-19.
is_usual_name = re.compile(rf"(?!{MONTHS})(?=[0-9a-f]*[g-z-])[a-z]{{2,12}}-?[0-9]{{1,4}}").fullmatch
# A number, then a word, such as 3d and 737-max.
is_number_with_word = re.compile(rf"\d+-?(?!(?:{UNITS}|{MONTHS}[a-z]{{0,6}})$)[a-z]+").fullmatch
is_date = re.compile(rf"{MONTHS}[a-z]{{0,6}}[-_]?\d").match  # apr-93
is_hash = re.compile(r"(?=.*[a-f])(?=.*\d)[0-9a-f]{7,}").fullmatch
is_hexadecimal_code = re.compile(r"0x[0-9a-f]{1,16}").fullmatch
changes_of = re.compile(r"\d(?=[^\W\d])|[^\W\d](?=\d)").findall  # between letters and digits


def names(word):
    """Return [word] if the word is a name with digits, else the list of its parts without digits.

    A word with digits is split at hyphens. A word without digits is split where its script changes.
    """
    if not HAS_DIGIT(word):
        return parts_by_script(word)
    if is_usual_name(word) or is_hexadecimal_code(word) or is_name(word.replace("_", "-")):
        return [word]
    if "_" in word:
        return []
    return [part for part in word.split("-") if len(part) > 1 and not HAS_DIGIT(part)]


def is_name(word):
    """Return whether a word in lower case is a name, and not a number, quantity, date or hash."""
    if len(word) > MAX_NAME:
        return False
    if any(is_hash(part) or len(changes_of(part)) > MAX_CHANGES for part in word.split("-")):
        return False
    return bool(is_number_with_word(word)) if word[0].isdigit() else not is_date(word)


def is_identifier_or_plain(word):
    """Return whether a word has no underscore, or is an identifier.

    An identifier is in capitals or has digits, and contains no long number.
    """
    return "_" not in word or ((word.isupper() or HAS_DIGIT(word)) and not HAS_LONG_NUMBER(word))


def parts_by_script(word):
    """Split a word without digits where its script changes; drop parts with one letter only."""
    if word.isascii():
        return [word] if len(word) > 1 else []
    parts, last_script = [""], ""
    for letter in word:
        script = scripts.script_of(letter) or last_script
        if last_script and script != last_script:
            parts.append("")
        parts[-1] += letter
        last_script = script
    return [part for part in parts if len(part) > 1]

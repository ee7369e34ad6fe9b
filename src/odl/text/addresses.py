"""Replace addresses of the web and of mail by their hosts, and encoded data by spaces."""

import re

from odl.text import scripts

# A host in a text has no characters of scripts without spaces: these follow an address directly.
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
may_have_encoded_data = re.compile(r"[A-Za-z0-9+/_-]{20}").search  # base64 and GUIDs have this
BASE64 = re.compile(r"[A-Za-z0-9+/_-]{20,}={0,2}")
CASE_CHANGES = re.compile(r"[a-z][A-Z0-9]|[A-Z][a-z0-9]|[0-9][A-Za-z]")
MIN_CASE_CHANGES = 0.3  # per character of base64; names in code have fewer


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
    host, n_guids = GUID.subn("", match[1].lower())  # else they would become spaces within the host
    host = re.sub(r"\.{2,}", ".", host) if n_guids else host
    host = host.strip(".-_").removeprefix("www.")
    return f"\x00{host}\x00" if len(host) > 1 and any(map(str.isalpha, host)) else " "


def _without_base64(match):
    """Return a space for base64, which has both cases and digits and changes between them often."""
    text = match[0]
    mixed = re.search("[a-z]", text) and re.search("[A-Z]", text) and re.search(r"\d", text)
    return (
        " " if mixed and len(CASE_CHANGES.findall(text)) >= MIN_CASE_CHANGES * len(text) else text
    )

"""Files of one's own documents: tables, JSONL, and texts that no other has."""

import csv
import io
import json

from hypothesis import strategies as st

ROWS = [
    {"body": f"the post number {n}", "created": f"2026-01-{n % 28 + 1:02d}"} for n in range(100)
]
FOOTER = (
    "You receive this mail because you are a member.\nPage 3 of 12, to leave the list write to us"
)
WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda sigma tau upsilon omega"
# Letters and digits of several kinds, spaces and dashes that are not ASCII, case that changes
# lengths, half a pair.
SIGNS = "aBz19_ -.'\n\t\x1cé\u0130ΣςßÅ²٠中。\u0301\u2014\u2019\u00a0\u2028\u200d\U0001f600\ud800"
TEXTS = st.one_of(st.text(st.sampled_from(SIGNS), max_size=80), st.text(max_size=40))


def jsonl(path, rows):
    path.parent.mkdir(exist_ok=True, parents=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return str(path)


def table(path, rows, delimiter=",", encoding="utf-8"):
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0], delimiter=delimiter)
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes(text.getvalue().encode(encoding))
    return str(path)


def own(number, n=24):
    """Return a text that no other number has, in lines of four words."""
    mark = chr(97 + number % 26) + chr(97 + number // 26 % 26)
    words = [
        f"{WORDS.split()[(number * 7 + place * 3) % 15]}q{mark}{chr(97 + place)}"
        for place in range(n)
    ]
    return "\n".join(" ".join(words[first : first + 4]) for first in range(0, n, 4))

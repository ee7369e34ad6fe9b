"""Texts of all of Unicode and of addresses of every form, drawn by seed."""

GUID = "0123abcd-12ab-34cd-56ef-0123456789ab"
PARTS = (
    *("://", "http://", "HTTPS://", "moz-extension://", "chrome-extension://", "urn:uuid:", "ftp://"),
    *("www.", "mailto:"),
    *("@", "x@", ".", "..", ":8080", "/", "[::1]", "[2001:db8::1]", "user:pw@", "%20", "%E4", "?q=1&b=2", "#top"),
    *("xn--bcher-kva", "bücher.example", "例え.jp", "中文", "ไทย", "한국어", "שלום", "مرحبا", "हिन्दी"),
    *(GUID, GUID.upper()),
    *("\x00", "\x1b[31m", "\x1c", "\x7f", "\x85", "\xa0", "\u2028", "\u200b", "\u200d", "\ufeff", "\u202e", "\u2066"),
    *("\U0001f3fd", "\U0001f600", "\U0001f1e9", "\ufe0f", "\u0301", "\u0345", "\ufdfa", "\ufc5e", "\ufe70", "İ", "ı"),
    *("ﬀ", "ß"),
    *("\ud800", "\udfff", "a" * 30, "Ab1" * 9, "==", "C++", "t-", "-", "_", "\u0660", "ſ", "\u212a", "\n"),
    *("\r", "\t", " "),
)  # fmt: skip


def odd_text(draw, most=12):
    """Return a text of up to `most` parts: addresses, odd signs, any code point (half pairs, too), ASCII."""
    return "".join(_part(draw) for _ in range(draw.randint(1, most)))


def _part(draw):
    kind = draw.random()
    if kind < 0.55:
        return draw.choice(PARTS)
    if kind < 0.75:
        return chr(draw.randrange(0x110000))
    if kind < 0.85:
        return chr(draw.randrange(0x3000))
    return "".join(draw.choices("abcdefghXYZ0189.-_/:@#", k=draw.randint(1, 8)))

"""Remove headers, quoted replies and signatures of mail and news, line by line.

Every function is idempotent: applied a second time it changes nothing.
"""

import re

HEADER_NAMES = (
    "approved article-i.d. bcc cc content-length content-transfer-encoding content-type date "
    "delivered-to distribution expires followup-to from importance in-reply-to keywords lines "
    "list-id message-id mime-version newsgroups nntp-posting-host nntp-posting-user organisation "
    "organization originator path priority received references reply-to return-path sender sent "
    "status subject summary to user-agent xref "
    "an betreff datum gesendet kopie von asunto enviado fecha para envoyé objet "
    "发件人 收件人 抄送 主题 日期 发送时间 寄件者 收件者 主旨 差出人 宛先 件名 日付 送信日時 "
    "จาก ถึง เรื่อง วันที่"
)
HEADER_NAMES = frozenset(HEADER_NAMES.split())
# Headers that form a block without a second header at the top of a text.
ALONE = frozenset(
    ["from", "message-id", "newsgroups", "path", "received", "return-path", "subject", "betreff"]
)
SUBJECTS = frozenset(["subject", "betreff", "asunto", "objet", "主题", "主旨", "件名", "เรื่อง"])
REPLIES = frozenset(["re", "aw", "fw", "fwd", "wg", "sv", "antw"])
HEADER_START = re.compile(r"([^\W\d_][\w.\[\]\u0e31-\u0e4e-]{0,60})(?::(?=[ \t\r]|$)|：)")
WHITE_SPACE = re.compile(r"\s*")
MBOX = re.compile(r"From \S{1,200} .{0,100}\d{4}\s*$")

# Maximum number of characters of a line that introduces a quotation or is in a signature.
MAX_PART_LINE = 300
QUOTED = re.compile(r"[ \t]*[A-Za-z]{0,4}>")
MARKED = re.compile(r"[ \t]*[|:}](?![-()DPp])")  # excludes smileys
WROTE = re.compile(
    r"(?:\b(?:wrote|writes|says|said|schrieb|schreibt|escribió|schreef|skrev)"
    r"|a écrit|ha scritto)\b[^:]{0,80}:\s*$"
    r"|(?:写道|寫道|書きました|เขียนว่า)\s*[:：]\s*$"
)
ADDRESSED = re.compile(
    r"[@<].{0,200}\b(?:wrote|writes|schrieb|schreibt|escribió|schreef|skrev|écrit|scritto)\b"
    r".{0,80}:\s*$"
    r"|[@<].{0,200}(?:写道|寫道|書きました|เขียนว่า)\s*[:：]\s*$"
    r"|\d年.{0,100}<\S{1,80}@\S{1,80}>\s*[:：]\s*$"
)
ARTICLE = re.compile(r"[ \t]*In (?:article|message|<)[^<]{0,80}<?[^<>\s]{1,200}>")
DATE_PREFIXES = ("On", "Am", "Le", "El", "Il", "Op")
DATED = re.compile(rf"[ \t]*(?:{'|'.join(DATE_PREFIXES)})\b.{{0,100}}\d.{{0,180}}[^.:!?\s]\s*$")
ORIGINAL = re.compile(
    r"\s*-{2,}\s*"
    r"(?:Original Message|Ursprüngliche Nachricht|Message d'origine|Mensaje original"
    r"|原始邮件|原始郵件|元のメッセージ|ข้อความต้นฉบับ)\s*-{2,}\s*$",
    re.I,
)

MAX_SIGNATURE = 10  # maximum number of lines in a signature, blank lines not counted
DASHES = re.compile(r"-- \r?$")
DASH_LINE = re.compile(r"--\s*$")
RULE = re.compile(r"[ \t]*([-_=*~+#])\1{3,}[-_=*~+#\s]*$")
LAST_PARAGRAPH = re.compile(r"(?:(.*\S)\s*?\n[ \t\r]*\n)?(\S.*)", re.S)
TOKEN = re.compile(  # token of a trailer, such as Signed-off-by
    r"(?m)^[A-Z][A-Za-z0-9]*(?:-[A-Za-z0-9]+)*(?=: ?\S)"
)
TRAILERS = re.compile(
    rf"(?:(?:{TOKEN.pattern[5:]}|\(cherry picked from ).*(?:\n[ \t]+\S.*)*(?:\n|\Z))+"
)
CONTACT = re.compile(
    r"\S@\S|\bwww\.|://|\d{3}[-. )/]{1,3}\d{3}|\b(?:phone|tel|fax|e-?mail|internet|bitnet)\b", re.I
)
CLOSING = re.compile(
    r"\s*(?:(?:(?:with )?(?:kind|best|warm) )?regards|best wishes|sincerely(?: yours)?"
    r"|yours (?:sincerely|truly)|cheers"
    r"|(?:mit )?(?:freundlichen|besten|herzlichen|schönen|viele) Grüßen?|MfG"
    r"|cordialement|saludos|此致(?:敬礼)?"
    r"|敬具|(?:どうぞ)?よろしくお願い(?:いた|致)?します|ขอแสดงความนับถือ)\s*[,.!，。！]?\s*$",
    re.I,
)
# End of a sentence in Chinese or Japanese. A signature contains no sentences, so that
# よろしくお願いします above ordinary text does not begin one.
SENTENCE = re.compile(r"[。？]\s*$")
DEVICE = re.compile(
    r"\s*(?:(?:Sent from my |Get Outlook for |Von meinem .{1,40} gesendet|Envoyé de mon |发自我的"
    r"|ส่งจาก [iA]).{0,60}"
    r"|[A-Za-z].{0,40}から送信)$"
)


def drop_headers(text: str) -> str:
    """Drop blocks of mail or news headers, except the text of the subject.

    Blocks are dropped at the top of the text and above forwarded messages.

    Examples
    --------
    >>> from odl.text.mailparts import drop_headers
    >>> text = '''From: a@example.org
    ... Subject: Orbit
    ... Date: Mon, 5 Jan 2026 10:00:00 +0000
    ...
    ... The rocket lifts.'''
    >>> drop_headers(text).splitlines()
    ['Orbit', '', 'The rocket lifts.']
    """
    lines, retained, number, top = text.split("\n"), [], 0, True
    while number < len(lines):
        may_begin = top or not retained[-1].strip()
        end, subject = _header_block(lines, number, top) if may_begin else (number, "")
        if end > number:
            number = end
            if subject:
                retained.append(subject)
                top = False
            continue
        top = top and not lines[number].strip()
        retained.append(lines[number])
        number += 1
    return "\n".join(retained)


def _header_block(lines, first, top):
    """Find the block of mail headers that begins at line `first`; return (end, subject).

    `end` is the number of the line after the block, or `first` if no block begins there.
    """
    number = first + bool(top and MBOX.match(lines[first]))
    header_names, subject, name = set(), [], None
    while number < len(lines) and lines[number].strip():
        if match := HEADER_START.match(lines[number]):
            name = match[1].lower()
            if name in HEADER_NAMES or name.startswith(("x-", "resent-")):
                header_names.add(name)
        elif lines[number][0] not in " \t" or (name is None and not (top and number == first)):
            # A continuation line may come first only at the top of a cut file.
            return first, ""
        if name in SUBJECTS:
            subject.append(lines[number][match.end() if match else 0 :].strip())
        number += 1
    if len(header_names) < 2 and not (top and header_names & ALONE):
        return first, ""
    return number, _without_prefixes(" ".join(subject))


def _without_prefixes(subject):
    """Return a subject without prefixes such as "Re:" or the name of a header."""
    start = 0
    while match := HEADER_START.match(subject, start):
        name = match[1].lower()
        is_prefix = name in HEADER_NAMES or name in REPLIES or name.startswith(("x-", "resent-"))
        if not is_prefix:
            break
        start = WHITE_SPACE.match(subject, match.end()).end()
    return subject[start:]


def drop_quotes(text: str) -> str:
    """Drop quoted lines, the lines that introduce them ("X wrote:"), and forwarded messages.

    A line is quoted if it begins with ">" or with up to four initials and ">". A line that begins
    with "|", ":" or "}" is quoted only if it is next to a quoted line. All lines below "Original
    Message" are dropped.

    Examples
    --------
    >>> from odl.text.mailparts import drop_quotes
    >>> drop_quotes('''Anna wrote:
    ... > It rains.
    ... > It pours.
    ... Here the sun shines.''')
    'Here the sun shines.'
    """
    lines = text.split("\n")
    short = (
        number for number, line in enumerate(lines) if "--" in line and len(line) <= MAX_PART_LINE
    )
    end = next((number for number in short if ORIGINAL.match(lines[number])), len(lines))
    kinds = [_kind(line) for line in lines[:end]]
    # The lines are read from the last to the first, since an introduction is dropped only if a
    # dropped line follows. `next_dropped` ignores blank lines, `adjacent_dropped` does not.
    retained, next_dropped, adjacent_dropped = [], False, False
    for number in range(end - 1, -1, -1):
        kind = kinds[number]
        if kind == "marked":
            neighbours = kinds[max(0, number - 1) : number] + kinds[number + 1 : number + 2]
            drop = not QUOTES.isdisjoint(neighbours)
        elif kind == "dated":
            drop = adjacent_dropped and kinds[number + 1] in ("addressed", "wrote")
        else:
            drop = kind in QUOTES or (kind == "wrote" and next_dropped)
        if not drop:
            retained.append(lines[number])
        adjacent_dropped = drop
        if kind != "blank":
            next_dropped = drop
    return "\n".join(reversed(retained))


QUOTES = {"quoted", "marked", "addressed"}


def _kind(line):
    """Return the kind of a line for `drop_quotes`.

    The kinds are "blank", "quoted" (> text), "marked" (| text), "addressed" and "wrote" (the end of
    an introduction, with and without an address), "dated" (the start of an introduction) and
    "other". Single characters are tested first, because patterns take longer.
    """
    stripped = line.strip()
    if not stripped:
        return "blank"
    has_arrow = ">" in stripped
    if has_arrow and QUOTED.match(line):
        return "quoted"
    if stripped[0] in "|:}" and MARKED.match(line):
        return "marked"
    if len(line) <= MAX_PART_LINE:
        ends_in_colon = stripped[-1] in ":："
        is_article = has_arrow and ARTICLE.match(line)
        if is_article or (ends_in_colon and ADDRESSED.search(line)):
            return "addressed"
        if ends_in_colon and WROTE.search(line):
            return "wrote"
        if stripped[:2] in DATE_PREFIXES and DATED.match(line):
            return "dated"
    return "other"


def drop_signatures(text: str) -> str:
    """Drop a signature at the end of a text.

    A signature begins with "--", with a closing ("Kind regards"), with a line that a mail program
    adds ("Sent from my phone"), or with a line of signs ("====") above contact details. It has at
    most `MAX_SIGNATURE` lines. Blank lines are allowed below "-- ", a closing or the line of a mail
    program. A text that would become empty is returned unchanged.

    Examples
    --------
    >>> from odl.text.mailparts import drop_signatures
    >>> drop_signatures('''The rocket lifts.
    ... --
    ... Anna
    ... Institute of Rain''')
    'The rocket lifts.'
    """
    lines = text.split("\n")
    end, number, n_filled, n_gaps, gap_follows = len(lines), len(lines) - 1, 0, 0, 0
    while number >= 0 and n_filled <= MAX_SIGNATURE:
        line = lines[number]
        if line and not line.isspace():
            if len(line) > MAX_PART_LINE:
                break
            is_closing = CLOSING.match(line) and not any(
                map(SENTENCE.search, lines[number + 1 : end])
            )
            is_begin = bool(DASHES.match(line) or is_closing or DEVICE.match(line))
            begins_without_gap = n_gaps == 0 and (
                DASH_LINE.match(line)
                or (RULE.match(line) and any(map(CONTACT.search, lines[number + 1 : end])))
            )
            if is_begin or begins_without_gap:
                end, n_filled, n_gaps = number, 0, 0
            else:
                n_filled, n_gaps = n_filled + 1, n_gaps + gap_follows
            gap_follows = 0
        else:
            gap_follows = int(n_filled > 0)
        number -= 1
    remaining = lines[:end]
    return "\n".join(remaining) if any(line and not line.isspace() for line in remaining) else text


def drop_trailers(text: str) -> str:
    """Drop the trailers of a commit: the last paragraph, if all its lines are "Token: value".

    Indented lines continue a trailer, as in git-interpret-trailers. At least one token must have a
    hyphen, such as Signed-off-by, so that a last line such as "PS: see you" remains.

    Examples
    --------
    >>> from odl.text.mailparts import drop_trailers
    >>> drop_trailers("Fix the leak\\n\\nFixes: 1a2b3c\\nSigned-off-by: Ada <ada@x.org>\\n")
    'Fix the leak'
    """
    parts = LAST_PARAGRAPH.fullmatch(text.rstrip())
    if not parts or not TRAILERS.fullmatch(parts[2]):
        return text
    return (parts[1] or "") if any("-" in token for token in TOKEN.findall(parts[2])) else text

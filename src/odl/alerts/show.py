"""Lists of headlines and of new words as text for a terminal, as Markdown, and for Slack.

`odl.alerts.views` has the content of lists, and show.jinja their layout.
"""

import json
import os
import re
import shutil
import sys
from bisect import bisect
from itertools import accumulate

from odl.alerts import views
from odl.files import templates, terminal
from odl.files.escaping import isolated
from odl.files.terminal import padded, shortened, styled, styled_state, table_lines, width, wrapped

TEXT_COLUMNS = 110  # largest width of a list in a terminal
HEADLINES_DETAILED = 10  # headlines shown with their documents
WORD_TITLES = 3  # document titles listed for each unseen word
NAME_COLUMNS = (20, 44)  # smallest width of names; largest width in a table that has examples
EXAMPLE_COLUMNS = 16  # smallest width of the examples in a table
# Columns that are omitted if the terminal is too narrow, the first one first.
DROP_ORDER = ("example", "event", "by chance", "usually")
SLACK_BLOCKS = 48  # blocks of a Slack message; Slack allows 50
SLACK_TEXT = 2000  # characters of a block; Slack allows 3000
SLACK_MESSAGE = 9000  # characters of all blocks; Slack refuses messages from about 13,000 on
# A phrase between the Unicode signs that isolate its direction, as `isolated` returns it.
ISOLATED = re.compile("\u2068[^\u2069]*\u2069")
# Characters that have a meaning in Markdown. A hyphen within a word has none.
MARKDOWN = re.compile(r"([\\`*_{}\[\]()#+!|~<>&]|(?<!\w)-|-(?!\w))")
BLOCK_END = "\f"  # between the blocks of a Slack message in the template; texts never contain it
# An address without characters that end a link in Markdown or Slack.
LINK = re.compile(r"https?://[^\s<>|]+")


def as_text(watch, periods):
    """Return a list as text for standard output, in colours if that is a terminal."""
    return terminal.for_stream(styled_text(watch, periods))


def styled_text(watch, periods):
    """Return a list as text with terminal colours.

    It has a table of headlines, the first headlines in detail, and closing lines.
    """
    rows = views.listed_rows(periods)
    table = table_of([row.cells for row in rows], terminal_width())
    return render_macro("show.jinja", "text", watch, periods, rows, table)


def lines_of(watch, period):
    """Return a line for each headline of a period with its first example.

    If the period has no headlines, return a single line with this fact.
    """
    return render_macro("show.jinja", "lines", watch, period, columns=sys.maxsize)


def words_as_text(watch, periods):
    """Return the words of periods as text for a terminal.

    Words above the chance level are listed with their first documents.
    """
    return terminal.for_stream(render_macro("show.jinja", "words", watch, periods))


def terminal_width():
    """Return the width of the terminal in columns, at most `TEXT_COLUMNS`."""
    return min(TEXT_COLUMNS, shutil.get_terminal_size((TEXT_COLUMNS, 24)).columns)


def render_macro(template, macro, *values, columns=0, **names):
    """Return the text of a template's macro with terminal colours, its lines wrapped.

    Parameters
    ----------
    template : str
        File in this folder.
    macro : str
    *values
        Arguments of the macro.
    columns : int
        Largest number of columns of a line; by default those of the terminal.
    **names
        Further variables of the template, in addition to ``show`` (this module), ``views``
        (`odl.alerts.views`) and ``columns``.
    """
    columns = columns or terminal_width()
    module = _TEMPLATES.get_template(template).make_module({**names, "columns": columns})
    lines = getattr(module, macro)(*values).rstrip("\n").split("\n")
    return "\n".join(short for line in lines for short in wrap_line(line, columns))


def wrap_line(line, columns):
    """Return a line as a list of lines of at most `columns` columns, with a hanging indent.

    Lines are not broken at no-break spaces, which are then replaced by spaces. A line with a
    command is not wrapped, because its FOLDER is replaced later.
    """
    indent = " " * (2 + len(line) - len(line.lstrip()))
    options = {"subsequent_indent": indent, "break_long_words": False, "break_on_hyphens": False}
    lines = [line] if not line or "FOLDER" in line else wrapped(line, columns, **options)
    return [short.replace("\u00a0", " ") for short in lines]


def table_of(rows, columns):
    """Return a table of headlines as text.

    Parameters
    ----------
    rows : sequence of dict of str to str
        Cells of each row by the name of their column, such as `HeadlineView.cells`.
    columns : int
        Largest width. If it is too small, columns are omitted (`DROP_ORDER`) or cut.
    """
    if not rows:
        return ""
    cells = [{name: name for name in rows[0]}, *rows]
    longest = {name: max(width(row[name]) for row in cells) for name in rows[0]}
    smallest, largest = (min(longest["headline"], size) for size in NAME_COLUMNS)
    sizes = longest | {"headline": largest, "example": EXAMPLE_COLUMNS}
    for name in DROP_ORDER:
        if sum(sizes.values()) + 2 * (len(sizes) - 1) > columns:
            sizes.pop(name, None)
            sizes["headline"] = smallest
    free = max(columns - sum(sizes.values()) - 2 * (len(sizes) - 1), 0)
    flexible = "example" if "example" in sizes else "headline"
    sizes[flexible] = min(longest[flexible], sizes[flexible] + free)
    right = {index for index, name in enumerate(sizes) if name in views.COUNT_COLUMNS}
    table = [[row[name] for name in sizes] for row in cells]
    lines = table_lines(table, sizes.values(), right)
    head, *body = [shortened(line, columns) for line in lines]
    return "\n".join([styled(head, "faint"), *body])


def _bold(line, view):
    """Return a line of a document's text with its words in bold."""
    return view.marked(line, lambda word: styled(word, "bold"))


def _unbroken(text):
    """Return a text with no-break spaces in phrases of another direction.

    `wrap_line` then breaks no line inside such a phrase.
    """
    return ISOLATED.sub(lambda phrase: phrase[0].replace(" ", "\u00a0"), text)


def as_markdown(watch, periods):
    """Return a list as Markdown, for a comment or a mail, with the documents' texts escaped."""
    macros = _TEMPLATES.get_template("show.jinja").module
    return macros.markdown(watch, periods).rstrip()


def escape_markdown(text):
    """Return a text with Markdown's signs escaped and without mentions of users."""
    return MARKDOWN.sub(r"\\\1", text).replace("@", "@&#8203;")


def _marked_title(view):
    """Return the title of a document in Markdown, with its words in bold."""
    return view.marked(view.title, lambda word: f"**{escape_markdown(word)}**", escape_markdown)


def as_slack(watch, periods):
    """Return a list as JSON for an incoming webhook of Slack, with a block for each headline."""
    text = _TEMPLATES.get_template("show.jinja").module.slack(watch, periods)
    *texts, last = [block.strip() for block in text.split(BLOCK_END)]
    texts = [text[:SLACK_TEXT] for text in texts]
    n_fitting = min(bisect([*accumulate(map(len, texts))], SLACK_MESSAGE), SLACK_BLOCKS)
    if len(texts) > n_fitting:
        texts[n_fitting:] = [f"{len(texts) - n_fitting} more: odl new"]
    blocks = [{"type": "section", "text": _slack_text(text)} for text in texts]
    blocks.append({"type": "context", "elements": [_slack_text(last[:SLACK_TEXT])]})
    heading = views.list_heading(watch, periods)
    return json.dumps({"text": heading, "blocks": blocks}, ensure_ascii=False)


def _slack_text(text):
    """Return a text with Slack's markup as an object of a block."""
    return {"type": "mrkdwn", "text": text}


def escape_slack(text):
    """Return a text without signs that Slack would take for a link, a mention or markup."""
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([*_~`])", "\\1\u200b", text)


_TEMPLATES = templates.environment(os.path.dirname(__file__))
_TEMPLATES.filters |= {
    "bold": _bold,
    "escaped": escape_markdown,
    "isolated": isolated,
    "marked_title": _marked_title,
    "padded": padded,
    "plain": escape_slack,
    "shortened": shortened,
    "styled": styled,
    "styled_state": styled_state,
    "unbroken": _unbroken,
    "wrapped": wrapped,
}
_TEMPLATES.tests["link"] = LINK.fullmatch
_TEMPLATES.globals |= {"show": sys.modules[__name__], "views": views}

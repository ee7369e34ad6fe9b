"""The pieces of a self-contained HTML page: everything is escaped, nothing is loaded from elsewhere."""

import base64
import html
import math
import os

from odl.files.text import visible

CSS = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --line: #d0d7de; --shade: #f4f6f8; --back: #fff;
  --link: #0550ae; --mark: #b3470b; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --soft: #a5adb6; --line: #444c56; --shade: #22272e;
  --back: #16191d; --link: #79b8ff; --mark: #ffa657; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 66rem; padding: 1.5rem 1.2rem 4rem; background: var(--back); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", "Liberation Sans", Arial, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 0 0 .4rem; }
h2 { font-size: 1.35rem; margin: 2.6rem 0 .6rem; padding-top: .8rem; border-top: 2px solid var(--line); }
h3 { font-size: 1.08rem; margin: 1.9rem 0 .5rem; }
p, li { max-width: 46rem; } a { color: var(--link); }
nav ul { display: flex; flex-wrap: wrap; gap: .2rem 1.1rem; list-style: none; padding: 0; margin: .6rem 0; }
.scroll { overflow-x: auto; margin: .6rem 0 1.2rem; }
table { border-collapse: collapse; font-size: .86rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; color: var(--soft); padding-bottom: .35rem; font-size: .86rem; }
th, td { padding: .22rem .65rem; border-bottom: 1px solid var(--line); text-align: right; vertical-align: top; }
td { white-space: nowrap; } th { font-weight: 600; }
thead th { border-bottom: 2px solid var(--line); background: var(--shade); vertical-align: bottom; }
.text { text-align: left; } td.text { white-space: normal; overflow-wrap: break-word; } td.wide { min-width: 16rem;
  overflow-wrap: anywhere; }
td.text.short { white-space: nowrap; } tbody th { white-space: nowrap; }
tr.group th { background: var(--shade); text-align: left; color: var(--soft); } b.best, .novel { color: var(--mark); }
figure { margin: 1rem 0 1.6rem; } figure img { max-width: 100%; height: auto; background: #fff; padding: .5rem;
  border: 1px solid var(--line); border-radius: 4px; }
figcaption, .note { color: var(--soft); font-size: .9rem; max-width: 46rem; }
details { margin: .35rem 0; border: 1px solid var(--line); border-radius: 4px; padding: .3rem .7rem; }
summary { cursor: pointer; } pre { overflow-x: auto; font-size: .8rem; background: var(--shade); padding: .7rem; }
.lead { font-size: 1.05rem; }
@media print { body { max-width: none; font-size: 10pt; padding: 0; } nav { display: none; }
  figure, tr { break-inside: avoid; } h2, h3 { break-after: avoid; } .scroll { overflow: visible; }
  details { border: 0; }
  details::details-content { content-visibility: visible; block-size: auto; } a { color: inherit; } }
"""


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def escape(value):
    """Escape anything that is not `Markup`, control characters too; nan and None become empty."""
    if isinstance(value, Markup):
        return value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return Markup("")
    return Markup(html.escape(visible(str(value)), quote=True))


def element(name, *content, **attributes):
    """One element; ``class_`` for class, ``aria_label`` for aria-label, content escaped."""
    written = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    return Markup(f"<{name}{written}>{''.join(map(escape, content))}</{name}>")


def number(value, form=".3f"):
    """A number as text, without the zero before the point where it is below 1; empty for nan."""
    if value is None or math.isnan(value):
        return ""
    return format(value, form)


def mean_sd(mean, sd):
    """Mean and standard deviation, ``.812 ± .010``; the mean alone where there is one seed."""
    return number(mean) + (f" ± {sd:.3f}" if mean == mean and sd == sd else "")


def table(headers, rows, caption, text=(0,), wide=(), short=()):
    """A table that scrolls on narrow screens.

    Parameters
    ----------
    headers : list of str
    rows : list of list
        Cells; the first one names the row. A row that is a string heads a group.
    caption : str
    text, wide, short : collections of int
        Columns that are left-aligned, left-aligned and wide, or left-aligned without line breaks.
    """

    def kind(column):
        if column in wide:
            return "text wide"
        return "text short" if column in short else "text" if column in text else ""

    head = "".join(
        element("th", name, scope="col", class_="text" if kind(column) else "") for column, name in enumerate(headers)
    )
    lines = []
    for row in rows:
        if isinstance(row, str):
            lines.append(element("tr", element("th", row, colspan=len(headers), scope="colgroup"), class_="group"))
            continue
        cells = [element("th", row[0], scope="row", class_=kind(0))]
        cells += [element("td", cell, class_=kind(column)) for column, cell in enumerate(row[1:], start=1)]
        lines.append(element("tr", *cells))
    inner = element("table", element("caption", caption), element("thead", element("tr", Markup(head))),
                    element("tbody", *lines))  # fmt: skip
    return element("div", Markup(str(inner).replace(' class=""', "")), class_="scroll", tabindex="0", role="region",
                   aria_label=caption)  # fmt: skip


def details(summary, *content, opened=False):
    """A part that can be folded away."""
    start = "<details open>" if opened else "<details>"
    return Markup(f"{start}{element('summary', summary)}{''.join(map(escape, content))}</details>")


def picture(stem, caption, alt, largest=500_000):
    """A figure with its file inside the page: the SVG, or the PNG where the SVG is large."""
    path, kind = f"{stem}.svg", "image/svg+xml"
    if os.path.getsize(path) > largest:
        path, kind = f"{stem}.png", "image/png"
    with open(path, "rb") as file:
        data = base64.b64encode(file.read()).decode("ascii")
    image = Markup(f'<img src="data:{kind};base64,{data}" alt="{escape(alt)}">')
    return element("figure", image, element("figcaption", caption))


def page(title, *content, style=""):
    """A whole HTML document; ``style`` is more of its CSS, written as it is."""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>{CSS}{style}</style>\n</head>\n<body>\n"
        + "\n".join(map(escape, content))
        + "\n</body>\n</html>\n"
    )

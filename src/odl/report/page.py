"""The pieces and templates of self-contained HTML pages: everything is escaped, nothing is loaded from elsewhere."""

import base64
import html
import math
import os

import jinja2

from odl.files.escaping import visible


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()

    def __html__(self):
        return self


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


def render(template, **values):
    """Return a whole HTML document: a template beside this file, whose values are escaped as by `escape`."""
    return _TEMPLATES.get_template(template).render(values)


_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader(os.path.dirname(__file__)),
    autoescape=True,
    finalize=escape,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)

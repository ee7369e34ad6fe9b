"""Templates of self-contained HTML pages: everything is escaped, nothing is loaded from elsewhere."""

import base64
import html
import math
import os

import jinja2

from odl.files.escaping import LEFTWARD, visible

MAX_SVG_BYTES = 500_000  # a page shows the PNG in place of a larger SVG


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()

    def __html__(self):
        return self


def escape(value):
    """Escape anything that is not HTML already, control characters too; nan and None become empty."""
    if hasattr(value, "__html__"):
        return value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return Markup("")
    return Markup(html.escape(visible(str(value)), quote=True))


def element(name, *content, **attributes):
    """One element; ``class_`` for class, ``aria_label`` for aria-label, content escaped."""
    written = "".join(f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"' for key, value in attributes.items())
    return Markup(f"<{name}{written}>{''.join(map(escape, content))}</{name}>")


def apart(text):
    """A text of documents within a sentence: by itself, where it is written from right to left."""
    return element("bdi", text) if LEFTWARD.search(text) else escape(text)


def number(value, form=".3f"):
    """A number as text; empty for nan."""
    return "" if value is None or math.isnan(value) else format(value, form)


def mean_sd(mean, sd, form=".3f"):
    """Mean and standard deviation, ``0.812 ± 0.010``; the mean alone where there is one seed."""
    return number(mean, form) + (f" ± {sd:{form}}" if mean == mean and sd == sd else "")


def percent(value):
    """A share as text; empty for nan."""
    return "" if value != value else f"{100 * value:.1f}\u00a0%"


def embedded(stem):
    """The address of a figure that has its file inside: the SVG, or the PNG where the SVG is large."""
    path, kind = f"{stem}.svg", "svg+xml"
    if os.path.getsize(path) > MAX_SVG_BYTES:
        path, kind = f"{stem}.png", "png"
    with open(path, "rb") as file:
        return f"data:image/{kind};base64,{base64.b64encode(file.read()).decode('ascii')}"


def render(template, **values):
    """Return a template filled in; its values are escaped as by `escape`.

    Parameters
    ----------
    template : str
        Its file, below this folder or below the package.
    **values
        What it names.
    """
    return Markup(_TEMPLATES.get_template(template).render(values))


def macros(template, **values):
    """Return the macros of a template as functions; the values are what they name beside their arguments."""
    return _TEMPLATES.get_template(template).make_module(values)


_HERE = os.path.dirname(__file__)
_TEMPLATES = jinja2.Environment(
    loader=jinja2.FileSystemLoader([_HERE, os.path.dirname(_HERE)]),
    autoescape=True,
    finalize=escape,
    undefined=jinja2.StrictUndefined,
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
)
_TEMPLATES.globals |= {"number": number, "mean_sd": mean_sd, "percent": percent, "embedded": embedded}

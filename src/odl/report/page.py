"""Rendering of self-contained HTML pages from Jinja templates, with escaped values."""

import base64
import html
import math
import os

from odl.files import templates
from odl.files.escaping import LEFTWARD, visible

MAX_SVG_BYTES = 500_000  # size of an SVG above which the page embeds the PNG instead


class Markup(str):
    """A string of HTML, which is not escaped again."""

    __slots__ = ()

    def __html__(self):
        return self


def escape(value):
    """Escape a value for HTML, including control characters, unless it is `Markup`.

    NaN and None become empty.
    """
    if hasattr(value, "__html__"):
        return value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return Markup("")
    return Markup(html.escape(visible(str(value)), quote=True))


def element(name, *content, **attributes):
    """Return an HTML element with escaped content; ``class_`` becomes class."""
    written = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value)}"'
        for key, value in attributes.items()
    )
    return Markup(f"<{name}{written}>{''.join(map(escape, content))}</{name}>")


def apart(text):
    """Isolate a text by ``<bdi>``, so that right-to-left text does not reorder its sentence."""
    return element("bdi", text) if LEFTWARD.search(text) else escape(text)


def number(value, form=".3f"):
    """Format a number; NaN and None give an empty string."""
    return "" if value is None or math.isnan(value) else format(value, form)


def mean_sd(mean, sd, form=".3f"):
    """Format mean and standard deviation, ``0.812 ± 0.010``, without the deviation if it is nan."""
    mean_text, sd_text = number(mean, form), number(sd, form)
    return f"{mean_text} ± {sd_text}" if mean_text and sd_text else mean_text


def percent(value):
    """Format a share as a percentage; NaN gives an empty string."""
    return "" if math.isnan(value) else f"{100 * value:.1f}\u00a0%"


def embedded(stem):
    """Return a data URL of a figure: its SVG, or its PNG if the SVG is too large."""
    path, kind = f"{stem}.svg", "svg+xml"
    if os.path.getsize(path) > MAX_SVG_BYTES:
        path, kind = f"{stem}.png", "png"
    with open(path, "rb") as file:
        return f"data:image/{kind};base64,{base64.b64encode(file.read()).decode('ascii')}"


def render(template, **values):
    """Render a Jinja template and return the page as `Markup`.

    Values that the template prints are escaped by `escape`.

    Parameters
    ----------
    template : str
        Path of the template's file, relative to this folder or to the package.
    **values
        Variables of the template by name.
    """
    return Markup(_TEMPLATES.get_template(template).render(values))


def macros(template, **values):
    """Return a module whose functions are the macros of a template.

    `values` are the variables that the macros use, by name.
    """
    return _TEMPLATES.get_template(template).make_module(values)


_HERE = os.path.dirname(__file__)
_TEMPLATES = templates.environment(
    [_HERE, os.path.dirname(_HERE)], autoescape=True, finalize=escape
)
_TEMPLATES.filters["apart"] = apart
_TEMPLATES.globals |= {
    "number": number,
    "mean_sd": mean_sd,
    "percent": percent,
    "embedded": embedded,
}

"""Rendering of self-contained HTML pages from Jinja templates, with escaped values."""

import base64
import html
import math
import os

from odl.files import templates
from odl.files.escaping import LEFTWARD, visible

MAX_SVG_BYTES = 500_000  # largest SVG that a page embeds; for larger ones it embeds the PNG


class Markup(str):
    """String of HTML that `escape` does not change."""

    __slots__ = ()

    def __html__(self):
        return self


def escape(value):
    """Escape a value for HTML, including control characters, unless it is `Markup`.

    The result is empty for NaN and None.
    """
    if hasattr(value, "__html__"):
        return value
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return Markup("")
    return Markup(html.escape(visible(str(value)), quote=True))


def element(name, *content, **attributes):
    """Return an HTML element with escaped content and attributes (``class_`` for class)."""
    words = [name]
    for key, value in attributes.items():
        words.append(f'{key.rstrip("_").replace("_", "-")}="{escape(value)}"')
    return Markup(f"<{' '.join(words)}>{''.join(map(escape, content))}</{name}>")


def apart(text):
    """Enclose right-to-left text in ``<bdi>``, so that it does not reorder the sentence."""
    return element("bdi", text) if LEFTWARD.search(text) else escape(text)


def number(value, form=".3f"):
    """Format a number; return "" for NaN and None."""
    return "" if value is None or math.isnan(value) else format(value, form)


def mean_sd(mean, sd, form=".3f"):
    """Format a mean and a standard deviation, such as ``0.812 ± 0.010``; omit what is NaN."""
    mean_text, sd_text = number(mean, form), number(sd, form)
    return f"{mean_text} ± {sd_text}" if mean_text and sd_text else mean_text


def percent(value):
    """Format a share as a percentage; return "" for NaN."""
    return "" if math.isnan(value) else f"{100 * value:.1f}\u00a0%"


def embedded(stem):
    """Return a data URL with the SVG of a figure, or with its PNG if the SVG is too large."""
    path, kind = f"{stem}.svg", "svg+xml"
    if os.path.getsize(path) > MAX_SVG_BYTES:
        path, kind = f"{stem}.png", "png"
    with open(path, "rb") as file:
        return f"data:image/{kind};base64,{base64.b64encode(file.read()).decode('ascii')}"


def render(template, **values):
    """Render a Jinja template and return the page as `Markup`.

    Values in the template are escaped by `escape`.

    Parameters
    ----------
    template : str
        Path of the template, relative to this folder or to the package.
    **values
        Variables of the template.
    """
    return Markup(_TEMPLATES.get_template(template).render(values))


def macros(template, **values):
    """Return a module with the macros of a template as functions; `values` are its variables."""
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

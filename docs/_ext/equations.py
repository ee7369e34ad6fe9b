"""Equations of docs/method.md, as MathML with links to the functions that compute them.

In the source, a block of LaTeX (```math, which code hosts render too) is followed by a line
"Equation `NAME`: " with links to the files of the functions. On the site these links lead to the
pages of the functions, and "Equation `NAME` of docs/method.md" in a docstring leads to the
equation. The directive `equations` is a table of all equations.
"""

import re
from html import escape
from pathlib import Path
from typing import NamedTuple

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx import addnodes
from sphinx.transforms import SphinxTransform
from sphinx.util import logging
from sphinx.util.docutils import SphinxDirective

LOGGER = logging.getLogger(__name__)
PAGE = "docs/method"
ROOT = Path(__file__).parent.parent.parent
BLOCK = re.compile(
    r"^```math\n(?P<tex>[^`]*)\n```\n\nEquation `(?P<name>[a-z0-9-]+)`:\s(?P<links>.*?)\n\n",
    re.M | re.S,
)
# Such as A_{t+1} and v_(r)
SUBSCRIPT = re.compile(r"(?<![^\W\d_])([^\W\d_])_(\{[^{}]+\}|\[\w\]|\(\w\)|[A-Za-z0-9]+)")
NAMED = re.compile(r"Equations?((?:,? (?:and )?`[a-z0-9-]+`)+) of docs/method\.md")


class Equation(NamedTuple):
    """An equation, its section, and the functions that compute it."""

    name: str
    section: str
    tex: str
    functions: list


def equations(text):
    """Return the equations in the source of a page, in order."""
    headings = [(match.start(), match[1]) for match in re.finditer(r"^#+ (.*)$", text, re.M)]
    result = []
    for match in BLOCK.finditer(text):
        section = [title for start, title in headings if start < match.start()][-1]
        functions = re.findall(r"\[`([\w.]+)`\]", match["links"])
        result.append(Equation(match["name"], section, match["tex"], functions))
    return result


def anchor(name):
    """Return the anchor of an equation."""
    return f"equation-{name}"


class Names(SphinxTransform):
    """Add an anchor to each equation of the page, and links to the pages of its functions."""

    default_priority = 500

    def apply(self):
        if self.env.docname != PAGE:
            return
        names = self.env.get_domain("std")
        for formula in list(self.document.findall(nodes.math_block)):
            line = formula.next_node(nodes.paragraph, descend=False, siblings=True)
            name = line.next_node(nodes.literal).astext()
            identifier = anchor(name)
            formula["ids"].append(identifier)
            line["classes"].append("equation-code")
            names.anonlabels[identifier] = PAGE, identifier
            names.labels[identifier] = PAGE, identifier, name
            for link in list(line.findall(addnodes.download_reference)):
                link.replace_self(to_function(link.astext(), PAGE))
        for text in list(self.document.findall(nodes.Text)):
            if not isinstance(text.parent, (nodes.literal, nodes.math_block, nodes.title)):
                text.parent.replace(text, with_subscripts(text.astext()))


def with_subscripts(text):
    """Return the nodes of a text, with subscript nodes for notations such as A_t."""
    name, *others = parts = SUBSCRIPT.split(text)
    result = [nodes.Text(name)] if name or not others else []
    for at in range(1, len(parts), 3):
        base, below, after = parts[at : at + 3]
        result += [nodes.Text(base), nodes.subscript("", below.strip("{}")), nodes.Text(after)]
    return result


def to_function(name, page):
    """Return a link to the page of a function."""
    link = addnodes.pending_xref(
        "", refdomain="py", reftype="obj", reftarget=name, refdoc=page, refwarn=True
    )
    link += nodes.literal(name, name, classes=["xref", "py"])
    return link


class Equations(SphinxDirective):
    """A table of all equations of the page."""

    def run(self):
        source = ROOT / f"{PAGE}.md"
        self.env.note_dependency(str(source))
        body = nodes.tbody()
        for equation in equations(source.read_text(encoding="utf-8")):
            uri = f"{Path(PAGE).name}.html#{anchor(equation.name)}"
            link = nodes.reference("", equation.name, internal=True, refuri=uri)
            caption = nodes.paragraph("", "", link, nodes.Text(f" ({equation.section})"))
            code = [
                nodes.paragraph("", "", to_function(name, self.env.docname))
                for name in equation.functions
            ]
            formula = nodes.math_block(
                equation.tex, equation.tex, number=None, label=None, nowrap=False
            )
            body += nodes.row("", nodes.entry("", caption, formula), nodes.entry("", *code))
        head = [nodes.entry("", nodes.paragraph("", title)) for title in ("equation", "code")]
        group = nodes.tgroup("", *(nodes.colspec(colwidth=width) for width in (65, 35)), cols=2)
        group += [nodes.thead("", nodes.row("", *head)), body]
        return [nodes.table("", group, classes=["equations", "colwidths-given"])]


def link_equations(app, what, name, obj, options, lines):
    """Replace names of equations in a docstring by links, in place."""
    for row, line in enumerate(lines):
        lines[row] = NAMED.sub(
            lambda found: re.sub(r"`([a-z0-9-]+)`", r":ref:`\1 <equation-\1>`", found[0]), line
        )


def mathml(node, as_block):
    """Return a formula as MathML, or its LaTeX with a warning if it cannot be converted."""
    try:
        return tex2mathml(node.astext(), as_block=as_block)
    except MathError as error:
        LOGGER.warning("%s in %r", error, node.astext(), location=node)
        return f"<code>{escape(node.astext())}</code>"


def inline(writer, node):
    writer.body.append(mathml(node, as_block=False))
    raise nodes.SkipNode


def displayed(writer, node):
    writer.body.append(writer.starttag(node, "div", CLASS="equation"))
    writer.body.append(mathml(node, as_block=True) + "</div>\n")
    raise nodes.SkipNode


def setup(app):
    app.add_html_math_renderer("mathml", (inline, None), (displayed, None))
    app.add_transform(Names)
    app.add_directive("equations", Equations)
    app.connect("autodoc-process-docstring", link_equations, priority=600)
    app.add_css_file("equations.css")
    return {"parallel_read_safe": True}

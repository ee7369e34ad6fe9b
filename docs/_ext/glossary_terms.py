"""Terms of the glossary in the index of the site, which its search uses first."""

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms import SphinxTransform


class GlossaryTerms(SphinxTransform):
    """Add an entry to the index for each term of docs/glossary.md."""

    default_priority = 800  # before the index is gathered

    def apply(self, **arguments):
        for term in (
            self.document.findall(nodes.term) if self.env.docname == "docs/glossary" else ()
        ):
            identifier = nodes.make_id(f"term-{term.astext()}")
            term["ids"].append(identifier)
            term.append(
                addnodes.index(entries=[("single", term.astext(), identifier, "main", None)])
            )


def setup(app):
    app.add_transform(GlossaryTerms)
    return {"parallel_read_safe": True}

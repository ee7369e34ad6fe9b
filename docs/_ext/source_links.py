"""Links from pages to files of src/odl lead, on the site, to the pages of these modules, where there are such."""

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode


class SourceLinks(SphinxPostTransform):
    """Replace downloads of modules that have a page."""

    default_priority = 5

    def run(self, **_):
        modules = self.env.get_domain("py").modules
        for link in list(self.document.findall(addnodes.download_reference)):
            _, found, path = link["reftarget"].partition("src/odl")
            module = modules.get(f"odl{path.removesuffix('.py').replace('/', '.').removesuffix('.__init__')}")
            if found and module:
                text = nodes.inline("", "", *link.children)
                link.replace_self(
                    make_refnode(self.app.builder, self.env.docname, module.docname, module.node_id, [text])
                )


def setup(app):
    app.add_post_transform(SourceLinks)
    return {"parallel_read_safe": True}

"""Links from pages to files and folders of the repository lead, on the site, to pages about them.

A module or package goes to its API page, the folder of examples to the gallery. A file without a
page stays a download, a folder without one is named and not linked.
"""

from pathlib import Path, PurePosixPath

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.nodes import make_refnode

ROOT = Path(__file__).parent.parent.parent
GALLERY = {"docs/examples": "docs/gallery/index"}


class SourceLinks(SphinxPostTransform):
    """Replace downloads of modules and links to folders."""

    default_priority = 5  # before MyST looks for what it does not find

    def run(self, **_):
        for link in list(self.document.findall(addnodes.download_reference)):
            self._replace(link, self._page(link))
        for link in list(self.document.findall(addnodes.pending_xref)):
            path = self._path(link) if link.get("reftype") == "myst" else ""
            if (
                path and (ROOT / path).is_dir() and not (ROOT / f"{path}.md").exists()
            ):  # docs/results.md is a page
                self._replace(link, self._page(link), folder=True)

    def _path(self, link):
        """Return the path of a link's target from the top of the repository."""
        target = link["reftarget"]
        here = ROOT / PurePosixPath(self.env.docname).parent
        found = Path(target) if target.startswith(str(ROOT)) else ROOT / target.lstrip("/")
        for base in (found, here / target):
            if base.exists():
                return base.resolve().relative_to(ROOT).as_posix()
        return ""

    def _page(self, link):
        """Return document and anchor of the page about the target of a link, if there is one."""
        path = self._path(link)
        if path in GALLERY:
            return GALLERY[path], ""
        dotted = (
            path.removeprefix("src/")
            .removesuffix(".py")
            .replace("/", ".")
            .removesuffix(".__init__")
        )
        module = self.env.get_domain("py").modules.get(dotted) if path.startswith("src/") else None
        return (module.docname, module.node_id) if module else None

    def _replace(self, link, page, folder=False):
        text = nodes.inline("", "", *link.children)
        if page:
            link.replace_self(make_refnode(self.app.builder, self.env.docname, *page, [text]))
        elif folder:
            link.replace_self(text)


def setup(app):
    app.add_post_transform(SourceLinks)
    return {"parallel_read_safe": True}

"""Links from pages to files and folders of the repository, replaced by links to pages about them.

A link to a module or package leads to its API page, one to the folder of examples to the gallery. A
file without a page remains a download; a folder without a page becomes plain text.
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

    default_priority = 5  # before MyST resolves links, since it does not find these

    def run(self, **_):
        for link in list(self.document.findall(addnodes.download_reference)):
            self._replace(link, self._page(link))
        for link in list(self.document.findall(addnodes.pending_xref)):
            path = self._path(link) if link.get("reftype") == "myst" else ""
            # Not docs/results, since docs/results.md is a page
            if path and (ROOT / path).is_dir() and not (ROOT / f"{path}.md").exists():
                self._replace(link, self._page(link), folder=True)

    def _path(self, link):
        """Return the path of a link's target from the top of the repository."""
        target = link["reftarget"]
        folder = ROOT / PurePosixPath(self.env.docname).parent
        from_root = Path(target) if target.startswith(str(ROOT)) else ROOT / target.lstrip("/")
        for base in (from_root, folder / target):
            if base.exists():
                return base.resolve().relative_to(ROOT).as_posix()
        return ""

    def _page(self, link):
        """Return (document, anchor) of the page about the target of a link, or None."""
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

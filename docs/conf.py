"""The documentation site: `make docs`. The repository is its source folder, for links of pages."""

import re
import sys
from pathlib import Path

import yaml

ROOT = Path(__file__).parent.parent
sys.path.insert(0, str(ROOT / "docs" / "_ext"))

import odl  # noqa: E402

CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
project = CITATION["title"]
author = copyright = ", ".join(person["name"] for person in CITATION["authors"])
version = release = odl.__version__
root_doc = "docs/index"
include_patterns = [
    "docs/**",
    "README.md",
    "CHANGELOG.md",
    "CONTRIBUTING.md",
    "CODE_OF_CONDUCT.md",
    "SECURITY.md",
    "SUPPORT.md",
    "config/README.md",
    "benchmarks/README.md",
]
exclude_patterns = [
    "docs/_ext/**",
    "docs/_root/**",
    "docs/examples/**",
    "docs/gallery/*.py",
    "docs/gallery/*.ipynb",
]
extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "sphinx_gallery.gen_gallery",
    "command_pages",
    "equations",
    "glossary_terms",
    "settings_tables",
    "source_links",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence", "deflist"]
myst_fence_as_directive = ["math"]
suppress_warnings = ["myst.header", "myst.xref_missing"]

autodoc_default_options = {"members": True}
autodoc_member_order = "bysource"
autosummary_generate = True
autosummary_imported_members = False
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": "docs/examples",
    "gallery_dirs": "docs/gallery",
    "filename_pattern": "/plot_",
    "reset_modules": ("matplotlib",),
    "within_subsection_order": "FileNameSortKey",
    "min_reported_time": 60,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "download_all_examples": False,
}

html_extra_path = ["_root"]  # the root of the site leads to its start page
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_theme = "pydata_sphinx_theme"
html_title = project
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "external_links": [
        {"name": "Repository", "url": CITATION[key]}
        for key in ("repository-code",)
        if key in CITATION
    ],
}
html_sidebars = {"docs/index": []}
html_copy_source = False
html_show_sourcelink = False


def as_written(app, what, name, obj, options, lines):
    """Escape |u|, an absolute value, and `n_atoms_`, a name, for reStructuredText."""
    for row, line in enumerate(lines):
        if not line.lstrip().startswith(">>>"):
            parts = re.split(r"(``?[^`]*``?)", line)
            parts[::2] = [
                re.sub(r"\|", r"\\|", re.sub(r"(?<=\w)_(?!\w)", r"\\_", part))
                for part in parts[::2]
            ]
            lines[row] = "".join(parts)


def setup(app):
    app.connect("autodoc-process-docstring", as_written)

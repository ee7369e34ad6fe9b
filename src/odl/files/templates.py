"""Jinja environments for the templates of texts and pages: one rule for white space and for unknown names."""

import jinja2


def environment(folders, **options):
    """Return an environment that loads templates from folders; `options` are those of `jinja2.Environment`."""
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        **options,
    )

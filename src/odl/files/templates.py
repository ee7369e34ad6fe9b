"""The Jinja environment of the templates of texts and pages.

All templates have the same white space, and a name that a template does not get is an error.
"""

import jinja2


def environment(folders, **options):
    """Return an environment that loads templates from folders.

    `options` are further arguments of `jinja2.Environment`.
    """
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        **options,
    )

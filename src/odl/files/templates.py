"""The Jinja environment for all templates of texts and pages.

All templates treat white space alike. A template that uses an undefined name raises an error.
"""

import jinja2


def environment(folders, **options):
    """Return an environment that loads templates from some folders.

    `options` are passed on to `jinja2.Environment`.
    """
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        **options,
    )

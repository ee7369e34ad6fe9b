"""The Jinja environment for all templates of texts and pages."""

import jinja2


def environment(folders, **options):
    """Return an environment that loads templates from some folders.

    An undefined name in a template raises an error. `options` are passed to `jinja2.Environment`.
    """
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(folders),
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        **options,
    )

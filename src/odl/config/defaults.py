"""What a configuration leaves out, filled in from another one: a study names only what it changes."""


def merge(config, defaults):
    """Add to a configuration, in place, what it leaves out; maps are merged, lists and values stay as they are.

    Parameters
    ----------
    config : dict
        As Snakemake merged it, possibly empty.
    defaults : dict
        Of the same form. Nothing of it is shared with `config` afterwards.

    Returns
    -------
    dict
        `config`.
    """
    for key, value in defaults.items():
        if key not in config:
            config[key] = merge({}, value) if isinstance(value, dict) else _copied(value)
        elif isinstance(value, dict) and isinstance(config[key], dict):
            merge(config[key], value)
    return config


def _copied(value):
    return (
        [merge({}, item) if isinstance(item, dict) else _copied(item) for item in value]
        if isinstance(value, list)
        else value
    )

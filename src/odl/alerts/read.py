"""The alerts of a folder as plain values (`odl.alerts.model`), for commands and pages."""


def alerts_of(folder, stream=None, budget=None):
    """Read the alerts of a stream.

    Parameters
    ----------
    folder : path-like
        A person's folder with odl.yaml, or a study's results, ``results/STUDY``; also a folder ``.../k{k}/alerts``.
    stream : str, optional
        Which stream, where the folder has several.
    budget : int or float, optional
        Items (or, below 1, share of the documents) a period, instead of the one that was set.

    Returns
    -------
    odl.alerts.model.Watch
        Periods, alerts with their reasons, topics; what `feedback.csv` in the folder says is respected: held back
        items are counted in `Period.withheld`.

    Raises
    ------
    DataError
        If the folder has no alerts, or several streams and none was named.
    StorageError
        If a file is damaged.
    ParameterError
        If the budget is none.
    """
    raise NotImplementedError

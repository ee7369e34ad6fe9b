"""Start-up of a job: load scipy.sparse without the parts of numpy that only its name space for other arrays lists.

scipy clones all of numpy's name space, and with it loads f2py, the testing tools and the polynomials: a third of the
CPU time of a small job. They stay importable as ever; only the clone does not hold them.
"""

UNUSED = {"ctypeslib", "f2py", "ma", "polynomial", "test", "testing"}


def import_sparse():
    """Import scipy.sparse; for commands, which own their process."""
    import numpy

    listed, names = getattr(numpy, "__all__", None), getattr(numpy, "__dir__", None)
    if listed is None or names is None:
        return
    numpy.__all__ = [name for name in listed if name not in UNUSED]
    numpy.__dir__ = lambda: [name for name in names() if name not in UNUSED]
    try:
        import scipy.sparse  # noqa: F401
    finally:
        numpy.__all__, numpy.__dir__ = listed, names

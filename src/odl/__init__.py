"""Online dictionary learning for novel documents in a stream."""

from importlib import import_module

__version__ = "0.2.0"

_PUBLIC = {
    "NoveltyDetector": "odl.detector",
    "TextNovelty": "odl.detector",
    "sparse_code": "odl.coding",
}
__all__ = ["NoveltyDetector", "TextNovelty", "__version__", "sparse_code"]


def __getattr__(name):
    # Lazy imports: a step of the workflow loads only the modules that it uses.
    if name in _PUBLIC:
        return getattr(import_module(_PUBLIC[name]), name)
    raise AttributeError(f"module 'odl' has no attribute {name!r}")

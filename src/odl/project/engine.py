"""Snakemake as `odl run` begins it: the same program, without looking for garbage and without pandas.

``python -m odl.project.engine OPTIONS`` is ``python -m snakemake OPTIONS``. Its plugins are imported where they are
installed, one of them with pandas, which takes as long as the plan of a small run and is used on a cluster only.
"""

import gc
import importlib.util
import runpy
import sys
import types

LATER = ("pandas",)


class Later(types.ModuleType):
    """Stands for a library until something of it is asked for."""

    def __getattr__(self, name):
        if sys.modules.get(self.__name__) is self:
            del sys.modules[self.__name__]
        return getattr(importlib.import_module(self.__name__), name)


def main():
    """Be Snakemake."""
    gc.set_threshold(100_000, 20, 20)  # as workflow/Snakefile
    for name in LATER:
        if name not in sys.modules and (spec := importlib.util.find_spec(name)):
            sys.modules[name] = Later(name)
            sys.modules[name].__spec__ = spec  # by which others ask whether it is installed
    runpy.run_module("snakemake", run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()

"""Where the workflow, its defaults and profiles lie: in a checkout at its top, in a wheel inside the package."""

from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
SHARE = PACKAGE / "share"  # what setup.py puts into a wheel
HOME = SHARE if (SHARE / "workflow" / "Snakefile").is_file() else PACKAGE.parents[1]
SNAKEFILE = HOME / "workflow" / "Snakefile"
PROFILE = HOME / "profiles" / "default" / "config.yaml"
REGISTRY = HOME / "data" / "corpora.csv"
SCHEMAS = HOME / "workflow" / "schemas"

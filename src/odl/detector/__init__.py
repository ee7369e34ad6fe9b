"""Novelty detection from Python: `NoveltyDetector`, a scikit-learn estimator, and `TextNovelty` for data frames."""

from odl.detector.estimator import NoveltyDetector
from odl.detector.textnovelty import TextNovelty

__all__ = ["NoveltyDetector", "TextNovelty"]

"""Novelty detection from Python: `NoveltyDetector` for matrices, `TextNovelty` for data frames."""

from odl.detector.estimator import NoveltyDetector
from odl.detector.textnovelty import TextNovelty

__all__ = ["NoveltyDetector", "TextNovelty"]

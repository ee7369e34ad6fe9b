"""The mechanism for use in Python, without the workflow: a scikit-learn estimator, and one for data frames of texts."""

from odl.detector.estimator import NoveltyDetector
from odl.detector.textnovelty import TextNovelty

__all__ = ["NoveltyDetector", "TextNovelty"]

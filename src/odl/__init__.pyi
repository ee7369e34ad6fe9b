from odl.coding import sparse_code as sparse_code
from odl.detector import NoveltyDetector as NoveltyDetector
from odl.detector import TextNovelty as TextNovelty

__all__ = ["NoveltyDetector", "TextNovelty", "__version__", "sparse_code"]
__version__: str

"""The live side of a folder: what is told as it happens, and documents that are judged when they arrive."""

"""Live use of a folder: documents are judged when they arrive, and alerts are sent to a command."""

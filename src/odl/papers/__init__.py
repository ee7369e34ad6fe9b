"""Experiments of the four papers, rival methods, emerging topics and regret; nothing outside imports this room."""

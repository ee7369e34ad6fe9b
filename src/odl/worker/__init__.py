"""One process a run that imports once what short jobs need, and forks a child for each of them."""

"""The dictionary for given codes: L1 loss, squared loss, and the start of trees of atoms."""

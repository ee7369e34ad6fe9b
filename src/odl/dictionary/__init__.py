"""The dictionary for given codes: L1 loss (NIPS 2012, Algorithm 3), squared loss, and the start of trees of atoms."""

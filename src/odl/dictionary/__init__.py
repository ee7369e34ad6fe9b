"""Given codes, the dictionary: the L1 objective (NIPS 2012, Algorithm 3), the squared loss, trees of atoms."""

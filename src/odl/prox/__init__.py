"""Projections and prox operators: columns of a dictionary, groups of atoms in a tree."""

"""Projections and proximal operators, of dictionary columns and of groups of atoms in a tree."""

"""Readers and writers of the files that pass between steps. No other package uses HDF5."""

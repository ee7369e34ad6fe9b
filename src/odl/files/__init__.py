"""Files between stages: the only place that knows HDF5. One writer and one reader for each kind of file."""

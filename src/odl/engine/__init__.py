"""Engine of `odl run`, which runs the steps of one stream in one process."""

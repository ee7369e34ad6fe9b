"""The loop of `odl run`, which runs the steps for one stream in one process."""

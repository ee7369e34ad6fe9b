"""The loop of `odl run`: the steps of one stream, in one process."""

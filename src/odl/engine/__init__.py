"""The loop of `odl run`: the steps of a stream in one process, each made again when what it was made from changed."""

"""How tile operations become the code of one thread: the walk, and the builder of its operations."""

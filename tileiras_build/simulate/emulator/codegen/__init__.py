"""A basic block of PTX as one Python function over arrays."""

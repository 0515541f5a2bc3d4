"""SIMT execution of a batch of CTAs: divergence, reconvergence, scheduling, barriers."""

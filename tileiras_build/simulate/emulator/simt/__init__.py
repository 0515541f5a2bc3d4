"""Threads of a batch of CTAs: divergence, reconvergence, barriers, waiting."""

"""Dots without a matrix instruction: fused multiply-adds of each thread, on operands in shared memory."""

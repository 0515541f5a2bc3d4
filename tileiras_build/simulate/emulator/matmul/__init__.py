"""Matrix multiplication with the rounding of tensor cores."""

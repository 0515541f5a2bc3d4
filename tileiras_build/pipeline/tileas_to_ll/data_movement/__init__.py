"""Layout conversions, slices and spills: data movement between threads and shared memory without computation."""

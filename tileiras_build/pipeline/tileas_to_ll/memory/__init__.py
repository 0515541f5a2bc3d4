"""Memory operations: views, loads and stores, atomics, shared memory, heap storage."""

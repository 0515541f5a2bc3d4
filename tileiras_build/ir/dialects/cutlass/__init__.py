"""CUTLASS: pipelines of stages in shared memory, and named barriers."""

"""Debug metadata: what ``debuginfo`` operations say about source variables, and its form in the LLVM dialect."""

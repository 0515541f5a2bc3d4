"""Source positions and debug values, from locations to the metadata of the LLVM dialect."""

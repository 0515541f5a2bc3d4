"""Machine code for the emulator's hot paths, made by LLVM."""

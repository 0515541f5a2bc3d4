"""Native code, compiled by LLVM, for the emulator's hot paths."""

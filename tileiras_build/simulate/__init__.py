"""What a kernel computes, and how long it takes, without a GPU: interpreter, emulator, estimate.

Imports core, target, manifest and ir; the emulator shares no code with the compiler.
"""

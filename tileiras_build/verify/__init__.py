"""Verification against the author's references: run kernels in the emulator and the interpreter, and compare.

``check_kernels`` is the step behind ``scons verify``; ``find_faults`` checks a launch that the caller has run.
"""

from .compare_arrays import ArrayMismatch, WrongElement, compare, find_faults
from .run_and_compare import Outcome, check_kernels
from .verify_source_file import verify_file

__all__ = ["ArrayMismatch", "Outcome", "WrongElement", "check_kernels", "compare", "find_faults", "verify_file"]

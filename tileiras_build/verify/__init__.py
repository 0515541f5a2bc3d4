"""What authors say that their kernels compute: launches of it, in the emulator and in the interpreter, compared.

``find_faults`` judges a launch of your own; ``check_kernels`` is the step behind ``scons verify``.
"""

from .compare_arrays import ArrayMismatch, WrongElement, compare, find_faults
from .run_and_compare import Outcome, check_kernels
from .verify_file import verify_file

__all__ = ["ArrayMismatch", "Outcome", "WrongElement", "check_kernels", "compare", "find_faults", "verify_file"]

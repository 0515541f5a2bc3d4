"""Loading and launching built kernel libraries through cuda-python: ``Library``."""

from .arguments import Address
from .library import Kernel, Library

__all__ = ["Address", "Kernel", "Library"]

"""Compiles a file and validates its bytecode: a step of a build, and of ``tileiras-build export``."""

from __future__ import annotations

from ...core.errors import InvalidInput, Location
from ...core.tracing.dependency_record import TracedResult
from ...ir.bytecode.reader import read_module
from .extract_kernels import kernels_of
from .run_nvcc import BYTECODE, Request, run_nvcc


def compile_checked(request: Request, root: str) -> TracedResult:
    """As ``compile_file``; also raises InvalidInput[tilecpp-empty] where the file has no kernel."""
    made = run_nvcc(request, root)
    read_module(made.files[BYTECODE])
    if kernels_of(made.files[BYTECODE]):
        return made
    message = "nvcc finds no kernel here: no __tile_global__ function that is instantiated, or is no template"
    remedy = "write one, or instantiate a template in the file or by instantiate= among the options of its kernel"
    raise InvalidInput("tilecpp-empty", message, location=Location(request.path), remedy=remedy)

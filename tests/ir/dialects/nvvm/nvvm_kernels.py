"""nvvm operations, one at a time, as kernels: to PTX and to SASS."""

from __future__ import annotations

import re

from xdsl.dialects.builtin import IntegerAttr

from tileiras_build.pipeline import ll_to_ptx, opt, ptx_to_cubin
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.tileas_to_ll.attach_nvvm_target import CAPABILITY, AttachNVVMTarget
from tileiras_build.pipeline.tileas_to_ll.writer.write_llvm_dialect import write
from tileiras_build.target.targets import find_target

ARGUMENTS = (
    "%s: !llvm.ptr<3>, %g: !llvm.ptr<1>, %p: !llvm.ptr, %i: i32, %l: i64, %h: i16, %b: i1, %f: f32, "
    "%v: vector<2xf32>, %hh: vector<2xf16>"
)


def to_llvm(body: str, sm: str) -> str:
    """LLVM IR of a kernel around ``body``, as ``opt --ll`` writes it."""
    return to_ll(f"llvm.func @k({ARGUMENTS}) attributes {{nvvm.kernel}} {{\n{body}\nllvm.return\n}}\n", sm)


def to_ll(mlir: str, sm: str) -> str:
    """LLVM IR of a module of llvm and nvvm operations, for a target."""
    job, module = Job(find_target(sm)), opt.parse_module(mlir)
    module.attributes[CAPABILITY] = IntegerAttr(job.target.number, 32)
    AttachNVVMTarget().run(module, job)
    return write(module)


def to_ptx(body: str, sm: str) -> str:
    """PTX of the kernel around ``body``; ptxas has taken it."""
    return _assembled(to_llvm(body, sm), sm)


def translate(mlir: str, sm: str) -> str:
    """PTX of a module of llvm and nvvm operations; ptxas has taken it."""
    return _assembled(to_ll(mlir, sm), sm)


def _assembled(ll: str, sm: str) -> str:
    job = Job(find_target(sm))
    ptx = ll_to_ptx.lower(ll, job)
    ptx_to_cubin.lower(ptx, job)
    return re.sub(r"[ \t]+", " ", ptx)


def store(value: str, type: str) -> str:
    """A use of a value that LLVM keeps."""
    return f"llvm.store {value}, %p : {type}, !llvm.ptr"


def stored(operation: str, type: str) -> str:
    """``%r = operation`` and a use of it."""
    return f"%r = {operation}\n{store('%r', type)}"


def first_stored(operation: str, struct: str, type: str) -> str:
    """``%r = operation`` of a struct type, and a use of its first field."""
    return f"%r = {operation}\n%x = llvm.extractvalue %r[0] : {struct}\n{store('%x', type)}"


def flag_stored(operation: str) -> str:
    """``%r = operation`` of an i1, and a use of it."""
    return f"%r = {operation}\n%x = llvm.zext %r : i1 to i32\n{store('%x', 'i32')}"

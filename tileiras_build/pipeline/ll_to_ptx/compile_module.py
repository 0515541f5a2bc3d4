"""Compile one LLVM IR module: check, parse, link libdevice, optimize, generate code, correct the header."""

from __future__ import annotations

import re
from functools import partial

import llvmlite.binding as llvm

from ...core.errors import InternalError, InvalidInput, Location
from ...manifest.manifest_constants import VERSION
from ...target.isa.serializer_options import FLAGS, TRIPLE
from ..job import Job
from ..serialization_target import NOTE, Serialization
from . import libnvvm
from .drop_equal_variants import drop_equal_variants
from .embedded_metadata import named_string, read_manifest, read_serialization
from .fix_line_directives import LineDirectives
from .hoist_mma_waits import hoist_mma_waits
from .hoist_setmaxnreg import hoist_setmaxnreg
from .libdevice_request import PROVIDED
from .llvm_ir_checks import check_module
from .llvm_passes import run_passes
from .miscompile_workarounds import with_workarounds
from .ptx_header import fix_header
from .target_machine import data_layout, target_machine_for

_TRIPLE = re.compile(r'^target triple = "([^"]*)"', re.MULTILINE)
_BITS = re.compile(
    r"^[^\n;\"]*(?:bitcast <\d+ x i1> |bitcast [^\n]* to <\d+ x i1>|load <\d+ x i1>|store <\d+ x i1>)[^\n]*",
    re.MULTILINE,
)
_CALL = re.compile(r"// callseq (\d+)")
_LOCATION = re.compile(r"<string>:(\d+):(\d+): (?:error: )?(.*)")


def compile_module(text: str, job: Job) -> str:
    """Compile an LLVM IR module to PTX for its target; the package's ``lower`` lists the diagnostics."""
    made_for = read_serialization(text, job)
    emit = _serializer(job, made_for)
    check_module(text, made_for.target)
    triple = _triple(text)
    # One context per module: a shared one would accumulate types and metadata of thousands of kernels. Module and
    # context are closed in order: the garbage collector may free the context first, and freeing the module then
    # crashes.
    right = with_workarounds(text, made_for.target, partial(_canonical, triple=triple))
    with llvm.create_context() as context, _parse(emit.text(right), triple, context) as module:
        _prepare(module, triple)
        _link(module, context, text, job.libdevice, made_for)
        ptx = emit.run(module, target_machine_for(made_for.target, made_for.number, triple), made_for)
    ptx, manifest = drop_equal_variants(ptx, _manifest(text, made_for))
    return fix_header(ptx, made_for, manifest, has_assembly=" asm " in text)


def _manifest(text: str, made_for: Serialization) -> dict | None:
    """The module's manifest; None for a hand-written module with only a target."""
    manifest = read_manifest(text)
    if manifest is None and f"!{NOTE} = " in text:
        return {"version": VERSION, "target": made_for.target.arch, "kernels": {}}
    return manifest


class _Nvptx:
    """LLVM's passes and code generator."""

    def __init__(self, pipeline: str):
        self._pipeline = pipeline

    def text(self, text: str) -> str:
        self._lines = LineDirectives(text)
        return self._lines.text

    def run(self, module: llvm.ModuleRef, machine: llvm.TargetMachine, made_for: Serialization) -> str:
        run_passes(module, machine, made_for.opt_level, self._pipeline, self._lines.text)
        ptx = self._lines.restore(machine.emit_assembly(module))
        return _number_calls(hoist_mma_waits(hoist_setmaxnreg(ptx)))


def _number_calls(ptx: str) -> str:
    """Renumber calls: LLVM counts them per target machine, but equal modules must compile to equal bytes."""
    if "// callseq " not in ptx:
        return ptx
    sequence_ids: dict[str, int] = {}
    return _CALL.sub(lambda call: f"// callseq {sequence_ids.setdefault(call[1], len(sequence_ids))}", ptx)


class _Libnvvm:
    """NVIDIA's library, with the options that #nvvm.target carries."""

    def __init__(self, pipeline: str):
        self._pipeline = pipeline

    def text(self, text: str) -> str:
        self._has_lines = "!llvm.dbg.cu" in text
        return text

    def run(self, module: llvm.ModuleRef, machine: llvm.TargetMachine, made_for: Serialization) -> str:
        options = libnvvm_options(made_for, self._has_lines)
        if libnvvm.llvm_version(_architecture(made_for)) == llvm.llvm_version_info[0]:
            from .nvvm_ir import nvvm_ir

            text = nvvm_ir(str(module), libnvvm.ir_version())
        else:
            from .nvvm_ir_llvm7 import nvvm_ir_7

            # The LLVM 7 dialect supports the output of our passes at level 1 or higher.
            run_passes(module, machine, made_for.opt_level or 1, self._pipeline)
            text = str(module)
            _check_bits(text)
            text = nvvm_ir_7(text, libnvvm.ir_version())
        return libnvvm.compile_ir(text, options)


def _check_bits(text: str) -> None:
    """Raise InternalError[libnvvm] for bitcasts of vectors of single bits: LLVM 7 stores each bit in a byte."""
    if (match := _BITS.search(text)) is not None:
        message = f"the older libNVVM compiles '{match[0].strip()}' to wrong code"
        raise InternalError("libnvvm", message, remedy="use serializer=nvptx")


SERIALIZERS: dict[str, type[_Nvptx] | type[_Libnvvm]] = {"nvptx": _Nvptx, "libnvvm": _Libnvvm}
_PRIVATE = tuple(flag.name for flag in FLAGS if not flag.public)


def libnvvm_options(made_for: Serialization, has_lines: bool = False) -> list[str]:
    """libNVVM's options: architecture, level, the flags of #nvvm.target that the public library accepts, and line
    tables if the module has them and ``-g`` does not include them.
    """
    lines = ["-generate-line-info"] if has_lines and not made_for.debug else []
    flags = [word for word in made_for.flags if not word.startswith(_PRIVATE)]
    return [f"-arch={_architecture(made_for)}", f"-opt={made_for.number}", *lines, *flags]


def _architecture(made_for: Serialization) -> str:
    return made_for.target.arch.replace("sm_", "compute_")


def _serializer(job: Job, made_for: Serialization) -> _Nvptx | _Libnvvm:
    """The serializer of the job; libNVVM, if installed, for a module that requests it."""
    if job.serializer not in SERIALIZERS:
        raise InvalidInput(
            "serializer", f"{job.serializer!r} is not a serializer", remedy=f"use {' or '.join(SERIALIZERS)}"
        )
    if made_for.nvgpucomp and libnvvm.is_installed():
        return _Libnvvm(job.llvm_pipeline)
    return SERIALIZERS[job.serializer](job.llvm_pipeline)


def _parse(text: str, triple: str, context: llvm.ContextRef) -> llvm.ModuleRef:
    """Parse a module; raises InternalError[llvm] with the location in the .ll."""
    # The parser derives missing alignments from the data layout, so it comes first, on the first line.
    try:
        return llvm.parse_assembly(f'target datalayout = "{data_layout(triple)}" {text}', context=context)
    except RuntimeError as error:
        raise _refused(str(error)) from error


def _canonical(text: str, triple: str) -> str:
    """The module as LLVM prints it."""
    with llvm.create_context() as context, _parse(text, triple, context) as module:
        return str(module)


def _triple(text: str) -> str:
    """The target triple of the module, by default the 64-bit one."""
    named = _TRIPLE.search(text)
    return named[1] if named else TRIPLE


def _prepare(module: llvm.ModuleRef, triple: str) -> None:
    """Verify the module and set its triple's data layout; raises InternalError[llvm]."""
    try:
        module.verify()
    except RuntimeError as error:
        raise _refused(str(error)) from error
    module.triple, module.data_layout = triple, data_layout(triple)


def _refused(message: str) -> InternalError:
    remedy = "keep the stages and look at that line of the .ll file"
    if place := _LOCATION.search(message):
        return InternalError("llvm", place[3], location=Location(".ll", int(place[1]), int(place[2])), remedy=remedy)
    lines = [line for line in message.splitlines() if line.strip()]
    return InternalError("llvm", f"LLVM rejects the module: {lines[0] if lines else 'no reason given'}", remedy=remedy)


def _link(module: llvm.ModuleRef, context, text: str, libdevice: str | None, made_for: Serialization) -> None:
    """Link the module's undefined functions from its blob, and reject remaining undefined ones."""
    note = named_string(text, "tileiras.libdevice")
    missing = _undefined(module)
    if note is not None or missing:
        # Reads libraries, and imports OpenSSL for their digests: most kernels call no function.
        from .link_blob import link_blob

        link_blob(module, context, note, missing, libdevice, made_for)
        missing = _undefined(module)
    if missing:
        raise InternalError(
            "undefined-symbol",
            f"the module calls {', '.join(missing)} without defining it",
            remedy="define it in the .ll or lower the call",
        )


def _undefined(module: llvm.ModuleRef) -> list[str]:
    return [f.name for f in module.functions if f.is_declaration and not _is_provided(f.name)]


def _is_provided(name: str) -> bool:
    return name.startswith("llvm.") or name in PROVIDED

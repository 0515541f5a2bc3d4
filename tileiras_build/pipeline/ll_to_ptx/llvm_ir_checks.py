"""Reject modules that would make LLVM abort or exit, before LLVM parses them.

The checks inspect only text, with a substring test before every slow regular expression: they take 0.1 ms on a module
without suspicious constructs. LLVM itself cannot report these faults without risking the process. All diagnostics of
all checks are reported together.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import partial

from ...core.errors import Diagnostics, InternalError, Location, TileirasError, Unsupported
from ...core.symbols.check_symbol_names import (
    FUNCTION,
    GLOBAL,
    KERNEL,
    is_identifier,
    llvm_name,
    module_name_errors,
    name_error,
    quoted_name,
)
from ...target.isa.llvm_intrinsics import APPROXIMATE, GENERIC, NO_DOUBLE, nvvm_need
from ...target.targets import TARGETS, Target
from .check_launch_attributes import check_launch_attributes, lines_of
from .inline_asm_capabilities import faults, needs_checking

_INTRINSIC = re.compile(r"@llvm\.([\w.]+)")
_CALLED_APPROXIMATE = re.compile(r"call ([^@\n]*)@llvm\.((?:sin|cos|tanh)\.\w+)")
_ENTRY = re.compile(r' (?:ptx_kernel|cc ?71) [^@\n]*@("[^"\n]*"|[^\s(]+)')
_NAME = r'@(?P<name>"[^"\n]*"|[\w.$-]+)'
_DEFINITIONS = (
    (FUNCTION, "define ", re.compile(rf"define (?P<words>(?:(?!ptx_kernel |cc ?71 )[^@\n])*){_NAME}\(")),
    (GLOBAL, "@", re.compile(rf"{_NAME} = (?P<words>[^\n]*?)(?:global|constant) ")),
)
_LOCAL = re.compile(r"\b(?:internal|private)\b")
_STRING_LINE, _STRING = re.compile(r'^[@!][^\n]*"[^\n]*', re.MULTILINE), re.compile(r'(?<!@)"[^"\n]*"')
_SCOPE = re.compile(r'syncscope\("([^"]*)"\)')
_SCOPES = frozenset(("block", "cluster", "device", "singlethread", ""))
_ASM = re.compile(r' asm (?:(?:sideeffect|alignstack|inteldialect|unwind) )*"([^"]*)", ?"([^"\n]*)"')
_CONSTRAINT = re.compile(r"(?:[=+]&?)?[bhrlqfdcn0N]|\d+|~\{memory\}|")
_COLLECTIVE = re.compile(r' asm [^"\n]*"[^"\n]*\.(?:sync|aligned)\b[^\n]*')
_CALL_GROUP = re.compile(r"\) #(\d+)")
_CONVERGENT_GROUP = re.compile(r"attributes #(\d+) = \{[^\n]*\bconvergent\b")
_SHARED_VARIABLE = re.compile(r" addrspace\(3\) (?:global|constant) ([^\n]*)")
_NO_VALUE = re.compile(r"\b(?:undef|poison|zeroinitializer)\b")
_PLACED_ALLOCA = re.compile(r"= alloca [^\n]*, addrspace\((\d+)\)")
_BAD_TYPE_MARKS = ("fp128", "x86_fp80", "vscale")
_BAD_TYPE = re.compile(r"(?<![\w.$%@!\"\\])(fp128|x86_fp80|ppc_fp128|vscale x)(?![\w.])")
_ATOMIC_RMW = re.compile(r"= atomicrmw (?:volatile )?(\w+)")
_CONVERSION = re.compile(
    r"\b[su]itofp\s+(?:nneg\s+)?(?:<\s*\d+\s+x\s+)?i(\d{2,})|\bfpto[su]i\s[^\n]*\bto\s+(?:<\s*\d+\s+x\s+)?i(\d{2,})"
    r"|@llvm\.fpto[su]i\.sat\.(?:v\d+)?i(\d{2,})"
)
_CONVERSION_MARKS = ("sitofp", "uitofp", "fptosi", "fptoui")
MAX_INTEGER_BITS = 64
_TENSOR_LOAD = "cp.async.bulk.tensor.g2s"
_PAIR = re.compile(r"call [^\n]*@llvm\.nvvm\.cp\.async\.bulk\.tensor\.g2s\.(?!cta\.)[^\n]*,\s*i32\s+[12]\s*\)")
PAIRS = "tma_cta_group"
_LINE_TABLES = "emissionKind: LineTablesOnly"


def check_module(text: str, target: Target) -> None:
    """Raise one diagnostic, or an ErrorGroup, for everything in the module that LLVM would abort on."""
    if next(_faults(text, target), None) is None:
        return
    # A kernel may print any text. Blanking strings costs more than the checks, so it happens only after a check fails.
    found = Diagnostics()
    for error in _faults(_without_strings(text), target):
        found.add(error)
    found.raise_if_any()


def _faults(text: str, target: Target) -> Iterator[TileirasError]:
    for check in CHECKS:
        yield from check(text, target)


def _without_strings(text: str) -> str:
    """The text with the strings of globals and metadata blanked, at unchanged offsets."""
    return _STRING_LINE.sub(lambda line: _STRING.sub(lambda string: f'"{" " * (len(string[0]) - 2)}"', line[0]), text)


def _line(text: str, offset: int) -> Location:
    return Location(".ll", text.count("\n", 0, offset) + 1, 1)


def check_intrinsics(text: str, target: Target) -> Iterator[TileirasError]:
    for name in dict.fromkeys(_INTRINSIC.findall(text)):
        if name.startswith("nvvm."):
            yield from _check_nvvm(name.removeprefix("nvvm."), target, text)
        elif name.split(".")[0] not in GENERIC and name not in APPROXIMATE or name in NO_DOUBLE:
            yield InternalError(
                "intrinsic-unknown",
                f"llvm.{name} has no lowering for NVPTX",
                location=_line(text, text.find(f"@llvm.{name}")),
                remedy="call libdevice or add a row to target/isa/llvm_intrinsics.py: GENERIC",
            )


def _check_nvvm(name: str, target: Target, text: str) -> Iterator[TileirasError]:
    known, need = nvvm_need(name)
    if known and (need is None or target.has(need)):
        return
    location = _line(text, text.find(f"@llvm.nvvm.{name}"))
    if need is not None:
        yield _unsupported(f"llvm.nvvm.{name}", need, target, location)
    else:
        yield InternalError(
            "intrinsic-unknown",
            f"llvm.nvvm.{name} has no row in the table of intrinsics",
            location=location,
            remedy="add one to target/isa/llvm_intrinsics.py: NVVM",
        )


def _unsupported(operation: str, need: str, target: Target, location: Location) -> Unsupported:
    able = [name for name, other in TARGETS.items() if other.has(need)]
    return Unsupported(
        "intrinsic-target",
        f"{operation} needs {need}, which {target.name} does not have",
        location=location,
        remedy=f"choose {', '.join(able)}, or another lowering",
    )


def check_approximate_intrinsics(text: str, target: Target) -> Iterator[TileirasError]:
    if not any(f"@llvm.{name}" in text for name in APPROXIMATE):
        return
    for call in _CALLED_APPROXIMATE.finditer(text):
        flags = call[1].split()
        if call[2] in APPROXIMATE and "afn" not in flags and "fast" not in flags:
            yield InternalError(
                "intrinsic-unknown",
                f"llvm.{call[2]} without the afn flag has no lowering for NVPTX",
                location=_line(text, call.start()),
                remedy="call libdevice or set afn",
            )


def check_names(text: str, target: Target) -> Iterator[TileirasError]:
    """Symbols that PTX cannot express."""
    kernels = ((KERNEL, llvm_name(match[1]), partial(_line, text, match.start())) for match in _ENTRY.finditer(text))
    yield from module_name_errors(kernels)
    for kind, start, pattern in _DEFINITIONS:
        for offset, line in lines_of(text, start):
            found = pattern.match(line)
            # LLVM renames local symbols if necessary.
            if found is None or _LOCAL.search(found["words"]) is not None or is_identifier(llvm_name(found["name"])):
                continue
            if (fault := name_error(kind, llvm_name(found["name"]), partial(_line, text, offset))) is not None:
                yield fault


def check_scopes(text: str, target: Target) -> Iterator[TileirasError]:
    for match in _SCOPE.finditer(text):
        if match[1] not in _SCOPES:
            yield InternalError(
                "sync-scope",
                f"syncscope {match[1]!r} is not known to NVPTX",
                location=_line(text, match.start()),
                remedy="use block, cluster or device, or none for the system",
            )
        if match[1] == "cluster" and not target.has("cluster"):
            yield Unsupported(
                "sync-scope",
                f"{target.name} has no cluster scope",
                location=_line(text, match.start()),
                remedy="use device",
            )


def check_assembly(text: str, target: Target) -> Iterator[TileirasError]:
    """Instructions in inline assembly that the GPU lacks, and constraints that NVPTX does not support."""
    templates: dict[str, int] = {}
    constraints: dict[str, int] = {}
    for match in _ASM.finditer(text):
        templates.setdefault(match[1], match.start())
        constraints.setdefault(match[2], match.start())
    if needs_checking(templates, target):
        yield from _instruction_faults(templates, text, target)
    for words, offset in constraints.items():
        bad = [word for word in words.split(",") if not _CONSTRAINT.fullmatch(word)]
        if bad:
            yield InternalError(
                "asm-constraint",
                f"inline assembly has the constraint {bad[0]!r}, which NVPTX does not support",
                location=_line(text, offset),
                remedy="use b h r l q f d, with = for results, or an operand number",
            )


def _instruction_faults(templates: dict[str, int], text: str, target: Target) -> Iterator[TileirasError]:
    seen: set[tuple[str, str | None]] = set()
    for template, offset in templates.items():
        for name, need in faults(template, target):
            if (name, need) in seen:
                continue
            seen.add((name, need))
            if need is None:
                yield InternalError(
                    "assembly-unknown",
                    f"inline assembly {quoted_name(name)} has no row in the table of instructions",
                    location=_line(text, offset),
                    remedy="add one to target/isa/ptx_instructions.py: ASSEMBLY",
                )
            else:
                yield _unsupported(f"inline assembly {name}", need, target, _line(text, offset))


def check_convergence(text: str, target: Target) -> Iterator[TileirasError]:
    """Inline assembly with warp-wide (convergent) instructions that LLVM may move under a condition."""
    groups = (_CONVERGENT_GROUP.match(line) for _, line in lines_of(text, "attributes #"))
    convergent = {group[1] for group in groups if group is not None}
    for match in _COLLECTIVE.finditer(text):
        group = _CALL_GROUP.search(match[0])
        if (group is None or group[1] not in convergent) and " convergent" not in match[0]:
            yield InternalError(
                "not-convergent",
                "inline assembly with a warp-wide instruction is not marked convergent",
                location=_line(text, match.start()),
                remedy="give the call an attribute group with convergent",
            )
            return


def check_shared_variables(text: str, target: Target) -> Iterator[TileirasError]:
    for match in _SHARED_VARIABLE.finditer(text):
        head = text[text.rfind("\n", 0, match.start()) + 1 : match.start()]
        if head.startswith("@") and " external" not in head and not _NO_VALUE.search(match[1]):
            yield InternalError(
                "shared-initializer",
                f"shared variable {head.split()[0]} has an initial value",
                location=_line(text, match.start()),
                remedy="declare it undef and store the value",
            )


def check_allocas(text: str, target: Target) -> Iterator[TileirasError]:
    if match := _PLACED_ALLOCA.search(text):
        yield InternalError(
            "alloca-space",
            f"alloca in address space {match[1]}; stack variables are generic in NVPTX",
            location=_line(text, match.start()),
            remedy="leave the address space out; LLVM infers that it is local",
        )


def check_types(text: str, target: Target) -> Iterator[TileirasError]:
    if any(mark in text for mark in _BAD_TYPE_MARKS) and (match := _BAD_TYPE.search(text)):
        yield InternalError(
            "llvm-type",
            f"NVPTX cannot compile the type {match[1]}",
            location=_line(text, match.start()),
            remedy="lower the operation to supported types",
        )


def check_atomics(text: str, target: Target) -> Iterator[TileirasError]:
    if match := _ATOMIC_RMW.search(text):
        yield InternalError(
            "atomicrmw",
            f"atomicrmw {match[1]} loses its ordering and scope in the NVPTX back end",
            location=_line(text, match.start()),
            remedy="write the atom instruction as inline assembly",
        )


def check_pairs(text: str, target: Target) -> Iterator[TileirasError]:
    """TMA loads whose mbarrier may be that of the other CTA of a pair."""
    if _TENSOR_LOAD in text and not target.has(PAIRS) and (match := _PAIR.search(text)) is not None:
        yield _unsupported(f"llvm.nvvm.{_TENSOR_LOAD} with a CTA group", PAIRS, target, _line(text, match.start()))


def check_wide_conversions(text: str, target: Target) -> Iterator[TileirasError]:
    """Conversions between floats and integers wider than a register: LLVM would call a library that does not exist."""
    if not any(mark in text for mark in _CONVERSION_MARKS):
        return
    for match in _CONVERSION.finditer(text):
        width = next(int(group) for group in match.groups() if group)
        if width > MAX_INTEGER_BITS:
            yield InternalError(
                "wide-conversion",
                f"a conversion between i{width} and a floating-point number has no lowering for NVPTX",
                location=_line(text, match.start()),
                remedy=f"convert by way of i{MAX_INTEGER_BITS}",
            )
            return


def check_debug_info(text: str, target: Target) -> Iterator[TileirasError]:
    if _LINE_TABLES in text and "DILocalVariable" in text:
        yield InternalError(
            "debug-info",
            "the module requests line tables without variables, but describes variables",
            location=_line(text, text.find("DILocalVariable")),
            remedy="use emissionKind: DebugDirectivesOnly or FullDebug",
        )


CHECKS = (
    check_intrinsics,  # not selectable on this GPU, or on none: abort
    check_launch_attributes,  # exit(1), or silently dropped
    check_approximate_intrinsics,  # abort
    check_names,  # abort
    check_scopes,  # exit(1)
    check_assembly,  # ptxas would reject it, with a message about PTX that the user did not write; exit(1) on constraints
    check_convergence,  # no failure, but LLVM may move it under a condition
    check_shared_variables,  # abort
    check_allocas,  # abort
    check_types,  # abort
    check_atomics,  # no failure, but wrong code
    check_pairs,  # abort
    check_wide_conversions,  # abort
    check_debug_info,  # abort
)

"""Architectural atoms: each is one instruction, on registers (``arch.`` operations) or on views (atom calls).

An atom call dispatches on the atom's type to the rewriter in ATOMS, which loads and stores the fragments of views; the
``arch.`` operations of ``cute_nvgpu`` name the atom in the attribute ``atom``. An atom that the target lacks is
rejected. Each generation registers its atoms: ``atoms_sm80.py``, ``atoms_sm90.py``, ``atoms_sm100.py``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from xdsl.dialects.builtin import IntegerType, f16, f32, f64
from xdsl.ir import SSAValue

from ....core.errors import InternalError
from ....ir.dialects.checked_cast import cast, type_as
from ....ir.dialects.cute_nvgpu.types import AtomType
from ....ir.dialects.nvvm import target_independent_intrinsics
from ....ir.dialects.op_definition import TableOp
from ....target.element_types import OPERAND_TYPES
from ....target.targets import TARGETS
from ...rewriting.dialect_conversion import RuleTable
from .converted_values import BoundAtom, ConvertedValue, Converter, Rewrite, View
from .memory import load_registers, store_registers

REWRITES = RuleTable(dialect="cute_nvgpu")
AtomCall = Callable[[AtomType, list[ConvertedValue], Converter], None]
ATOMS: dict[str, AtomCall] = {}


def rewrite(name: str, feature: str | None = None) -> Callable[[Rewrite], Rewrite]:
    """Register the rewrite of an operation of ``cute_nvgpu`` that needs a feature of the target."""

    def register(function: Rewrite) -> Rewrite:
        def run(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
            require(feature, cv)
            return function(cv, op)

        REWRITES.rule(name)(run)
        return function

    return register


def atom(*names: str, feature: str | None = None) -> Callable[[AtomCall], AtomCall]:
    """Register the rewrite of calls of an atom."""

    def register(function: AtomCall) -> AtomCall:
        def run(kind: AtomType, operands: list[ConvertedValue], cv: Converter) -> None:
            require(feature, cv)
            function(kind, operands, cv)

        ATOMS.update({f"cute_nvgpu.{name}": run for name in names})
        return function

    return register


def require(feature: str | None, cv: Converter) -> None:
    """Raise Unsupported, with the GPUs that have it, if the target lacks a feature."""
    target = cv.job.target
    if feature is not None and not target.has(feature):
        able = ", ".join(row.name for row in TARGETS.values() if row.has(feature))
        raise cv.unsupported("atom-target", f"is not available on {target.name}", f"these GPUs have it: {able}")


def type_parameters(atom_type: AtomType, count: int, cv: Converter) -> list[str]:
    if len(atom_type.parameters) < count:
        raise cv.invalid("atom-parameters", f"has the atom {atom_type}, which needs {count} words")
    return atom_type.parameters


def atom_of(op: TableOp, cv: Converter) -> AtomType:
    """The attribute ``atom`` of an operation."""
    found = op.attributes.get("atom")
    if not isinstance(found, AtomType):
        raise cv.invalid("atom-missing", "needs the attribute atom")
    return found


# ---- calls -------------------------------------------------------------------------------------------
def make_atom(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """An atom has no value but its type; its operands (a barrier, a descriptor) are bound to its calls."""
    kind = type_as(op.results[0], AtomType)
    return [BoundAtom(kind, tuple(cv[value] for value in op.operands)) if op.operands else kind]


def call(cv: Converter, op: TableOp) -> Sequence[ConvertedValue]:
    """Dispatch on the atom's type."""
    held = cv[op.atom]
    kind, bound = (held.kind, held.operands) if isinstance(held, BoundAtom) else (held, ())
    if not isinstance(kind, AtomType) or kind.name not in ATOMS:
        raise cv.unsupported("atom-call", f"has no rewriter for {op.atom.type}", "see convert_cute_to_llvm: ATOMS")
    ATOMS[kind.name](kind, [*bound, *(cv[value] for value in op.operands[1:])], cv)
    return []


CALLS: dict[str, Rewrite] = {"cute.make_atom": make_atom, "cute.copy_atom_call": call, "cute.mma_atom_call": call}


@atom("atom.universal_copy")
def universal_copy(kind: AtomType, operands: list[ConvertedValue], cv: Converter) -> None:
    """One load and one store of the number of bits in the atom's type."""
    type = IntegerType(int(type_parameters(kind, 1, cv)[0]))
    source, destination = map(view_of, operands)
    store_registers(destination, load_registers(source, 1, cv, type), cv)


@atom("atom.universal_fma")
def universal_fma(kind: AtomType, operands: list[ConvertedValue], cv: Converter) -> None:
    """fma of scalars"""
    types = {"f16": f16, "f32": f32, "f64": f64}
    type = types[type_parameters(kind, 1, cv)[0]]
    d, a, b, c = map(view_of, operands)
    values = [load_registers(view, 1, cv, type)[0] for view in (a, b, c)]
    store_registers(d, [cv.issue(target_independent_intrinsics.FMAOp, *values, type=type)], cv)


# ---- MMA -----------------------------------------------------------------------------------------------
# Bits by PTX's names of elements.
BITS = {row.ptx: row.load_bits for row in OPERAND_TYPES.values() if row.ptx is not None} | {"u8": 8}


@dataclass(frozen=True)
class MmaShape:
    """M, N, K, and PTX's names of the elements of A, B and the accumulator."""

    m: int
    n: int
    k: int
    a: str
    b: str
    c: str

    @classmethod
    def of(cls, kind: AtomType, cv: Converter) -> MmaShape:
        """Parse an atom's parameters, such as ``16x8x16 f16 f16 f32``; raises InvalidInput."""
        words = type_parameters(kind, 4, cv)
        try:
            m, n, k = map(int, words[0].split("x"))
        except ValueError:
            raise cv.invalid("atom-parameters", f"has the atom {kind}: expected a shape such as 16x8x16") from None
        if unknown := [word for word in words[1:4] if word not in BITS]:
            raise cv.invalid("atom-parameters", f"has the atom {kind}: no MMA has elements of {unknown[0]}")
        return cls(m, n, k, *words[1:4])

    def registers(self) -> tuple[int, int, int]:
        """Registers of A, B and C that a thread of a warp holds."""
        a = self.m * self.k * BITS[self.a] // (32 * max(32, BITS[self.a]))
        b = self.n * self.k * BITS[self.b] // (32 * max(32, BITS[self.b]))
        c = self.m * self.n * BITS[self.c] // (32 * max(32, BITS[self.c]))
        return a, b, c


def view_of(held: ConvertedValue) -> View:
    """An operand of an atom call that is a view."""
    return cast(View, held)


def value_of(held: ConvertedValue) -> SSAValue:
    """An operand of an atom call that is a value."""
    if isinstance(held, SSAValue):
        return held
    raise InternalError("ir-shape", f"an atom's operand is a {type(held).__name__} where it takes a value")


def pointer_of(held: ConvertedValue) -> SSAValue:
    """The address of a pointer or view; a plain value is returned as it is."""
    return held if isinstance(held, SSAValue) else cast(View, held).pointer

"""wgmma: MMAs of warpgroups (PTX ISA 9.0, section 9.7.15).

``nvvm.wgmma.group`` and ``nvvm.wgmma.wait`` are our own: LLVM may copy accumulators between two operations,
which is wrong while an MMA is in flight. So the fence, the MMAs of one accumulator tile, and the wait for them are one piece
of assembly whose results are tied to the accumulators; MLIR's operations, one instruction each, are in ``ops_matrix``.
"""

from __future__ import annotations

from functools import lru_cache

from xdsl.dialects.builtin import DenseArrayBase

from ....target.mma_atoms import WGMMA_ATOMS, WgmmaAtom
from ..checked_cast import cast
from ..op_definition import TableOp
from .intrinsic_or_inline_asm import ALL, Assembly, braced, define_instruction, int_attr, keyword_attr, result_registers

FENCE, COMMIT = "wgmma.fence.sync.aligned;", "wgmma.commit_group.sync.aligned;"
ATOMS: dict[str, WgmmaAtom] = {atom.name: atom for atom in WGMMA_ATOMS}
# Whether the first MMA of a promotion interval adds to its accumulators: no. The predicate is computed from the grid size,
# which is never 0 but unknown to ptxas, so that the interval reuses the registers of a promoted one. Otherwise ptxas
# would promote late, and keep all partial accumulators in registers.
FIRST_OPERAND = {
    "zero": ".reg .pred first; setp.ne.b32 first, 0, 0;",
    "added": ".reg .pred first; .reg .b32 ctas; mov.u32 ctas, %nctaid.x; setp.eq.u32 first, ctas, 0;",
}


def _wait(pending: int) -> str:
    return f"wgmma.wait_group.sync.aligned {pending};"


def _immediates(op: TableOp, key: str) -> tuple[int, ...]:
    return tuple(cast(DenseArrayBase, op.attributes[key]).get_values())


# ---- MMA -----------------------------------------------------------------------------------------


def _group(op: TableOp) -> str:
    """The text of a group: operands follow the accumulators and the operands tied to them."""
    outputs = len(result_registers(op))
    mmas = _mma_instructions(
        keyword_attr(op, "atom"),
        int_attr(op, "columns"),
        _immediates(op, "signed"),
        _immediates(op, "mn_major"),
        _immediates(op, "left"),
        _immediates(op, "right"),
        keyword_attr(op, "first"),
        outputs,
        outputs + len(op.accumulators),
    )
    text = [FENCE] if "fence" in op.attributes else []
    text += [mmas, COMMIT] if "commit" in op.attributes else [mmas]
    text += [_wait(int_attr(op, "pending"))] if "pending" in op.attributes else []
    return " ".join(text)


@lru_cache(maxsize=1024)
def _mma_instructions(
    atom: str,
    columns: int,
    signed: tuple[int, ...],
    mn_major: tuple[int, ...],
    left: tuple[int, ...],
    right: tuple[int, ...],
    first: str,
    outputs: int,
    start: int,
) -> str:
    """The instructions; each has as many entries of ``left`` as the first."""
    name = ATOMS[atom].ptx_name(columns, *map(bool, signed))
    count = len(left) // len(right)
    tail, accumulators = _mma_suffix(ATOMS[atom], count > 1, mn_major), braced(0, outputs)
    text = ["{.reg .pred add; setp.ne.b32 add, 1, 0;", *([FIRST_OPERAND[first]] if first else [])]
    for position, descriptor in enumerate(right):
        words = [f"${start + index}" for index in left[position * count : (position + 1) * count]]
        operand = "{" + ", ".join(words) + "}" if count > 1 else words[0]
        add = "first" if first and not position else "add"
        text.append(f"{name} {accumulators}, {operand}, ${start + descriptor}, {add}{tail};")
    return " ".join([*text, "}"])


def _mma_suffix(atom: WgmmaAtom, in_registers: bool, mn_major: tuple[int, ...]) -> str:
    """Signs of the operands, then which are MN-major: only for types and memory that support a choice."""
    if atom.a_type == "i8":
        return ""
    if not atom.transposable:
        return ", 1, 1"
    choices = mn_major[1:] if in_registers else mn_major
    return ", 1, 1" + "".join(f", {choice}" for choice in choices)


WgmmaGroupOp = define_instruction(
    "wgmma.group",
    "accumulators* inputs*",
    "updated",
    "asynchronous MMAs of row `atom` with `columns` columns and the same accumulators. `left` and `right` index the inputs of"
    " each MMA: a descriptor, or for the left operand its registers, and a descriptor. `first` is the mode of the first MMA:"
    " absent, it accumulates; zero, it overwrites, and there are no input accumulators; added, it overwrites the registers of"
    " promoted accumulators. `signed` and `mn_major` are of both operands. A `fence` may come before, a `commit` after, then a"
    " wait until at most `pending` groups are in flight",
    Assembly(_group, ALL, convergent=True, tied_operands=lambda op: len(op.accumulators)),
)

# ---- waits ---------------------------------------------------------------------------------------


def _wait_and_promote(op: TableOp) -> str:
    return _promotion_adds(int_attr(op, "pending"), len(op.accumulators), len(op.added))


@lru_cache(maxsize=256)
def _promotion_adds(pending: int, accumulators: int, added: int) -> str:
    start = 2 * accumulators
    return " ".join([_wait(pending), *(f"add.rn.f32 ${i}, ${i}, ${start + i};" for i in range(added))])


WgmmaWaitOp = define_instruction(
    "wgmma.wait",
    "accumulators* added* kept*",
    "updated",
    "wait until at most `pending` groups are in flight; one of `added` is added to each accumulator, if there are any; `kept`"
    " are registers that MMAs in flight still read",
    Assembly(_wait_and_promote, ALL, convergent=True, tied_operands=lambda op: len(op.accumulators)),
)

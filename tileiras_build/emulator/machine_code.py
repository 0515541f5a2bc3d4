"""Products of matrices that float64 holds exactly, added up by machine code that LLVM makes for this CPU.

BLAS writes the sums of one product to memory, in float64, and NumPy reads them, rounds them and adds them to what is there.
Here four rows and eight columns stay in registers while all products are added to them, each rounded to float32 as
``products.py`` says; and they are written where their registers of PTX want them (``Layout``). The order of the additions,
and whether a CPU multiplies and adds at once, changes nothing where every sum is exact. So it is used for such products alone,
of finite numbers, and in processes that have multiplied enough for the time of LLVM.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from .jit import address, compiled
from .packing import COLUMNS, ROWS, Matrices, Side

LANES, VECTORS = 4, 2  # of sums that stay in registers: 8 vectors of 4 float64
BEFORE = 1 << 30  # multiplications of a process before it asks LLVM, which takes as long as they do
TOGETHER = 1 << 20  # bytes of factors in float64 that stay in a second-level cache
MOST_DEPTH = 64  # of one product along k: its code has no loop

_multiplied = 0  # so far, by this process


@dataclass(frozen=True)
class Layout:
    """Where sums are, counted in float32: the first of four rows at ``rows`` (stack, m / 4), of eight columns at ``columns``
    (n / 8) from there; the next row is ``row`` further, the second four columns ``vector``. ``is_apart``: of eight columns of B
    the even ones come first."""

    rows: np.ndarray
    columns: np.ndarray
    row: int
    vector: int
    is_apart: bool = False

    @property
    def stack(self) -> int:
        """How many matrices there are."""
        return len(self.rows)


def plain(total: np.ndarray) -> Layout | None:
    """The layout of matrices (stack, m, n) of float32 whose rows are contiguous; None where they are not, or do not divide."""
    stack, m, n = total.shape
    if m % ROWS or n % COLUMNS or total.strides[2] != 4:
        return None
    matrix, row = total.strides[0] // 4, total.strides[1] // 4
    rows = np.arange(stack)[:, None] * matrix + np.arange(0, m, ROWS) * row
    return Layout(rows, np.arange(0, n, COLUMNS), row, LANES)


def is_worth_it(multiplications: int) -> bool:
    """Whether a process that will multiply so many times more has multiplied enough in all."""
    global _multiplied
    _multiplied += multiplications
    return is_ready()


def is_ready() -> bool:
    """Whether the process has multiplied enough."""
    return _multiplied > BEFORE


def add(
    out: np.ndarray, old: np.ndarray | None, layout: Layout, steps: Sequence[tuple[Matrices, Matrices]]
) -> None:
    """Let ``out`` be ``old`` (None: zeros) plus the products of the steps: A (stack or 1, m, k), B (stack or 1, n, k).

    ``old`` may be ``out``. Every sum of products has to be exact in float64, and finite.
    """
    shapes = [side.shape for side in steps[0]]
    code = _adder(shapes[0][2])
    size = len(steps) * sum(8 * rows * k for _, rows, k in shapes)  # bytes of the factors of one matrix
    each = min(max(TOGETHER // size, 1), layout.stack)
    a, b = (Side([step[side] for step in steps], side, each, is_apart=layout.is_apart) for side in (0, 1))
    rows, per_matrix = address(layout.rows), layout.rows.itemsize * layout.rows.shape[1]
    for first in range(0, layout.stack, each):
        count = min(each, layout.stack - first)
        a.pack(first, count)
        b.pack(first, count)
        code(
            address(out), None if old is None else address(old), a.address, b.address, rows + first * per_matrix,
            address(layout.columns), len(steps), count, layout.rows.shape[1], len(layout.columns), a.step, b.step,
            a.matrix, b.matrix, layout.row, layout.vector,
        )  # fmt: skip


# -- the code ----------------------------------------------------------------------------------------
_POINTERS = ("out", "old", "as", "bs", "rows", "columns")
_NUMBERS = ("steps", "stacks", "ms", "ns", "at", "bt", "sa", "sb", "row", "vector")


@lru_cache(maxsize=16)
def _adder(k: int) -> Callable[..., int]:
    return compiled(_text(k), "add", len(_POINTERS), len(_NUMBERS))


# Loops over matrices, eight columns, four rows, and steps: the factors of eight columns stay in the first-level cache.
_LOOPS = """
define void @add({parameters}) {{
entry:
  %is_old = icmp ne ptr %old, null
  br label %stack
stack:
  %s = phi i64 [0, %entry], [%s.next, %stack.end]
  %s.next = add i64 %s, 1
  %a.stack = mul i64 %s, %sa
  %b.stack = mul i64 %s, %sb
  %r.stack = mul i64 %s, %ms
  br label %column
column:
  %c = phi i64 [0, %stack], [%c.next, %column.end]
  %c.next = add i64 %c, 1
  %b.column = mul i64 %c, {columns_k}
  %b.at = add i64 %b.stack, %b.column
  %c.ptr = getelementptr i64, ptr %columns, i64 %c
  %c.at = load i64, ptr %c.ptr
  br label %four
four:
  %r = phi i64 [0, %column], [%r.next, %four.end]
  %r.next = add i64 %r, 1
  %a.row = mul i64 %r, {rows_k}
  %a.at = add i64 %a.stack, %a.row
  %r.number = add i64 %r.stack, %r
  %r.ptr = getelementptr i64, ptr %rows, i64 %r.number
  %r.at = load i64, ptr %r.ptr
  %first = add i64 %r.at, %c.at
{places}
  br i1 %is_old, label %load, label %begin
load:
{loads}
  br label %begin
begin:
{starts}
  br label %step
step:
  %t = phi i64 [0, %begin], [%t.next, %step]
{sums}
  %t.next = add i64 %t, 1
  %a.step = mul i64 %t, %at
  %a.place = add i64 %a.step, %a.at
  %a = getelementptr double, ptr %as, i64 %a.place
  %b.step = mul i64 %t, %bt
  %b.place = add i64 %b.step, %b.at
  %b = getelementptr double, ptr %bs, i64 %b.place
{products}
  %is_last.t = icmp eq i64 %t.next, %steps
  br i1 %is_last.t, label %four.end, label %step
four.end:
{stores}
  %is_last.r = icmp eq i64 %r.next, %ms
  br i1 %is_last.r, label %column.end, label %four
column.end:
  %is_last.c = icmp eq i64 %c.next, %ns
  br i1 %is_last.c, label %stack.end, label %column
stack.end:
  %is_last.s = icmp eq i64 %s.next, %stacks
  br i1 %is_last.s, label %done, label %stack
done:
  ret void
}}
"""
_WIDE, _SINGLE = f"<{LANES} x double>", f"<{LANES} x float>"
_PLACE = """  %i{i}.{v} = add i64 %first.{i}, %at.{v}
  %p{i}.{v} = getelementptr float, ptr %out, i64 %i{i}.{v}"""
_LOAD = f"""  %q{{i}}.{{v}} = getelementptr float, ptr %old, i64 %i{{i}}.{{v}}
  %l{{i}}.{{v}} = load {_SINGLE}, ptr %q{{i}}.{{v}}, align 4"""
_START = f"  %o{{i}}.{{v}} = phi {_SINGLE} [zeroinitializer, %four], [%l{{i}}.{{v}}, %load]"
_SUM = f"  %x{{i}}.{{v}} = phi {_SINGLE} [%o{{i}}.{{v}}, %begin], [%y{{i}}.{{v}}, %step]"
# A product that is zero is a positive zero, as in ``products._add_first``.
_ADD = f"""  %f{{i}}.{{v}} = fptrunc {_WIDE} %s{{i}}.{{v}}.{{k}} to {_SINGLE}
  %z{{i}}.{{v}} = fadd {_SINGLE} %f{{i}}.{{v}}, zeroinitializer
  %y{{i}}.{{v}} = fadd {_SINGLE} %z{{i}}.{{v}}, %x{{i}}.{{v}}"""
_STORE = f"  store {_SINGLE} %y{{i}}.{{v}}, ptr %p{{i}}.{{v}}, align 4"
_FACTOR_B = f"""  %b.{{k}}.{{v}}.ptr = getelementptr double, ptr %b, i64 {{at}}
  %b.{{k}}.{{v}} = load {_WIDE}, ptr %b.{{k}}.{{v}}.ptr, align 8"""
_FACTOR_A = f"""  %a.{{k}}.{{i}}.ptr = getelementptr double, ptr %a, i64 {{at}}
  %a.{{k}}.{{i}}.one = load double, ptr %a.{{k}}.{{i}}.ptr
  %a.{{k}}.{{i}}.first = insertelement {_WIDE} poison, double %a.{{k}}.{{i}}.one, i64 0
  %a.{{k}}.{{i}} = shufflevector {_WIDE} %a.{{k}}.{{i}}.first, {_WIDE} poison, <{LANES} x i32> zeroinitializer"""
_MULTIPLY = f"""  %m{{i}}.{{v}}.{{k}} = fmul contract {_WIDE} %a.{{k}}.{{i}}, %b.{{k}}.{{v}}
  %s{{i}}.{{v}}.{{k}} = fadd contract {_WIDE} {{before}}, %m{{i}}.{{v}}.{{k}}"""


def _text(k: int) -> str:
    """The function in LLVM's IR."""
    both = [(i, v) for i in range(ROWS) for v in range(VECTORS)]
    each = lambda line, **more: "\n".join(line.format(i=i, v=v, **more) for i, v in both)
    rows = [f"  %row.{i} = mul i64 %row, {i}\n  %first.{i} = add i64 %first, %row.{i}" for i in range(ROWS)]
    vectors = [f"  %at.{v} = mul i64 %vector, {v}" for v in range(VECTORS)]
    return _LOOPS.format(
        parameters=", ".join([*(f"ptr %{name}" for name in _POINTERS), *(f"i64 %{name}" for name in _NUMBERS)]),
        columns_k=COLUMNS * k, rows_k=ROWS * k, places="\n".join([*rows, *vectors, each(_PLACE)]), loads=each(_LOAD),
        starts=each(_START), sums=each(_SUM), products="\n".join([*map(_one_of_k, range(k)), each(_ADD, k=k - 1)]),
        stores=each(_STORE),
    )  # fmt: skip


def _one_of_k(k: int) -> str:
    """The products of one column of A and one row of B."""
    lines = [_FACTOR_B.format(k=k, v=v, at=COLUMNS * k + LANES * v) for v in range(VECTORS)]
    for i in range(ROWS):
        lines.append(_FACTOR_A.format(k=k, i=i, at=ROWS * k + i))
        for v in range(VECTORS):
            before = f"%s{i}.{v}.{k - 1}" if k else "zeroinitializer"
            lines.append(_MULTIPLY.format(i=i, v=v, k=k, before=before))
    return "\n".join(lines)

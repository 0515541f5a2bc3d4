"""Products of matrices of finite numbers, added up by machine code that LLVM makes for this CPU.

BLAS writes the sums of one product to memory, in float64, and NumPy reads them, rounds them and adds them to what is there.
Here four rows and eight columns stay in registers while all products are added to them, each rounded to float32 as
``products.py`` says; and they are written where their registers of PTX want them (``Layout``). The order of the additions,
and whether a CPU multiplies and adds at once, changes nothing where every sum is exact in float64. Where some may not be, it is
asked of each four rows and eight columns; a sum that still may not be counts if all numbers within its error round to the same
float32, and the others are added up anew, exactly (``exact_sums.py``). It is used in processes that have multiplied enough for the time of LLVM.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from . import exact_sums
from .exact_sums import Ratios
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

    register: int | None = None  # how far registers are from each other, of which rows and columns hold whole ones

    @property
    def stack(self) -> int:
        """How many matrices there are."""
        return len(self.rows)

    @cached_property
    def olds(self) -> Olds:
        """Where the sums before are, in an array of this layout or in arrays for each register."""
        if self.register is None:
            zeros = np.zeros_like(self.rows), np.zeros_like(self.columns)
            return Olds((zeros[0], self.rows), (zeros[1], self.columns), (0, self.vector))
        rows, columns = (np.divmod(places, self.register) for places in (self.rows, self.columns))
        return Olds(rows, columns, (self.vector // self.register, 0))


@dataclass(frozen=True)
class Olds:
    """(array, number in it) of rows, of columns, and of the second four columns; they add up."""

    rows: tuple[np.ndarray, np.ndarray]
    columns: tuple[np.ndarray, np.ndarray]
    vector: tuple[int, int]


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
    out: np.ndarray, old: Sequence[np.ndarray], layout: Layout, steps: Sequence[tuple[Matrices, Matrices]], errors: np.ndarray
) -> None:  # fmt: skip
    """Let ``out`` be ``old`` (zeros if empty) plus the products of the steps: A (stack or 1, m, k), B (stack or 1, n, k).

    ``old`` is an array of the layout, which may be ``out``, or the registers of a layout that has some. ``errors`` (steps,
    float64): of each step, what its sums in float64 are wrong by at most; 0 where all are exact. All numbers are finite.
    """
    shapes = [side.shape for side in steps[0]]
    is_checked = bool(errors.any())
    code = _adder(shapes[0][2], is_checked)
    size = len(steps) * sum(8 * rows * k for _, rows, k in shapes)  # bytes of the factors of one matrix
    each = min(max(TOGETHER // size, 1), layout.stack)
    a, b = (Side([step[side] for step in steps], side, each, is_apart=layout.is_apart) for side in (0, 1))
    ratios = [Ratios(side.out, max(step[i].bits for step in steps)) for i, side in enumerate((a, b)) if is_checked]
    known = [address(errors), *(ratio.address for ratio in ratios)] if is_checked else [None] * 3
    tables = [layout.rows, *layout.olds.rows]
    columns = [address(table) for table in (layout.columns, *layout.olds.columns)]
    olds = np.array([address(array) for array in old])
    for first in range(0, layout.stack, each):
        count = min(each, layout.stack - first)
        a.pack(first, count)
        b.pack(first, count)
        for ratio in ratios:
            ratio.measure()
        rows = [address(table[first:]) for table in tables]
        code(
            address(out), address(olds) if old else None, a.address, b.address, *known, *rows, *columns, len(steps), count,
            layout.rows.shape[1], len(layout.columns), a.step, b.step, a.matrix, b.matrix, layout.row, layout.vector,
            *layout.olds.vector,
        )  # fmt: skip


# -- the code ----------------------------------------------------------------------------------------
_PLACES = ("rows", "rows.old", "rows.in", "columns", "columns.old", "columns.in")
_POINTERS = ("out", "olds", "as", "bs", "errors", "a.ratios", "b.ratios", *_PLACES)
_NUMBERS = ("steps", "stacks", "ms", "ns", "at", "bt", "sa", "sb", "row", "vector", "vector.old", "vector.in")


@lru_cache(maxsize=16)
def _adder(k: int, is_checked: bool) -> Callable[..., int]:
    return compiled(_text(k, is_checked), "add", len(_POINTERS), len(_NUMBERS))


# Loops over matrices, eight columns, four rows, and steps: the factors of eight columns stay in the first-level cache.
_LOOPS = """
define void @add({parameters}) {{
entry:
  %is_old = icmp ne ptr %olds, null
{room}
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
  %c.old.ptr = getelementptr i64, ptr %columns.old, i64 %c
  %c.old = load i64, ptr %c.old.ptr
  %c.in.ptr = getelementptr i64, ptr %columns.in, i64 %c
  %c.in = load i64, ptr %c.in.ptr
  %r.old.ptr = getelementptr i64, ptr %rows.old, i64 %r.number
  %r.old = load i64, ptr %r.old.ptr
  %r.in.ptr = getelementptr i64, ptr %rows.in, i64 %r.number
  %r.in = load i64, ptr %r.in.ptr
  %old.0 = add i64 %r.old, %c.old
  %in.0 = add i64 %r.in, %c.in
{loads}
  br label %begin
begin:
{starts}
  br label %step
step:
  %t = phi i64 [0, %begin], [%t.next, %sure]
{sums}
  %t.next = add i64 %t, 1
  %a.step = mul i64 %t, %at
  %a.place = add i64 %a.step, %a.at
  %a = getelementptr double, ptr %as, i64 %a.place
  %b.step = mul i64 %t, %bt
  %b.place = add i64 %b.step, %b.at
  %b = getelementptr double, ptr %bs, i64 %b.place
{products}
{checks}
sure:
{adds}
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
_OLD = """  %old.at.{v} = mul i64 %vector.old, {v}
  %old.number.{v} = add i64 %old.0, %old.at.{v}
  %old.ptr.{v} = getelementptr i64, ptr %olds, i64 %old.number.{v}
  %old.address.{v} = load i64, ptr %old.ptr.{v}
  %old.{v}.array = inttoptr i64 %old.address.{v} to ptr
  %in.at.{v} = mul i64 %vector.in, {v}
  %in.number.{v} = add i64 %in.0, %in.at.{v}"""
_LOAD = f"""  %in{{i}}.{{v}} = add i64 %in.number.{{v}}, %row.{{i}}
  %q{{i}}.{{v}} = getelementptr float, ptr %old.{{v}}.array, i64 %in{{i}}.{{v}}
  %l{{i}}.{{v}} = load {_SINGLE}, ptr %q{{i}}.{{v}}, align 4"""
_START = f"  %o{{i}}.{{v}} = phi {_SINGLE} [zeroinitializer, %four], [%l{{i}}.{{v}}, %load]"
_SUM = f"  %x{{i}}.{{v}} = phi {_SINGLE} [%o{{i}}.{{v}}, %begin], [%y{{i}}.{{v}}, %sure]"
# A product that is zero is a positive zero, as in ``products._add_first``.
_ADD = f"""  %z{{i}}.{{v}} = fadd {_SINGLE} %f{{i}}.{{v}}, zeroinitializer
  %y{{i}}.{{v}} = fadd {_SINGLE} %z{{i}}.{{v}}, %x{{i}}.{{v}}"""
_ROUND = f"  %f{{i}}.{{v}} = fptrunc {_WIDE} %s{{i}}.{{v}}.{{k}} to {_SINGLE}"
_CHECK = f"""  %low{{i}}.{{v}}.wide = fsub {_WIDE} %s{{i}}.{{v}}.{{k}}, %error
  %high{{i}}.{{v}}.wide = fadd {_WIDE} %s{{i}}.{{v}}.{{k}}, %error
  %low{{i}}.{{v}} = fptrunc {_WIDE} %low{{i}}.{{v}}.wide to {_SINGLE}
  %high{{i}}.{{v}} = fptrunc {_WIDE} %high{{i}}.{{v}}.wide to {_SINGLE}
  %near{{i}}.{{v}} = fcmp une {_SINGLE} %low{{i}}.{{v}}, %high{{i}}.{{v}}
  %some.{{next}} = or <{LANES} x i1> {{before}}, %near{{i}}.{{v}}"""
_ERROR = f"""  %error.ptr = getelementptr double, ptr %errors, i64 %t
  %error.most = load double, ptr %error.ptr
  %a.number = udiv exact i64 %a.place, {{a_size}}
  %a.ratio.ptr = getelementptr double, ptr %a.ratios, i64 %a.number
  %a.ratio = load double, ptr %a.ratio.ptr
  %b.number = udiv exact i64 %b.place, {{b_size}}
  %b.ratio.ptr = getelementptr double, ptr %b.ratios, i64 %b.number
  %b.ratio = load double, ptr %b.ratio.ptr
  %ratio = fmul double %a.ratio, %b.ratio
  %most = fmul double %ratio, {{k}}
  %is_exact = fcmp ole double %most, 9007199254740992.0
  %error.one = select i1 %is_exact, double 0.0, double %error.most
  %error.first = insertelement {_WIDE} poison, double %error.one, i64 0
  %error = shufflevector {_WIDE} %error.first, {_WIDE} poison, <{LANES} x i32> zeroinitializer"""
_DECIDE = f"""  %any = call i1 @llvm.vector.reduce.or.v{LANES}i1(<{LANES} x i1> %some.{{last}})
  br i1 %any, label %doubtful, label %sure
doubtful:
  call void @exact(ptr %a, ptr %b, ptr %exact.sums)
{{loads}}
  br label %sure"""
_EXACT = f"""  %exact{{i}}.{{v}}.ptr = getelementptr {_SINGLE}, ptr %exact.sums, i64 {{number}}
  %exact{{i}}.{{v}} = load {_SINGLE}, ptr %exact{{i}}.{{v}}.ptr"""
_EITHER = f"  %f{{i}}.{{v}} = phi {_SINGLE} [%low{{i}}.{{v}}, %step], [%exact{{i}}.{{v}}, %doubtful]"
_STORE = f"  store {_SINGLE} %y{{i}}.{{v}}, ptr %p{{i}}.{{v}}, align 4"
_FACTOR_B = f"""  %b.{{k}}.{{v}}.ptr = getelementptr double, ptr %b, i64 {{at}}
  %b.{{k}}.{{v}} = load {_WIDE}, ptr %b.{{k}}.{{v}}.ptr, align 8"""
_FACTOR_A = f"""  %a.{{k}}.{{i}}.ptr = getelementptr double, ptr %a, i64 {{at}}
  %a.{{k}}.{{i}}.one = load double, ptr %a.{{k}}.{{i}}.ptr
  %a.{{k}}.{{i}}.first = insertelement {_WIDE} poison, double %a.{{k}}.{{i}}.one, i64 0
  %a.{{k}}.{{i}} = shufflevector {_WIDE} %a.{{k}}.{{i}}.first, {_WIDE} poison, <{LANES} x i32> zeroinitializer"""
_MULTIPLY = f"""  %m{{i}}.{{v}}.{{k}} = fmul contract {_WIDE} %a.{{k}}.{{i}}, %b.{{k}}.{{v}}
  %s{{i}}.{{v}}.{{k}} = fadd contract {_WIDE} {{before}}, %m{{i}}.{{v}}.{{k}}"""


_BOTH = [(i, v) for i in range(ROWS) for v in range(VECTORS)]


def _each(line: str, **more: int) -> str:
    return "\n".join(line.format(i=i, v=v, number=VECTORS * i + v, **more) for i, v in _BOTH)


def _text(k: int, is_checked: bool) -> str:
    """The functions in LLVM's IR."""
    rows = [f"  %row.{i} = mul i64 %row, {i}\n  %first.{i} = add i64 %first, %row.{i}" for i in range(ROWS)]
    vectors = [f"  %at.{v} = mul i64 %vector, {v}" for v in range(VECTORS)]
    adds = [_each(_EITHER)] if is_checked else [_each(_ROUND, k=k - 1)]
    text = _LOOPS.format(
        parameters=", ".join([*(f"ptr %{name}" for name in _POINTERS), *(f"i64 %{name}" for name in _NUMBERS)]),
        columns_k=COLUMNS * k, rows_k=ROWS * k, places="\n".join([*rows, *vectors, _each(_PLACE)]),
        loads="\n".join([*(_OLD.format(v=v) for v in range(VECTORS)), _each(_LOAD)]),
        room=f"  %exact.sums = alloca [{len(_BOTH)} x {_SINGLE}]", starts=_each(_START), sums=_each(_SUM),
        products="\n".join(map(_one_of_k, range(k))), checks=_checks(k) if is_checked else "  br label %sure",
        adds="\n".join([*adds, _each(_ADD)]), stores=_each(_STORE),
    )  # fmt: skip
    return text + exact_sums.text(k, ROWS, VECTORS, LANES) if is_checked else text


def _checks(k: int) -> str:
    """Lines that leave for ``exact`` where a sum and its error may round to two numbers."""
    before = ["zeroinitializer", *(f"%some.{number}" for number in range(len(_BOTH)))]
    lines = [
        _CHECK.format(i=i, v=v, k=k - 1, next=number, before=before[number]) for number, (i, v) in enumerate(_BOTH)
    ]
    error = _ERROR.format(a_size=ROWS * k, b_size=COLUMNS * k, k=float(k))
    return "\n".join([error, *lines, _DECIDE.format(last=len(_BOTH) - 1, loads=_each(_EXACT))])


def _one_of_k(k: int) -> str:
    """The products of one column of A and one row of B."""
    lines = [_FACTOR_B.format(k=k, v=v, at=COLUMNS * k + LANES * v) for v in range(VECTORS)]
    for i in range(ROWS):
        lines.append(_FACTOR_A.format(k=k, i=i, at=ROWS * k + i))
        for v in range(VECTORS):
            before = f"%s{i}.{v}.{k - 1}" if k else "zeroinitializer"
            lines.append(_MULTIPLY.format(i=i, v=v, k=k, before=before))
    return "\n".join(lines)

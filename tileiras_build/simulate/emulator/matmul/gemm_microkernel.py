"""The microkernel of ``gemm_jit.py``: accumulates a tile in registers over all steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from ..jit.llvm_jit import compile_function, cpu_name, has_cpu_feature
from . import exact_dot_products_jit
from .pack_operands import COLUMNS, ROWS

PIECE = 4  # columns of adjacent accumulators in memory
K_UNROLL = 4  # unroll factor of the loop over k

_PLACES = ("rows", "rows.old", "rows.in", "columns", "columns.old", "columns.in")
_POINTERS = ("out", "olds", "as", "bs", "errors", "a.ratios", "b.ratios", *_PLACES)
_NUMBERS = (
    "steps",
    "stacks",
    "ms",
    "ns",
    "at",
    "bt",
    "sa",
    "sb",
    "row",
    "vector",
    "vector.old",
    "vector.in",
    "chunk",
    "k",
)


@dataclass(frozen=True)
class Tile:
    """The register tile: ``fours`` times four rows of ``eights`` times eight columns, with ``lanes`` per vector."""

    fours: int
    eights: int
    lanes: int

    @property
    def rows(self) -> int:
        return ROWS * self.fours

    @property
    def each(self) -> int:
        """Vectors of eight columns of a row."""
        return COLUMNS // self.lanes

    @property
    def vectors(self) -> int:
        """Of one row."""
        return self.each * self.eights

    @property
    def pieces(self) -> range:
        """Of one row, those of ``PIECE`` columns."""
        return range(PIECES * self.eights)

    @property
    def wide(self) -> str:
        return f"<{self.lanes} x double>"

    @property
    def single(self) -> str:
        return f"<{self.lanes} x float>"

    @property
    def both(self) -> list[tuple[int, int]]:
        """(row, vector) of all."""
        return [(i, v) for i in range(self.rows) for v in range(self.vectors)]


PIECES = COLUMNS // PIECE  # of eight columns
# The wide tile does more multiplications per load. Its sixteen float64 accumulators leave no registers for the float32
# accumulators, which are loaded and stored in each step.
NARROW, WIDE, WIDE_2X2 = Tile(1, 1, PIECE), Tile(2, 1, COLUMNS), Tile(2, 2, COLUMNS)
WIDE_FEATURE = "avx512f"  # 32 registers of eight float64
# CPUs with one 512-bit multiplication per cycle, not two: eight accumulators suffice, and the float32 ones stay in registers.
IN_HALVES = {"znver4"}


def select_tile(fours: int, eights: int) -> Tile:
    """The tile for matrices of ``fours`` times four rows and ``eights`` times eight columns."""
    if fours % WIDE.fours or not has_cpu_feature(WIDE_FEATURE):
        return NARROW
    return WIDE if eights % WIDE_2X2.eights or cpu_name() in IN_HALVES else WIDE_2X2


@lru_cache(maxsize=16)
def compile_kernel(is_checked: bool, tile: Tile) -> Callable[..., int]:
    return compile_function(_text(is_checked, tile), "add", len(_POINTERS), len(_NUMBERS))


# Loops over matrices, chunks of rows, eight columns, rows of a tile, and steps: the factors of a chunk stay in the first-level cache.
# Prefetches the accumulators of the next rows, which are far apart in memory if they are in registers of many threads.
_LOOPS = """
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
declare i64 @llvm.umin.i64(i64, i64)

define void @add({parameters}) {{
entry:
  %is_old = icmp ne ptr %olds, null
  %r.all = mul i64 %stacks, %ms
  %r.end = sub i64 %r.all, {fours}
  %columns.k = mul i64 %k, {columns}
  %rows.k = mul i64 %k, {rows}
{exact_sums}
  br label %stack
stack:
  %s = phi i64 [0, %entry], [%s.next, %stack.end]
  %s.next = add i64 %s, 1
  %a.stack = mul i64 %s, %sa
  %b.stack = mul i64 %s, %sb
  %r.stack = mul i64 %s, %ms
  br label %chunk_
chunk_:
  %r.from = phi i64 [0, %stack], [%r.to, %chunk.end]
  %r.most = add i64 %r.from, %chunk
  %r.to = call i64 @llvm.umin.i64(i64 %r.most, i64 %ms)
  br label %column
column:
  %c = phi i64 [0, %chunk_], [%c.next, %column.end]
  %c.next = add i64 %c, {eights}
  %b.column = mul i64 %c, %columns.k
  %b.at = add i64 %b.stack, %b.column
{columns_at}
  br label %four
four:
  %r = phi i64 [%r.from, %column], [%r.next, %four.end]
  %r.next = add i64 %r, {fours}
  %a.row = mul i64 %r, %rows.k
  %a.at = add i64 %a.stack, %a.row
  %r.number = add i64 %r.stack, %r
{places}
  br i1 %is_old, label %load, label %begin
load:
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
{factors}
  br label %depth
depth:
  %d = phi i64 [0, %step], [%d.next, %depth]
{before}
  %d.next = add i64 %d, {k_unroll}
  %d.rows = mul i64 %d, {rows}
  %d.columns = mul i64 %d, {columns}
{products}
  %is_last.d = icmp uge i64 %d.next, %k
  br i1 %is_last.d, label %depth.end, label %depth
depth.end:
{checks}
sure:
{adds}
  %is_last.t = icmp eq i64 %t.next, %steps
  br i1 %is_last.t, label %four.end, label %step
four.end:
{stores}
  %is_last.r = icmp eq i64 %r.next, %r.to
  br i1 %is_last.r, label %column.end, label %four
column.end:
  %is_last.c = icmp eq i64 %c.next, %ns
  br i1 %is_last.c, label %chunk.end, label %column
chunk.end:
  %is_last.chunk = icmp eq i64 %r.to, %ms
  br i1 %is_last.chunk, label %stack.end, label %chunk_
stack.end:
  %is_last.s = icmp eq i64 %s.next, %stacks
  br i1 %is_last.s, label %done, label %stack
done:
  ret void
}}
"""
_BEFORE = "  %s{i}.{v}.before = phi {wide} [zeroinitializer, %step], [%s{i}.{v}.{last}, %depth]"
_A_FOUR = """  %a.at.{g} = mul i64 %rows.k, {g}
  %a.four.{g} = getelementptr double, ptr %a, i64 %a.at.{g}"""
_A_DEPTH = "  %a.d.{g} = getelementptr double, ptr %a.four.{g}, i64 %d.rows"
_QUAD = f"<{PIECE} x float>"  # of four columns, which are neighbors in memory
# Of eight columns e, and of four of them, number p of the tile and q of these eight: where they are.
_EIGHT = """  %c.{e} = add i64 %c, {e}
  %c.{e}.ptr = getelementptr i64, ptr %columns, i64 %c.{e}
  %c.{e}.at = load i64, ptr %c.{e}.ptr"""
_AT = """  %in.eight.{p} = mul i64 %vector, {q}
  %at.{p} = add i64 %c.{e}.at, %in.eight.{p}"""
_OLD_EIGHT = """  %c.{e}.old.ptr = getelementptr i64, ptr %columns.old, i64 %c.{e}
  %c.{e}.old = load i64, ptr %c.{e}.old.ptr
  %c.{e}.in.ptr = getelementptr i64, ptr %columns.in, i64 %c.{e}
  %c.{e}.in = load i64, ptr %c.{e}.in.ptr"""
_OLD_AT = """  %old.eight.{p} = mul i64 %vector.old, {q}
  %old.at.{p} = add i64 %c.{e}.old, %old.eight.{p}
  %in.old.{p} = mul i64 %vector.in, {q}
  %in.at.{p} = add i64 %c.{e}.in, %in.old.{p}"""
# Of four rows g: where they are, and where those of the next tile of the same columns will be.
_FOUR = """  %r.{g} = add i64 %r.number, {g}
  %r.{g}.ptr = getelementptr i64, ptr %rows, i64 %r.{g}
  %first.{g} = load i64, ptr %r.{g}.ptr"""
_NEXT = """  %r.after = add i64 %r.number, {fours}
  %r.then.0 = call i64 @llvm.umin.i64(i64 %r.after, i64 %r.end)"""
_THEN = """  %r.then.{g} = add i64 %r.then.0, {g}"""
_THEN_FOUR = """  %then.{g}.ptr = getelementptr i64, ptr %rows, i64 %r.then.{g}
  %then.{g} = load i64, ptr %then.{g}.ptr"""
_THEN_PIECE = """  %then.{g}.{p} = add i64 %then.{g}, %at.{p}
  %then.{g}.{p}.ptr = getelementptr float, ptr %out, i64 %then.{g}.{p}
  call void @llvm.prefetch.p0(ptr %then.{g}.{p}.ptr, i32 1, i32 3, i32 1)"""
_PLACE = """  %n{i}.{p} = add i64 %first.{i}.{g}, %at.{p}
  %p{i}.{p} = getelementptr float, ptr %out, i64 %n{i}.{p}"""
_OLD_FOUR = """  %r.{g}.old.ptr = getelementptr i64, ptr %rows.old, i64 %r.{g}
  %old.{g} = load i64, ptr %r.{g}.old.ptr
  %r.{g}.in.ptr = getelementptr i64, ptr %rows.in, i64 %r.{g}
  %in.{g} = load i64, ptr %r.{g}.in.ptr"""
_OLD = """  %old.number.{g}.{p} = add i64 %old.{g}, %old.at.{p}
  %old.ptr.{g}.{p} = getelementptr i64, ptr %olds, i64 %old.number.{g}.{p}
  %old.address.{g}.{p} = load i64, ptr %old.ptr.{g}.{p}
  %old.{g}.{p}.array = inttoptr i64 %old.address.{g}.{p} to ptr
  %in.number.{g}.{p} = add i64 %in.{g}, %in.at.{p}"""
_OLD_THEN = """  %then.{g}.old.ptr = getelementptr i64, ptr %rows.old, i64 %r.then.{g}
  %then.{g}.old = load i64, ptr %then.{g}.old.ptr
  %then.{g}.in.ptr = getelementptr i64, ptr %rows.in, i64 %r.then.{g}
  %then.{g}.in = load i64, ptr %then.{g}.in.ptr"""
_PREFETCH_OLD = """  %then.old.{g}.{p} = add i64 %then.{g}.old, %old.at.{p}
  %then.array.{g}.{p}.ptr = getelementptr i64, ptr %olds, i64 %then.old.{g}.{p}
  %then.array.{g}.{p}.number = load i64, ptr %then.array.{g}.{p}.ptr
  %then.array.{g}.{p} = inttoptr i64 %then.array.{g}.{p}.number to ptr
  %then.in.{g}.{p} = add i64 %then.{g}.in, %in.at.{p}
  %then.in.{g}.{p}.ptr = getelementptr float, ptr %then.array.{g}.{p}, i64 %then.in.{g}.{p}
  call void @llvm.prefetch.p0(ptr %then.in.{g}.{p}.ptr, i32 0, i32 3, i32 1)"""
_LOAD = f"""  %in{{i}}.{{p}} = add i64 %in.number.{{g}}.{{p}}, %row.{{j}}
  %q{{i}}.{{p}} = getelementptr float, ptr %old.{{g}}.{{p}}.array, i64 %in{{i}}.{{p}}
  %l{{i}}.{{p}} = load {_QUAD}, ptr %q{{i}}.{{p}}, align 4"""
_START = "  %o{i}.{v} = phi {single} [zeroinitializer, %four], [%{loaded}, %load]"
_ACCUMULATOR_PHI = "  %x{i}.{v} = phi {single} [%o{i}.{v}, %begin], [%y{i}.{v}, %sure]"
# A product that is zero is a positive zero, as in ``matmul._add_first``.
_ADD = """  %z{i}.{v} = fadd {single} %f{i}.{v}, zeroinitializer
  %y{i}.{v} = fadd {single} %z{i}.{v}, %x{i}.{v}"""
_ROUND = "  %{f}{i}.{v} = fptrunc {wide} %s{i}.{v}.{last} to {single}"
_CHECK = """  %low{i}.{v}.wide = fsub {wide} %s{i}.{v}.{last}, %error
  %high{i}.{v}.wide = fadd {wide} %s{i}.{v}.{last}, %error
  %low{i}.{v} = fptrunc {wide} %low{i}.{v}.wide to {single}
  %high{i}.{v} = fptrunc {wide} %high{i}.{v}.wide to {single}
  %near{i}.{v} = fcmp une {single} %low{i}.{v}, %high{i}.{v}
  %some.{number} = or <{lanes} x i1> {before}, %near{i}.{v}"""
_RATIO = """  %{x}.number.{n} = add i64 %{x}.number, {n}
  %{x}.ratio.{n}.ptr = getelementptr double, ptr %{x}.ratios, i64 %{x}.number.{n}
  %{x}.ratio.{n} = load double, ptr %{x}.ratio.{n}.ptr
  %{x}.is_more.{n} = fcmp ogt double %{x}.ratio.{n}, {before}
  %{x}.most.{n} = select i1 %{x}.is_more.{n}, double %{x}.ratio.{n}, double {before}"""
_ERROR = """  %errors.at = mul i64 %s, %steps
  %error.at = add i64 %errors.at, %t
  %error.ptr = getelementptr double, ptr %errors, i64 %error.at
  %error.most = load double, ptr %error.ptr
  %a.number = udiv exact i64 %a.place, %rows.k
  %b.number = udiv exact i64 %b.place, %columns.k
{ratios}
  %ratio = fmul double %a.most.{last_four}, %b.most.{last_eight}
  %k.float = uitofp i64 %k to double
  %most = fmul double %ratio, %k.float
  %is_exact = fcmp ole double %most, 9007199254740992.0
  %no.error = fcmp oeq double %error.most, 0.0
  %is_sure = or i1 %is_exact, %no.error
  br i1 %is_sure, label %round, label %check
round:
{rounded}
  br label %sure
check:
  %error.first = insertelement {wide} poison, double %error.most, i64 0
  %error = shufflevector {wide} %error.first, {wide} poison, <{lanes} x i32> zeroinitializer"""
_DECIDE = """  %any = call i1 @llvm.vector.reduce.or.v{lanes}i1(<{lanes} x i1> %some.{last})
  br i1 %any, label %doubtful, label %sure
doubtful:
{calls}
{loads}
  br label %sure"""
_CALL_EXACT = """  %exact.{g}.{e} = getelementptr {single}, ptr %exact.sums, i64 {place}
  call void @exact(ptr %a.four.{g}, ptr %b.eight.{e}, ptr %exact.{g}.{e}, i64 %k)"""
_EXACT = """  %exact{i}.{v}.ptr = getelementptr {single}, ptr %exact.sums, i64 {place}
  %exact{i}.{v} = load {single}, ptr %exact{i}.{v}.ptr"""
_ROUNDED_PHI = "  %f{i}.{v} = phi {single} [%g{i}.{v}, %round], [%low{i}.{v}, %check], [%exact{i}.{v}, %doubtful]"
_STORE = f"  store {_QUAD} %{{stored}}, ptr %p{{i}}.{{p}}, align 4"
_B_EIGHT = """  %b.at.{e} = mul i64 %columns.k, {e}
  %b.eight.{e} = getelementptr double, ptr %b, i64 %b.at.{e}"""
_B_DEPTH = "  %b.d.{e} = getelementptr double, ptr %b.eight.{e}, i64 %d.columns"
_FACTOR_B = """  %b.{k}.{v}.ptr = getelementptr double, ptr %b.d.{e}, i64 {at}
  %b.{k}.{v} = load {wide}, ptr %b.{k}.{v}.ptr, align 8"""
_FACTOR_A = """  %a.{k}.{i}.ptr = getelementptr double, ptr %a.d.{g}, i64 {at}
  %a.{k}.{i}.one = load double, ptr %a.{k}.{i}.ptr
  %a.{k}.{i}.first = insertelement {wide} poison, double %a.{k}.{i}.one, i64 0
  %a.{k}.{i} = shufflevector {wide} %a.{k}.{i}.first, {wide} poison, <{lanes} x i32> zeroinitializer"""
_MULTIPLY = """  %m{i}.{v}.{k} = fmul contract {wide} %a.{k}.{i}, %b.{k}.{v}
  %s{i}.{v}.{k} = fadd contract {wide} {before}, %m{i}.{v}.{k}"""
# A vector of a wide tile is two pieces in memory.
_JOIN = f"""  %w{{i}}.{{v}} = shufflevector {_QUAD} %l{{i}}.{{low}}, {_QUAD} %l{{i}}.{{high}}, <{COLUMNS} x i32> <{", ".join(f"i32 {n}" for n in range(COLUMNS))}>"""
_EXTRACT_PIECE = (
    f"""  %d{{i}}.{{p}} = shufflevector {{single}} %y{{i}}.{{v}}, {{single}} poison, <{PIECE} x i32> <{{lanes_of}}>"""
)


def _each(line: str, tile: Tile, **more: int | str) -> str:
    return "\n".join(
        line.format(
            i=i, v=v, number=tile.vectors * i + v, place=_place_of(i, v, tile), single=tile.single, wide=tile.wide,
            lanes=tile.lanes, loaded=f"l{i}.{v}" if tile is NARROW else f"w{i}.{v}", **more,
        ) for i, v in tile.both
    )  # fmt: skip


def _place_of(i: int, v: int, tile: Tile) -> int:
    """Where an exact sum is: four rows of eight columns after each other."""
    eight, part = divmod(v, tile.each)
    return ((i // ROWS * tile.eights + eight) * ROWS + i % ROWS) * tile.each + part


def _columns(tile: Tile, of_eight: str, of_piece: str) -> list[str]:
    """Lines for each eight and each four columns."""
    eights = [of_eight.format(e=e) for e in range(tile.eights)]
    return [*eights, *(of_piece.format(p=p, e=p // PIECES, q=p % PIECES) for p in tile.pieces)]


def _fours(tile: Tile, of_four: str, of_piece: str) -> list[str]:
    """Lines for each four rows, and each four columns of them."""
    fours = range(tile.fours)
    return [*(of_four.format(g=g) for g in fours), *(of_piece.format(g=g, p=p) for g in fours for p in tile.pieces)]


def _pieces(line: str, tile: Tile) -> list[str]:
    """A line for each four columns of each row i, number j of four rows g."""
    return [
        line.format(i=i, j=i % ROWS, g=i // ROWS, p=p, stored=f"y{i}.{p}" if tile is NARROW else f"d{i}.{p}")
        for i in range(tile.rows) for p in tile.pieces
    ]  # fmt: skip


def _text(is_checked: bool, tile: Tile) -> str:
    """The functions in LLVM's IR."""
    factors = [_A_FOUR.format(g=g) for g in range(tile.fours)] + [_B_EIGHT.format(e=e) for e in range(tile.eights)]
    text = _LOOPS.format(
        parameters=", ".join([*(f"ptr %{name}" for name in _POINTERS), *(f"i64 %{name}" for name in _NUMBERS)]),
        columns=COLUMNS, rows=ROWS, k_unroll=K_UNROLL, fours=tile.fours, eights=tile.eights, places="\n".join(_places(tile)),
        columns_at="\n".join(_columns(tile, _EIGHT, _AT)),
        loads="\n".join(_loads(tile)), exact_sums=f"  %exact.sums = alloca [{len(tile.both)} x {tile.single}]",
        starts=_each(_START, tile), sums=_each(_ACCUMULATOR_PHI, tile), factors="\n".join(factors),
        before=_each(_BEFORE, tile, last=K_UNROLL - 1), products="\n".join(_multiply_adds(tile)), checks=_checks(tile) if is_checked else "  br label %sure",
        adds="\n".join([_each(_ROUNDED_PHI, tile) if is_checked else _rounded("f", tile), _each(_ADD, tile)]),
        stores="\n".join(_stores(tile)),
    )  # fmt: skip
    return text + exact_dot_products_jit.exact_dot_ir(ROWS, tile.each, tile.lanes) if is_checked else text


def _places(tile: Tile) -> list[str]:
    """Lines that find the rows of a tile in the result, and ask for the next ones."""
    rows = [f"  %row.{j} = mul i64 %row, {j}" for j in range(ROWS)]
    fours = [_FOUR.format(g=g) for g in range(tile.fours)]
    firsts = [f"  %first.{i}.{i // ROWS} = add i64 %first.{i // ROWS}, %row.{i % ROWS}" for i in range(tile.rows)]
    ahead = [_NEXT.format(fours=tile.fours), *(_THEN.format(g=g) for g in range(1, tile.fours))]
    ahead += _fours(tile, _THEN_FOUR, _THEN_PIECE)
    return [*rows, *fours, *firsts, *ahead, *_pieces(_PLACE, tile)]


def _loads(tile: Tile) -> list[str]:
    """Lines that load the sums before, and ask for the next ones."""
    columns = _columns(tile, _OLD_EIGHT, _OLD_AT)
    fours = [_OLD_FOUR.format(g=g) for g in range(tile.fours)]
    arrays = [_OLD.format(g=g, p=p) for g in range(tile.fours) for p in tile.pieces]
    joins = (
        [] if tile is NARROW else [_JOIN.format(i=i, v=v, low=PIECES * v, high=PIECES * v + 1) for i, v in tile.both]
    )
    ahead = _fours(tile, _OLD_THEN, _PREFETCH_OLD)
    return [*columns, *fours, *arrays, *_pieces(_LOAD, tile), *joins, *ahead]


def _stores(tile: Tile) -> list[str]:
    """Lines that store a tile."""
    parts = [] if tile is NARROW else [
        _EXTRACT_PIECE.format(i=i, p=p, v=p // PIECES, single=tile.single, lanes_of=", ".join(f"i32 {p % PIECES * PIECE + n}" for n in range(PIECE)))
        for i in range(tile.rows) for p in tile.pieces
    ]  # fmt: skip
    return parts + _pieces(_STORE, tile)


def _checks(tile: Tile) -> str:
    """Lines that round sums which are exact, and leave for ``exact`` where a sum and its error may round to two numbers."""
    lines, shape = [], {"wide": tile.wide, "single": tile.single, "lanes": tile.lanes}
    for number, (i, v) in enumerate(tile.both):
        before = f"%some.{number - 1}" if number else "zeroinitializer"
        lines.append(_CHECK.format(i=i, v=v, last=K_UNROLL - 1, number=number, before=before, **shape))
    error = _ERROR.format(
        wide=tile.wide, lanes=tile.lanes, last_four=tile.fours - 1, last_eight=tile.eights - 1,
        ratios="\n".join([*_ratios("a", tile.fours), *_ratios("b", tile.eights)]), rounded=_rounded("g", tile),
    )  # fmt: skip
    calls = [
        _CALL_EXACT.format(g=g, e=e, place=_place_of(ROWS * g, tile.each * e, tile), single=tile.single)
        for g in range(tile.fours) for e in range(tile.eights)
    ]  # fmt: skip
    decide = _DECIDE.format(
        lanes=tile.lanes, last=len(tile.both) - 1, calls="\n".join(calls), loads=_each(_EXACT, tile)
    )
    return "\n".join([error, *lines, decide])


def _rounded(f: str, tile: Tile) -> str:
    """Lines that round the sums of a step."""
    return _each(_ROUND, tile, f=f, last=K_UNROLL - 1)


def _ratios(x: str, count: int) -> list[str]:
    """Lines that find the largest ratio of so many groups of a factor."""
    return [_RATIO.format(x=x, n=n, before=f"%{x}.most.{n - 1}" if n else "0.0") for n in range(count)]


def _multiply_adds(tile: Tile) -> list[str]:
    """The products of some columns of A and rows of B."""
    lines = [_A_DEPTH.format(g=g) for g in range(tile.fours)]
    lines += [_B_DEPTH.format(e=e) for e in range(tile.eights)]
    return lines + [_one_of_k(n, tile) for n in range(K_UNROLL)]


def _one_of_k(n: int, tile: Tile) -> str:
    """The products of column n of A and row n of B, of those."""
    shape = {"wide": tile.wide, "lanes": tile.lanes}
    lines = [
        _FACTOR_B.format(k=n, v=v, e=v // tile.each, at=COLUMNS * n + tile.lanes * (v % tile.each), **shape)
        for v in range(tile.vectors)
    ]
    for i in range(tile.rows):
        lines.append(_FACTOR_A.format(k=n, i=i, g=i // ROWS, at=ROWS * n + i % ROWS, **shape))
        for v in range(tile.vectors):
            before = f"%s{i}.{v}.{n - 1}" if n else f"%s{i}.{v}.before"
            lines.append(_MULTIPLY.format(i=i, v=v, k=n, before=before, **shape))
    return "\n".join(lines)

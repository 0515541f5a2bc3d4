"""Instructions that access memory: loads, stores, reductions, atomics, matrices, copies.

LLVM has no predicated load: its masked loads become branches, and each unpacking of halves costs an instruction. Its
atomicrmw drops ordering and scope. So each access is one inline assembly, which fills the destination, loads under the
predicate and unpacks registers (PTX ISA 9.0, section 9.7.9, data movement; 9.7.13, atomics).

Shared attributes of the rows: ``semantics`` and ``scope`` of an access that is not weak; ``space`` (``global``,
``shared``; by default the address is generic); ``path``, which is ``nc`` for memory that does not change; ``cache``, the
cache hint; ``offset``, bytes to add to the address.
Operations that MLIR lacks, or has in another form, have PTX's names. Templates are cached by shape.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache, partial

from ..op_definition import TableOp
from .intrinsic_or_inline_asm import (
    ALL,
    GLOBAL,
    NONE,
    READ,
    SHARED,
    WRITE,
    Address,
    Argument,
    Assembly,
    Intrinsic,
    bits_of,
    braced,
    define_instruction,
    int_attr,
    keyword_attr,
    result_registers,
)

TEXTS = 1024  # maximal number of shapes of one kind of access in a kernel


def _modifiers(op: TableOp) -> str:
    """``.relaxed.gpu.global``"""
    return "".join(
        f".{found}" for key in ("semantics", "scope", "space", "path", "cache") if (found := keyword_attr(op, key))
    )


def _address(operand: int, offset: int) -> str:
    return f"[${operand}{f'+{offset}' if offset > 0 else offset or ''}]"


def _guard(operand: int, masked: bool) -> str:
    return f"@${operand} " if masked else ""


def _tuple(names: Sequence[str]) -> str:
    """One register, or several as a vector."""
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"


def _vector(count: int) -> str:
    return "" if count == 1 else f".v{count}"


def _registers(bits: int, count: int) -> tuple[int, int]:
    """(bits of a word, words) of elements narrower than a word."""
    total = bits * count
    word_bits = min(total, 32)
    return word_bits, total // word_bits


# ---- loads -----------------------------------------------------------------------------------------------------------
def _load(op: TableOp) -> str:
    types = result_registers(op)
    opcode, masked = f"ld{_modifiers(op)}", op.predicate is not None
    return _load_text(opcode, "", bits_of(types[0]), len(types), int_attr(op, "offset"), masked, int_attr(op, "fill"))


@lru_cache(TEXTS)
def _load_text(opcode: str, type: str, bits: int, count: int, offset: int, masked: bool, fill: int) -> str:
    """``type``: the instruction's, of a word; by default untyped bits."""
    body = _subword_load if bits < 32 and count > 1 else _direct_load
    return body(opcode, type, bits, count, _address(count, offset), masked, fill & ((1 << bits) - 1))


def _direct_load(opcode: str, type: str, bits: int, count: int, place: str, masked: bool, fill: int) -> str:
    names = [f"${index}" for index in range(count)]
    fills = "".join(f"mov.b{max(bits, 16)} {name}, {fill:#x}; " for name in names) if masked else ""
    return f"{fills}{_guard(count + 1, masked)}{opcode}{_vector(count)}.{type or f'b{bits}'} {_tuple(names)}, {place};"


def _subword_load(opcode: str, type: str, bits: int, count: int, place: str, masked: bool, fill: int) -> str:
    word_bits, words = _registers(bits, count)
    names = [f"w{index}" for index in range(words)]
    packed_fill = sum(fill << (bits * index) for index in range(word_bits // bits))
    fills = "".join(f"mov.b{word_bits} {name}, {packed_fill:#x}; " for name in names) if masked else ""
    guard = _guard(count + 1, masked)
    body = f"{fills}{guard}{opcode}{_vector(words)}.{type or f'b{word_bits}'} {_tuple(names)}, {place}; "
    per_word = count // words
    for index, name in enumerate(names):
        body += _unpack(bits, word_bits, name, [f"${index * per_word + place}" for place in range(per_word)])
    return f"{{ .reg .b{word_bits} {', '.join(names)}; {body}}}"


def _unpack(bits: int, register_bits: int, register: str, targets: list[str]) -> str:
    if bits == 16:
        return f"mov.b32 {{{', '.join(targets)}}}, {register}; "
    wide = register if register_bits == 32 else f"{register}x"
    text = "" if register_bits == 32 else f".reg .b32 {wide}; cvt.u32.u16 {wide}, {register}; "
    for position, target in enumerate(targets):
        field = f"{register}b{position}"
        text += f".reg .b32 {field}; bfe.u32 {field}, {wide}, {8 * position}, 8; cvt.u16.u32 {target}, {field}; "
    return text


# ---- stores ----------------------------------------------------------------------------------------------------------
def _store(op: TableOp) -> str:
    values, masked = op.values, op.predicate is not None
    return _store_text(f"st{_modifiers(op)}", "", values[0].type.bitwidth, len(values), int_attr(op, "offset"), masked)


@lru_cache(TEXTS)
def _store_text(opcode: str, type: str, bits: int, count: int, offset: int, masked: bool) -> str:
    """``type``: the instruction's, of a word; by default untyped bits."""
    body = _subword_store if bits < 32 and count > 1 else _direct_store
    return body(f"{_guard(count + 1, masked)}{opcode}", type, bits, count, _address(0, offset))


def _direct_store(opcode: str, type: str, bits: int, count: int, place: str) -> str:
    names = [f"${index + 1}" for index in range(count)]
    return f"{opcode}{_vector(count)}.{type or f'b{bits}'} {place}, {_tuple(names)};"


def _subword_store(opcode: str, type: str, bits: int, count: int, place: str) -> str:
    word_bits, words = _registers(bits, count)
    per_word = count // words
    names = [f"w{index}" for index in range(words)]
    body = ""
    for index, name in enumerate(names):
        body += _pack(bits, word_bits, name, [f"${index * per_word + place + 1}" for place in range(per_word)])
    stored = f"{opcode}{_vector(words)}.{type or f'b{word_bits}'} {place}, {_tuple(names)}"
    return f"{{ .reg .b{word_bits} {', '.join(names)}; {body}{stored}; }}"


def _pack(bits: int, register_bits: int, register: str, sources: list[str]) -> str:
    if bits == 16:
        return f"mov.b32 {register}, {{{', '.join(sources)}}}; "
    wide = register if register_bits == 32 else f"{register}x"
    text = "" if register_bits == 32 else f".reg .b32 {wide}; "
    text += f"mov.b32 {wide}, 0; "
    for position, source in enumerate(sources):
        field = f"{register}b{position}"
        text += (
            f".reg .b32 {field}; cvt.u32.u16 {field}, {source}; bfi.b32 {wide}, {field}, {wide}, {8 * position}, 8; "
        )
    return text if register_bits == 32 else text + f"cvt.u16.u32 {register}, {wide}; "


# ---- reductions and atomics ------------------------------------------------------------------------------------------
# Operations by a compare-and-swap loop: the text computes ``new`` from ``old`` and $2. x * 1 + y is x + y, rounded
# once; fma of bf16 is available on more targets than add.
COMPUTED = {"add.bf16": ".reg .b16 one; mov.b16 one, 0x3F80; fma.rn.bf16 new, old, one, $2;"}


def _reduction(op: TableOp) -> str:
    """An atom without an old value has the destination ``_`` (PTX ISA 9.0, section 9.7.13.5)."""
    names = [f"${index + 1}" for index in range(len(op.values))]
    opcode = "atom" if "reads" in op.attributes else "red"
    place = f"{'_, ' if opcode == 'atom' else ''}{_address(0, int_attr(op, 'offset'))}"
    guard = _guard(len(names) + 1, op.predicate is not None)
    return f"{guard}{opcode}{_modifiers(op)}.{keyword_attr(op, 'operation')} {place}, {_tuple(names)};"


def _atom(op: TableOp) -> str:
    opcode, bits = f"atom{_modifiers(op)}.{keyword_attr(op, 'operation')}", bits_of(op.result_types[0])
    return _atom_text(opcode, bits, len(op.values), int_attr(op, "offset"), op.predicate is not None)


@lru_cache(TEXTS)
def _atom_text(opcode: str, bits: int, count: int, offset: int, masked: bool) -> str:
    operands = ", ".join(f"${index + 2}" for index in range(count))
    # A masked-out compare-and-swap returns the compared value.
    fill = f"mov.b{bits} $0, {'$2' if count == 2 else '0'}; " if masked else ""
    return f"{fill}{_guard(count + 2, masked)}{opcode} $0, {_address(1, offset)}, {operands};"


def _cas_loop(op: TableOp) -> str:
    """The loop of a compare-and-swap.

    Its first read is relaxed: a weak one would race with updates of other threads.
    """
    type, masked = f"b{bits_of(op.result_types[0])}", op.predicate is not None
    space = f".{found}" if (found := keyword_attr(op, "space")) else ""
    read = f"ld.relaxed.{keyword_attr(op, 'scope')}{space}.{type}"
    swap = f"atom{_modifiers(op)}.cas.{type}"
    return _cas_loop_text(type, read, swap, COMPUTED[keyword_attr(op, "operation")], int_attr(op, "offset"), masked)


@lru_cache(TEXTS)
def _cas_loop_text(type: str, read: str, swap: str, compute: str, offset: int, masked: bool) -> str:
    place = _address(1, offset)
    fill, leave = (f"mov.{type} $0, 0; ", "@!$3 bra DONE; ") if masked else ("", "")
    return (
        f"{fill}{{ .reg .pred lost; .reg .{type} old, new; {leave}{read} $0, {place}; "
        f"AGAIN: mov.{type} old, $0; {{ {compute} }} {swap} $0, {place}, old, new; "
        f"setp.ne.{type} lost, $0, old; @lost bra AGAIN; DONE: }}"
    )


# ---- all copies of a multicast object --------------------------------------------------------------------------------
def _multimem(op: TableOp, verb: str) -> str:
    """``multimem.red.relaxed.sys.global.add``; the operation of a store is empty."""
    reduction = keyword_attr(op, "operation")
    return f"multimem.{verb}{_modifiers(op)}{f'.{reduction}' if reduction else ''}"


def _multimem_load(op: TableOp) -> str:
    types, masked = result_registers(op), op.predicate is not None
    opcode, type, offset = _multimem(op, "ld_reduce"), keyword_attr(op, "word"), int_attr(op, "offset")
    return _load_text(opcode, type, bits_of(types[0]), len(types), offset, masked, int_attr(op, "fill"))


def _multimem_write(op: TableOp, verb: str) -> str:
    values, type, offset = op.values, keyword_attr(op, "word"), int_attr(op, "offset")
    bits = bits_of(values[0].type)
    return _store_text(_multimem(op, verb), type, bits, len(values), offset, op.predicate is not None)


# ---- matrices and copies ---------------------------------------------------------------------------------------------
def _matrices(op: TableOp, verb: str, words: int) -> str:
    transposed = ".trans" if "transposed" in op.attributes else ""
    return f"{verb}.sync.aligned.m8n8.x{words}{transposed}.shared.b16"


def _load_matrices(op: TableOp) -> str:
    transposed = ".trans" if "transposed" in op.attributes else ""
    return f"ldmatrix.sync.aligned.m8n8.x{len(result_registers(op))}{transposed}.b16.p3"


def _matrix_address(op: TableOp) -> list[Argument]:
    return [Address(op.address, int_attr(op, "offset"), SHARED)]


def _store_matrices(op: TableOp) -> str:
    words = len(op.values)
    return f"{_matrices(op, 'stmatrix', words)} [$0+{int_attr(op, 'offset')}], {braced(1, words)};"


def copy_name(op: TableOp) -> str:
    """The intrinsic of a copy without a predicate, with a byte count."""
    return f"cp.async.{'cg' if 'bypass' in op.attributes else 'ca'}.shared.global.{int_attr(op, 'size')}.s"


def _copy_operands(op: TableOp) -> list[Argument]:
    target = Address(op.target, int_attr(op, "offset"), SHARED)
    return [target, Address(op.source, int_attr(op, "source_offset"), GLOBAL), op.taken]


def _copy(op: TableOp) -> str:
    size, guard = int_attr(op, "size"), _guard(3, op.predicate is not None)
    cache = "cg" if "bypass" in op.attributes else "ca"
    target, source = f"[$0+{int_attr(op, 'offset')}]", f"[$1+{int_attr(op, 'source_offset')}]"
    return f"{guard}cp.async.{cache}.shared.global {target}, {source}, {size}, $2;"


# ---- the rows --------------------------------------------------------------------------------------------------------
LoadOp = define_instruction(
    "ld",
    "address predicate?",
    "value",
    "one element, or a struct of consecutive ones; those not loaded have the bits `fill`",
    Assembly(_load, READ, early_clobber=True),
)
StoreOp = define_instruction(
    "st", "address values* predicate?", "", "write consecutive elements", Assembly(_store, WRITE)
)
ReductionOp = define_instruction(
    "red",
    "address values* predicate?",
    "",
    "update one or consecutive elements in memory; `operation` is PTX's `.op.type`; it `reads` where a fence after it acquires",
    Assembly(_reduction, WRITE),
)
AtomOp = define_instruction(
    "atom",
    "address values* predicate?",
    "old",
    "update memory; the old value: zero where masked out, of a compare-and-swap the compared value",
    Assembly(_atom, ALL, early_clobber=True),
)
AtomLoopOp = define_instruction(
    "atom.loop",
    "address value predicate?",
    "old",
    "an update by a compare-and-swap loop: `operation` is one of COMPUTED",
    Assembly(_cas_loop, ALL, early_clobber=True),
)
MultimemLoadReduceOp = define_instruction(
    "multimem.ld_reduce",
    "address predicate?",
    "value",
    "reduce consecutive elements of all copies; those not loaded have the bits `fill`; `operation` and `word` are PTX's `.op` and `.type`",
    Assembly(_multimem_load, READ, early_clobber=True),
)
MultimemReductionOp = define_instruction(
    "multimem.red",
    "address values* predicate?",
    "",
    "update consecutive elements of all copies; `operation` and `word` as above",
    Assembly(partial(_multimem_write, verb="red"), WRITE),
)
MultimemStoreOp = define_instruction(
    "multimem.st",
    "address values* predicate?",
    "",
    "write consecutive elements of all copies; `word` is PTX's `.type`",
    Assembly(partial(_multimem_write, verb="st"), WRITE),
)
LoadMatrixOp = define_instruction(
    "ldmatrix.sync.aligned",
    "address",
    "words",
    "8x8 matrices of 16-bit elements from shared memory, one word of a thread for each",
    Intrinsic(_load_matrices, READ, convergent=True, arguments=_matrix_address),
)
StoreMatrixOp = define_instruction(
    "stmatrix.sync.aligned",
    "address values*",
    "",
    "8x8 matrices of 16-bit elements to shared memory, one word of a thread for each",
    Assembly(_store_matrices, WRITE, convergent=True),
)
CopyOp = define_instruction(
    "cp.async.shared.global.fill",
    "target source taken predicate?",
    "",
    "copy `size` bytes from global to shared memory; `taken` is how many of them to read (i32), or whether none (i1):"
    " the others become zero; 16 bytes may `bypass` the L1 cache",
    Assembly(_copy, WRITE),
)
COPY_WITH_SIZE = Intrinsic(copy_name, ALL, arguments=_copy_operands)
DynamicSharedSizeOp = define_instruction(
    "read.ptx.sreg.dynamic.smem.size",
    "",
    "res",
    "the bytes of dynamic shared memory",
    Assembly("mov.u32 $0, %dynamic_smem_size;", NONE),
)

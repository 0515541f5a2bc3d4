"""Instructions that move the elements of one access: loads, stores, reductions, atomics, matrices, copies.

LLVM has no predicated load, its masked loads become branches, and its packed halves cost an instruction each to take
apart. Its atomicrmw drops ordering and scope. So one access is one piece of assembly: it fills the destination, loads
under the predicate and takes words apart (PTX ISA 9.0, section 9.7.9, data movement; 9.7.13, atomics).

Attributes that the rows share: ``semantics`` and ``scope`` of an access that is not weak; ``space`` (``global``,
``shared``; without it the address is generic); ``cache``, what caches are told; ``offset``, the bytes between the address and the place. Operations that
are not in MLIR, or there in another form, have PTX's names. Texts are built once per shape and reused.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

from ..op_definition import TableOperation
from .instructions import (
    ALL,
    GLOBAL,
    NONE,
    READ,
    SHARED,
    WRITE,
    Argument,
    Assembly,
    Intrinsic,
    Place,
    bits_of,
    braced,
    instruction,
    number,
    result_registers,
    word,
)

TEXTS = 1024  # shapes of one kind of access that a kernel may have


def _modifiers(op: TableOperation) -> str:
    """``.relaxed.gpu.global``"""
    return "".join(f".{found}" for key in ("semantics", "scope", "space", "cache") if (found := word(op, key)))


def _place(operand: int, offset: int) -> str:
    return f"[${operand}{f'+{offset}' if offset > 0 else offset or ''}]"


def _guard(operand: int, masked: bool) -> str:
    return f"@${operand} " if masked else ""


def _tuple(names: Sequence[str]) -> str:
    """One register, or several as a vector."""
    return names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"


def _vector(count: int) -> str:
    return "" if count == 1 else f".v{count}"


def _words(bits: int, count: int) -> tuple[int, int]:
    """(bits of a word, words) of elements narrower than a word."""
    total = bits * count
    word_bits = min(total, 32)
    return word_bits, total // word_bits


# ---- loads -----------------------------------------------------------------------------------------------------------
def _load(op: TableOperation) -> str:
    types = result_registers(op)
    opcode, masked = f"ld{_modifiers(op)}", op.predicate is not None
    return _load_text(opcode, bits_of(types[0]), len(types), number(op, "offset"), masked, number(op, "fill"))


@lru_cache(TEXTS)
def _load_text(opcode: str, bits: int, count: int, offset: int, masked: bool, fill: int) -> str:
    body = _packed_load if bits < 32 and count > 1 else _direct_load
    return body(opcode, bits, count, _place(count, offset), masked, fill & ((1 << bits) - 1))


def _direct_load(opcode: str, bits: int, count: int, place: str, masked: bool, fill: int) -> str:
    names = [f"${index}" for index in range(count)]
    fills = "".join(f"mov.b{max(bits, 16)} {name}, {fill:#x}; " for name in names) if masked else ""
    return f"{fills}{_guard(count + 1, masked)}{opcode}{_vector(count)}.b{bits} {_tuple(names)}, {place};"


def _packed_load(opcode: str, bits: int, count: int, place: str, masked: bool, fill: int) -> str:
    word_bits, words = _words(bits, count)
    names = [f"w{index}" for index in range(words)]
    packed_fill = sum(fill << (bits * index) for index in range(word_bits // bits))
    fills = "".join(f"mov.b{word_bits} {name}, {packed_fill:#x}; " for name in names) if masked else ""
    guard = _guard(count + 1, masked)
    body = f"{fills}{guard}{opcode}{_vector(words)}.b{word_bits} {_tuple(names)}, {place}; "
    per_word = count // words
    for index, name in enumerate(names):
        body += _unpack(bits, word_bits, name, [f"${index * per_word + place}" for place in range(per_word)])
    return f"{{ .reg .b{word_bits} {', '.join(names)}; {body}}}"


def _unpack(bits: int, word_bits: int, word: str, targets: list[str]) -> str:
    if bits == 16:
        return f"mov.b32 {{{', '.join(targets)}}}, {word}; "
    wide = word if word_bits == 32 else f"{word}x"
    text = "" if word_bits == 32 else f".reg .b32 {wide}; cvt.u32.u16 {wide}, {word}; "
    for position, target in enumerate(targets):
        field = f"{word}b{position}"
        text += f".reg .b32 {field}; bfe.u32 {field}, {wide}, {8 * position}, 8; cvt.u16.u32 {target}, {field}; "
    return text


# ---- stores ----------------------------------------------------------------------------------------------------------
def _store(op: TableOperation) -> str:
    values, masked = op.values, op.predicate is not None
    return _store_text(f"st{_modifiers(op)}", values[0].type.bitwidth, len(values), number(op, "offset"), masked)


@lru_cache(TEXTS)
def _store_text(opcode: str, bits: int, count: int, offset: int, masked: bool) -> str:
    body = _packed_store if bits < 32 and count > 1 else _direct_store
    return body(f"{_guard(count + 1, masked)}{opcode}", bits, count, _place(0, offset))


def _direct_store(opcode: str, bits: int, count: int, place: str) -> str:
    names = [f"${index + 1}" for index in range(count)]
    return f"{opcode}{_vector(count)}.b{bits} {place}, {_tuple(names)};"


def _packed_store(opcode: str, bits: int, count: int, place: str) -> str:
    word_bits, words = _words(bits, count)
    per_word = count // words
    names = [f"w{index}" for index in range(words)]
    body = ""
    for index, name in enumerate(names):
        body += _pack(bits, word_bits, name, [f"${index * per_word + place + 1}" for place in range(per_word)])
    stored = f"{opcode}{_vector(words)}.b{word_bits} {place}, {_tuple(names)}"
    return f"{{ .reg .b{word_bits} {', '.join(names)}; {body}{stored}; }}"


def _pack(bits: int, word_bits: int, word: str, sources: list[str]) -> str:
    if bits == 16:
        return f"mov.b32 {word}, {{{', '.join(sources)}}}; "
    wide = word if word_bits == 32 else f"{word}x"
    text = "" if word_bits == 32 else f".reg .b32 {wide}; "
    text += f"mov.b32 {wide}, 0; "
    for position, source in enumerate(sources):
        field = f"{word}b{position}"
        text += (
            f".reg .b32 {field}; cvt.u32.u16 {field}, {source}; bfi.b32 {wide}, {field}, {wide}, {8 * position}, 8; "
        )
    return text if word_bits == 32 else text + f"cvt.u16.u32 {word}, {wide}; "


# ---- reductions and atomics ------------------------------------------------------------------------------------------
# What is computed by swapping the new value in as long as the old one is still there: it sets ``new`` from ``old`` and
# $2. x * 1 + y is x + y, rounded once; bf16 has had fma before it had add.
COMPUTED = {"add.bf16": ".reg .b16 one; mov.b16 one, 0x3F80; fma.rn.bf16 new, old, one, $2;"}


def _reduction(op: TableOperation) -> str:
    guard = _guard(2, op.predicate is not None)
    return f"{guard}red{_modifiers(op)}.{word(op, 'operation')} {_place(0, number(op, 'offset'))}, $1;"


def _atom(op: TableOperation) -> str:
    opcode, bits = f"atom{_modifiers(op)}.{word(op, 'operation')}", bits_of(op.result_types[0])
    return _atom_text(opcode, bits, len(op.values), number(op, "offset"), op.predicate is not None)


@lru_cache(TEXTS)
def _atom_text(opcode: str, bits: int, count: int, offset: int, masked: bool) -> str:
    operands = ", ".join(f"${index + 2}" for index in range(count))
    # A compare-and-swap that is masked out gives the value compared with.
    fill = f"mov.b{bits} $0, {'$2' if count == 2 else '0'}; " if masked else ""
    return f"{fill}{_guard(count + 2, masked)}{opcode} $0, {_place(1, offset)}, {operands};"


def _swap_loop(op: TableOperation) -> str:
    """The first read is relaxed too: a weak one would race with the updates of other threads."""
    type, masked = f"b{bits_of(op.result_types[0])}", op.predicate is not None
    space = f".{found}" if (found := word(op, "space")) else ""
    read = f"ld.relaxed.{word(op, 'scope')}{space}.{type}"
    swap = f"atom{_modifiers(op)}.cas.{type}"
    return _swap_loop_text(type, read, swap, COMPUTED[word(op, "operation")], number(op, "offset"), masked)


@lru_cache(TEXTS)
def _swap_loop_text(type: str, read: str, swap: str, compute: str, offset: int, masked: bool) -> str:
    place = _place(1, offset)
    fill, leave = (f"mov.{type} $0, 0; ", "@!$3 bra DONE; ") if masked else ("", "")
    return (
        f"{fill}{{ .reg .pred lost; .reg .{type} old, new; {leave}{read} $0, {place}; "
        f"AGAIN: mov.{type} old, $0; {{ {compute} }} {swap} $0, {place}, old, new; "
        f"setp.ne.{type} lost, $0, old; @lost bra AGAIN; DONE: }}"
    )


# ---- matrices and copies ---------------------------------------------------------------------------------------------
def _matrices(op: TableOperation, verb: str, words: int) -> str:
    transposed = ".trans" if "transposed" in op.attributes else ""
    return f"{verb}.sync.aligned.m8n8.x{words}{transposed}.shared.b16"


def _load_matrices(op: TableOperation) -> str:
    transposed = ".trans" if "transposed" in op.attributes else ""
    return f"ldmatrix.sync.aligned.m8n8.x{len(result_registers(op))}{transposed}.b16.p3"


def _place_of_matrices(op: TableOperation) -> list[Argument]:
    return [Place(op.address, number(op, "offset"), SHARED)]


def _store_matrices(op: TableOperation) -> str:
    words = len(op.values)
    return f"{_matrices(op, 'stmatrix', words)} [$0+{number(op, 'offset')}], {braced(1, words)};"


def copy_name(op: TableOperation) -> str:
    """The intrinsic of a copy that no predicate guards, and whose bytes are counted."""
    return f"cp.async.{'cg' if 'bypass' in op.attributes else 'ca'}.shared.global.{number(op, 'size')}.s"


def _ends_of_copy(op: TableOperation) -> list[Argument]:
    target = Place(op.target, number(op, "offset"), SHARED)
    return [target, Place(op.source, number(op, "source_offset"), GLOBAL), op.taken]


def _copy(op: TableOperation) -> str:
    size, guard = number(op, "size"), _guard(3, op.predicate is not None)
    cache = "cg" if "bypass" in op.attributes else "ca"
    target, source = f"[$0+{number(op, 'offset')}]", f"[$1+{number(op, 'source_offset')}]"
    return f"{guard}cp.async.{cache}.shared.global {target}, {source}, {size}, $2;"


# ---- the rows --------------------------------------------------------------------------------------------------------
LoadOp = instruction(
    "ld",
    "address predicate?",
    "value",
    "one element, or a struct of consecutive ones; those not loaded have the bits `fill`",
    Assembly(_load, READ, early=True),
)
StoreOp = instruction("st", "address values* predicate?", "", "write consecutive elements", Assembly(_store, WRITE))
ReductionOp = instruction(
    "red", "address value predicate?", "", "update memory; `operation` is PTX's `.op.type`", Assembly(_reduction, WRITE)
)
AtomOp = instruction(
    "atom",
    "address values* predicate?",
    "old",
    "update memory, and what was there before: zero where masked out, of a compare-and-swap the value compared with",
    Assembly(_atom, ALL, early=True),
)
AtomLoopOp = instruction(
    "atom.loop",
    "address value predicate?",
    "old",
    "an update that the GPU has no instruction for: `operation` is one of COMPUTED",
    Assembly(_swap_loop, ALL, early=True),
)
LoadMatrixOp = instruction(
    "ldmatrix.sync.aligned",
    "address",
    "words",
    "8x8 matrices of 16-bit elements from shared memory, one word of a thread for each",
    Intrinsic(_load_matrices, READ, convergent=True, arguments=_place_of_matrices),
)
StoreMatrixOp = instruction(
    "stmatrix.sync.aligned",
    "address values*",
    "",
    "8x8 matrices of 16-bit elements to shared memory, one word of a thread for each",
    Assembly(_store_matrices, WRITE, convergent=True),
)
CopyOp = instruction(
    "cp.async.shared.global.fill",
    "target source taken predicate?",
    "",
    "copy `size` bytes from global to shared memory; `taken` is how many of them to read (i32), or whether none (i1):"
    " the others become zero; 16 bytes may `bypass` the L1 cache",
    Assembly(_copy, WRITE),
)
COUNTED_COPY = Intrinsic(copy_name, ALL, arguments=_ends_of_copy)
DynamicSharedSizeOp = instruction(
    "read.ptx.sreg.dynamic.smem.size",
    "",
    "res",
    "the bytes of dynamic shared memory",
    Assembly("mov.u32 $0, %dynamic_smem_size;", NONE),
)

"""The inline assembly of one memory access: a vector of elements, optionally predicated.

LLVM has no predicated load, its masked loads become branches, and its packed halves cost an instruction each to take
apart. So one access is one piece of text: it fills the destination, loads under the predicate and takes words apart
(PTX ISA 9.0, section 9.7.9, data movement). Texts are built once per shape and reused.
"""

from __future__ import annotations

from functools import lru_cache

from ..shared.element_types import Element

# bits of a word -> PTX register type; an access moves words of at most 64 bits in vectors of at most 16 bytes.
VECTOR_BYTES = 16
CONSTRAINT = {"float": "f", "double": "d", "half": "h", "bfloat": "h", "i8": "h", "i16": "h", "i32": "r", "i64": "l"}


def register_type(element: Element) -> str:
    """The LLVM type that crosses the assembly's border: booleans travel as bytes, pointers as integers."""
    return {"i1": "i8", "ptr addrspace(1)": "i64"}.get(element.register, element.register)


@lru_cache(maxsize=1024)
def load_text(element: Element, count: int, masked: bool, fill: int, opcode: str, offset: int) -> tuple[str, str, str]:
    """(template, constraints, result type) of a load of ``count`` elements at the pointer operand plus ``offset`` bytes.

    Operands after the results: the pointer, then the predicate if ``masked``; elements not loaded are ``fill`` (bits).
    """
    type = register_type(element)
    address = f"[${count}{f'+{offset}' if offset > 0 else offset or ''}]"
    guard = f"@${count + 1} " if masked else ""
    body = _packed_load if element.bits < 32 and count > 1 else _direct_load
    template = body(element, count, masked, fill, opcode, address, guard)
    constraints = ",".join([f"=&{CONSTRAINT[type]}"] * count + ["l"] + (["b"] if masked else []))
    return template, constraints, type if count == 1 else "{" + ", ".join([type] * count) + "}"


def _direct_load(element: Element, count: int, masked: bool, fill: int, opcode: str, address: str, guard: str) -> str:
    width = max(element.bits, 16)
    fills = "".join(f"mov.b{width} ${i}, {fill:#x}; " for i in range(count)) if masked else ""
    names = "$0" if count == 1 else "{" + ", ".join(f"${i}" for i in range(count)) + "}"
    vector = "" if count == 1 else f".v{count}"
    return f"{fills}{guard}{opcode}{vector}.b{element.bits} {names}, {address};"


def _packed_load(element: Element, count: int, masked: bool, fill: int, opcode: str, address: str, guard: str) -> str:
    word_bits, words = _words(element, count)
    names = [f"w{i}" for i in range(words)]
    packed_fill = sum(fill << (element.bits * i) for i in range(word_bits // element.bits))
    fills = "".join(f"mov.b{word_bits} {name}, {packed_fill:#x}; " for name in names) if masked else ""
    loaded = names[0] if words == 1 else "{" + ", ".join(names) + "}"
    vector = "" if words == 1 else f".v{words}"
    body = f"{fills}{guard}{opcode}{vector}.b{word_bits} {loaded}, {address}; "
    per_word = count // words
    for i, name in enumerate(names):
        body += _unpack(element, word_bits, name, [f"${i * per_word + j}" for j in range(per_word)])
    return "{ .reg .b" + f"{word_bits} {', '.join(names)}; {body}}}"


def _words(element: Element, count: int) -> tuple[int, int]:
    total = element.bits * count
    word_bits = min(total, 32)
    return word_bits, total // word_bits


def _unpack(element: Element, word_bits: int, word: str, targets: list[str]) -> str:
    if element.bits == 16:
        return f"mov.b32 {{{', '.join(targets)}}}, {word}; "
    wide = word if word_bits == 32 else f"{word}x"
    head = "" if word_bits == 32 else f".reg .b32 {wide}; cvt.u32.u16 {wide}, {word}; "
    parts = ""
    for position, target in enumerate(targets):
        field = f"{word}b{position}"
        parts += f".reg .b32 {field}; bfe.u32 {field}, {wide}, {8 * position}, 8; cvt.u16.u32 {target}, {field}; "
    return head + parts


@lru_cache(maxsize=1024)
def store_text(element: Element, count: int, masked: bool, opcode: str, offset: int) -> tuple[str, str]:
    """(template, constraints) of a store. Operands: the pointer, the elements, the predicate if ``masked``."""
    address = f"[$0{f'+{offset}' if offset > 0 else offset or ''}]"
    guard = f"@${count + 1} " if masked else ""
    body = _packed_store if element.bits < 32 and count > 1 else _direct_store
    kind = CONSTRAINT[register_type(element)]
    constraints = ",".join(["l", *[kind] * count, *(["b"] if masked else []), "~{memory}"])
    return body(element, count, opcode, address, guard), constraints


def _direct_store(element: Element, count: int, opcode: str, address: str, guard: str) -> str:
    names = "$1" if count == 1 else "{" + ", ".join(f"${i + 1}" for i in range(count)) + "}"
    vector = "" if count == 1 else f".v{count}"
    return f"{guard}{opcode}{vector}.b{element.bits} {address}, {names};"


def _packed_store(element: Element, count: int, opcode: str, address: str, guard: str) -> str:
    word_bits, words = _words(element, count)
    per_word = count // words
    body = ""
    for i in range(words):
        sources = [f"${i * per_word + j + 1}" for j in range(per_word)]
        body += _pack(element, word_bits, f"w{i}", sources)
    names = [f"w{i}" for i in range(words)]
    stored = names[0] if words == 1 else "{" + ", ".join(names) + "}"
    vector = "" if words == 1 else f".v{words}"
    return (
        f"{{ .reg .b{word_bits} {', '.join(names)}; {body}{guard}{opcode}{vector}.b{word_bits} {address}, {stored}; }}"
    )


def _pack(element: Element, word_bits: int, word: str, sources: list[str]) -> str:
    if element.bits == 16:
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

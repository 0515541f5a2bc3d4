"""Writes LLVM IR text: names, blocks, folding of integer constants, reuse of equal pure values.

A value is a Python int (a known integer) or a string (an SSA name or a literal in LLVM's spelling). Text and not an
IR of objects, because the code of one thread has thousands of instructions: a line of text costs about a microsecond
and an operation object about twenty (benchmarks/emission_cost.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import contextmanager

Value = int | str

GLOBAL, SHARED, LOCAL, TENSOR, CLUSTER, PARAM = 1, 3, 5, 6, 7, 101

CONVERGENT = "#1"


class Builder:
    """Lines of one function body."""

    def __init__(self):
        self.lines: list[str] = []
        self.next_name = 0
        # Innermost last; the first scope is the prologue's, which dominates everything.
        self.known: list[dict[str, str]] = [{}, {}]
        self.block = "entry"
        self.globals: list[str] = []
        self.location = ""

    # ---- lines -----------------------------------------------------------------------------------
    def name(self) -> str:
        self.next_name += 1
        return f"%v{self.next_name}"

    def line(self, text: str) -> None:
        self.lines.append(f"  {text}{self.location}")

    def value(self, text: str) -> str:
        """A fresh value that is computed by ``text``."""
        self.next_name += 1
        name = f"%v{self.next_name}"
        self.lines.append(f"  {name} = {text}{self.location}")
        return name

    def pure(self, text: str) -> str:
        """A value computed by ``text``, reused where an equal one was computed before in an enclosing block."""
        for scope in self.known:
            if (known := scope.get(text)) is not None:
                return known
        name = self.value(text)
        self.known[-1][text] = name
        return name

    @contextmanager
    def scope(self):
        """Values computed inside are not reused outside: the code inside need not dominate what follows."""
        self.known.append({})
        yield
        self.known.pop()

    # ---- blocks ----------------------------------------------------------------------------------
    def label(self) -> str:
        self.next_name += 1
        return f"b{self.next_name}"

    def start(self, label: str) -> None:
        self.lines.append(f"{label}:")
        self.block = label

    def branch(self, label: str) -> None:
        self.line(f"br label %{label}")

    def branch_if(self, condition: Value, then: str, otherwise: str) -> None:
        self.line(f"br i1 {boolean(condition)}, label %{then}, label %{otherwise}")

    # ---- functions of registers -------------------------------------------------------------------
    def reserve(self) -> int:
        """A line to be written later (a phi whose inputs are not known yet); see ``fill``."""
        self.lines.append("")
        return len(self.lines) - 1

    def fill(self, position: int, text: str) -> None:
        self.lines[position] = f"  {text}"

    # ---- integers --------------------------------------------------------------------------------
    def add(self, a: Value, b: Value, type: str = "i32") -> Value:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        if a == 0:
            return b
        if b == 0:
            return a
        return self.pure(f"add {type} {a}, {b}") if isinstance(a, str) else self.pure(f"add {type} {b}, {a}")

    def sub(self, a: Value, b: Value, type: str = "i32") -> Value:
        if isinstance(a, int) and isinstance(b, int):
            return a - b
        return a if b == 0 else self.pure(f"sub {type} {a}, {b}")

    def mul(self, a: Value, b: Value, type: str = "i32") -> Value:
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if isinstance(a, int):
            a, b = b, a
        if b == 0 or b == 1:
            return a if b else 0
        return self.pure(f"mul {type} {a}, {b}")

    def and_(self, a: Value, b: Value, type: str = "i32") -> Value:
        if isinstance(a, int) and isinstance(b, int):
            return a & b
        return self.pure(f"and {type} {a}, {b}")

    def or_(self, a: Value, b: Value, type: str = "i32") -> Value:
        if a == 0 or b == 0:
            return b if a == 0 else a
        return self.pure(f"or {type} {a}, {b}")

    def xor(self, a: Value, b: Value, type: str = "i32") -> Value:
        if isinstance(a, int) and isinstance(b, int):
            return a ^ b
        if a == 0 or b == 0:
            return b if a == 0 else a
        return self.pure(f"xor {type} {a}, {b}")

    def shift(self, a: Value, amount: int, type: str = "i32") -> Value:
        """``a`` shifted left by ``amount`` (right, logically, where negative)."""
        if isinstance(a, int):
            return a << amount if amount >= 0 else a >> -amount
        if amount == 0:
            return a
        return self.pure(f"shl {type} {a}, {amount}" if amount > 0 else f"lshr {type} {a}, {-amount}")

    @contextmanager
    def when(self, condition: Value):
        """Code that runs only where a condition holds."""
        inside, done = self.label(), self.label()
        self.branch_if(condition, inside, done)
        self.start(inside)
        with self.scope():
            yield
            self.branch(done)
        self.start(done)

    def pointer(self, address: Value, space: int) -> str:
        """A 32-bit address as a pointer into an address space."""
        return self.pure(f"inttoptr i32 {address} to ptr addrspace({space})")

    def compare(self, predicate: str, a: Value, b: Value, type: str = "i32") -> Value:
        return self.pure(f"icmp {predicate} {type} {a}, {b}")

    def all_of(self, conditions: Sequence[Value]) -> Value | None:
        """The conjunction of conditions; None where there is none (always true)."""
        result = None
        for condition in conditions:
            if condition is not None:
                result = condition if result is None else self.pure(f"and i1 {result}, {condition}")
        return result

    def widen(self, a: Value) -> Value:
        """A signed 32-bit value as 64 bits."""
        return a if isinstance(a, int) else self.pure(f"sext i32 {a} to i64")

    def linear(self, source: Value, images: Sequence[int]) -> Value:
        """The linear map over F2 that takes bit i of ``source`` (i32) to ``images[i]``, as one i32.

        Runs of bits that move together become one mask and one shift.
        """
        result: Value = 0
        position = 0
        while position < len(images):
            if images[position] == 0:
                position += 1
                continue
            length = _run_length(images, position)
            result = self.xor(result, self._moved(source, position, length, images[position]))
            position += length
        return result

    def _moved(self, source: Value, position: int, length: int, image: int) -> Value:
        field = self.and_(source, ((1 << length) - 1) << position)
        if image & (image - 1) == 0:
            return self.shift(field, image.bit_length() - 1 - position)
        return self.mul(self.shift(field, -position), image)

    # ---- calls -----------------------------------------------------------------------------------
    def call(self, type: str, callee: str, arguments: str, attributes: str = "") -> str:
        return self.value(f"call {type} {callee}({arguments}) {attributes}".rstrip())

    def call_void(self, callee: str, arguments: str, attributes: str = "") -> None:
        self.line(f"call void {callee}({arguments}) {attributes}".rstrip())

    def unpack(self, struct_type: str, value: str, count: int) -> list[str]:
        return [self.value(f"extractvalue {struct_type} {value}, {index}") for index in range(count)]


def _run_length(images: Sequence[int], position: int) -> int:
    """How many bits from ``position`` on move by the same distance: image doubles with each."""
    first = images[position]
    if first & (first - 1):
        return 1  # several target bits: a multiplication by the image spreads one source bit
    length = 1
    while position + length < len(images) and images[position + length] == first << length:
        length += 1
    return length


def boolean(value: Value) -> str:
    """An i1 as LLVM spells it."""
    if isinstance(value, int):
        return "true" if value else "false"
    return value

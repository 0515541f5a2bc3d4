"""The cost of an emitted instruction by its representation: text, a record, or an xDSL operation.

    python benchmarks/emission_cost.py [--count 20000] [--repeat 5]

CPU microseconds for each of ``count`` additions, each of which reads the one before; the least of ``repeat`` runs, without
Python's collector, as a compilation runs.
"""

from __future__ import annotations

import argparse
import gc
import time
from collections.abc import Callable

from xdsl.dialects import llvm
from xdsl.dialects.builtin import i32
from xdsl.ir import Block

from tileiras_build.pipeline.tileas_to_ll.emission.instruction_builder import InstructionBuilder


class Record:
    """The least that a representation of our own would have."""

    __slots__ = ("attributes", "kind", "location", "operands", "type")

    def __init__(self, kind: str, operands: tuple, type: object):
        self.kind, self.operands, self.type = kind, operands, type
        self.attributes = self.location = None


def as_text(count: int) -> None:
    """Lines of LLVM IR."""
    lines, value = [], "%a"
    for number in range(count):
        lines.append(f"  %v{number} = add i32 {value}, %b")
        value = f"%v{number}"


def as_records(count: int) -> None:
    """Slotted objects in a list."""
    code: list[Record] = []
    value: object = "%a"
    for _ in range(count):
        value = Record("add", (value, "%b"), i32)
        code.append(value)


def by_builder(count: int) -> None:
    """Operations, as the emitters make them."""
    builder = InstructionBuilder()
    value, other = (builder.prologue.insert_arg(i32, position) for position in range(2))
    for _ in range(count):
        value = builder.value(llvm.AddOp, (value, other), i32)


def by_xdsl(count: int) -> None:
    """Operations, as xDSL makes them."""
    block = Block(arg_types=[i32, i32])
    value, other = block.args
    for _ in range(count):
        made = llvm.AddOp.create(operands=(value, other), result_types=(i32,))
        block.add_op(made)
        value = made.results[0]


FORMS: tuple[Callable[[int], None], ...] = (as_text, as_records, by_builder, by_xdsl)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=20000, help="instructions (default: 20000)")
    parser.add_argument("--repeat", type=int, default=5, help="the least of this many runs counts (default: 5)")
    options = parser.parse_args()
    gc.disable()
    for form in FORMS:
        seconds = min(_seconds(form, options.count) for _ in range(options.repeat))
        print(f"{form.__name__:12} {seconds / options.count * 1e6:6.2f} us  {form.__doc__}")


def _seconds(form: Callable[[int], None], count: int) -> float:
    start = time.process_time()
    form(count)
    taken = time.process_time() - start
    gc.collect()
    return taken


if __name__ == "__main__":
    main()

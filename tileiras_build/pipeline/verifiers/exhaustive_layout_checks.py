"""Verify layouts and conversion plans by enumeration: compare every register of every thread.

The verifier does not use the F2 linear algebra. A layout is only evaluated as ``apply(register, lane, warp)``, a shared
layout as ``element(offset)``. A plan is executed step by step, as the instructions that it describes, on a tile whose
elements are their own coordinates. Only the fields that code emission reads are used.

A violation raises ``InternalError`` with id ``layout-verifier`` that names the register and the thread.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from tileiras_build.core.errors import InternalError
from tileiras_build.ir.layouts import (
    LinearLayout,
    MatrixAccess,
    NoOp,
    Plan,
    RegisterPermutation,
    SharedAccess,
    SharedLayout,
    SharedRoundTrip,
    TileChunks,
    WarpShuffle,
)

LANES = 32
BANKS, BANK_BYTES = 32, 4

Coordinates = tuple[int, ...]
# (warp, lane) -> contents of the thread's registers
Threads = dict[tuple[int, int], list]


def fail(message: str) -> None:
    raise InternalError("layout-verifier", message, remedy="report this as a bug of the layout planner")


def distribute(layout: LinearLayout) -> Threads:
    """The registers of every thread for a tile with this layout whose elements are their own coordinates."""
    return {
        (warp, lane): [layout.apply(register, lane, warp) for register in range(layout.num_registers)]
        for warp in range(layout.num_warps)
        for lane in range(LANES)
    }


def verify_conversion(source: LinearLayout, target: LinearLayout, plan: Plan, warps: int | None = None) -> None:
    """Execute the plan on every thread and compare each target register."""
    threads = distribute(source)
    expected = distribute(target)
    if threads.keys() != expected.keys():
        fail(f"the layouts have {len(threads)} and {len(expected)} threads")
    result = EXECUTE[type(plan)](plan, threads, target.num_registers)
    compare(result, expected)


def compare(result: Threads, expected: Threads) -> None:
    for thread, registers in expected.items():
        for register, element in enumerate(registers):
            if result[thread][register] != element:
                warp, lane = thread
                held = result[thread][register]
                fail(f"register {register} of lane {lane} of warp {warp} holds element {held}, not {element}")


# One executor per kind of plan: (plan, registers of all threads, number of target registers) -> target registers.


def _run_noop(plan: NoOp, threads: Threads, count: int) -> Threads:
    return threads


def _run_permutation(plan: RegisterPermutation, threads: Threads, count: int) -> Threads:
    return {thread: [registers[number] for number in plan.registers] for thread, registers in threads.items()}


def _swap(values: list, swaps, lane: int, warp: int) -> list:
    for swap in swaps:
        if swap.applies(lane, warp):
            values = [values[number ^ swap.register_xor] for number in range(len(values))]
    return values


def _run_shuffle(plan: WarpShuffle, threads: Threads, count: int) -> Threads:
    sent = {}
    for (warp, lane), registers in threads.items():
        values = [tuple(registers[number] for number in value) for value in plan.source_values]
        sent[warp, lane] = _swap(values, plan.source_swaps, lane, warp)
    result = {}
    for warp, lane in threads:
        received = []
        for shuffle in plan.shuffles:
            source = plan.source_lane(lane, warp) ^ shuffle.lane_xor
            if plan.is_own_lane(shuffle) and source != lane:
                fail(f"lane {lane} skips a shuffle that reads lane {source}")
            if plan.is_butterfly and source != lane ^ shuffle.lane_xor:
                fail(f"lane {lane} reads lane {source}, which is no butterfly")
            received.append(sent[warp, source][shuffle.value])
        received = _swap(received, plan.result_swaps, lane, warp)
        result[warp, lane] = [received[value][element] for value, element in plan.result_registers]
    return result


class SharedMemory:
    """Bytes (or nibbles) with the last element written to each; reading an unwritten one is an error."""

    def __init__(self, size_bytes: int, element_bits: int):
        self.size, self.element_bits = size_bytes, element_bits
        self.cells: dict[int, object] = {}

    def units(self, address: int, count: int) -> list[int]:
        """Element indices at a byte address; checks alignment and bounds."""
        size = count * self.element_bits // 8
        if size == 0 or address % size or not 0 <= address <= self.size - size:
            fail(f"an access of {size} bytes at {address} in a scratch of {self.size} bytes")
        first = address * 8 // self.element_bits
        return list(range(first, first + count))

    def write(self, address: int, elements: list) -> None:
        for unit, element in zip(self.units(address, len(elements)), elements, strict=True):
            if self.cells.get(unit, element) != element:
                fail(f"two elements, {self.cells[unit]} and {element}, are stored at one place")
            self.cells[unit] = element

    def read(self, address: int, count: int) -> list:
        units = self.units(address, count)
        if missing := [unit for unit in units if unit not in self.cells]:
            fail(f"element {missing[0]} of the scratch is read but never written")
        return [self.cells[unit] for unit in units]


def _store_vectors(access: SharedAccess, threads: Threads, memory: SharedMemory) -> None:
    for (warp, lane), registers in threads.items():
        if access.is_holder(lane, warp):
            for number, vector in enumerate(access.vectors):
                memory.write(access.address(number, lane, warp), [registers[r] for r in vector.registers])


def _load_vectors(access: SharedAccess, threads: Threads, memory: SharedMemory) -> None:
    for (warp, lane), registers in threads.items():
        for number, vector in enumerate(access.vectors):
            loaded = memory.read(access.address(number, lane, warp), len(vector.registers))
            for register, element in zip(vector.registers, loaded):
                registers[register] = element


def _matrix_registers(access: MatrixAccess, instruction: int, warp: int):
    """(matrix index, lane, positions) of each 32-bit register, as the ISA distributes an 8x8 matrix of 16-bit units.

    A position is (byte address of the row, first element in the row, element count).
    """
    elements = 32 // access.element_bits
    for matrix in range(access.count):
        rows = [access.address(instruction, 8 * matrix + row, warp) for row in range(8)]
        for lane in range(LANES):
            if access.transposed:
                units = 16 // access.element_bits
                rows_and_elements = [(rows[2 * (lane % 4) + half], lane // 4 * units, units) for half in range(2)]
            else:
                rows_and_elements = [(rows[lane // 4], lane % 4 * elements, elements)]
            yield matrix, lane, rows_and_elements


def _run_matrices(access: MatrixAccess, threads: Threads, memory: SharedMemory, load: bool) -> None:
    row_elements = 16 * 8 // access.element_bits
    for warp in {warp for warp, _ in threads}:
        if not load and warp & access.free_warps:
            continue
        for number, instruction in enumerate(access.instructions):
            for matrix, lane, rows_and_elements in _matrix_registers(access, number, warp):
                exchanged = lane & access.swapped_lanes != 0
                names, word = instruction.registers[matrix ^ exchanged], []
                for address, first, count in rows_and_elements:
                    units = memory.units(address, row_elements)[first : first + count]
                    word += units
                registers = threads[warp, lane]
                if len(word) != len(names):
                    fail(f"{len(names)} registers for a word of {len(word)} elements")
                for name, unit in zip(names, word):
                    if load:
                        registers[name] = memory.cells[unit]
                    else:
                        memory.cells[unit] = registers[name]


def store(access: SharedAccess | MatrixAccess, threads: Threads, memory: SharedMemory) -> None:
    """Execute all stores of all threads."""
    if isinstance(access, SharedAccess):
        _store_vectors(access, threads, memory)
    else:
        _run_matrices(access, threads, memory, load=False)


def load(access: SharedAccess | MatrixAccess, threads: Threads, memory: SharedMemory) -> None:
    """Execute all loads of all threads, into their canonical registers."""
    if isinstance(access, SharedAccess):
        _load_vectors(access, threads, memory)
    else:
        _run_matrices(access, threads, memory, load=True)


def _run_round_trip(plan: SharedRoundTrip, threads: Threads, count: int) -> Threads:
    loaded = {thread: [None] * count for thread in threads}
    for trip in plan.passes:
        memory = SharedMemory(plan.scratch_bytes, plan.shared.element_bits)
        store(trip.store, threads, memory)
        load(trip.load, loaded, memory)
    return {thread: [registers[number] for number in plan.register_source] for thread, registers in loaded.items()}


EXECUTE: dict[type, Callable[..., Threads]] = {
    NoOp: _run_noop,
    RegisterPermutation: _run_permutation,
    WarpShuffle: _run_shuffle,
    SharedRoundTrip: _run_round_trip,
}


# Placements and accesses


def verify_shared_layout(shared: SharedLayout) -> None:
    """Every element has one offset, and ``size_bytes`` holds them."""
    count = 1
    for size in shared.shape:
        count *= size
    if len({shared.element(offset) for offset in range(count)}) != count:
        fail(f"{shared} puts two elements at one place")
    if shared.size_bytes * 8 < count * shared.element_bits:
        fail(f"{shared} does not fit its {shared.size_bytes} bytes")


def verify_access(layout: LinearLayout, shared: SharedLayout, access: SharedAccess | MatrixAccess) -> None:
    """Loads from a shared layout of coordinates must produce the layout; stores of the layout must fill the shared
    layout.
    """
    verify_shared_layout(shared)
    count = shared.size_bytes * 8 // shared.element_bits
    full = SharedMemory(shared.size_bytes, shared.element_bits)
    full.cells = {offset: shared.element(offset) for offset in range(count)}
    expected = distribute(layout)
    loaded = {thread: [None] * layout.num_registers for thread in expected}
    load(access, loaded, full)
    compare({thread: [held[r] for r in access.register_source] for thread, held in loaded.items()}, expected)
    stored = SharedMemory(shared.size_bytes, shared.element_bits)
    store(access, expected, stored)
    held = {element for registers in expected.values() for element in registers}
    if stored.cells != {offset: element for offset, element in full.cells.items() if element in held}:
        fail("the stores do not fill the placement")


def verify_chunks(layout: LinearLayout, shared: SharedLayout, chunks: TileChunks) -> None:
    """Stores of each chunk must fill a region of its own with the tile's elements at the chunk's offsets."""
    size = shared.size_bytes // len(chunks.copies)
    regions = [SharedMemory(size, shared.element_bits) for _ in chunks.copies]
    threads = distribute(layout)
    for move, region in zip(chunks.copies, regions):
        store(move, threads, region)
    for offset in range(shared.size):
        part, inside = chunks.chunk_and_offset(offset)
        if regions[part].cells.pop(inside, None) != shared.element(offset):
            fail(f"element {shared.element(offset)} is not at offset {inside} of part {part}")
    if any(region.cells for region in regions):
        fail("a part holds more than its elements")


def count_conflicts(access: SharedAccess | MatrixAccess, warp: int = 0) -> int:
    """The maximal wavefronts of any phase of any instruction of a warp, from the words that each bank serves."""
    if isinstance(access, MatrixAccess):
        size, instructions = 16, len(access.instructions)
        groups = [range(8 * matrix, 8 * matrix + 8) for matrix in range(access.count)]
    else:
        size, instructions = access.access_bytes, len(access.vectors)
        lanes = LANES * BANK_BYTES // max(BANK_BYTES, size)
        groups = [range(first, first + lanes) for first in range(0, LANES, lanes)]
    starts = range(0, size, BANK_BYTES)
    return max(
        _wavefronts(access.address(number, lane, warp) + start for lane in group for start in starts)
        for number in range(instructions)
        for group in groups
    )


def _wavefronts(addresses: Iterable[int]) -> int:
    banks: dict[int, set[int]] = {}
    for address in addresses:
        word = address // BANK_BYTES
        banks.setdefault(word % BANKS, set()).add(word)
    return max(len(words) for words in banks.values())

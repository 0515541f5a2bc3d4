"""Compare the results of compiled code with the interpreter on the same inputs.

The interpreter runs several times under different choices (``randomize_unspecified_values.py``). Elements that depend on unspecified values
are not compared. The tolerance of another element is a multiple of its largest change when all inexact operations were
perturbed within their errors, plus units in the last place of its type. An element that never changed must be bit-identical,
except for NaNs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute

from .derive_inputs import Buffer, Inputs, restore
from .element_types import FORMATS, from_bit_patterns, is_integer, storage_bits, to_float64, unsigned_dtype
from .mapped_memory import Memory
from .randomize_unspecified_values import Choice
from .tile_block_interpreter import launch, tile_block_ids

TOLERANCE_FACTOR = 6.0  # tolerance over the largest change of the perturbed runs
UNSPECIFIED_RUNS = 3
RANDOM_RUNS = 3
INEXACT_RUNS = 12  # additional runs before a mismatch is reported
OPERATION_LIMIT = 400_000  # operations of one run; a kernel that waits for another block does not terminate
MIN_BLOCK_LIMIT, BLOCKS_PER_STEP = (
    1_000_000,
    50,
)  # basic blocks that compiled code may execute, at least and per interpreter operation


@dataclass(frozen=True)
class Mismatch:
    """The first wrong element of one buffer."""

    parameter: int
    count: int
    of: int
    index: int
    expected: float
    actual: float
    tolerance: float

    def __str__(self) -> str:
        return (
            f"parameter {self.parameter}: {self.count} of {self.of} elements differ; first at index {self.index}: "
            f"expected {self.expected!r} ± {self.tolerance:.3g}, got {self.actual!r}"
        )


class ExpectedMemory:
    """The interpreter's results in memory, with the tolerance of each element."""

    def __init__(
        self, module: ModuleOp, entry: str, inputs: Inputs, seed: int = 0, limit: int | None = OPERATION_LIMIT
    ):
        self.module, self.entry, self.inputs, self.seed, self.limit = module, entry, inputs, seed, limit
        self.steps = 0  # operations of the longest run
        plain = Choice(trusting=True)
        self.exact = self._run(plain)
        self.inexact = plain.inexact
        self.open = [np.zeros(words.shape, bool) for words in self.exact]
        self.find_unspecified(UNSPECIFIED_RUNS if plain.was_filled else 1)
        self.perturbed = [self._run(Choice(trusting=True), backward=True)] if np.prod(inputs.grid) > 1 else []
        self.add_random_runs(RANDOM_RUNS if self.inexact else 0)

    def find_unspecified(self, count: int) -> None:
        """Run ``count`` times with other unspecified values; elements that change are unspecified."""
        for number in range(count):
            unspecified = np.random.default_rng([self.seed, number])
            other = self._run(Choice(unspecified, first_wins=number % 2 == 0, overflows=number == 0, trusting=True))
            for is_unspecified, first, second in zip(self.open, self.exact, other):
                is_unspecified |= ~_same(first, second)

    def add_random_runs(self, count: int) -> None:
        """Run ``count`` more times with perturbed inexact results."""
        for _ in range(count):
            choice = Choice(random=np.random.default_rng([self.seed, len(self.perturbed)]), trusting=True)
            self.perturbed.append(self._run(choice))

    def _run(self, choice: Choice, backward: bool = False) -> list[np.ndarray]:
        memory = Memory()
        for buffer in self.inputs.buffers:
            buffer.map_into(memory)
        order = reversed(list(tile_block_ids(self.inputs.grid))) if backward else None
        try:
            steps = launch(
                self.module,
                self.entry,
                self.inputs.grid,
                self.inputs.params,
                memory=memory,
                order=order,
                choice=choice,
                output=lambda text: None,
                limit=self.limit,
            )
            self.steps = max(self.steps, steps)
            return [elements(buffer) for buffer in self.inputs.buffers]
        finally:
            restore(self.inputs.buffers)

    def compare(self, actual: Sequence[np.ndarray]) -> list[Mismatch]:
        """The mismatches of each buffer with the compiled code's results (``elements`` of each buffer)."""
        found = self._wrong(actual)
        if found and any(is_unspecified.any() for is_unspecified in self.open):
            self.find_unspecified(INEXACT_RUNS)
            found = self._wrong(actual)
        if found and self.inexact and len(self.perturbed) < INEXACT_RUNS:
            self.add_random_runs(INEXACT_RUNS)
            found = self._wrong(actual)
        return found

    def _wrong(self, actual: Sequence[np.ndarray]) -> list[Mismatch]:
        found = (self._compare(number, values) for number, values in enumerate(actual))
        return [mismatch for mismatch in found if mismatch is not None]

    def share(self, actual: Sequence[np.ndarray]) -> float:
        """The largest difference divided by its tolerance, of matching elements; 0 if all are equal."""
        return max((self._share(number, values) for number, values in enumerate(actual)), default=0.0)

    def _share(self, number: int, actual: np.ndarray) -> float:
        buffer, expected = self.inputs.buffers[number], self.exact[number]
        differ = ~(_same(expected, actual) | self.open[number])
        if not differ.any() or storage_bits(buffer.element_type) < 8:
            return 0.0
        tolerance, free = self._tolerance(number, buffer.element_type)
        one, two = (_values(words, buffer.element_type).astype(np.float64) for words in (expected, actual))
        with np.errstate(all="ignore"):
            shares = np.abs(one - two) / tolerance
        return float(np.max(shares[differ & ~free & np.isfinite(shares)], initial=0.0))

    def _compare(self, number: int, actual: np.ndarray) -> Mismatch | None:
        buffer, expected = self.inputs.buffers[number], self.exact[number]
        right = _same(expected, actual) | self.open[number]
        tolerance = np.zeros(expected.shape)
        if not right.all():
            tolerance, free = self._tolerance(number, buffer.element_type)
            right |= free | _close(expected, actual, tolerance, buffer.element_type, self.inexact)
        if right.all():
            return None
        index = int(np.flatnonzero(~right)[0])
        wanted, found = (
            _values(words[index : index + 1], buffer.element_type)[0].item() for words in (expected, actual)
        )
        count = int((~right).sum())
        return Mismatch(buffer.parameter, count, right.size, index, wanted, found, float(tolerance[index]))

    def _tolerance(self, number: int, element_type: Attribute) -> tuple[np.ndarray, np.ndarray]:
        """The tolerance of each element, and which elements are unconstrained."""
        expected = _values(self.exact[number], element_type)
        spread, free = np.zeros(expected.shape), np.zeros(expected.shape, bool)
        for words in self.perturbed:
            values = _values(words[number], element_type)
            with np.errstate(all="ignore"):
                distance = np.abs(values.astype(np.float64) - expected.astype(np.float64))
            changed = ~_same(words[number], self.exact[number])
            free |= changed & ~np.isfinite(distance)
            spread = np.maximum(spread, np.where(changed & np.isfinite(distance), distance, 0))
        if is_integer(element_type):
            return TOLERANCE_FACTOR * spread, free
        form = FORMATS[element_type]
        unit = np.maximum(np.abs(expected) * form.epsilon, form.tiny)
        allowed = np.where(spread > 0, TOLERANCE_FACTOR * spread + 2 * unit, 0)
        return np.nan_to_num(allowed, nan=0, posinf=0), free


def elements(buffer: Buffer) -> np.ndarray:
    """A copy of a buffer's elements as words; 4-bit elements stay packed in pairs."""
    return buffer.bytes.copy().view(unsigned_dtype(max(storage_bits(buffer.element_type) // 8, 1)))


def _values(words: np.ndarray, element_type: Attribute) -> np.ndarray:
    if storage_bits(element_type) < 8:
        return words
    values = from_bit_patterns(words, element_type)
    return values if is_integer(element_type) else to_float64(values, element_type)


def _same(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    return np.asarray(first == second)


def _close(expected, actual, tolerance, element_type: Attribute, inexact: bool) -> np.ndarray:
    if storage_bits(element_type) < 8:
        return np.zeros(expected.shape, bool)
    one, two = _values(expected, element_type), _values(actual, element_type)
    if is_integer(element_type):
        return np.abs(one.astype(np.float64) - two.astype(np.float64)) <= tolerance
    with np.errstate(all="ignore"):
        near = (np.abs(one - two) <= tolerance) & (tolerance > 0)
    return near | (np.isnan(one) & np.isnan(two)) | ((one == two) & inexact)


def run_compiled(inputs: Inputs, run: Callable[[], None]) -> list[np.ndarray]:
    """The elements of every buffer after ``run``; the buffers are restored."""
    try:
        run()
        return [elements(buffer) for buffer in inputs.buffers]
    finally:
        restore(inputs.buffers)


def block_limit(steps: int) -> int:
    """The limit of basic blocks for compiled code, if the interpreter executes ``steps`` operations.

    The emulator executes a basic block for all threads at it, of many CTAs at once.
    """
    return max(MIN_BLOCK_LIMIT, BLOCKS_PER_STEP * steps)


def run_in_emulator(
    artifacts, entry: str, inputs: Inputs, findings: dict[str, str] | None = None, steps: int = OPERATION_LIMIT
) -> list[np.ndarray]:
    """Run compiled code in the emulator on the inputs' own memory; see ``run_compiled``, ``emulator.launch``.

    ``steps``: operations that the interpreter executed; code that takes far more fails (``block_limit``).
    """
    from .. import emulator

    memory = emulator.Memory()
    for buffer in inputs.buffers:
        buffer.map_into(memory)
    return run_compiled(
        inputs,
        lambda: emulator.launch(
            artifacts,
            entry,
            inputs.grid,
            inputs.params,
            memory=memory,
            findings=findings,
            block_limit=block_limit(steps),
        ),
    )

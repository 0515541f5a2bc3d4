"""The roofline picture of an estimate: work per second over work per byte of DRAM, on logarithmic axes.

Work is what the tensor pipe multiplies and adds (two operations each), or the warp instructions of a kernel without MMA: Williams,
Waterman, Patterson, "Roofline", CACM 52(4), 2009; Ding, Williams, "An Instruction Roofline Model for GPUs", PMBS 2019.
DRAM and L2 are slopes, pipes are ceilings. Lengths are those of the picture's view box.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import atan2, ceil, degrees, floor, log10

from ..simulate.estimate.estimate_kernel import KernelEstimate

WIDTH, HEIGHT = 560, 300
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 12, 24, 42
_TENSOR, _ISSUE, _MEMORIES = "tensor pipe", "issue slots", ("DRAM", "L2")
_MOST_TICKS = 8  # on an axis
_MARGIN = 0.4  # decades, at least, beside what is drawn


@dataclass(frozen=True)
class Tick:
    """A line of the grid, and its label."""

    at: float
    label: str


@dataclass(frozen=True)
class Roof:
    """A line from the left to the right, and the place and angle of its label."""

    label: str
    points: str
    x: float
    y: float
    angle: float
    anchor: str


@dataclass(frozen=True)
class RooflineView:
    """The picture: ``dot`` is the kernel, ``roof`` what its work per byte allows; ``text`` says both in words."""

    x_title: str
    y_title: str
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    roofs: list[Roof]
    dot: tuple[float, float]
    roof: tuple[float, float]
    text: str
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    top: int = _TOP
    bottom: int = HEIGHT - _BOTTOM


@dataclass(frozen=True)
class _Axis:
    """Decades ``first`` to ``last`` between two places of the picture."""

    first: int
    last: int
    start: float
    end: float

    def at(self, value: float) -> float:
        return self.start + (log10(value) - self.first) / (self.last - self.first) * (self.end - self.start)

    @property
    def decade(self) -> float:
        """The length of a decade; negative where values grow upwards."""
        return (self.end - self.start) / (self.last - self.first)

    def ticks(self) -> list[Tick]:
        step = ceil((self.last - self.first + 1) / _MOST_TICKS)
        powers = range(self.first, self.last + 1, step)
        return [Tick(round(self.at(10.0**power), 1), f"{10.0**power:g}") for power in powers]


def view_roofline(found: KernelEstimate) -> RooflineView | None:
    """The picture; None for a launch without DRAM traffic or without work."""
    is_tensor = found.multiply_adds > 0 and _TENSOR in found.peaks
    work = 2 * found.multiply_adds if is_tensor else found.instructions
    if not work or not found.dram_bytes or "DRAM" not in found.peaks:
        return None
    unit, per_byte, scale = ("TFLOP/s", "FLOP", 1e-6) if is_tensor else ("Ginstr/s", "warp instructions", 1e-3)
    speed = lambda clocks: (
        work / clocks * found.clock_mhz * scale
    )  # of work in so many clocks; work in a microsecond is 1e6 in a second
    intensity, reached = work / found.dram_bytes, work / found.microseconds * scale
    roofs = {name: speed(clocks) for name, clocks in found.peaks.items()}
    lowest = min(roofs, key=lambda name: roofs[name])
    shown = _shown(roofs, _TENSOR if is_tensor else _ISSUE)
    peak = max(value for name, value in shown.items() if name not in _MEMORIES)
    ridge = intensity * peak / roofs["DRAM"]
    x = _Axis(*_decades(min(intensity, ridge), max(intensity, ridge)), _LEFT, WIDTH - _RIGHT)
    y = _Axis(*_decades(min(reached, *roofs.values()), max(peak, reached)), HEIGHT - _BOTTOM, _TOP)
    return RooflineView(
        f"{per_byte} per byte of DRAM",
        unit,
        x.ticks(),
        y.ticks(),
        [_roof(name, value, intensity, peak, unit, x, y) for name, value in shown.items()],
        (x.at(intensity), y.at(reached)),
        (x.at(intensity), y.at(roofs[lowest])),
        f"Roofline: at {_shown_rate(intensity)} {per_byte} per byte of DRAM, the roof is {lowest} ({_shown_rate(roofs[lowest])} {unit}); "
        f"this launch reaches {_shown_rate(reached)} ({reached / roofs[lowest]:.1%}).",
    )


def _shown(roofs: dict[str, float], main: str) -> dict[str, float]:
    """DRAM, L2, the peak, and the lowest other pipe if it is lower than the peak."""
    pipes = {name: value for name, value in roofs.items() if name not in _MEMORIES}
    names = [name for name in (*_MEMORIES, main) if name in roofs]
    other = min(pipes, key=lambda name: pipes[name], default=main)
    return {name: roofs[name] for name in dict.fromkeys([*names, other])}


def _shown_rate(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def _decades(low: float, high: float) -> tuple[int, int]:
    return floor(log10(low) - _MARGIN), ceil(log10(high) + _MARGIN)


def _roof(name: str, value: float, intensity: float, peak: float, unit: str, x: _Axis, y: _Axis) -> Roof:
    """A slope through ``value`` at the kernel's intensity up to the peak, or a ceiling."""
    if name not in _MEMORIES:
        at = round(y.at(value), 1)
        below = 14 if value < peak else -5
        return Roof(
            f"{name} {_shown_rate(value)} {unit}", f"{x.start},{at} {x.end},{at}", x.end, at + below, 0.0, "end"
        )
    (first, low), (last, high) = _slope(value / intensity, peak, x, y)
    angle = degrees(atan2(y.decade, x.decade))
    middle = (first + last) / 2, (low + high) / 2
    below = 15 if name == "DRAM" else -6
    return Roof(
        name, f"{first:.1f},{low:.1f} {last:.1f},{high:.1f}", middle[0], middle[1] + below, angle, "middle"
    )  # fmt: skip


def _slope(bandwidth: float, peak: float, x: _Axis, y: _Axis) -> Iterator[tuple[float, float]]:
    """Both ends of the part of a slope that is in the picture: from the left or lower edge to the peak or the right edge."""
    start = max(10.0**x.first, 10.0**y.first / bandwidth)
    end = min(10.0**x.last, peak / bandwidth)
    yield from ((x.at(one), y.at(one * bandwidth)) for one in (start, end))

"""Handwritten SASS in the format of nvdisasm, and launches for tests."""

from __future__ import annotations

from collections.abc import Sequence

from tileiras_build.simulate.estimate.constant_bank_values import Argument, Constants, GlobalBuffer, Launch
from tileiras_build.simulate.estimate.sass_parser import MachineCode, read_machine_code
from tileiras_build.simulate.estimate.trace_warps import Tracer, WarpTrace
from tileiras_build.target.gpu_rates import BankLayout

LAYOUT = BankLayout(0x0, 0xC, 0x198, 0x210, 0x28)
PARAMETER = "c[0x0][{:#x}]"


# How ptxas tells an instruction that a scoreboard is set when its result is there, and to wait for one, before its text.
_SETS, _WAITS = "sets 0: ", "waits 0: "


def code(*lines: str) -> MachineCode:
    """A kernel; a line that ends in a colon is a label. Every instruction lets the next one follow a clock later."""
    rows, address = ["\t.section\t.text.k,\"ax\",@progbits"], 0
    for line in lines:
        if line.endswith(":"):
            rows.append(line)
            continue
        sets, waits = line.startswith(_SETS), line.startswith(_WAITS)
        text = line.removeprefix(_SETS).removeprefix(_WAITS)
        rows.append(f"        /*{address:04x}*/                   {text} ;   /* 0x0000000000000000 */")
        word = 1 << 41 | (0 if sets else 7) << 46 | 7 << 49 | waits << 52
        rows.append(f"                                            /* {word:#018x} */")
        address += 16
    return read_machine_code("\n".join(rows))["k"]


def launch(
    values: Sequence[GlobalBuffer | int | float | None] = (), *, grid=(1, 1, 1), block=(32, 1, 1), **more
) -> Launch:
    """Parameters of 8 bytes each."""
    return Launch(grid, block, tuple(Argument(8 * n, 8, value) for n, value in enumerate(values)), **more)


def parameter(number: int) -> str:
    """The constant that holds a parameter's low word."""
    return PARAMETER.format(0x210 + 8 * number)


def trace(lines: Sequence[str], values=(), *, warp: int = 0, place=(0, 0, 0), trips=None, **more) -> WarpTrace:
    """The path of a warp."""
    words = launch(values, **more)
    return Tracer(code(*lines), words, Constants.of(words, LAYOUT, {}), trips).warp(place, warp)

"""Clocks, temperature and power of a GPU under load, from NVML, which is part of the driver.

Functions and enumerators are those of ``nvml.h`` (NVML API reference, "Device Queries").
"""

from __future__ import annotations

import ctypes
import statistics

LIBRARY = "libnvidia-ml.so.1"
SM_CLOCK = "SM MHz"
# Column -> function, its arguments between device and result, and what divides the result.
QUERIES = {
    SM_CLOCK: ("nvmlDeviceGetClockInfo", (1,), 1), "memory MHz": ("nvmlDeviceGetClockInfo", (2,), 1),
    "degrees": ("nvmlDeviceGetTemperature", (0,), 1), "watts": ("nvmlDeviceGetPowerUsage", (), 1000),
}  # fmt: skip


class Clocks:
    """What ``note`` has seen of the GPU at a PCI bus address; nothing where there is no NVML, or it refuses."""

    def __init__(self, bus: str):
        self._seen: dict[str, list[float]] = {name: [] for name in QUERIES}
        self._device = ctypes.c_void_p()
        try:
            self._library = ctypes.CDLL(LIBRARY)
            find = self._library.nvmlDeviceGetHandleByPciBusId_v2
            self._there = not self._library.nvmlInit_v2() and not find(bus.encode(), ctypes.byref(self._device))
        except (OSError, AttributeError):
            self._there = False

    def note(self) -> None:
        """Look once."""
        for name, (function, arguments, divisor) in QUERIES.items() if self._there else ():
            value, query = ctypes.c_uint(), getattr(self._library, function, None)
            if query and not query(self._device, *arguments, ctypes.byref(value)):
                self._seen[name].append(value.value / divisor)

    def spans(self) -> dict[str, list[float]]:
        """Least, median and greatest of each column that there is."""
        return {name: [min(seen), statistics.median(seen), max(seen)] for name, seen in self._seen.items() if seen}

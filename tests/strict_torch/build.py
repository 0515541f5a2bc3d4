"""Builds what PyTorch needs on the strict driver, and gives the environment of programs on it."""

from __future__ import annotations

import os
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.compiled_once import once
from tests.launch.runtime.fake_libcuda import compiler, cuda_include, run
from tests.strict_driver import server
from tests.strict_torch.process import LIBRARY, VARIABLE, Gpu
from tileiras_build.target.targets import find_target

HERE = Path(__file__).parent
SIZE = 64 << 30  # bytes of a GPU's memory; the file is sparse


def build(folder: Path) -> Path:
    """Write the strict driver and the library of PyTorch's memory into ``folder``; skips where there is no compiler."""
    server.build(folder)
    (folder / LIBRARY).write_bytes(once(("strict torch",), _compiled))
    return folder


def _compiled() -> bytes:
    with TemporaryDirectory() as folder:
        library = Path(folder, LIBRARY)
        flags = [*server.FLAGS, "-isystem", cuda_include()]
        run([compiler("cc"), *flags, "-o", library, HERE / "torch_memory.c", "-ldl", "-lpthread"])
        return library.read_bytes()


def environment(driver: Path, sm: str, kept: Path, size: int = SIZE, time_limit: float | None = None) -> dict[str, str]:
    """What a program needs besides its own variables to have a GPU over the driver in ``driver``, whose kernels are kept in
    ``kept``."""
    gpu = Gpu(sm, server.MEMORY_BASE, size, str(kept), time_limit)
    paths = [str(HERE / "inherited"), str(server.ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {
        VARIABLE: gpu.text(), "STRICT_DRIVER_SM": str(find_target(sm).number), "LD_LIBRARY_PATH": str(driver),
        "LD_PRELOAD": str(driver / LIBRARY), "TILEIRAS_CUTILE_CACHE": str(kept), "PYTHONPATH": os.pathsep.join(paths),
    }  # fmt: skip

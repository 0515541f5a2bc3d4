"""A toolkit without NVIDIA's programs, for tests: ``fake_nvcc.py`` with the files beside it that a real one has."""

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
KERNELS = HERE / "kernels.tilebc"


def make_toolkit(folder: Path, version: str = "13.5, V13.5.37") -> Path:
    """A toolkit in ``folder``; the path of its nvcc."""
    texts = {
        "bin/package": str(HERE.parents[2]),
        "bin/version": version,
        "bin/nvcc.profile": "profile 1",
        "nvvm/bin/cicc": "cicc 1",
        "host/cc1plus": "host compiler 1",
        "host/gcc": "driver 1",
        "include/crt/cuda_tile.h": "// tiles\n",
        "include/cuda_tile.h": '#include "crt/cuda_tile.h"\n',
        "include/nv/target": "",
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    (folder / "bin/kernels.tilebc").write_bytes(KERNELS.read_bytes())
    nvcc = folder / "bin/nvcc"
    text = (HERE / "fake_nvcc.py").read_text()
    nvcc.write_text(text.replace("#!/usr/bin/env python3", f"#!{sys.executable} -SE", 1))
    os.chmod(nvcc, 0o755)
    return nvcc

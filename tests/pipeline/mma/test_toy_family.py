"""A new family of matrix instructions is one folder, and rows in ``target/``."""

import re
import subprocess
import sys
from pathlib import Path

from tileiras_build.pipeline.stages import PACKAGE

PROGRAM = Path(__file__).with_name("toy_gpu.py")


def test_a_made_up_gpu_multiplies_by_its_made_up_instruction():
    done = subprocess.run(
        [sys.executable, PROGRAM], cwd=PACKAGE.parent, capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    # 64 x 64 x 32 elements by atoms of 16 x 8 x 8, of which each of 4 warps multiplies a quarter.
    calls = re.findall(r"asm.*toy\.mma\.sync\.m16n8k8\.f32", done.stdout)
    assert len(calls) == 4 * 8 * 4 // 4
    assert "llvm.fma" not in done.stdout and "llvm.nvvm.mma" not in done.stdout

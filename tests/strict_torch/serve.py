"""The emulator behind one process's strict driver: serve.py FOLDER GPU. Says "ready", and ends when its input does."""

import json
import os
import shutil
import sys
from pathlib import Path

from tests.cutile.cached_ptx import CachedDriver
from tests.strict_torch.process import Gpu
from tileiras_build.simulate.emulator.matmul.matmul import ROUNDED_ONCE


def main() -> None:
    folder, gpu = Path(sys.argv[1]), Gpu(**json.loads(sys.argv[2]))
    with CachedDriver(folder, gpu.sm, Path(gpu.kept), gpu.size) as driver:
        driver.rounding, driver.time_limit = ROUNDED_ONCE, gpu.time_limit
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.buffer.read()
        shutil.rmtree(folder, ignore_errors=True)  # the program may have been killed
        os._exit(0)  # in the middle of a launch that nobody waits for


if __name__ == "__main__":
    main()

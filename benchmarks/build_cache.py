"""What a shared cache saves: a cold build, a second checkout, and a build with every 10th record damaged.

    python benchmarks/build_cache.py --sm 90,100 [--jobs 2] [--kernels DIR] [--cache http://host:port/path]

Each build is a real ``scons`` in a fresh checkout (a copy of the kernels and of the SConstruct). Prints hit rates and
how many times faster than cold each build is; exits with 1 where the artifacts of two builds differ.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCONSTRUCT = """
from tileiras_build import scons_tool
env = Environment(variables=scons_tool.variables(ARGUMENTS), tools=[scons_tool.generate])
Default(env.KernelLibrary("kernels", Glob("kernels/[!_]*.py") + Glob("kernels/*.tilebc")))
"""


def main() -> int:
    """Run the builds and print one row each."""
    options = _options()
    with tempfile.TemporaryDirectory(prefix="tileiras-cache-") as name:
        folder = Path(name)
        place = options.cache or str(folder / "cache")
        cold, expected, _ = build(folder / "cold", options)
        filled, made, _ = build(folder / "fill", options, place)
        rows = [("cold, no cache", cold, "", True), ("cold, filling the cache", filled, "", made == expected)]
        for title in ("second checkout", "third checkout"):
            seconds, made, line = build(folder / title.split()[0], options, place)
            rows.append((title, seconds, line, made == expected))
        if not options.cache:
            damage(folder / "cache")
            seconds, made, line = build(folder / "damaged", options, place)
            rows.append(("every 10th record damaged", seconds, line, made == expected))
    for title, seconds, line, same in rows:
        print(f"{title:26} {cold / seconds:6.1f}x faster than cold  same bytes: {'yes' if same else 'NO'}  {line}")
    return 0 if all(row[-1] for row in rows) else 1


def build(folder: Path, options, cache: str | None = None) -> tuple[float, dict[str, str], str]:
    """One build in a fresh checkout: seconds, the artifacts' digests, the cache's line."""
    shutil.copytree(options.kernels, folder / "kernels", ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "SConstruct").write_text(SCONSTRUCT)
    command = [sys.executable, "-m", "SCons", f"-j{options.jobs}", f"sm={options.sm}"]
    command += [f"cache={cache}"] if cache else []
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    start = time.perf_counter()
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - start
    if done.returncode:
        sys.exit(done.stderr)
    line = re.search(r"^cache .*?: (.*)$", done.stdout, re.MULTILINE)
    return seconds, _digests(folder / "build"), line[1] if line else ""


def damage(cache: Path) -> None:
    """Change, cut or empty every 10th record."""
    for number, path in enumerate(sorted(path for path in cache.rglob("*") if path.is_file())[::10]):
        data = path.read_bytes()
        path.write_bytes((data[: len(data) // 2], b"", bytes([data[0] ^ 1]) + data[1:])[number % 3])


def _digests(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.suffix in SUFFIXES]
    files += [path.with_suffix(".json") for path in files if path.suffix == ".cubin"]
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


SUFFIXES = {".tilebc", ".tileaa", ".tileas", ".ll", ".ptx", ".cubin"}


def _options():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--sm", default="90,100")
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    parser.add_argument("--kernels", type=Path, default=ROOT / "examples/kernels")
    parser.add_argument("--cache", help="default: a folder that is removed afterwards")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

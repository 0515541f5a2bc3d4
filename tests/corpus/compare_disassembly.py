"""Compare our disassembly of a folder of bytecode files with that of NVIDIA's tileirdisasm.

    python tests/corpus/compare_disassembly.py FOLDER [--tileirdisasm PATH] [--show N]

Prints how many files give equal text, and a diff for the first N that do not. Exits with 1 if any differs.
Not collected by pytest: the reference tool and the files are not part of the project.
"""

from __future__ import annotations

import argparse
import difflib
import shutil
import subprocess
import sys
from pathlib import Path

from tileiras_build.core.errors import TileirasError
from tileiras_build.ir.bytecode import disassemble


def reference(tool: str, path: Path) -> str | None:
    """What tileirdisasm prints, or None if it refuses the file."""
    result = subprocess.run([tool, str(path)], capture_output=True, text=True)
    return result.stdout if result.returncode == 0 else None


def ours(path: Path) -> str | None:
    try:
        return disassemble(path.read_bytes(), name=str(path))
    except TileirasError as error:
        print(error)
        return None


def lines(text: str | None) -> list[str]:
    return ["<refused>"] if text is None else text.rstrip().splitlines()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--tileirdisasm", default=shutil.which("tileirdisasm"))
    parser.add_argument("--show", type=int, default=3, help="how many differences to print")
    options = parser.parse_args()
    if not options.tileirdisasm:
        parser.error("tileirdisasm is not on the PATH; give its place with --tileirdisasm")
    files = sorted(path for path in options.folder.rglob("*") if path.suffix in (".tilebc", ".tileirbc", ".bc"))
    different = 0
    for path in files:
        expected, actual = lines(reference(options.tileirdisasm, path)), lines(ours(path))
        if expected == actual:
            continue
        different += 1
        if different <= options.show:
            print(
                "\n".join(
                    difflib.unified_diff(expected, actual, f"{path} (tileirdisasm)", f"{path} (ours)", lineterm="", n=0)
                )
            )
    print(f"{len(files) - different} of {len(files)} files give equal text")
    return int(different > 0)


if __name__ == "__main__":
    sys.exit(main())

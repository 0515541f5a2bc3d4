"""Run mypy, and compare the errors of each folder with the count that type_errors.toml allows: none without a row.

    python tools/check_types.py            fails where a folder has more, and says where the count can be lowered
    python tools/check_types.py --lower    writes the lower counts

``[tool.mypy]`` in pyproject.toml says what is checked, and how.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tomllib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TABLE = ROOT / "tools" / "type_errors.toml"
HEAD = """\
# Errors of mypy that each folder may have (tools/check_types.py); a folder without a row may have none.
# A count only goes down: python tools/check_types.py --lower
"""
_ERROR = re.compile(r"(?P<file>[^:]+):\d+(:\d+)?: error: ")


def main(arguments: list[str] | None = None) -> int:
    """The command; returns its exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--lower", action="store_true", help="write the lower counts into tools/type_errors.toml")
    options = parser.parse_args(arguments)
    run = subprocess.run([sys.executable, "-m", "mypy", "--no-error-summary"], cwd=ROOT, capture_output=True, text=True)
    found, allowed = by_folder(run.stdout.splitlines()), tomllib.loads(TABLE.read_text())
    if run.returncode != bool(found):  # a whole run ends with 1 where it has found errors; so does Python without mypy
        print(run.stdout + run.stderr, file=sys.stderr)
        return 1
    if options.lower:
        TABLE.write_text(table_of(lowered(found, allowed)))
        allowed = lowered(found, allowed)
    lines, failed = compare(found, allowed)
    print("\n".join(lines))
    return int(failed)


def by_folder(lines: Iterable[str]) -> dict[str, list[str]]:
    """The lines of errors, by the folder of their file."""
    found: dict[str, list[str]] = defaultdict(list)
    for line in lines:
        if match := _ERROR.match(line):
            found[Path(match["file"]).parent.as_posix()].append(line)
    return found


def compare(found: Mapping[str, list[str]], allowed: Mapping[str, int]) -> tuple[list[str], bool]:
    """What is to be said, and whether a folder has more errors than its row."""
    more = {folder for folder, errors in found.items() if len(errors) > allowed.get(folder, 0)}
    fewer = {folder for folder, most in allowed.items() if len(found.get(folder, ())) < most}
    lines = []
    for folder in sorted(more):
        lines += [*found[folder], f"{folder}: {len(found[folder])} errors, {allowed.get(folder, 0)} allowed"]
    lines += [f"{folder}: {allowed[folder]} allowed, {len(found.get(folder, ()))} errors" for folder in sorted(fewer)]
    if fewer:
        lines.append("lower the counts: python tools/check_types.py --lower")
    total = sum(map(len, found.values()))
    return [*lines, f"mypy: {total} errors, {sum(allowed.values())} allowed"], bool(more)


def lowered(found: Mapping[str, list[str]], allowed: Mapping[str, int]) -> dict[str, int]:
    """The rows with what is found where that is less; a folder without errors loses its row."""
    rows = {folder: min(most, len(found.get(folder, ()))) for folder, most in allowed.items()}
    return {folder: most for folder, most in rows.items() if most}


def table_of(rows: Mapping[str, int]) -> str:
    """The text of type_errors.toml."""
    return HEAD + "".join(f'"{folder}" = {most}\n' for folder, most in sorted(rows.items()))


if __name__ == "__main__":
    sys.exit(main())

"""Round trips of every .tilebc file below a folder; a script: ``python -m tests.ir.bytecode.round_trip_corpus FOLDER``.

For each file: the writer with the file's own tables gives the same bytes, with new tables the same module, and the
text reads back as the same text.
"""

import sys
from pathlib import Path

from tileiras_build.core.errors import TileirasError
from tileiras_build.ir.bytecode import disassemble, read_module
from tileiras_build.ir.bytecode.existing_tables import Tables
from tileiras_build.ir.bytecode.text_parser import parse_text
from tileiras_build.ir.bytecode.writer import write_module


def check(data: bytes) -> list[str]:
    """The round trips that fail."""
    module, tables, text = read_module(data), Tables(data), disassemble(data)
    failed = [] if write_module(module, like=tables) == data else ["bytes"]
    if not read_module(write_module(module, version=tables.version)).is_structurally_equivalent(module):
        failed.append("module")
    if disassemble(write_module(parse_text(text), version=tables.version)) != text:
        failed.append("text")
    return failed


def main(folder: str) -> int:
    files = [path for path in sorted(Path(folder).rglob("*.tilebc")) if "invalid" not in path.parts]
    wrong = 0
    for path in files:
        try:
            failed = check(path.read_bytes())
        except TileirasError as problem:
            failed = [str(problem)]
        if failed:
            wrong += 1
            print(f"{path}: {', '.join(failed)}")
    print(f"{len(files)} files, {wrong} with a failed round trip")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))

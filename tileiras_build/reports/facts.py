"""What takes time to find out about a kernel's artifacts: bytecode as text, machine code as text, the compiler's remarks.

nvdisasm takes half a second to start. So this is kept in the build folder, by the contents that it is of and by the code
that has found it, and what no report asks for any more is removed.
"""

from __future__ import annotations

import hashlib
import threading
import zlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from ..errors import TileirasError
from ..files import write_files
from ..pipeline.stages import Stage, source_digest
from ..targets import find_target
from .remarks import Remark

_CODE = Stage(
    ".facts", "what a report says of a kernel", "tileiras_build.reports.facts:find_facts", modules=("tileiras_build.bytecode",),
    libraries=("xdsl", "msgspec", "nvidia-cuda-nvdisasm"),
)  # fmt: skip
_SUFFIX = ".facts"


@dataclass(frozen=True)
class Facts:
    """Of one cubin: ``texts`` of the stages "tilebc" and "sass"; ``missing`` says of what there is none why."""

    texts: dict[str, str] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)
    missing: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Inputs:
    """The contents that facts are of; None = there is no such file."""

    target: str
    bytecode: bytes | None
    tileas: bytes | None
    cubin: bytes

    @property
    def digest(self) -> str:
        """What identifies them, and the code that looks at them."""
        found = hashlib.sha256(source_digest(_CODE).encode() + self.target.encode())
        for part in (self.bytecode, self.tileas, self.cubin):
            found.update(b"-" if part is None else hashlib.sha256(part).digest())
        return found.hexdigest()[:32]


def read_facts(inputs: Iterable[Inputs], folder: Path, jobs: int = 1) -> list[Facts]:
    """The facts of each, from ``folder`` where they have been kept, else found, with ``jobs`` programs at a time, and kept.

    Raises InvalidInput[write-failed].
    """
    given = list(inputs)
    paths = [folder / f"{one.digest}{_SUFFIX}" for one in given]
    found = _each(lambda pair: _read(pair[1]) or _find(*pair), list(zip(given, paths, strict=True)), jobs)
    for other in set(folder.glob(f"*{_SUFFIX}")) - set(paths):
        with suppress(OSError):
            other.unlink()
    return found


def _each(call: Callable[[tuple[Inputs, Path]], Facts], pairs: list[tuple[Inputs, Path]], jobs: int) -> list[Facts]:
    if jobs == 1:
        # At the end of a process Python starts no threads any more.
        return list(map(call, pairs))
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(call, pairs))


def _read(path: Path) -> Facts | None:
    try:
        return msgspec.json.decode(zlib.decompress(path.read_bytes()), type=Facts)
    except (OSError, zlib.error, msgspec.MsgspecError):
        # Not kept, or damaged.
        return None


def _find(inputs: Inputs, path: Path) -> Facts:
    found = find_facts(inputs)
    write_files({path: zlib.compress(msgspec.json.encode(found))})
    return found


def find_facts(inputs: Inputs) -> Facts:
    """The facts; what cannot be read is among what is missing, with the sentence that says why."""
    found = Facts()
    for name, add in _PARTS.items():
        try:
            add(found, inputs)
        except TileirasError as error:
            found.missing[name] = str(error)
    return found


# The readers of IR share their dialects, which are defined where they are first needed; nvdisasm is a program.
_reading = threading.Lock()


def _add_bytecode(found: Facts, inputs: Inputs) -> None:
    from ..bytecode import disassemble

    if inputs.bytecode is not None:
        with _reading:
            found.texts["tilebc"] = disassemble(inputs.bytecode, locations=True)


def _add_machine_code(found: Facts, inputs: Inputs) -> None:
    from ..pipeline.ptx_to_cubin.cubin import read_cubin
    from .sass import disassemble

    read_cubin(inputs.cubin)  # says in a sentence what is none, where nvdisasm would be asked in vain
    found.texts["sass"] = disassemble(inputs.cubin, "-gi", "-gp")


def _add_remarks(found: Facts, inputs: Inputs) -> None:
    from ..pipeline.text_format import parse
    from .remarks import collect

    if inputs.tileas is not None:
        with _reading:
            found.remarks.extend(collect(parse(inputs.tileas), find_target(inputs.target)))


_PARTS: Mapping[str, Callable[[Facts, Inputs], None]] = {
    "tilebc": _add_bytecode, "sass": _add_machine_code, "remarks": _add_remarks,
}  # fmt: skip

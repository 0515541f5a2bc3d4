"""Resource usage of each kernel of a build on each SM: registers, shared memory, spills; read from launch manifests."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TextIO, cast

import msgspec

from ..core.byte_sizes import size_text
from ..core.errors import InvalidInput, Location
from ..core.file_io import read_stored
from ..core.symbols.itanium_demangler import demangle
from ..core.terminal import print_table
from ..manifest.launch_manifest import ManifestStruct, SharedMemory, convert, parse_json
from ..manifest.manifest_constants import VERSION
from ..target.targets import name_of

HEADER = ("kernel", "SM", "registers", "shared memory", "stack", "spill stores", "spill loads")


@dataclass(frozen=True)
class ResourceRow:
    """One kernel, by its symbol, on one SM; shared memory (static and dynamic), stack and spills in bytes, None if unknown."""

    kernel: str
    target: str
    registers: int | None
    shared_memory: int | None
    stack: int | None
    spill_stores: int | None
    spill_loads: int | None

    @property
    def cells(self) -> tuple[object, ...]:
        """The row as the table shows it."""
        sizes = (self.shared_memory, self.stack, self.spill_stores, self.spill_loads)
        registers = "-" if self.registers is None else self.registers
        return (
            demangle(self.kernel),
            self.target,
            registers,
            *("-" if size is None else size_text(size) for size in sizes),
        )


def print_resources(rows: Iterable[ResourceRow], stream: TextIO | None = None) -> None:
    """Print the rows as a table, sorted by kernel and SM."""
    ordered = sorted(rows, key=lambda row: (row.kernel, _number(row.target), row.target))
    print_table(HEADER, [row.cells for row in ordered], stream)


def read_folder(folder: str | Path) -> list[ResourceRow]:
    """The rows of the manifests of all cubins in ``folder``; raises InvalidInput if there is none."""
    root = Path(folder)
    if not root.is_dir():
        raise InvalidInput("report-no-folder", "not a folder", location=Location(str(folder)))
    cubins = sorted(root.rglob("*.cubin"))
    if not cubins:
        raise InvalidInput("report-no-cubins", "no .cubin files in this folder", location=Location(str(folder)))
    return [row for cubin in cubins for row in read_manifest(_manifest_beside(cubin))]


def _manifest_beside(cubin: Path) -> Path:
    """The manifest of a cubin. Raises InvalidInput[report-manifest] if there is none, as for cubins of ``tileiras``."""
    path = cubin.with_suffix(".json")
    if not path.exists():
        remedy = "build the cubin with scons or `tileiras-build lower --to cubin`"
        message = f"missing launch manifest {path.name}"
        raise InvalidInput("report-manifest", message, location=Location(str(cubin)), remedy=remedy)
    return path


def read_manifest(path: Path) -> list[ResourceRow]:
    """The rows of one manifest; raises InvalidInput naming the file if it is missing or not one of ours."""
    try:
        return list(rows_of_manifest(read_document(path)))
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise no_manifest(path, error) from None


Number = Annotated[int, msgspec.Meta(ge=0, le=1 << 40)]


class _Kernel(ManifestStruct, frozen=True):
    """The fields of a kernel that tables show."""

    threads_per_cta: Number = 0
    resources: dict[str, Number | None] = msgspec.field(default_factory=dict)
    shared_memory: SharedMemory = SharedMemory()


class _Manifest(ManifestStruct, frozen=True):
    """The fields of a launch manifest that tables show."""

    version: Literal[2]
    target: str
    kernels: dict[str, _Kernel]


def read_document(path: Path) -> dict:
    """A launch manifest as parsed JSON; raises InvalidInput as ``read_manifest`` does."""
    data = read_stored(path)
    try:
        manifest = parse_json(data)
        convert(manifest, _Manifest, VERSION)
        return cast(dict, manifest)
    except ValueError as error:
        raise no_manifest(path, error) from None


def no_manifest(path: Path, error: Exception) -> InvalidInput:
    """The error for a file that is not a launch manifest."""
    message = f"not a launch manifest: {error}"
    return InvalidInput("report-manifest", message, location=Location(str(path)))


def rows_of_manifest(manifest: dict) -> Iterator[ResourceRow]:
    """One row per kernel of a launch manifest, which names the target as ptxas does."""
    target = name_of(manifest["target"])
    for kernel, entry in manifest["kernels"].items():
        used = entry.get("resources", {})
        shared = used.get("shared")
        dynamic = entry.get("shared_memory", {}).get("dynamic", 0)
        total = None if shared is None else shared + dynamic
        spills = (used.get("spill_stores"), used.get("spill_loads"))
        yield ResourceRow(kernel, target, used.get("registers"), total, used.get("stack"), *spills)


def _number(target: str) -> int:
    digits = "".join(character for character in target if character.isdigit())
    return int(digits or 0)

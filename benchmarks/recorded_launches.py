"""A launch that was recorded beside its bytecode: FILE.json of FILE.tilebc (``record_launches.py`` writes both).

The arguments stand as the kernel takes them: an array as its lengths, its strides in elements and, of a short array of integers, its
elements; a scalar as its value. A list of arrays is two arguments: its table, and the number of its arrays.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

from tileiras_build.manifest.launch_manifest import Argument, Parameter
from tileiras_build.manifest.launch_manifest import Launch as Manifest
from tileiras_build.simulate.estimate.constant_bank_values import Shape


@dataclass(frozen=True)
class RecordedArray:
    """An array; ``values`` are empty where they are not recorded."""

    shape: list[int]
    strides: list[int]
    values: list[int]


@dataclass(frozen=True)
class RecordedLaunch:
    """The launch of ``kernel`` over a ``grid`` of tile blocks."""

    kernel: str
    grid: Shape
    arguments: list[RecordedArray | int | float]

    @classmethod
    def of(cls, bytecode: Path) -> RecordedLaunch | None:
        """The launch beside a bytecode file; None where there is none."""
        file = bytecode.with_suffix(".json")
        if not file.exists():
            return None
        read = json.loads(file.read_text())
        arguments = [RecordedArray(**one) if isinstance(one, dict) else one for one in read["arguments"]]
        x, y, z = read["grid"]
        return cls(read["kernel"], (x, y, z), arguments)

    def write(self, bytecode: Path) -> None:
        """Write the file beside ``bytecode``."""
        bytecode.with_suffix(".json").write_text(json.dumps(asdict(self)) + "\n")

    def settings(self, manifest: Manifest) -> dict[str, str]:
        """Its arguments by name, as ``tileiras_build estimate --set`` takes them. Raises ValueError for those of another kernel."""
        found = zip(manifest.arguments, self.arguments, strict=True)
        return {name: text for argument, one in found for name, text in _settings(manifest, argument, one)}


def _settings(manifest: Manifest, argument: Argument, one: RecordedArray | int | float) -> Iterator[tuple[str, str]]:
    if not isinstance(one, RecordedArray):
        yield argument.name, str(one if isinstance(one, float) else int(one))
        return
    elements = ":" + ",".join(map(str, one.values)) if one.values else ""
    yield argument.name, "x".join(map(str, one.shape or [1])) + elements
    for parameter in _strides(manifest, argument):
        if parameter.value is None and parameter.axis is not None:
            yield parameter.name, str(one.strides[parameter.axis])


def _strides(manifest: Manifest, argument: Argument) -> list[Parameter]:
    parameters = manifest.params[argument.param : argument.param + argument.parameters]
    return [one for one in parameters if one.role == "stride"]

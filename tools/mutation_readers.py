"""Readers of damaged files that are calls of the library, and what they read: the emulator, and packages of kernels."""

from __future__ import annotations

import hashlib
import io
import json
import random
import warnings
import zipfile
from collections import Counter
from pathlib import Path

import numpy as np

from tests.runtime.fake_driver import FakeDriver
from tileiras_build import driver, emulator
from tileiras_build.emulator.faults import EmulatorFailure
from tileiras_build.emulator.parse import parse
from tileiras_build.emulator.program import load
from tileiras_build.errors import InternalError, TileirasError
from tileiras_build.pipeline.job import Job
from tileiras_build.reports.folder import timeline_path
from tileiras_build.reports.timeline import Span, Timeline, write_timeline
from tileiras_build.runtime import Library, library_manifest
from tools.emulator_page import INSTRUCTIONS, sample_text

MAPPED = 1 << 16  # bytes of each pointer's memory
LONGEST_RUN = 1.0  # seconds of a kernel, which may never end
OF_A_SAMPLE = 5  # instructions
STAGES = ("tileaa", "tileas", "ll", "ptx", "cubin")

OUTCOMES: Counter[str] = Counter()  # what this process was answered


class Failure(Exception):
    """What a reader may not do."""


# ---- kernels in the emulator ----------------------------------------------------------------------
def ptx_samples() -> list[bytes]:
    """Kernels of a few instructions each, which have all the forms that docs/emulator.md lists."""
    rows = [row for family in INSTRUCTIONS.values() for row in family.values() if row is not None]
    texts = [text for text, _ in rows if not text.startswith("tcgen05.shift")]
    parts = [texts[at : at + OF_A_SAMPLE] for at in range(0, len(texts), OF_A_SAMPLE)]
    return [sample_text("\n".join(part), "sm_100a").encode() for part in parts]


def read_kernel(data: bytes, folder: Path, chance: random.Random) -> None:
    """The emulator: every kernel of the text is loaded and run."""
    text = data.decode(errors="replace")
    try:
        entries = [name for name, function in parse(text).functions.items() if function.entry]
        for entry in entries:
            _run(text, entry)
        outcome = "taken"
    except EmulatorFailure as failure:
        raise Failure(f"{failure}") from failure
    except emulator.EmulatorError as error:
        outcome = error.id
    finally:
        load.cache_clear()
    OUTCOMES[f"emulator: {outcome}"] += 1


def _run(text: str, entry: str) -> None:
    program = load(text, entry)
    memory, arrays, params = emulator.Memory(), [], []
    for variable in program.params:
        params.append(_parameter(variable, memory, arrays))
    block = program.entry.reqntid or (64, 1, 1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        emulator.run_ptx(text, entry, program.cluster, block, params, memory=memory, time_limit=LONGEST_RUN, jobs=1)


def _parameter(variable, memory: emulator.Memory, arrays: list) -> bytes:
    """Memory for what is as long as a pointer, a small number for what is not."""
    if variable.size != 8:
        return (64).to_bytes(variable.size, "little") if 1 <= variable.size <= 4 else bytes(variable.size)
    arrays.append(np.zeros(MAPPED, np.uint8))
    return int(memory.map_array(arrays[-1])).to_bytes(8, "little")


# ---- packages --------------------------------------------------------------------------------------
def manifests_of_packages(manifests: list[bytes]) -> list[bytes]:
    """Manifests of libraries, of launch manifests; their images are no machine code, which nobody here runs."""
    return [_manifest_of_package(json.loads(text)) for text in manifests]


def _manifest_of_package(content: dict) -> bytes:
    from tileiras_build.launch_manifest import Launch, converted

    kernels = {
        entry: (library_manifest.Image(content["target"], "cubin", 0, 64, converted(launch, Launch, 2)),)
        for entry, launch in content["kernels"].items()
    }
    return library_manifest.render(library_manifest.LibraryManifest("k", "k.fatbin", 64, "0" * 64, kernels))


def read_package(data: bytes, folder: Path, chance: random.Random) -> None:
    """A library: what it holds, and a launch of each kernel."""
    (folder / library_manifest.FILE_NAME).write_bytes(data)
    (folder / "k.fatbin").write_bytes(bytes(64))
    try:
        library = Library(folder, FakeDriver(90))
        outcome = f"taken, targets {len(library.targets)}"
        for name in library:
            _launch(library[name])
    except InternalError as error:
        raise Failure(str(error)) from error
    except TileirasError as error:
        outcome = error.id
    OUTCOMES[f"library: {outcome}"] += 1


def _launch(kernel) -> None:
    repr(kernel)
    launch = kernel.image().launch
    arguments = [_argument(argument, launch) for argument in launch.arguments]
    try:
        kernel.launch((4, 1, 1), *arguments)
    except TileirasError as error:
        OUTCOMES[f"launch: {error.id}"] += 1


def _argument(argument, launch) -> object:
    if argument.kind == "scalar":
        return 3
    element = launch.ordinary[argument.param].element or "f32"
    kinds = {"f32": np.float32, "f16": np.float16, "i32": np.int32, "i8": np.int8}
    return np.zeros((16,) * (argument.rank or 1), kinds.get(element, np.float32))


# ---- build folders ---------------------------------------------------------------------------------
def make_build(folder: Path, kernels: list[bytes], job: Job) -> Path:
    """A folder as a build of a few kernels leaves it."""
    spans = []
    for number, data in enumerate(kernels):
        at = folder / job.target.name
        at.mkdir(parents=True, exist_ok=True)
        for stage in STAGES:
            for suffix, made in driver.lower(data, "tilebc", stage, job).items():
                (at / f"k{number}{suffix}").write_bytes(made)
            spans.append(Span(stage, job.target.name, f"k{number}", 0, float(len(spans)), len(spans) + 0.5))
        ptx = (at / f"k{number}.ptx").read_bytes()
        known = {"ptx": hashlib.sha256(ptx).hexdigest(), "kernels": [_reference(entry) for entry in _entries(ptx)]}
        (at / f"k{number}.reference").write_text(json.dumps(known))
        (at / f"k{number}.verified").write_text(json.dumps([_verified(entry) for entry in _entries(ptx)]))
    write_timeline(Timeline(1.7e9, 1, spans), timeline_path(folder))
    return folder


def _entries(ptx: bytes) -> list[str]:
    return [name for name, function in parse(ptx.decode()).functions.items() if function.entry]


def _reference(entry: str) -> dict:
    return {"entry": entry, "share": 0.5, "settings": {"x": "64", "y": "64", "out": "64"}, "grid": [4]}


def _verified(entry: str) -> dict:
    return {"entry": entry, "grid": [4], "arrays": 1, "elements": 64, "share": 0.5, "reason": ""}


def pack_folder(folder: Path) -> bytes:
    """The files of a folder."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for path in sorted(path for path in folder.rglob("*") if path.is_file()):
            archive.write(path, path.relative_to(folder))
    return stream.getvalue()


def unpack_folder(data: bytes, folder: Path) -> None:
    """The folder again."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        archive.extractall(folder)

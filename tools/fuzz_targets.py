"""Fuzz targets in the library and their seeds: the emulator, and packages of kernels."""

from __future__ import annotations

import hashlib
import io
import json
import random
import warnings
import zipfile
from collections import Counter
from collections.abc import Mapping
from contextlib import redirect_stdout
from pathlib import Path

import numpy as np

from tests.launch.runtime.fake_driver import FakeDriver
from tileiras_build import driver
from tileiras_build.core.errors import InternalError, TileirasError
from tileiras_build.launch.runtime import Library, library_manifest
from tileiras_build.pipeline.job import Job
from tileiras_build.reports import project_manifest
from tileiras_build.reports.build_timeline import Span, Timeline, write_timeline
from tileiras_build.reports.project_manifest import write_project
from tileiras_build.reports.report_paths import project_path, timeline_path
from tileiras_build.simulate import emulator
from tileiras_build.simulate.emulator.errors import EmulatorFailure
from tileiras_build.simulate.emulator.ptx.parser import parse
from tileiras_build.simulate.emulator.ptx.program import load
from tools.emulator_page import INSTRUCTIONS, sample_text

MAPPED = 1 << 16  # bytes of each pointer's memory
MAX_RUN_SECONDS = 1.0  # seconds of a kernel, which may never end
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
    return [*(sample_text("\n".join(part), "sm_100a").encode() for part in parts), *[PROGRAM] * 8]


# Control flow, calls, barriers and what a kernel asks of the system.
PROGRAM = b"""
.version 9.0
.target sm_90a
.address_size 64
.extern .func (.param .b32 r) vprintf (.param .b64 f, .param .b64 a);
.extern .func (.param .b64 r) malloc (.param .b64 s);
.extern .func free (.param .b64 p);
.global .align 1 .b8 words[12] = {37, 100, 32, 37, 53, 46, 50, 102, 10, 0, 0, 0};
.global .align 8 .u64 there = words;
.func (.param .b32 result) twice (.param .b32 x) {
  .reg .b32 a<4>;
  ld.param.u32 a0, [x];
  add.u32 a1, a0, a0;
  st.param.b32 [result], a1;
  ret;
}
.visible .entry k (.param .u64 p, .param .u32 n) .reqntid 64, 1, 1 {
  .reg .pred p<4>; .reg .b32 r<12>; .reg .b64 d<8>; .reg .f32 f<4>;
  .local .align 8 .b8 scratch[16];
  .shared .align 8 .b64 bar[2];
  ld.param.u64 d0, [p];
  ld.param.u32 r0, [n];
  mov.u32 r1, %tid.x;
  setp.ne.u32 p0, r1, 0;
  @p0 bra ready;
  mbarrier.init.shared.b64 [bar], 64;
ready:
  bar.sync 0;
  mbarrier.arrive.shared.b64 d1, [bar];
again:
  mbarrier.try_wait.shared.b64 p1, [bar], d1;
  @!p1 bra again;
  mov.u32 r2, 0;
loop:
  {
    .param .b32 x; .param .b32 result;
    st.param.b32 [x], r2;
    call.uni (result), twice, (x);
    ld.param.b32 r3, [result];
  }
  add.u32 r2, r3, 1;
  setp.lt.u32 p2, r2, r0;
  @p2 bra.uni loop;
  and.b32 r4, r1, 1;
cases: .branchtargets even, odd;
  brx.idx r4, cases;
even:
  st.local.v2.u32 [scratch], {r2, r4};
  bra done;
odd:
  st.local.v2.f32 [scratch+8], {0f3F800000, 1.5};
done:
  setp.eq.u32 p3, r1, 63;
  @!p3 bra quiet;
  {
    .param .b64 f; .param .b64 a; .param .b32 result;
    mov.u64 d2, words; cvta.global.u64 d3, d2;
    mov.u64 d4, scratch; cvta.local.u64 d5, d4;
    st.param.b64 [f], d3; st.param.b64 [a], d5;
    call.uni (result), vprintf, (f, a);
    .param .b64 size; .param .b64 block;
    st.param.b64 [size], 64;
    call.uni (block), malloc, (size);
    call.uni free, (block);
  }
quiet:
  barrier.sync.aligned 1, 64;
  bar.red.popc.u32 r5, 2, 64, p3;
  vote.sync.ballot.b32 r6, p3, -1;
  shfl.sync.bfly.b32 r7|p1, r1, 1, 31, -1;
  mad.wide.u32 d6, r1, 4, d0;
  atom.global.add.u32 r8, [d0], 1;
  st.global.u32 [d6], r7;
  exit;
}
"""


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
    with warnings.catch_warnings(), redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        emulator.run_ptx(text, entry, program.cluster, block, params, memory=memory, time_limit=MAX_RUN_SECONDS, jobs=1)


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
    from tileiras_build.manifest.launch_manifest import Launch, convert

    kernels = {
        entry: (library_manifest.Image(content["target"], "cubin", 0, 64, convert(launch, Launch, 2)),)
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
    element = launch.caller_parameters[argument.param].element or "f32"
    kinds = {"f32": np.float32, "f16": np.float16, "i32": np.int32, "i8": np.int8}
    return np.zeros((16,) * (argument.rank or 1), kinds.get(element, np.float32))


# ---- build folders ---------------------------------------------------------------------------------
def make_build(folder: Path, kernels: list[bytes], job: Job) -> Path:
    """A folder as a build of a few kernels leaves it."""
    spans = []
    (folder / "tilebc").mkdir(parents=True)
    names = {f"{job.target.name}/k{number}": f"{folder.name}/tilebc/k{number}.tilebc" for number in range(len(kernels))}
    project_path(folder).parent.mkdir()
    write_project(folder, [project_manifest.Library("kernels", folder.name, names)])
    for number, data in enumerate(kernels):
        at = folder / job.target.name
        (folder / "tilebc" / f"k{number}.tilebc").write_bytes(data)
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


def pack_files(files: Mapping[str, bytes]) -> bytes:
    """Files by their names."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return stream.getvalue()


def settings_of(manifest: bytes) -> list[str]:
    """The options of ``estimate`` for small arrays and scalars, as the only kernel of a manifest takes them."""
    (launch,) = json.loads(manifest)["kernels"].values()
    lengths = {argument["name"]: "x".join(["64"] * (argument.get("rank") or 1)) for argument in launch["arguments"]}
    return [word for name, length in lengths.items() for word in ("--set", f"{name}={length}")]


def unpack_folder(data: bytes, folder: Path) -> None:
    """The folder again."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        archive.extractall(folder)

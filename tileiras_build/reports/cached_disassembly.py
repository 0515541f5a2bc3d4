"""Details of a kernel's artifacts that are slow to compute: disassembled bytecode, SASS, and optimization remarks.

nvdisasm takes half a second to start. So details are cached, by the artifacts' contents and the version of this code.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from ..core.errors import TileirasError
from ..pipeline.job import Job
from ..pipeline.stages import Stage, source_digest
from ..target.targets import find_target
from .optimization_remarks import Remark
from .report_cache import ReportCache

_CODE = Stage(
    ".facts", "the details of a kernel's artifacts", "tileiras_build.reports.cached_disassembly:find_details", modules=("tileiras_build.ir.bytecode",),
    libraries=("xdsl", "msgspec", "nvidia-cuda-nvdisasm"),
)  # fmt: skip


@dataclass(frozen=True)
class ArtifactDetails:
    """The details of one cubin: ``texts`` of the stages "tilebc" and "sass"; ``missing`` maps absent ones to the reason.

    ``schedules`` are the explained schedules of its kernels, as ``lower --explain-schedule --json`` prints them.
    """

    texts: dict[str, str] = field(default_factory=dict)
    remarks: list[Remark] = field(default_factory=list)
    schedules: dict[str, dict[str, Any]] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class ArtifactContents:
    """The contents of a kernel's artifacts; None if there is no such file."""

    target: str
    bytecode: bytes | None
    tileas: bytes | None
    cubin: bytes

    @property
    def digest(self) -> str:
        """A digest of the contents and of the code that analyzes them."""
        found = hashlib.sha256(source_digest(_CODE).encode() + self.target.encode())
        for part in (self.bytecode, self.tileas, self.cubin):
            found.update(b"-" if part is None else hashlib.sha256(part).digest())
        return found.hexdigest()[:32]


def read_details(inputs: Iterable[ArtifactContents], cache: ReportCache, jobs: int = 1) -> list[ArtifactDetails]:
    """The details of each, from the cache or computed with ``jobs`` concurrent programs.

    Raises InvalidInput[write-failed].
    """
    call = lambda one: _read(cache.read(details_name(one))) or _find(one, cache)
    pending = list(inputs)
    if jobs == 1 or len(pending) < 2:
        # Python cannot start threads during interpreter shutdown.
        return list(map(call, pending))
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(jobs) as pool:
        return list(pool.map(call, pending))


def details_name(inputs: ArtifactContents) -> str:
    """The cache key of these contents."""
    return f"{inputs.digest}.facts"


def _read(data: bytes | None) -> ArtifactDetails | None:
    try:
        return None if data is None else msgspec.json.decode(data, type=ArtifactDetails)
    except (msgspec.MsgspecError, RecursionError):
        return None


def _find(inputs: ArtifactContents, cache: ReportCache) -> ArtifactDetails:
    found = find_details(inputs)
    cache.write(details_name(inputs), msgspec.json.encode(found))
    return found


def find_details(inputs: ArtifactContents) -> ArtifactDetails:
    """Compute the details; failures are recorded in ``missing`` with their message."""
    found = ArtifactDetails()
    for name, add in _FINDERS.items():
        try:
            add(found, inputs)
        except TileirasError as error:
            found.missing[name] = str(error)
    return found


# The IR parsers share lazily defined dialects, so they run one at a time; nvdisasm is a separate process.
_reading = threading.Lock()


def _add_bytecode(found: ArtifactDetails, inputs: ArtifactContents) -> None:
    from ..ir.bytecode import disassemble

    if inputs.bytecode is not None:
        with _reading:
            found.texts["tilebc"] = disassemble(inputs.bytecode, locations=True)


def _add_machine_code(found: ArtifactDetails, inputs: ArtifactContents) -> None:
    from ..target.cubin_reader import read_cubin
    from ..target.sass_listing import disassemble

    read_cubin(inputs.cubin)  # reports a damaged cubin before nvdisasm runs
    found.texts["sass"] = disassemble(inputs.cubin, "-gi", "-gp")


def _add_remarks(found: ArtifactDetails, inputs: ArtifactContents) -> None:
    from ..pipeline.tile_ir_text_format import parse
    from .optimization_remarks import collect

    if inputs.tileas is not None:
        with _reading:
            found.remarks.extend(collect(parse(inputs.tileas), find_target(inputs.target)))


def _add_schedules(found: ArtifactDetails, inputs: ArtifactContents) -> None:
    """Schedule the kernels again. One that was built with other options has another schedule, and is left out."""
    from ..driver import explain_schedule
    from ..ir.casting import as_op
    from ..ir.dialects.op_traits import is_function
    from ..pipeline.schedule.explain import KERNEL
    from ..pipeline.schedule.schedule_attribute import schedule_of
    from ..pipeline.schedule.schedule_file import SCHEDULE
    from ..pipeline.tile_ir_text_format import parse

    if inputs.tileas is None or inputs.bytecode is None:
        return
    with _reading:
        built = {
            as_op(func).sym_name: schedule_of(as_op(func)).chosen
            for func in parse(inputs.tileas).body.block.ops
            if is_function(func)
        }
        explained: list[dict[str, Any]] = explain_schedule(inputs.bytecode, ".tilebc", Job(find_target(inputs.target)))
    found.schedules.update((one[KERNEL], one) for one in explained if one[SCHEDULE] == built.get(one[KERNEL]))


_FINDERS: Mapping[str, Callable[[ArtifactDetails, ArtifactContents], None]] = {
    "tilebc": _add_bytecode, "sass": _add_machine_code, "remarks": _add_remarks, "schedule": _add_schedules,
}  # fmt: skip

"""Subsets of an input file that artifacts request for their next stage: one node per request and target, shared.

The libdevice functions that a kernel calls are known when its ``.ll`` exists. Then a scanner reads the ``.ll``, and creates
the node of the subset, ``<build_dir>/<sm>/<digest of the request>.libdevice.bc``, unless another kernel has the same
request. In later builds SCons' record of an artifact names that file, and the file's own record contains the request, so the
``.ll`` of a current artifact is not read. In a dry run (``scons -n``) an ``.ll`` that does not exist yet is assumed to have
requests: its PTX depends on the file itself.
"""

from __future__ import annotations

import hashlib
import mmap
import os
from collections.abc import Callable, Iterable

import SCons.Node
import SCons.Script
from SCons.Builder import Builder
from SCons.Scanner import ScannerBase

from ..pipeline.job import Job
from ..pipeline.ll_to_ptx.libdevice_request import label_of
from ..pipeline.stages import REQUEST, InputFile, Stage, load
from .artifact_node import ArtifactFile, attach_builder, recorded_signature
from .progress import BuildStep
from .stage_actions import WorkerAction, explain_suffix, stage_signature, step_timeout
from .step_timeline import BUILD

REQUEST_KEY = "request"  # in the signature
_DIGITS = 16
_CURRENT = (SCons.Node.up_to_date, SCons.Node.executed)


class ExtractSubsetAction(WorkerAction):
    """Extracts the requested subset of a file."""

    def __init__(self, stage: Stage, request: bytes, job: Job, executor: Callable):
        self.request, self.job = request, job
        super().__init__(stage, executor, stage_signature(stage, job) | {REQUEST_KEY: request.decode()})

    def strfunction(self, target, source, env, executor=None) -> str:
        """The displayed line: stage, target and subset."""
        return f"{self.stage.name:7} {self.job.target.name:7} {label_of(self.request)}{explain_suffix(target)}"

    def call(self, executor, target, source, env) -> dict[str, bytes]:
        """Run the stage on the request; the file's path is an option of the job."""
        rows, path = (REQUEST, self.stage), source[0].path
        names = (rows[0].suffix, rows[1].suffix)
        timeout = step_timeout(env)
        files = executor.run("tileiras_build.driver:lower", self.request, *names, self.job, path, rows, timeout=timeout)
        return {target[0].name: files[self.stage.suffix]}


class LibdeviceSubsets:
    """The subsets of one file that one target's artifacts request, in ``folder``; ``stage`` extracts them.

    ``place`` is the index of the file among those that artifacts of one folder request; the first has 0.
    """

    def __init__(self, env, file: InputFile, stage: Stage, job: Job, folder, place: int):
        self.env, self.file, self.stage, self.job, self.folder = env, file, stage, job, folder
        self._asks, self._source = load(file.requested_by), env[BUILD].digests.file(env, getattr(job, file.option))
        self._place = place
        self._nodes: dict[str, ArtifactFile] = {}

    def scanner(self) -> ScannerBase:
        """Finds the subset's node as a dependency of the sources that request one."""
        return ScannerBase(self._scan, name=self.file.option, skeys=None)

    def known(self, names: Iterable[str]) -> list[ArtifactFile]:
        """The nodes with these paths, whose requests the records of this folder contain."""
        return [node for name in names if (node := self._known(name)) is not None]

    def of(self, node) -> ArtifactFile | None:
        """The subset's node for the artifact ``node``, if its source requests one."""
        found = (child for child in node.implicit or () if child.name.endswith(self.stage.suffix))
        return next(found, None)

    def _scan(self, node, env, path) -> list[ArtifactFile]:
        if not _is_final_this_build(node):
            node.scan_later = True
            return []
        if SCons.Script.GetOption("no_exec") and not os.path.exists(node.get_abspath()):
            return [self._source]
        request = self._request(node.get_abspath())
        return [self._node(request)] if request else []

    def _request(self, path: str) -> bytes:
        try:
            with open(path, "rb") as stream, mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as data:
                return self._asks(data)
        except (OSError, ValueError):
            # The file is missing or empty.
            return b""

    def _known(self, path: str) -> ArtifactFile | None:
        if path not in self._nodes:
            signature = recorded_signature(self.folder, path.rpartition("/")[2]) or {}
            if REQUEST_KEY in signature:
                self._node(signature[REQUEST_KEY].encode())
        return self._nodes.get(path)

    def _node(self, request: bytes) -> ArtifactFile:
        place = str(self._place).encode() if self._place else b""
        name = hashlib.sha256(request + place).hexdigest()[:_DIGITS] + self.stage.suffix
        node = self.folder.File(name) if name in self.folder.entries else self._make(name, request)
        self._nodes[str(node)] = node
        return node

    def _make(self, name: str, request: bytes) -> ArtifactFile:
        stage, build = self.stage, self.env[BUILD]
        node = build.artifact(self.folder, name)
        attach_builder(
            self.env,
            Builder(action=ExtractSubsetAction(stage, request, self.job, build.executor)),
            [node],
            self._source,
        )
        build.progress.add(node, BuildStep(stage.name, self.job.target.name, label_of(request)))
        return node


def _is_final_this_build(node) -> bool:
    """Whether the file is in its final state of this build; otherwise SCons calls the scanner again later."""
    if not isinstance(node, ArtifactFile) or not node.has_builder() or SCons.Script.GetOption("clean"):
        return True
    return node.get_state() in _CURRENT

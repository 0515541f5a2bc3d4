"""SCons actions that run stages: their signatures are explicit, and their failures are one diagnostic each.

SCons' signature of a Python function covers only its own code. Here it covers all that determines the artifact: the stage,
its code's digest, the libraries' versions, the target and the options that the stage may read (``Stage.job``).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from SCons.Action import FunctionAction
from SCons.Errors import BuildError
from SCons.Util import hash_signature

from ..core.errors import TileirasError
from ..core.file_io import read_file, write_files
from ..core.terminal import print_stderr
from ..core.warning_classes import NO_WARNINGS, REMARKED, WarningOptions
from ..pipeline.job import Job
from ..pipeline.schedule.schedule_file import with_file_name
from ..pipeline.stages import STAGES, Stage, source_digest
from ..reports.build_timeline import BUILT, CACHED, FAILED
from ..workers.executor import Executor
from .artifact_node import ArtifactFile
from .input_change_check import run_on_stable_inputs
from .progress import StepError
from .step_timeline import BUILD, time_step

if TYPE_CHECKING:
    from ..workers.executor.speculative_steps import NextStep
    from .libdevice_subsets import LibdeviceSubsets

TIMEOUT = 600.0  # seconds for one stage of one kernel; the environment variable TILEIRAS_TIMEOUT overrides it


def step_timeout(env) -> float:
    """The time limit in seconds of one step of this environment."""
    return env.get("TILEIRAS_TIMEOUT", TIMEOUT)


class WorkerAction(FunctionAction):
    """Calls a function in the executor and writes the files that it returns."""

    schedule: str | None = None  # the path of a schedule file, which errors name
    is_restorable = False  # whether replaced artifacts may come back instead of a step

    def __init__(self, stage: Stage, executor, signature: dict):
        self.stage, self.executor = stage, executor
        self._signature_text = json.dumps(signature, sort_keys=True)
        self.signature = self._signature_text.encode()
        super().__init__(self._build, {})

    def get_contents(self, target, source, env, executor=None) -> bytes:
        """The signature; SCons compares it with that of the last build."""
        return self.signature

    def get_presig(self, target, source, env, executor=None) -> bytes:
        """The signature, which contains nothing to substitute."""
        return self.signature

    def genstring(self, target, source, env, executor=None) -> str:
        """The text of the action for SCons: its signature, to explain later differences."""
        return self._signature_text

    @cached_property
    def signature_hash(self) -> str:
        """The signature as SCons records it."""
        return hash_signature(self.signature)

    def _build(self, target, source, env) -> BuildError | None:
        try:
            with time_step(env, target[0]) as timed:
                restored = self._restored(target, env)
                error = self._make(target, source, env, restored)
                timed.outcome = FAILED if error else CACHED if restored else self._outcome(env)
        finally:
            if BUILD in env:
                env[BUILD].progress.finished(target[0])
        return error

    def _restored(self, target, env) -> dict[str, bytes] | None:
        """The artifacts that an earlier build made from the same inputs with the same options, by file name."""
        return env[BUILD].replaced.take(target) if self.is_restorable and BUILD in env else None

    def _make(self, target, source, env, restored: dict[str, bytes] | None) -> BuildError | None:
        try:
            files = restored or run_on_stable_inputs(target, lambda: self.call(self.executor(env), target, source, env))
            write_files({Path(node.path): files[node.name] for node in target})
        except TileirasError as found:
            error = with_file_name(found, self.schedule)
            kind = StepError if BUILD in env and env[BUILD].shows_failure(target[0]) else BuildError
            return kind(target, str(error), status=error.exit_code, exitstatus=error.exit_code)
        for node in target:
            if isinstance(node, ArtifactFile):
                node.written = hash_signature(files[node.name])
        return None

    def _outcome(self, env) -> str:
        return CACHED if getattr(self.executor(env), "was_hit", False) else BUILT

    def call(self, executor: Executor, target, source, env) -> dict[str, bytes]:
        """The contents of the targets, by file name."""
        raise NotImplementedError


class StageAction(WorkerAction):
    """Makes one artifact from the previous one (``source_stage``) for one job; ``cuts`` are its requested subsets.

    ``schedule`` is the path of the job's schedule file, as errors show it.
    """

    def __init__(
        self,
        source_stage: Stage,
        stage: Stage,
        job: Job,
        executor,
        cuts: Sequence[LibdeviceSubsets] = (),
        schedule: str | None = None,
        warnings: WarningOptions = NO_WARNINGS,
    ):
        self.source_stage, self.job, self.subsets, self.schedule = source_stage, job, cuts, schedule
        self.warnings = _warnings_of(stage, warnings)
        self.is_restorable = not self.warnings.classes  # a restored step would not warn
        super().__init__(stage, executor, stage_signature(stage, job) | _warnings_signature(self.warnings))

    def strfunction(self, target, source, env, executor=None) -> str:
        """The displayed line: stage, target and kernel."""
        return self.line(kernel_name(target[0])) + explain_suffix(target)

    def line(self, kernel: str) -> str:
        """The displayed line of a kernel."""
        return f"{self.stage.name:7} {self.job.target.name:7} {kernel}"

    def call(self, executor, target, source, env):
        """Lower the source's bytes by one stage."""
        path = source[0].path
        rows = (self.source_stage, self.stage)
        files = executor.run(
            "tileiras_build.driver:lower",
            read_file(path),
            self.source_stage.suffix,
            self.stage.suffix,
            self._job(target[0]),
            path,
            rows,
            timeout=step_timeout(env),
            lookahead=lambda: self._next_steps(target[0]),
        )
        self._warn(executor, files, env)
        kernel = kernel_name(target[0])
        return {kernel + suffix: data for suffix, data in files.items()}

    def _warn(self, executor, files: Mapping[str, bytes], env) -> None:
        """Print the selected warnings about this stage's files; raises them if they are errors."""
        from ..reports import compiler_warnings

        target, found = self.job.target.name, []
        if self.warnings.of_remarks:
            arguments = (files[self.stage.suffix], target, self.warnings.of_remarks)
            found = executor.run(compiler_warnings.FROM_REMARKS, *arguments, timeout=step_timeout(env))
        if self.warnings.of_manifest:
            found = compiler_warnings.of_manifest(files[self.stage.side_outputs[0]], target, self.warnings.of_manifest)
        compiler_warnings.report(found, self.warnings, env[BUILD].progress.warn if BUILD in env else print_stderr)

    def _next_steps(self, node) -> tuple[NextStep, ...]:
        """The chain of steps that this build runs on ``node`` and its results.

        SCons decides whether a step must run when its sources exist: certain are steps whose artifacts are missing.
        """
        from ..workers.executor.speculative_steps import NextStep

        # SCons adds to the set in another thread; a copy is one atomic operation.
        waiting = (parent for parent in list(node.waiting_parents) if _will_be_made_from(parent, node))
        parent = next(waiting, None)
        if parent is None:
            return ()
        action = parent.builder.action
        step = NextStep(action.job, node.path, (action.source_stage, action.stage))
        return (step, *action._next_steps(parent))

    def _job(self, target) -> Job:
        """The job with the extracted subsets in place of the files that they were extracted from."""
        made = {cuts.file.option: cuts.of(target) for cuts in self.subsets}
        return replace(self.job, **{option: node.get_abspath() for option, node in made.items() if node is not None})


def _will_be_made_from(parent, node) -> bool:
    """Whether ``parent`` is a missing artifact that a stage makes from ``node``."""
    action = parent.builder.action if parent.has_builder() else None
    return isinstance(action, StageAction) and parent.sources[0] is node and not os.path.lexists(parent.path)


def _warnings_of(stage: Stage, options: WarningOptions) -> WarningOptions:
    """The warnings that the files of ``stage`` tell."""
    readable = {REMARKED: options.of_remarks, STAGES[-1].name: options.of_manifest}
    return replace(options, classes=readable.get(stage.name, ()))


def _warnings_signature(options: WarningOptions) -> dict:
    """Other warnings repeat the steps that they come from, as other flags of a C compiler do."""
    return {"warnings": [*options.classes, *["error"] * options.are_errors]} if options.classes else {}


def stage_signature(stage: Stage, job: Job) -> dict:
    """All that determines the output of ``stage``, besides the contents of its input files."""
    visible = stage.job(job)
    options = {field.name: getattr(visible, field.name) for field in fields(Job) if field.name in stage.options}
    return {"stage": stage.name, "code": source_digest(stage), "target": job.target.name, "options": options}


def explain_suffix(targets: list) -> str:
    """Why the step runs, with ``explain=1``."""
    reason = next((node.reason for node in targets if hasattr(node, "reason")), None)
    return f": {reason}" if reason else ""


def kernel_name(node) -> str:
    """The kernel of an artifact's node: its file name without the suffix."""
    return node.name.rpartition(".")[0]

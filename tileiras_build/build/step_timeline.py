"""Times the steps of a build and keeps them for reports."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import SCons.Node

from ..core.errors import TileirasError
from ..reports.build_timeline import FAILED, Recorder, write_timeline
from ..reports.report_paths import timeline_path

BUILD = "TILEIRAS_BUILD"  # the construction variable that holds the Build of this SCons run


@dataclass
class TimedStep:
    """A running step; whoever runs it says how it ended."""

    outcome: str = FAILED


@contextmanager
def time_step(env, node) -> Iterator[TimedStep]:
    """Record the step that makes ``node``, as failed unless its ``outcome`` is set; nodes that are no steps are not."""
    build, timed = env.get(BUILD), TimedStep()
    step = build.progress.steps.get(node) if build is not None else None
    if step is None:
        yield timed
        return
    begun = build.recorder.begin(env.GetOption("num_jobs"))
    try:
        yield timed
    finally:
        build.recorder.end(begun, step.stage, step.target, step.kernel, timed.outcome)


def store_timeline(recorder: Recorder, steps: Mapping, folder: str, jobs: int) -> None:
    """Write what this run built or took from a cache to its build folder; a run that made nothing leaves the last one.

    A node that SCons counts as built though no step of ours ran came from its cache. At the end of SCons nobody
    handles an exception: a folder that cannot be written is reported in one line.
    """
    ran = {(span.stage, span.target, span.kernel) for span in recorder.timeline.spans}
    for node, step in steps.items():
        if node.get_state() == SCons.Node.executed and (step.stage, step.target, step.kernel) not in ran:
            recorder.add_cached(jobs, step.stage, step.target, step.kernel)
    recorder.timeline.jobs = jobs
    if not recorder.timeline.spans:
        return
    try:
        write_timeline(recorder.timeline, timeline_path(Path(folder)))
    except TileirasError as error:
        print(error, file=sys.stderr)

"""Times the steps of a build and stores them for reports."""

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

BUILD = "TILEIRAS_BUILD"  # the construction variable that holds the BuildSession of this SCons run


@dataclass
class TimedStep:
    """A running step; its runner sets the outcome."""

    outcome: str = FAILED


@contextmanager
def time_step(env, node) -> Iterator[TimedStep]:
    """Record the step that makes ``node``, as failed unless its ``outcome`` is set; nodes that are not steps are skipped."""
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
    """Write the built and cached steps of this run to its build folder; a run without steps keeps the last timeline.

    A node that SCons counts as built without one of our steps came from its cache. At SCons' exit nobody handles an
    exception: a folder that cannot be written is reported in one line.
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

"""Records each kernel that a test suite launches, with its launch, for ``parity.py``; nothing runs.

    RECORD_TO=FOLDER pytest -p record_launches -p tileiras_build.cutile.pytest --tile-device cpu --tile-sm 100 TESTS

A plugin of pytest (``PYTHONPATH=benchmarks``). FOLDER gets NAME.tilebc and NAME.json of each kernel and each launch of other arguments, as cuTile's front end
compiles it for the target. As kernels write nothing, tests that compare results fail. RECORD_AND_RUN=PATTERN names kernels that run too (a regular expression):
those that write the integers by which a later kernel finds its rows.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import re
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from recorded_launches import RecordedArray, RecordedLaunch

from tileiras_build.cutile.flatten_arguments import Array, ArrayTable, Value
from tileiras_build.cutile.session import Session
from tileiras_build.cutile.validate_launch import checked
from tileiras_build.launch.runtime.pack_arguments import ArrayView

MOST_VALUES = 1 << 16  # elements of an array of integers that a recording keeps
FOLDER = Path(os.environ["RECORD_TO"])
RUN = os.environ.get("RECORD_AND_RUN")


def launch(session: Session, stream: object, grid: Any, kernel: Any, arguments: Any, programmatic: bool) -> None:
    """Record in place of ``Session.enqueue``."""
    blocks = checked(stream, grid, kernel, arguments, session.cutile.kernel_class)
    signature = session._signature(kernel, arguments)
    entry, code = session.compiler.bytecode(kernel, signature)
    values = session._values(kernel, signature, arguments, stream)
    made = RecordedLaunch(entry, blocks, [part for value in values for part in _recorded(value)])
    name = kernel._pyfunc.__name__
    digest = hashlib.sha256(code + repr(made).encode()).hexdigest()[:12]
    file = FOLDER / f"{name}-{digest}.tilebc"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(code)
    made.write(file)
    if RUN and re.search(RUN, name):
        session.launch(stream, grid, kernel, arguments, programmatic)


def _recorded(value: Value) -> list[RecordedArray | int | float]:
    if isinstance(value, Array):
        return [_array(value.view)]
    if isinstance(value, ArrayTable):
        return [RecordedArray([len(value.table_rows())], [1], []), len(value.views)]
    return [value.value]


def _array(view: ArrayView) -> RecordedArray:
    return RecordedArray(list(map(int, view.shape)), list(map(int, view.strides)), _integers(view))


def _integers(view: ArrayView) -> list[int]:
    """The elements of a short, contiguous array of integers in host memory."""
    count = prod(view.shape)
    if view.dtype is None or view.dtype.kind not in "iu" or not 0 < count <= MOST_VALUES or not _is_contiguous(view):
        return []
    data = ctypes.string_at(view.address, count * view.dtype.itemsize)
    return np.frombuffer(data, view.dtype).tolist()


def _is_contiguous(view: ArrayView) -> bool:
    step = 1
    for length, stride in zip(reversed(view.shape), reversed(view.strides)):
        if length != 1 and stride != step:
            return False
        step *= length
    return True


Session.enqueue = launch  # type: ignore[method-assign]

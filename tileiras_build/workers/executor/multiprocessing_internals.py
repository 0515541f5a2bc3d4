"""Private parts of multiprocessing for child processes, which have no public functions."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


def process_config() -> dict[str, object]:
    """The settings that multiprocessing's own modules share: ``daemon`` forbids children, ``tempdir`` is for sockets."""
    config: dict[str, object] = vars(multiprocessing.current_process())["_config"]
    return config


@contextmanager
def without_resource_tracker() -> Iterator[None]:
    """Start the fork server, or a fork of it, without the process that removes shared memory of processes that crash.

    Workers share none, and its start takes as long as that of Python. A null device takes the place of its pipe; a tracker
    that runs already is used.
    """
    tracker = _tracker()
    if tracker._fd is not None:
        yield
        return
    tracker._fd = os.open(os.devnull, os.O_WRONLY)
    try:
        yield
    finally:
        forget_resource_tracker()


def forget_resource_tracker() -> None:
    """Start a tracker of this process when it shares memory."""
    tracker = _tracker()
    if tracker._fd is not None:
        os.close(tracker._fd)
        tracker._fd = None


def _tracker() -> Any:
    from multiprocessing import resource_tracker

    return vars(resource_tracker)["_resource_tracker"]

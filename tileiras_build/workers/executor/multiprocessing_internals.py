"""Private settings of multiprocessing for child processes, which have no public functions."""

from __future__ import annotations

import multiprocessing


def process_config() -> dict[str, object]:
    """The settings that multiprocessing's own modules share: ``daemon`` forbids children, ``tempdir`` is for sockets."""
    config: dict[str, object] = vars(multiprocessing.current_process())["_config"]
    return config

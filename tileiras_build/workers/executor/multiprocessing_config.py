"""What multiprocessing keeps of this process for its children, for which it has no public function."""

from __future__ import annotations

import multiprocessing


def process_config() -> dict[str, object]:
    """The settings that multiprocessing's own modules share: ``daemon`` forbids children, ``tempdir`` is for sockets."""
    config: dict[str, object] = vars(multiprocessing.current_process())["_config"]
    return config

"""``tileiras-build targets``: list the GPU targets."""

from __future__ import annotations

import argparse
import json
from typing import Any

from .command_options import add_json as add_options

__all__ = ["add_options", "run"]


def run(options: argparse.Namespace) -> None:
    """Print one line per target, families last; JSON has shared memory in bytes."""
    from ..core.byte_sizes import size_text
    from ..core.terminal import print_table
    from ..target.targets import ALL_TARGETS, TARGETS

    rows: list[dict[str, Any]] = [
        {
            "name": target.name, "arch": target.arch, "ptx": ".".join(map(str, target.ptx_version)),
            "shared_memory": target.max_shared_memory, "runs_on": [gpu for gpu, row in TARGETS.items() if target.runs_on(row.number)],
        }
        for target in ALL_TARGETS.values()
    ]  # fmt: skip
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    cells = [
        (row["name"], row["arch"], row["ptx"], size_text(row["shared_memory"]), ", ".join(row["runs_on"]))
        for row in rows
    ]
    print_table(("target", "arch", "PTX", "shared memory per CTA", "cubins run on"), cells)

"""``tileiras-build targets``: list the GPU targets."""

from __future__ import annotations

import argparse
import json
from typing import Any

from .command_options import add_json as add_options

__all__ = ["add_options", "run"]


def run(options: argparse.Namespace) -> None:
    """Print one line per target; JSON has shared memory in bytes."""
    from ..core.byte_sizes import size_text
    from ..core.terminal import print_table
    from ..target.targets import TARGETS

    rows: list[dict[str, Any]] = [
        {
            "name": target.name, "arch": target.arch, "ptx": ".".join(map(str, target.ptx_version)),
            "shared_memory": target.max_shared_memory,
        }
        for target in TARGETS.values()
    ]  # fmt: skip
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    cells = [(row["name"], row["arch"], row["ptx"], size_text(row["shared_memory"])) for row in rows]
    print_table(("target", "arch", "PTX", "shared memory per CTA"), cells)

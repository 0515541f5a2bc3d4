"""``tileiras-build cache DIR``: show, verify or trim a build cache folder."""

from __future__ import annotations

import argparse
import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from ..core.errors import InvalidInput, Location
from .command_options import add_json

if TYPE_CHECKING:
    from ..workers.executor.cache.folder_maintenance import DamagedEntry


def add_options(parser: argparse.ArgumentParser) -> None:
    """The options of ``cache``."""
    parser.add_argument("folder", metavar="DIR", help="cache folder (the value of cache=)")
    parser.add_argument("--verify", action="store_true", help="verify all entries and list damaged ones")
    parser.add_argument("--repair", action="store_true", help="verify and delete damaged entries")
    what = "evict least recently used entries down to SIZE (20GiB, 500MiB)"
    parser.add_argument("--trim", metavar="SIZE", help=what)
    add_json(parser)


def run(options: argparse.Namespace) -> None:
    """Verify, trim and measure the folder, in this order. Raises InvalidInput[cache-damaged] for entries that stay damaged."""
    from ..workers.executor.cache import folder_maintenance

    folder = Path(options.folder)
    limit = None if options.trim is None else folder_maintenance.parse_size(options.trim)
    folder_maintenance.measure(folder)
    damages = _verify(folder, options.repair) if options.verify or options.repair else []
    if damages and not options.json:
        print(*(_damage_line(options.repair, damage, failure) for damage, failure in damages), sep="\n")
    if limit is not None:
        folder_maintenance.trim(folder, limit)
    contents = folder_maintenance.measure(folder)
    left = [str(damage) for damage, failure in damages if failure is not None or not options.repair]
    print(json.dumps(asdict(contents) | {"damaged": left}, indent=2) if options.json else contents)
    if left:
        message = f"{len(left)} damaged {'entry' if len(left) == 1 else 'entries'}"
        remedy = "make the folder writable or delete them by hand" if options.repair else "delete them with --repair"
        raise InvalidInput("cache-damaged", message, location=Location(str(folder)), remedy=remedy)


def _verify(folder: Path, repair: bool) -> list[tuple[DamagedEntry, str | None]]:
    """The damaged entries; with ``repair`` they are removed, or paired with the reason why they could not be."""
    from ..workers.executor.cache import folder_maintenance

    return [
        (damage, folder_maintenance.remove(damage) if repair else None) for damage in folder_maintenance.verify(folder)
    ]


def _damage_line(repair: bool, damage: DamagedEntry, failure: str | None) -> str:
    if not repair:
        return f"damaged {damage}"
    return f"removed {damage}" if failure is None else f"cannot remove {damage}; {failure}"

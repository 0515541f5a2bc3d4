"""Commands that show what there is: ``passes``, ``targets``, ``libdevice``, ``cache``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..core.errors import InvalidInput, Location
from ..core.file_io import read_file, write_files

if TYPE_CHECKING:
    from ..workers.executor.cache.folder_maintenance import DamagedEntry


def list_passes(options: argparse.Namespace) -> None:
    """``passes``: what runs between the stages, in order, with the contracts."""
    edges = list(_edges())
    if options.json:
        print(json.dumps(edges, indent=2))
        return
    for edge in edges:
        print(f"{edge['from']} -> {edge['to']}" if edge["to"] else f"{edge['from']}: over MLIR text, by name")
        print(*_pass_lines(edge), sep="\n")


def _edges() -> Iterator[dict[str, Any]]:
    """A document for each edge between two stages, and one for the passes that ``opt`` runs by name."""
    from ..pipeline.opt import PASSES, find_pass
    from ..pipeline.stages import STAGES

    for source, stage in pairwise(STAGES):
        yield {"from": source.suffix, "to": stage.suffix, "edge": stage.edge, "passes": list(_passes(stage.passes))}
    yield {"from": "opt", "to": None, "edge": None, "passes": list(_passes(find_pass(name) for name in PASSES))}


def _passes(passes: Iterable) -> Iterator[dict[str, Any]]:
    from ..pipeline.pass_manager import pass_conditions

    for edge_pass in passes:
        summary = (edge_pass.__doc__ or "").strip().partition("\n")[0]
        yield {"name": edge_pass.name, "summary": summary, "contract": dict(pass_conditions(edge_pass))}


def _pass_lines(edge: dict[str, Any]) -> Iterator[str]:
    if not edge["passes"]:
        yield f"    one step: {edge['edge']}"
    for one in edge["passes"]:
        yield f"    {one['name']:40} {one['summary']}"
        for head, text in one["contract"].items():
            yield f"    {'':40} {head + ':':5}{text}"


def list_targets(options: argparse.Namespace) -> None:
    """``targets``: one line per GPU generation; shared memory in bytes as JSON."""
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


def list_libdevice(options: argparse.Namespace) -> None:
    """``libdevice FILE``: the table of functions, with what each brings along; ``--pin`` writes a self-contained .ll."""
    from ..driver import lower
    from ..libdevice.blob_linked_lib import with_blob_note
    from ..pipeline.job import Job
    from ..pipeline.text_encoding import decode
    from ..target.targets import find_target
    from ..workers.executor.forked_executor import ForkedExecutor
    from .cmd_lower import stage_of_file

    source, target = stage_of_file(options.file), find_target(options.sm)
    data = read_file(options.file)
    if source.name != "ll":
        data = lower(data, source.name, "ll", Job(target), name=options.file)[".ll"]
    arguments = decode(data, options.file), options.libdevice, target.number
    print(ForkedExecutor().run("tileiras_build.reports.linked_libdevice:linked_table", *arguments))
    if options.pin:
        write_files({Path(options.pin): with_blob_note(data.decode(), options.libdevice).encode()})


def list_servers(options: argparse.Namespace) -> None:
    """``server [status|stop]``: a line for each server that answers."""
    from ..workers.server.list_servers import find_servers

    try:
        found = find_servers(options.what)
    except OSError as error:
        message = f"the folder of this user's servers cannot be used: {error.strerror} ({error.filename})"
        remedy = "commands run without a server; set XDG_RUNTIME_DIR or TMPDIR to a folder of your own"
        raise InvalidInput("server-folder", message, remedy=remedy) from None
    done = "ended" if options.what == "stop" else "serves"
    print(*(f"{done}: {server}" for server in found) if found else ["no server"], sep="\n")


def inspect_cache(options: argparse.Namespace) -> None:
    """``cache DIR``: how much a cache folder holds, after what it was asked to remove."""
    from ..workers.executor.cache import folder_maintenance

    folder = Path(options.folder)
    limit = None if options.trim is None else folder_maintenance.parse_size(options.trim)
    folder_maintenance.measure(folder)
    damages = _verify_cache(folder, options.repair) if options.verify or options.repair else []
    if not options.json:
        print(
            *(_damage_line(options.repair, damage, kept) for damage, kept in damages),
            sep="\n",
            end="\n" * bool(damages),
        )
    if limit is not None:
        folder_maintenance.trim(folder, limit)
    found = folder_maintenance.measure(folder)
    left = [str(damage) for damage, kept in damages if kept is not None or not options.repair]
    print(json.dumps(asdict(found) | {"damaged": left}, indent=2) if options.json else found)
    if left:
        what = f"{len(left)} damaged {'entry' if len(left) == 1 else 'entries'}"
        remedy = "make it writable for you, or remove them by hand" if options.repair else "remove them with --repair"
        raise InvalidInput("cache-damaged", what, location=Location(str(folder)), remedy=remedy)


def _verify_cache(folder: Path, repair: bool) -> list[tuple[DamagedEntry, str | None]]:
    """What is damaged, removed on request, and why it is still there."""
    from ..workers.executor.cache import folder_maintenance

    return [
        (damage, folder_maintenance.remove(damage) if repair else None) for damage in folder_maintenance.verify(folder)
    ]


def _damage_line(repair: bool, damage: DamagedEntry, reason: str | None) -> str:
    if not repair:
        return f"damaged {damage}"
    return f"removed {damage}" if reason is None else f"cannot remove {damage}; {reason}"

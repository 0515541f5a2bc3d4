"""``tileiras-build passes``: list the passes between the stages, in execution order, with their contracts."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

from .command_options import add_json as add_options

__all__ = ["add_options", "run"]


def run(options: argparse.Namespace) -> None:
    """Print the passes of each edge."""
    edges = list(_edges())
    if options.json:
        print(json.dumps(edges, indent=2))
        return
    for edge in edges:
        print(f"{edge['from']} -> {edge['to']}" if edge["to"] else f"{edge['from']}: over MLIR text, by name")
        print(*_pass_lines(edge), sep="\n")


def _edges() -> Iterator[dict[str, Any]]:
    """A JSON object for each edge between two stages, and one for the passes that ``opt`` runs by name."""
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
        yield f"    single step: {edge['edge']}"
    for edge_pass in edge["passes"]:
        yield f"    {edge_pass['name']:40} {edge_pass['summary']}"
        for head, text in edge_pass["contract"].items():
            yield f"    {'':40} {head + ':':5}{text}"

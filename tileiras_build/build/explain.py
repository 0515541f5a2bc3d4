"""``explain=1``: why a step runs, from SCons' record of its last run and the current state."""

from __future__ import annotations

import json
from collections.abc import Iterator

MAX_REASONS = 3  # shown reasons; further ones are counted


def explain_rebuild(node) -> str:
    """The reasons for building ``node``, which SCons found outdated: "build/sm_90/a.ll changed"."""
    record = node.get_stored_info().binfo
    if not hasattr(record, "bact"):
        return "not built before"
    reasons = [*_changes_of_action(node, record), *_changes_of_children(node, record)]
    if change := node.changed_dependency():
        reasons.append(change)
    if not node.exists():
        reasons.append("output missing")
    elif not reasons:
        reasons.append("always built" if node.always_build else "output modified")
    reasons = list(dict.fromkeys(reasons))
    more = f" and {len(reasons) - MAX_REASONS} more" if len(reasons) > MAX_REASONS else ""
    return ", ".join(reasons[:MAX_REASONS]) + more


def _changes_of_action(node, record) -> Iterator[str]:
    before, now = parse_signature(record.bact), parse_signature(str(node.get_executor()))
    if before is None or now is None:
        if record.bact != str(node.get_executor()):
            yield "command changed"
        return
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) == now.get(name):
            continue
        if name == "code":
            yield f"compiler code of stage {now['stage']} changed"
        elif name == "options":
            yield from _changes_of_options(before[name], now[name])
        else:
            yield f"{name} changed from {before.get(name)} to {now.get(name)}"


def _changes_of_options(before: dict, now: dict) -> Iterator[str]:
    for name in sorted(before.keys() | now.keys()):
        if before.get(name) != now.get(name):
            yield f"{name} changed from {before.get(name)} to {now.get(name)}"


def parse_signature(text: str) -> dict | None:
    """The signature that ``stage_actions.py`` stores as an action's text; None if the build script has changed it."""
    try:
        return json.loads(text)
    except ValueError:
        return None


def _changes_of_children(node, record) -> Iterator[str]:
    names = [*record.bsources, *record.bdepends, *record.bimplicit]
    infos = [*record.bsourcesigs, *record.bdependsigs, *record.bimplicitsigs]
    before = {str(name): getattr(info, "csig", None) for name, info in zip(names, infos, strict=False)}
    children = {str(child): child for child in node.children()}
    for name, child in children.items():
        if name not in before:
            yield f"{name} is a new dependency"
        elif before[name] != child.get_csig():
            yield f"{name} changed"
    for name in before.keys() - children.keys():
        yield f"{name} is no longer a dependency"

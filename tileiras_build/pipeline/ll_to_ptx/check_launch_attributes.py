"""Function attributes that become PTX performance-tuning and cluster directives (PTX ISA 9.0, section 11.4).

LLVM prints them unchecked: it exits on a non-integer value, drops cluster attributes on GPUs without clusters, and
leaves conflicts to ptxas. So they are checked first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ...core.errors import InvalidInput, Location, TileirasError, Unsupported
from ...target.targets import Target
from .regex_matches import require_match


@dataclass(frozen=True)
class Directive:
    """One attribute: its maximal number of values, the capability and attributes that it needs, and those that it excludes."""

    attribute: str
    ptx: str
    max_values: int
    capability: str | None = None
    needs: tuple[str, ...] = ()
    excludes: tuple[str, ...] = ()


DIRECTIVES = {
    row.attribute: row
    for row in (
        Directive("nvvm.reqntid", ".reqntid", 3, excludes=("nvvm.maxntid",)),
        Directive("nvvm.maxntid", ".maxntid", 3),
        Directive("nvvm.minctasm", ".minnctapersm", 1),
        Directive("nvvm.maxnreg", ".maxnreg", 1),
        # All zeros: the launch sets the cluster size (.explicitcluster alone).
        Directive("nvvm.cluster_dim", ".reqnctapercluster", 3, "cluster", excludes=("nvvm.maxclusterrank",)),
        Directive("nvvm.maxclusterrank", ".maxclusterrank", 1, "cluster"),
        Directive("nvvm.blocksareclusters", ".blocksareclusters", 0, "cluster", ("nvvm.reqntid", "nvvm.cluster_dim")),
    )
}
_ZERO_ALLOWED = frozenset(("nvvm.cluster_dim",))
_KERNEL = re.compile(r'@("[^"\n]*"|[\w.$-]+)')
_ATTRIBUTE = re.compile(r'"(nvvm\.\w+)"(?:="([^"]*)")?')
_GROUP = re.compile(r"attributes #(\d+) = \{([^\n]*)\}")
_USE = re.compile(r"#(\d+)\b")


def check_launch_attributes(text: str, target: Target) -> Iterator[TileirasError]:
    """Diagnostics for every kernel whose launch attributes are malformed, in conflict, or not supported by the GPU."""
    if '"nvvm.' not in text:
        return
    written_groups = (_GROUP.match(line) for _, line in lines_of(text, "attributes #"))
    groups = {group[1]: group[2] for group in map(require_match, written_groups)}
    for offset, line in lines_of(text, "define "):
        if " ptx_kernel " in line:
            written = line + " ".join(groups.get(number, "") for number in _USE.findall(line))
            held = {name: value for name, value in _ATTRIBUTE.findall(written) if name in DIRECTIVES}
            where = Location(".ll", text.count("\n", 0, offset) + 1, 1)
            for name in held:
                yield from _check(DIRECTIVES[name], held, require_match(_KERNEL.search(line))[1], target, where)


def lines_of(text: str, start: str) -> Iterator[tuple[int, str]]:
    """(offset, line) of every line that begins with ``start``; ``find`` is ten times as fast as a regular expression."""
    text = f"\n{text}\n"
    offset = text.find(f"\n{start}")
    while offset >= 0:
        yield offset, text[offset + 1 : text.index("\n", offset + 1)]
        offset = text.find(f"\n{start}", offset + 1)


def _check(row: Directive, held: dict[str, str], kernel: str, target: Target, where: Location):
    if row.capability is not None and not target.has(row.capability):
        yield Unsupported(
            "launch-target",
            f"kernel {kernel} uses {row.ptx}, which {target.name} does not have",
            location=where,
            remedy="launch without clusters, or choose a newer GPU",
        )
    if (problem := _fault(row, held)) is not None:
        yield InvalidInput(
            "launch-attribute",
            f"kernel {kernel}: {problem}",
            location=where,
            remedy="see PTX ISA 9.0, section 11.4",
        )


def _fault(row: Directive, held: dict[str, str]) -> str | None:
    """Describe what is wrong with one attribute of a kernel; None if nothing is."""
    values = held[row.attribute].split(",") if held[row.attribute] else []
    least = 0 if row.attribute in _ZERO_ALLOWED else 1
    if not min(row.max_values, 1) <= len(values) <= row.max_values:
        return f"{row.attribute} takes at most {row.max_values} values, not {held[row.attribute]!r}"
    if any(not value.strip().isdecimal() or int(value) < least for value in values):
        return f"{row.attribute} is {held[row.attribute]!r}, not positive integers"
    if missing := [other for other in row.needs if other not in held]:
        return f"{row.attribute} needs {' and '.join(missing)}"
    if clash := [other for other in row.excludes if other in held]:
        return f"{row.attribute} and {clash[0]} exclude each other"
    return None

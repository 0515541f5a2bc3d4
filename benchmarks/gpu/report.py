"""The table of docs/measurements.md from the results of ``run.py``, complete or not: python report.py RESULTS.jsonl [DOCUMENT]

It is printed, or put into a document between the lines BEGIN and END, in place of what is there.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

from clocks import SM_CLOCK

OURS, THEIRS = "ours", "tileiras"
BEGIN, END = "<!-- times: benchmarks/gpu/report.py -->\n", "<!-- end of times -->\n"
PHASES = ("check", "time")  # that every kernel is to have a row of
COLUMNS = (
    "kernel", "largest error", "sanitizers", "ours ms (min, p90)", "modelled ms", "measured / modelled", "rate", SM_CLOCK,
    "tileiras ms", "ours is faster", "peers ms", "of the fastest peer", "remarks",
)  # fmt: skip
# Words before the number in ncu's sections, and what the column says.
METRICS = {
    "Duration": "time", "Compute (SM) Throughput": "SM %", "Memory Throughput": "memory %",
    "Achieved Occupancy": "occupancy %", "Registers Per Thread": "registers", "No Eligible": "no warp eligible %",
}  # fmt: skip


def last_run(lines: Iterable[str]) -> tuple[dict, list[dict]]:
    """What the last run, and those that it took up, say of themselves, and their rows: the last of each case. A line that
    a crash cut off is left out."""
    start: dict = {}
    rows: dict[tuple, dict] = {}
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if row["phase"] == "start":
            rows = rows if row.get("resumed") else {}
            start = row
        rows[row["phase"], row.get("case"), row.get("variant")] = row
    return start, list(rows.values())


def table(lines: Iterable[str]) -> str:
    """Markdown: what the driver loaded and the probes found, one row for a kernel of the plan, and ncu's metrics where there are
    any."""
    start, rows = last_run(lines)
    known = {**start.get("versions", {}), "driver": start.get("driver", "unknown"), **start.get("libraries", {})}
    versions = ", ".join(f"{name} {version}" for name, version in known.items())
    head = f"{start.get('gpu') or 'no GPU'}, {start.get('date')}, {versions}"
    probes = [_probe(row) for row in rows if row["phase"] == "probe"]
    skipped = [f"- {row['phase']}: {row['skipped']}" for row in rows if "skipped" in row]
    cells = [_row(kernel, _of(rows, kernel["name"])) for kernel in start.get("kernels", [])]
    parts = [head, "", *_loaded(rows), *probes, *skipped, "", *_markdown(COLUMNS, cells), *_profiles(rows)]
    return "\n".join(parts) + "\n"


def _loaded(rows: list[dict]) -> list[str]:
    """How many images the driver takes, and what became of the others."""
    found = [row for row in rows if row["phase"] == "load"]
    others = [row for row in found if "refused" in row]
    return (
        [f"- load: {len(found) - len(others)} of {len(found)} images as they are", *map(_refused, others)]
        if found
        else []
    )


def _refused(row: dict) -> str:
    became = remark(row) or f"{row['refused']}; made here by {row['source']}"
    return f"- load {row['case']} {row['variant']}: {became}"


def _probe(row: dict) -> str:
    return f"- {row['case']} {row['variant']}: {remark(row) or row.get('found') or 'works'}"


def remark(row: dict) -> str:
    """What was wrong with a row; empty if nothing was."""
    return row.get("failed") or "; ".join(row.get("wrong", []))


def _of(rows: list[dict], case: str) -> list[dict]:
    """A kernel's rows, without those of the probes, of cases that had no time, and of images that are not ours."""
    return [
        row for row in rows if row.get("case") == case and row["phase"] not in ("probe", "cut") and not _of_peer(row)
    ]


def _of_peer(row: dict) -> bool:
    return row["phase"] == "load" and row["variant"] != OURS


def _row(kernel: dict, rows: list[dict]) -> list[str]:
    errors = [row["error"] for row in rows if row["phase"] == "check" and "error" in row]
    sanitized = [row for row in rows if row["phase"] == "sanitize"]
    timed = next((row for row in rows if row["phase"] == "time"), {})
    clean = sum(not remark(row) for row in sanitized)
    cells = [kernel["name"], f"{max(errors):.1e}" if errors else "", f"{clean}/{len(sanitized)}" if sanitized else ""]
    return [*cells, *_times(kernel, timed), "; ".join(_remarks(rows)).replace("|", "/")]


def _remarks(rows: list[dict]) -> list[str]:
    """What was wrong, and what was not run."""
    found = [f"{row['phase']} {row['variant']}: {remark(row)}" for row in rows if remark(row)]
    timed = next((row for row in rows if row["phase"] == "time"), {})
    found += [
        f"made by {row['source']}" for row in rows if row["phase"] == "load" and "refused" in row and not remark(row)
    ]
    found += [f"{by} is not compared: {why}" for by, why in timed.get("failed_peers", {}).items()]
    found += [f"{by}: {note}" for by, note in timed.get("notes", {}).items()]
    wrong = any(remark(row) for row in rows if row["phase"] == "check")
    missing = [phase for phase in PHASES if not any(row["phase"] == phase for row in rows)]
    return found + [f"no {phase}" for phase in missing if not (wrong and phase == "time")]


def _times(kernel: dict, timed: dict) -> list[str]:
    """The cells from our time to the ratio with the fastest peer."""
    times, failed = timed.get("ms", {}), timed.get("failed_peers", {})
    ours, theirs = (times.get(by, {}).get("median") for by in (OURS, THEIRS))
    theirs = None if THEIRS in failed else theirs
    peers = {by: one["median"] for by, one in times.items() if by not in (OURS, THEIRS, *failed)}
    ranked = sorted(peers, key=peers.get)
    spread = f"{ours:.3f} ({times[OURS]['min']:.3f}, {times[OURS]['p90']:.3f})" if ours else ""
    clock = timed.get("clocks", {}).get(SM_CLOCK)
    modelled = kernel["modelled_us"] / 1000 if kernel.get("modelled_us") else None
    cells = [spread, _ms(modelled), _ratio(ours, modelled), _rate(kernel, ours), f"{clock[1]:.0f}" if clock else ""]
    cells += [_ms(theirs), _ratio(theirs, ours)]
    fastest = _ratio(peers[ranked[0]], ours) if ranked else ""
    return [*cells, ", ".join(f"{_ms(peers[by])} ({by})" for by in ranked), fastest]


def _rate(kernel: dict, ours: float | None) -> str:
    """Floating-point operations, or the bytes of all arrays, in a second."""
    if not ours:
        return ""
    return (
        f"{kernel['work'] / ours / 1e9:.0f} TFLOP/s" if kernel["work"] else f"{kernel['bytes'] / ours / 1e6:.0f} GB/s"
    )


def _ms(value: float | None) -> str:
    return f"{value:.3f}" if value else ""


def _ratio(other: float | None, ours: float | None) -> str:
    return f"{other / ours:.2f}x" if other and ours else ""


def _markdown(columns: Iterable[str], rows: Iterable[list[str]]) -> list[str]:
    head = list(columns)
    return [f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows)]


# ---- profiles --------------------------------------------------------------------------------------------------------
def _profiles(rows: list[dict]) -> list[str]:
    """A table of ncu's metrics; empty where it was not run."""
    found = [
        (row["case"], metrics(row.get("output", ""))) for row in rows if row["phase"] == "profile" and "case" in row
    ]
    cells = [[case, *(metrics.get(name, "") for name in METRICS)] for case, metrics in found]
    return ["", *_markdown(("kernel", *METRICS.values()), cells)] if cells else []


def metrics(output: str) -> dict[str, str]:
    """Metrics of ncu's sections with their units, where those are no percents: lines of a name, a unit and a value."""
    found: dict[str, str] = {}
    for line in output.splitlines():
        name = next((name for name in METRICS if line.strip().startswith(f"{name} ")), None)
        if name and name not in found:
            *unit, value = line.strip()[len(name) :].split()
            found[name] = " ".join([value, *(word for word in unit if word not in ("%", "register/thread"))])
    return found


def put(document: str, made: str) -> str:
    """The document with a table between its marks; raises ValueError where it has none."""
    before, rest = document.split(BEGIN, 1)
    return f"{before}{BEGIN}{made}{END}{rest.split(END, 1)[1]}"


def main() -> int:
    results, *document = map(Path, sys.argv[1:])
    made = table(results.read_text().splitlines())
    if document:
        document[0].write_text(put(document[0].read_text(), made))
    else:
        print(made, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())

"""The table of docs/performance.md from the results of ``run.py``: python report.py RESULTS.jsonl [PLAN.json]"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path

OURS, THEIRS = "ours", "tileiras"
HEADER = (
    "| kernel | largest error | ours ms (min, p90) | TFLOP/s | tileiras ms | ours is faster "
    "| peer ms | of the peer | remarks |"
)


def last_run(lines: Iterable[str]) -> tuple[dict, list[dict]]:
    """What the last run says of itself, and its rows; a line that a crash cut off is left out."""
    start: dict = {}
    rows: list[dict] = []
    for line in lines:
        try:
            row = json.loads(line)
        except ValueError:
            continue
        if row["phase"] == "start":
            start, rows = row, []
        rows.append(row)
    return start, rows


def table(lines: Iterable[str], work: dict[str, float]) -> str:
    """Markdown: one row for a case, in the order in which they were checked; ``work`` in floating-point operations."""
    start, rows = last_run(lines)
    cases = list(dict.fromkeys(row["case"] for row in rows if row["phase"] == "check"))
    versions = ", ".join(f"{name} {version}" for name, version in start.get("versions", {}).items())
    head = f"{start.get('gpu') or 'no GPU'}, {start.get('date')}, {versions}"
    probes = [f"- {row['case']} {row['variant']}: {remark(row) or 'works'}" for row in rows if row["phase"] == "probe"]
    cells = [_row(case, [row for row in rows if row.get("case") == case], work.get(case, 0)) for case in cases]
    return "\n".join([head, "", *probes, "", HEADER, "|" + "---|" * 9, *cells]) + "\n"


def remark(row: dict) -> str:
    """What was wrong with a row; empty if nothing was."""
    return row.get("failed") or "; ".join(row.get("wrong", []))


def _row(case: str, rows: list[dict], work: float) -> str:
    errors = [row["error"] for row in rows if row["phase"] == "check" and "error" in row]
    remarks = [
        f"{row['phase']} {row['variant']}: {remark(row)}" for row in rows if row["phase"] != "probe" and remark(row)
    ]
    times = next((row["ms"] for row in rows if row["phase"] == "time" and "ms" in row), {})
    ours, theirs = (times.get(by, {}).get("median") for by in (OURS, THEIRS))
    peer = next((by for by in times if by not in (OURS, THEIRS)), None)
    other = times[peer]["median"] if peer else None
    spread = f"{ours:.3f} ({times[OURS]['min']:.3f}, {times[OURS]['p90']:.3f})" if ours else ""
    rate = f"{work / ours / 1e9:.0f}" if ours and work else ""
    cells = [case, f"{max(errors):.1e}" if errors else "", spread, rate, _ms(theirs), _ratio(theirs, ours)]
    cells += [f"{_ms(other)} ({peer})" if peer else "", _ratio(other, ours), "; ".join(remarks).replace("|", "/")]
    return "| " + " | ".join(cells) + " |"


def _ms(value: float | None) -> str:
    return f"{value:.3f}" if value else ""


def _ratio(other: float | None, ours: float | None) -> str:
    return f"{other / ours:.2f}x" if other and ours else ""


def main() -> int:
    results = Path(sys.argv[1])
    plan = json.loads(Path(sys.argv[2] if len(sys.argv) > 2 else results.with_name("plan.json")).read_text())
    work = {row["name"]: row["variants"]["full"]["work"] for row in plan["kernels"]}
    print(table(results.read_text().splitlines(), work), end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())

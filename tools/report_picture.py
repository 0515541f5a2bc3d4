"""Draw docs/report.svg: the code view of a report, a kernel's source beside the SASS of one of its lines.

python tools/report_picture.py
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from xml.sax.saxutils import escape

from tileiras_build.driver import lower
from tileiras_build.frontend.export_cutile import export_kernels
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.stages import STAGES
from tileiras_build.reports.stage_source_lines import Line, read_lines
from tileiras_build.target.sass_listing import disassemble
from tileiras_build.target.targets import find_target

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs" / "report.svg"
SOURCE, KERNEL, TARGET = "examples/kernels/matmul.py", "matmul_f16_nt", "sm_90"
FIRST, LAST, CHOSEN = "@ct.kernel", "    ct.store(", "ct.mma("  # the shown lines of the source, and the marked one
LINE_HEIGHT, LETTER, COLUMNS = 17, 7.3, (84, 60)  # pixels; letters of each pane
STYLE = (
    "svg{background:#f5f6f8}text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#1a1d23;white-space:pre}"
    ".no{fill:#5d6572}.chosen{fill:#dbe8fb}.title{font-weight:600;fill:#1f5fbf}"
)

Row = tuple[str, str, bool]  # the number in the margin, the text, and whether it is marked


def picture(panes: Sequence[tuple[str, Sequence[Row]]]) -> str:
    """An SVG of panes side by side, each a title and its rows."""
    height = LINE_HEIGHT * (max(len(rows) for _, rows in panes) + 2)
    width, parts = 0.0, []
    for (title, rows), columns in zip(panes, COLUMNS, strict=True):
        parts += _pane(width + 8, columns, title, rows)
        width += columns * LETTER
    box = f'viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" height="{height}"'
    body = "\n".join(parts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img">\n<style>{STYLE}</style>\n{body}\n</svg>\n'


def _pane(left: float, columns: int, title: str, rows: Sequence[Row]) -> list[str]:
    made = [_text(left, 0, "title", title)]
    for index, (number, text, is_chosen) in enumerate(rows, 1):
        if is_chosen:
            box = f'x="{left:.0f}" y="{index * LINE_HEIGHT + 4}" width="{(columns - 2) * LETTER:.0f}" height="{LINE_HEIGHT}"'
            made.append(f'<rect class="chosen" {box}/>')
        made += [_text(left, index, "no", number), _text(left + 6 * LETTER, index, "", _clipped(text, columns - 8))]
    return made


def _clipped(text: str, letters: int) -> str:
    return text if len(text) <= letters else f"{text[: letters - 1]}\N{HORIZONTAL ELLIPSIS}"


def _text(left: float, index: int, name: str, text: str) -> str:
    kind = f' class="{name}"' if name else ""
    return f'<text x="{left:.0f}" y="{(index + 1) * LINE_HEIGHT}"{kind} xml:space="preserve">{escape(text)}</text>'


def source_rows(lines: Sequence[str]) -> tuple[list[Row], int]:
    """The rows of the first kernel of a file, and the number of the marked line."""
    start = lines.index(FIRST)
    end = next(index for index in range(start, len(lines)) if lines[index].startswith(LAST))
    chosen = next(index for index in range(start, end) if CHOSEN in lines[index]) + 1
    return [(str(n), lines[n - 1], n == chosen) for n in range(start + 1, end + 2)], chosen


def sass_rows(lines: Sequence[Line], chosen: int, count: int) -> list[Row]:
    """As many rows from the first matrix instruction of the marked line on."""
    of = [(line.places[0][1] if line.places else 0, " ".join(line.text.split())) for line in lines]
    start = next(index for index, (number, text) in enumerate(of) if number == chosen and "MMA" in text)
    return [(str(number or ""), text, number == chosen) for number, text in of[max(start - 3, 0) :][:count]]


def main() -> None:
    """Compile the kernel with line information, and write the picture."""
    job, data = Job(find_target(TARGET), lineinfo=True), export_kernels(ROOT / SOURCE, [KERNEL])[KERNEL]
    for before, after in pairwise(STAGES):
        data = lower(data, before.name, after.name, job)[after.suffix]
    source, chosen = source_rows((ROOT / SOURCE).read_text().splitlines())
    sass = sass_rows(read_lines("sass", disassemble(data, "-gi", "-gp"), KERNEL), chosen, len(source))
    PICTURE.write_text(picture([(SOURCE, source), (f"SASS, {TARGET}", sass)]))


if __name__ == "__main__":
    main()

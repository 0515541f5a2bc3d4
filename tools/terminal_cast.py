"""Draw docs/terminal.svg: the first commands of README in a terminal, as they ran, with shorter pauses.

python tools/terminal_cast.py

A line that begins with the number of a step is replaced by the next one, as in a terminal. Without animation the picture is the end.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from time import monotonic
from xml.sax.saxutils import escape

from tests.documents.typed import Command, File, steps
from tools.report_picture import LETTER, LINE_HEIGHT, ROOT

PICTURE = ROOT / "docs" / "terminal.svg"
COLUMNS, SHOWN, LONGEST_PAUSE = 100, 3, 0.6  # letters of a line, commands, seconds
INSTALLS = "pip install"
STYLE = (
    "svg{background:#1e2127}text{font:12px ui-monospace,Menlo,Consolas,monospace;fill:#d7dae0;white-space:pre}"
    ".typed{fill:#98c379}.step{opacity:0}@keyframes hide{from,to{opacity:0}}@keyframes show{from,to{opacity:1}}"
    "@media (prefers-reduced-motion){*{animation:none!important}}"
)


@dataclass(frozen=True)
class Line:
    """A line of the terminal and the second at which it appears."""

    text: str
    at: float

    @property
    def is_typed(self) -> bool:
        return self.text.startswith("$ ")

    @property
    def is_step(self) -> bool:
        return self.text.startswith("[") and "/" in self.text.partition("]")[0]


def run(document: str, folder: Path) -> Iterator[Line]:
    """Do what a document says in a folder, up to the last command that is shown."""
    commands, start = 0, monotonic()
    for step in steps(document):
        if isinstance(step, File):
            (folder / step.path).parent.mkdir(parents=True, exist_ok=True)
            (folder / step.path).write_text(step.text)
        elif not step.line.startswith(INSTALLS) and commands < SHOWN:
            commands += 1
            yield from _output(step, folder, start)


def _output(step: Command, folder: Path, start: float) -> Iterator[Line]:
    yield Line(f"$ {step.line.partition('  #')[0].rstrip()}", monotonic() - start)
    environment = os.environ | {"COLUMNS": str(COLUMNS), "PYTHONUNBUFFERED": "1"}
    command = subprocess.Popen(
        ["bash", "-c", step.line], cwd=folder, env=environment, stdout=subprocess.PIPE, text=True
    )
    with command as process:
        for line in process.stdout or ():
            yield Line(line.rstrip("\n"), monotonic() - start)
    if process.returncode:
        raise SystemExit(f"{step.line}: exit {process.returncode}")


def shorter(lines: Sequence[Line]) -> list[Line]:
    """The same lines with pauses of at most LONGEST_PAUSE."""
    at, made = 0.5, [Line(lines[0].text, 0.5)]
    for before, after in pairwise(lines):
        at += min(after.at - before.at, LONGEST_PAUSE)
        made.append(Line(after.text, at))
    return made


def picture(lines: Sequence[Line]) -> str:
    """An SVG of the lines; a step stays until the next line, all others to the end."""
    row, parts = 1, []
    for line, after in zip(lines, [*lines[1:], lines[-1]], strict=True):
        is_replaced = line.is_step and after.is_step
        parts.append(_text(line, row, after.at if is_replaced else None))
        row += not is_replaced
    width, height = COLUMNS * LETTER + 16, (row + 0.5) * LINE_HEIGHT
    box = f'viewBox="0 0 {width:.0f} {height:.0f}" width="{width:.0f}" height="{height:.0f}"'
    body = "\n".join(parts)
    return f'<svg xmlns="http://www.w3.org/2000/svg" {box} role="img">\n<style>{STYLE}</style>\n{body}\n</svg>\n'


def _text(line: Line, row: int, until: float | None) -> str:
    animation, kind = f"hide {line.at:.2f}s", ' class="typed"' if line.is_typed else ""
    if until is not None:
        animation, kind = f"show {max(until - line.at, 0.05):.2f}s {line.at:.2f}s", ' class="step"'
    place = f'x="8" y="{row * LINE_HEIGHT}" style="animation:{animation}"'
    return f'<text {place}{kind} xml:space="preserve">{escape(line.text[:COLUMNS])}</text>'


def main() -> None:
    """Run the commands in a new folder, and write the picture."""
    with tempfile.TemporaryDirectory() as folder:
        lines = list(run((ROOT / "README.md").read_text(), Path(folder)))
    PICTURE.write_text(picture(shorter(lines)))


if __name__ == "__main__":
    main()

"""Run the tests of NVIDIA/cuda-tile through the assembler and the disassembler, and print counts and differences.

    python tools/cuda_tile_suite.py CHECKOUT [--list] [--referee TILEIRAS]

CHECKOUT is an unpacked https://github.com/NVIDIA/cuda-tile. Each unit of its ``test/**/*.mlir`` (between lines of ``// -----``)
is one of:

- good: assembled, disassembled and assembled again; the bytes are the same, and each operation that a CHECK line expects
  stands in the disassembly (where the unit is not run through passes that we do not have);
- bad: refused, on one of the lines that ``expected-error`` marks.

The text is taken as it stands, but for what only NVIDIA's test build reads: a ``testing$func`` is written ``entry``; what
an entry cannot have as a parameter, and results of operations of no dialect, are made by operations; operations outside
of a function are put into one; the second module of a unit is one of its own. No line moves. The files of bytecode beside
the tests are disassembled, or refused. ``--list`` names each unit that differs; ``--referee`` asks NVIDIA's compiler about
bad units that are accepted, and whether it takes the bytecode of good ones.
"""

from __future__ import annotations

import argparse
import collections
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from tileiras_build.core.errors import TileirasError
from tileiras_build.ir.bytecode import disassemble
from tileiras_build.ir.bytecode.opcodes import VERSIONS, Version
from tileiras_build.ir.bytecode.text_parser import RENAMED, parse_text
from tileiras_build.ir.bytecode.writer import write_module

EXPECTED = re.compile(r"expected-error(?:-re)?\s*(?:@([+-]\d+|\w+))?\s*(?:\d+\s*)?\{\{")
REMARK = re.compile(r"expected-remark\s*@below")
MARK = re.compile(r"//\s*expected-\w+")
HEADER = re.compile(r"^[ \t]*(?:cuda_tile\.)?testing\$func\s+@[\w$.]+\s*\(", re.MULTILINE)
ENTRY = re.compile(
    r"^[ \t]*(?:cuda_tile\.)?entry\s+@[\w$.]+\s*\((?=[^{]*: *(?:!cuda_tile\.)?(?:token|\w+_view)\b)", re.MULTILINE
)
FUNCTION = re.compile(
    r'^\s*(?:cuda_tile\.)?(?:entry|testing\$func)\b|"cuda_tile\.(?:entry|testing\$func)"', re.MULTILINE
)
FOREIGN = re.compile(r'%([\w$.]+)\s*=\s*"(?!cuda_tile\.)[\w.]+"\s*\(\)\s*:\s*\(\)\s*->\s*([^\n]+)')
PATIENCE = 30  # seconds
OPERATION = re.compile(r"\s*(?:%\S+(?:, %\S+)* = )?(?:[a-z]\w+)\b.* : ")
# What only NVIDIA's test build reads, and what no text can be refused for: a pattern of a unit, the reason in words.
OUT_OF_REACH = (
    (r"testing\$bytecode_test|bytecode-version=250", "an operation of NVIDIA's test build"),
    (r"Werr-hints", "wants unusable hints refused (-Werr-hints); they are ignored with a remark"),
    (r"update-symbol-name", "a pass of NVIDIA's test build"),
    (r"enclosing function \(@|match function result type", "results of a testing$func, which an entry has not"),
    (r"--list-versions|Inputs/|%S/", "reads no text"),
)
WITH_PASSES = re.compile(r"--pass-pipeline|--canonicalize|--mlir-print-debuginfo")


@dataclass
class Unit:
    """One part of a test file: its text, its first line, and how the file runs it."""

    file: str
    line: int
    text: str
    run: str
    lines: list[int] = field(default_factory=list)  # of the errors it expects
    is_bad: bool = False
    version: Version | str | None = None

    @property
    def name(self) -> str:
        return f"{self.file}:{self.line}"


# ---- reading the suite
def units(root: Path) -> Iterator[Unit]:
    for path in sorted((root / "test").rglob("*.mlir")):
        text = path.read_text()
        run = "\n".join(line for line in text.splitlines() if "RUN:" in line)
        start = 0
        for part in re.split(r"(?<=\n)(?=// ?-----)", text):
            unit = Unit(str(path.relative_to(root / "test")), text.count("\n", 0, start) + 1, part, run)
            start += len(part)
            if re.sub(r"//.*", "", part).strip():
                yield from map(_classified, _modules(unit))


def _modules(unit: Unit) -> Iterator[Unit]:
    """A unit for each module; what stands before the first belongs to all."""
    starts = [found.start() for found in re.finditer(r"^cuda_tile\.module\b", unit.text, re.MULTILINE)]
    if len(starts) < 2:
        yield unit
        return
    for start, end in zip(starts, [*starts[1:], len(unit.text)]):
        before = unit.text[: starts[0]] + "\n" * unit.text.count("\n", starts[0], start)
        yield Unit(unit.file, unit.line, before + unit.text[start:end], unit.run)


def _classified(unit: Unit) -> Unit:
    unit.lines = list(_expected_lines(unit.text.splitlines()))
    told = re.search(r"bytecode-version=([\d.]+)", unit.run)
    unit.version = told and tuple(map(int, told[1].split(".")))
    unit.is_bad = bool(EXPECTED.search(unit.text)) or bool(re.search(r"RUN: not ", unit.run))
    return unit


def _expected_lines(lines: list[str]) -> Iterator[int]:
    for number, line in enumerate(lines, 1):
        if REMARK.search(line):
            yield number + 1
        for found in EXPECTED.finditer(line):
            where = found[1] or "0"
            if where == "below":
                yield next((n for n in range(number + 1, len(lines) + 1) if not MARK.search(lines[n - 1])), number)
            elif where in ("above", "unknown"):
                yield number - 1 if where == "above" else 0
            else:
                yield number + int(where.lstrip("+"))


# ---- what stands in for NVIDIA's test build
def respelled(text: str, header: re.Pattern = HEADER) -> str:
    """The unit as an assembler reads it, line by line."""
    text = text.replace('"cuda_tile.testing$func"', '"cuda_tile.entry"')
    text = FOREIGN.sub(lambda found: _made(found[1], found[2].strip()) or found[0], text)
    while (found := header.search(text)) is not None:
        text = _as_entry(text, found)
    return text if _has_functions(text) else "entry @unit() { " + text + "\n}\n"


def _has_functions(text: str) -> bool:
    plain = re.sub(r"//.*", "", text)
    return bool(re.search(r'\b(?:entry|global)\s|\bmodule\s|"cuda_tile\.(?:entry|module|global)"', plain))


def _as_entry(text: str, found: re.Match) -> str:
    end = _closing(text, found.end() - 1)
    brace = text.index("{", end)
    parameters, made = _parameters(text[found.end() : end])
    results = text[end + 1 : brace]
    header = found[0].replace("testing$func", "entry")
    close = _closing(text, brace)
    body = text[brace + 1 : close]
    if "->" in results:
        body = re.sub(r"\breturn[ \t]+%[^\n]*", "return", body)
    kept = "\n" * results.count("\n") if "->" in results else results
    return f"{text[: found.start()]}{header}{parameters}){kept}{{ {made}{body}{text[close:]}"


def _parameters(text: str) -> tuple[str, str]:
    """The parameters that an entry can have, and operations that make the others."""
    out, made = "", ""
    for piece in _at_commas(re.sub(r"//[^\n]*", "", text)):
        piece = re.sub(r":\s*(?:!cuda_tile\.)?(ptr<\w+>)", r": tile<\1>", piece)
        found = re.search(r"%([\w$.]+)\s*:\s*([\s\S]*?)\s*$", piece)
        operations = found and not _is_scalar(found[2]) and _made(found[1], found[2])
        if operations:
            made += operations + " "
            piece = re.sub(
                r"%[\s\S]*", f"%{found[1]}__: tile<i32>" + "\n" * piece[piece.index("%") :].count("\n"), piece
            )
        out += ("," if out else "") + piece
    return out, made


def _at_commas(text: str) -> Iterator[str]:
    depth = start = 0
    for position, character in enumerate(text):
        depth += (character in "<([{") - (character in "}])>")
        if character == "," and depth == 0:
            yield text[start:position]
            start = position + 1
    if text[start:].strip():
        yield text[start:]


def _closing(text: str, start: int) -> int:
    """Where the bracket at ``start`` is closed; comments and arrows do not count."""
    depth, opening = 0, text[start]
    closing = {"(": ")", "{": "}", "<": ">"}[opening]
    for found in re.finditer(rf"//[^\n]*|->|\"[^\"\n]*\"|\{opening}|\{closing}", text[start:]):
        depth += (found[0] == opening) - (found[0] == closing)
        if depth == 0:
            return start + found.start()
    return len(text) - 1


def _is_scalar(type: str) -> bool:
    return bool(re.fullmatch(r"(?:!cuda_tile\.)?tile<(?:!cuda_tile\.)?(?:[a-z]\w*|ptr<\w+>)>", type))


def _made(name: str, type: str) -> str:
    """Operations on one line that make a value of a type; "" where none can be made, or the text is no type."""
    type = type.replace("!cuda_tile.", "")
    if type == "token":
        return f"%{name} = make_token : token"
    if found := re.fullmatch(r"tile<((?:\d+x)*)i4>", type):
        bytes = f"tile<{found[1]}i8>"
        return f"%{name}__n = constant <i8: 0> : {bytes} %{name} = trunci %{name}__n : {bytes} -> {type}"
    if found := re.fullmatch(r"tile<((?:\d+x)*)([a-z]\w*)>", type):
        return f"%{name} = constant <{found[2]}: {_zero(found[2])}> : {type}"
    if found := re.fullmatch(r"tile<((?:\d+x)*)(ptr<\w+>)>", type):
        integers = f"tile<{found[1]}i64>"
        return f"%{name}__n = constant <i64: 0> : {integers} %{name} = int_to_ptr %{name}__n : {integers} -> {type}"
    if type.startswith("tensor_view<"):
        return _tensor_view(name, type)
    if found := re.match(r"(partition|strided|gather_scatter)_view<", type):
        inner = re.search(r"tensor_view<", type)
        view = inner and type[inner.start() : _closing(type, inner.end() - 1) + 1]
        return view and f"{_tensor_view(name + '__v', view)} %{name} = make_{found[1]}_view %{name}__v : {type}" or ""
    return ""


def _zero(element: str) -> str:
    return "0" if element.startswith("i") else "0x0"


def _tensor_view(name: str, type: str) -> str:
    found = re.fullmatch(r"tensor_view<((?:[\d?]+x)*)(\w+)(?:,\s*strides=\[([^]]*)\])?>", type)
    if found is None:
        return ""
    sizes = [[dim.strip() for dim in dims] for dims in (found[1].split("x")[:-1], (found[3] or "").split(","))]
    shape, strides = ([dim.replace("?", f"%{name}__d") for dim in dims if dim] for dims in sizes)
    dynamic = "tile<i64> -> " if any("%" in dim for dim in shape + strides) else ""
    return (
        f"{_made(name + '__p', f'tile<ptr<{found[2]}>>')} %{name}__d = constant <i64: 16> : tile<i64> "
        f"%{name} = make_tensor_view %{name}__p, shape = [{', '.join(shape)}], strides = [{', '.join(strides)}] : {dynamic}{type}"
    )


# ---- running it
def run_good(unit: Unit, report: Report) -> None:
    """Assemble, disassemble, assemble again."""
    version = unit.version if isinstance(unit.version, tuple) else VERSIONS[-1]
    try:
        spelled = respelled(respelled(unit.text), ENTRY)
        data = write_module(parse_text(spelled, unit.name), version=version)
        text = disassemble(data)
        again = write_module(parse_text(text), version=version)
        same = again == write_module(parse_text(disassemble(again)), version=version)
    except TileirasError as problem:
        report.differs("good", unit, str(problem))
        return
    if not same or disassemble(again) != text:
        report.differs("good", unit, "the text that is read back is another")
        return
    report.counts["good: as expected"] += 1
    report.counts["good: of them to the letter"] += spelled == unit.text
    report.counts["good: functions in them"] += len(FUNCTION.findall(re.sub(r"//.*", "", unit.text)))
    if report.referee:
        report.counts[f"good: NVIDIA's compiler {'takes' if report.takes(data) else 'refuses'} the bytecode"] += 1
    if not WITH_PASSES.search(unit.run):
        check_lines(unit, text, report)


def check_lines(unit: Unit, text: str, report: Report) -> None:
    """Look for each operation that a CHECK line expects."""
    printed = "\n".join(line.strip() for line in text.splitlines())
    for number, line in enumerate(unit.text.splitlines(), 1):
        found = re.search(r"//\s*CHECK(?:-NEXT|-SAME|-DAG)?: (.*)", line)
        if (
            found is None
            or found[1].startswith("return %")
            or not OPERATION.match(re.sub(r"%?\[\[.*?\]\]|%?\{\{.*?\}\}", "%x", found[1]))
        ):
            continue
        good = re.search(_pattern(found[1].strip()), printed) is not None
        report.counts[f"CHECK lines of operations: {'found' if good else 'different'}"] += 1
        if not good:
            report.lines.append(f"{unit.file}:{unit.line + number - 1}: not printed: {found[1].strip()}")


def _pattern(line: str) -> str:
    """A CHECK line as an expression of Python."""
    out = ""
    for old, new in RENAMED.items():
        line = re.sub(rf"\b{old} ", f"{new} ", line)
    for piece in re.split(r"(%?\{\{.*?\}\}+|%\[\[\w+(?::.*?)?\]\]|%arg\d+)", line):
        if piece.startswith("{{"):
            out += f"(?:{piece[2:-2]})"
        elif piece.startswith("%{{"):
            out += f"%(?:{piece[3:-2]})"
        elif piece.startswith("%"):
            out += r"%\S*?\w"
        else:
            out += re.sub(r"(?:\\ )+", r"\\s+", re.escape(piece))
    return out


def run_bad(unit: Unit, report: Report) -> None:
    """Assemble what has to be refused."""
    try:
        version = unit.version
        if version is not None and version not in VERSIONS:
            report.counts["bad: refused"] += 1  # by the command line, which lists those it writes
            return
        data = write_module(parse_text(respelled(unit.text), unit.name), version=version or VERSIONS[-1])
    except TileirasError as problem:
        line = problem.location.line if problem.location else 0
        is_there = not unit.lines or line in unit.lines or 0 in unit.lines
        report.counts[f"bad: refused{'' if is_there else ', on another line'}"] += 1
        if not is_there:
            report.lines.append(f"{unit.name}: expected on line {unit.lines}: {problem}")
        return
    if report.referee and report.takes(data):
        report.counts["bad: accepted, as by NVIDIA's compiler"] += 1
        report.lines.append(f"{unit.name}: accepted, as by NVIDIA's compiler")
    else:
        report.differs("bad", unit, "accepted")


def run_bytecode(path: Path, report: Report) -> None:
    """Disassemble a file, or refuse it."""
    is_bad = path.parent.name == "invalid" or "-in-" in path.name
    try:
        disassemble(path.read_bytes(), name=path.name)
    except TileirasError as problem:
        good, said = is_bad, str(problem)
    else:
        good, said = not is_bad, "accepted"
    report.counts[f"files of bytecode: {'as expected' if good else 'different'}"] += 1
    if not good:
        report.lines.append(f"{path.name}: {said}")


@dataclass
class Report:
    """Counts by what they count, and a line for each unit that differs."""

    counts: collections.Counter[str] = field(default_factory=collections.Counter)
    lines: list[str] = field(default_factory=list)
    referee: str = ""

    def takes(self, data: bytes) -> bool:
        """Whether the referee takes bytecode for a program. It verifies it at once: what takes long is taken."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "k.tilebc"
            path.write_bytes(data)
            command = [self.referee, "--gpu-name", "sm_100", str(path), "-o", str(path.with_suffix(".cubin"))]
            try:
                said = subprocess.run(command, capture_output=True, check=False, timeout=PATIENCE).stderr
                return b"does not correspond to Tile IR bytecode" not in said
            except subprocess.TimeoutExpired:
                return True

    def differs(self, kind: str, unit: Unit, message: str) -> None:
        self.counts[f"{kind}: different"] += 1
        self.lines.append(f"{unit.name}: {message}")

    def text(self, listed: bool) -> str:
        rows = [f"{count:6} {what}" for what, count in sorted(self.counts.items())]
        return "\n".join(rows + (["", *self.lines] if listed else []))


def run(root: Path, referee: str = "") -> Report:
    """Everything."""
    report = Report(referee=referee)
    for path in sorted((root / "test").rglob("*bc")):
        run_bytecode(path, report)
    for unit in units(root):
        reason = next((why for pattern, why in OUT_OF_REACH if re.search(pattern, unit.run + unit.text)), None)
        if reason is not None:
            report.counts[f"out of reach: {reason}"] += 1
        else:
            (run_bad if unit.is_bad else run_good)(unit, report)
    return report


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument("--list", action="store_true", help="name each unit that differs")
    parser.add_argument("--referee", default="", metavar="TILEIRAS", help="NVIDIA's compiler")
    options = parser.parse_args()
    print(run(options.checkout, options.referee).text(options.list))


if __name__ == "__main__":
    main()

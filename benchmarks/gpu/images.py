"""The image of a kernel for the driver: the plan's cubin, or one compiled from its PTX on this machine.

``load_all`` has the driver load every image, each of which may be refused, or bring the process down, alone. Of a refused one that has
PTX beside it ptxas makes another, with the PTX version and the target that it knows where its own checks allow them; where that fails the
driver's compiler gets the PTX. What was made lies beside the cubin and is taken from then on.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import processes
from processes import Budget

PLANNED, BY_PTXAS, BY_DRIVER = "cubin", "ptxas", "the driver's compiler"
_FILES = {BY_PTXAS: "local.cubin", BY_DRIVER: "local.ptx", PLANNED: "cubin"}  # the first that exists is taken
_LOAD_LIMIT, _PTXAS_LIMIT = 60.0, 60.0  # seconds
_VERSION, _TARGET = re.compile(r"^\.version \S+", re.MULTILINE), re.compile(r"^\.target (sm_\d+)([af]?)", re.MULTILINE)
_KNOWN = re.compile(r"[Uu]nsupported \.version [\d.]+; current version is '([\d.]+)'")


def place(folder: Path, case: str, by: str, source: str) -> Path:
    """The file of an image from one of its sources."""
    return folder / "images" / f"{case}.{by}.{_FILES[source]}"


def read(folder: Path, case: str, by: str) -> bytes:
    """The image that is loaded."""
    for source in _FILES:
        path = place(folder, case, by, source)
        if path.exists():
            return path.read_bytes() + (b"\0" if path.suffix == ".ptx" else b"")
    raise FileNotFoundError(f"images/{case}.{by} is missing")


# ---- loading ---------------------------------------------------------------------------------------------------------
def load_all(folder: Path, wanted: Sequence[dict], budget: Budget) -> Iterator[dict]:
    """What became of each image: ``source``, and ``failed`` where the driver takes none of them."""
    for one in wanted:
        forget(folder, one)
    refused = {}
    for one, why in _loaded(folder, wanted, budget):
        if why is None:
            yield {"case": one["case"], "by": one["by"], "source": PLANNED, "wrong": []}
        else:
            refused[one["case"], one["by"]] = (one, why)
    yield from _mended(folder, list(refused.values()), budget)


def _mended(folder: Path, refused: list[tuple[dict, str]], budget: Budget) -> Iterator[dict]:
    """The refused ones once more: as ptxas makes them, then as PTX."""
    ptxas = processes.find_tool("ptxas")
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        reasons = list(pool.map(lambda pair: assemble(folder, pair[0], ptxas), refused))
    for (one, why), reason in zip(refused, reasons):
        source = BY_DRIVER if reason else BY_PTXAS
        found = _retried(folder, one, source, budget)
        if found and source == BY_PTXAS:
            source, found = BY_DRIVER, _retried(folder, one, BY_DRIVER, budget)
        told = {"case": one["case"], "by": one["by"], "refused": why, "wrong": []}
        yield told | (
            {"failed": "; ".join(dict.fromkeys(filter(None, [why, reason, found])))} if found else {"source": source}
        )


def _retried(folder: Path, one: dict, source: str, budget: Budget) -> str | None:
    """Why an image from another source is refused; None: it is loaded, and taken from now on."""
    path = place(folder, one["case"], one["by"], source)
    if source == BY_DRIVER:
        ptx = _ptx(folder, one)
        if ptx is None:
            return "there is no PTX of it"
        forget(folder, one)
        path.write_text(ptx)
    why = next((why for _, why in _loaded(folder, [one], budget)), "there was no time")
    if why is not None:
        path.unlink(missing_ok=True)
    return why


def _loaded(folder: Path, wanted: Sequence[dict], budget: Budget) -> Iterator[tuple[dict, str | None]]:
    """Each image that there is time for, and why it was refused. A process loads all; where one brings it down the next goes on
    behind that."""
    left = list(wanted)
    while left:
        names = [f"{one['case']}.{one['by']}.{one['dynamic']}" for one in left]
        command = [sys.executable, str(folder / "case.py"), str(folder), "all", "load", *names]
        out, said, status = processes.output(command, max(1.0, min(_LOAD_LIMIT, budget.left())))
        found = [row for row in processes.objects(out) if "image" in row]
        yield from ((one, row.get("failed")) for one, row in zip(left, found))
        left = left[len(found) :]
        if left and budget.left() <= 0:
            return
        if left:
            last = (" ".join(said.split()) or f"exit status {status}")[-200:]
            yield left.pop(0), "no end" if status is None else f"the process ended: {last}"


def forget(folder: Path, one: dict) -> None:
    """Take the plan's cubin again."""
    for source in (BY_PTXAS, BY_DRIVER):
        place(folder, one["case"], one["by"], source).unlink(missing_ok=True)


# ---- ptxas of this machine -------------------------------------------------------------------------------------------
def _ptx(folder: Path, one: dict) -> str | None:
    path = folder / "images" / f"{one['case']}.{one['by']}.ptx"
    return path.read_text() if path.exists() else None


def assemble(folder: Path, one: dict, ptxas: str | None) -> str | None:
    """Have ptxas make the image of its PTX; why it cannot."""
    ptx, made = _ptx(folder, one), place(folder, one["case"], one["by"], BY_PTXAS)
    if ptx is None or ptxas is None:
        return "there is no PTX of it" if ptx is None else "there is no ptxas"
    said = ""
    for arch, text in spellings(ptx):
        said = _assembled(ptxas, [*one.get("ptxas", []), "-arch", arch], text, made)
        known = _KNOWN.search(said)
        if known:
            said = _assembled(
                ptxas, [*one.get("ptxas", []), "-arch", arch], _VERSION.sub(f".version {known[1]}", text), made
            )
        if not said:
            return None
    return said


def spellings(ptx: str) -> Iterator[tuple[str, str]]:
    """(arch, PTX) as it is, then for the target without its suffix: ptxas refuses what only the former has."""
    found = _TARGET.search(ptx)
    if found is None:
        return
    yield found[1] + found[2], ptx
    if found[2]:
        yield found[1], _TARGET.sub(r".target \1", ptx)


def _assembled(ptxas: str, words: list[str], text: str, made: Path) -> str:
    """What ptxas complains of; empty where it wrote the cubin."""
    source = made.with_suffix(".source")
    source.write_text(text)
    try:
        done = subprocess.run(
            [ptxas, *words, str(source), "-o", str(made)],
            capture_output=True,
            text=True,
            timeout=_PTXAS_LIMIT,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"ptxas: {type(error).__name__}"
    finally:
        source.unlink()
    if not done.returncode and made.exists():
        return ""
    made.unlink(missing_ok=True)
    complaints = " ".join((done.stderr or done.stdout).split()).replace(str(source), "k.ptx")
    return (complaints or f"ptxas: exit status {done.returncode}")[-300:]

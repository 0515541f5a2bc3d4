"""The edges of ``fake_stages.py``. Imported by what runs them, so that no build script learns what they can do."""

import os
import signal
import sys
import time
from pathlib import Path

from tileiras_build.core.errors import InternalError, Location, Unsupported
from tileiras_build.manifest.manifest_constants import VERSION

LIBDEVICE_LINE = "ptx: libdevice"


def _edge(name):
    def lower(text, job):
        for line in text.splitlines():
            if line.startswith(f"{name}: "):
                BEHAVIORS[line.removeprefix(f"{name}: ")](name, job)
        return f"{text}{name} {job.target.name} O{job.opt_level}\n"

    return lower


def _fail(name, job):
    raise Unsupported("fake-no-row", f"no row in {name}", location=Location("k.py", 3, 4), remedy="use another")


def _contract(name, job):
    raise InternalError("pass-illegal-op", "operation x.y survived pass z, which removes it")


def _broken(name, job):
    raise ZeroDivisionError("a bug")


def _lacking(name, job):
    raise ModuleNotFoundError("No module named 'xdsl.ir'", name="xdsl.ir")


def _lost(name, job):
    raise ModuleNotFoundError("No module named 'tileiras_build.gone'", name="tileiras_build.gone")


def _crash(name, job):
    print("LLVM ERROR: cannot select", file=sys.stderr)
    os.kill(os.getpid(), signal.SIGABRT)


def _sleep(name, job):
    time.sleep(60)


def _hoard(name, job):
    kept = []
    while True:
        kept.append(bytearray(64 << 20))


def _pause(name, job):
    time.sleep(1)


def _nap(name, job):
    time.sleep(0.1)


def _surroundings(name, job):
    print("surroundings:", os.environ.get("NEW"), os.environ.get("GONE"), Path.cwd())


def _read_libdevice(name, job):
    assert Path(job.libdevice).is_file()


def _read_cut(name, job):
    assert Path(job.libdevice).read_text().startswith("cut ")


def _gate(name, job):
    """Waits in the middle of the step until the test lets it go on."""
    Path("started").touch()
    while not Path("go").exists():
        time.sleep(0.01)


def _rewrite(name, job):
    """Changes the kernel's source while a step reads it, each time."""
    source = Path("a.tilebc")
    source.write_text(f"{source.read_text()}# {time.time_ns()}\n")


BEHAVIORS = {
    "fail": _fail,
    "contract": _contract,
    "broken": _broken,
    "lacking": _lacking,
    "lost": _lost,
    "crash": _crash,
    "sleep": _sleep,
    "hoard": _hoard,
    "pause": _pause,
    "nap": _nap,
    "surroundings": _surroundings,
    "libdevice": _read_libdevice,
    "linked": _read_libdevice,
    "cut before": _read_cut,
    "gate": _gate,
    "rewrite": _rewrite,
}

to_tileaa, to_ll = _edge("tileaa"), _edge("ll")


def to_ptx(text, job):
    """What is linked shows only where a kernel asks for that: a new libdevice is cut off else."""
    linked = _library(text, job) if "ptx: linked" in text else ""
    return _edge("ptx")(text, job) + (f"linked {linked}\n" if linked else "")


def _library(text, job):
    library = Path(job.libdevice).read_text()
    return library if library.startswith("cut ") else cut(request_of(text.encode()).decode(), job)


def to_tileas(text, job):
    """Drops comments: what changes nothing but a comment is cut off here."""
    kept = [line for line in text.splitlines() if not line.startswith("#")]
    return _edge("tileas")("\n".join(kept) + "\n", job)


def to_cubin(text, job):
    assembler = Path(job.ptxas).read_text().strip() if job.ptxas else "none"
    _edge("cubin")(text, job)
    resources = {"registers": 42, "spill_stores": 0, "spill_loads": 8, "stack": 0, "shared": 1024}
    kernel = {"shared_memory": {"static": 1024, "dynamic": 16}, "resources": resources}
    manifest = {"version": VERSION, "target": job.target.name, "kernels": {text.split()[1]: kernel}}
    return f"{text}cubin {assembler}\n".encode(), manifest


def export(path, names=None, *, source_root=None):
    """Each line ``kernel NAME`` of the Python file's CASES table starts a kernel."""
    from tileiras_build.frontend.export_cutile import list_cases

    text = Path(path).read_text()
    bodies = dict(line.split(" = ", 1) for line in text.splitlines() if line.startswith("BODY_"))
    return {name: f"kernel {name}\n{bodies.get(f'BODY_{name}', '')}\n".encode() for name in list_cases(path)}


def export_program(path, names=None, *, source_root=None):
    """Runs the file as the real export does; VALUE of its module is the body of each kernel."""
    from tileiras_build.frontend.export_cutile import list_cases, opened_module

    with opened_module(path) as module:
        body = f"kernel NAME\nvalue {module.VALUE!r}\n"
    return {name: body.replace("NAME", name).encode() for name in list_cases(path)}


def find_file(path=None):
    """As the finders of ptxas and libdevice; "installed" ones are beside the build."""
    return Path(path or os.environ["FAKE_INPUT"])


def request_of(data):
    """Functions ``f``, ``g`` where a kernel shows what is linked, and ``gate``, which is cut after a wait."""
    if data.find(LIBDEVICE_LINE.encode()) < 0:
        return b""
    more = [name for name, line in ((b"g\n", b"ptx: linked"), (b"gate\n", b"cut: gate")) if data.find(line) >= 0]
    return b"".join((b"triple\nf\n", *more))


def cut(request, job):
    """Drops comments: a libdevice that is new in nothing but a comment is cut off here."""
    lines = Path(job.libdevice).read_text().splitlines()
    if "gate" in request.split():
        _gate("cut", job)
    return f"cut {request.split()} {[line for line in lines if not line.startswith('#')]}\n"

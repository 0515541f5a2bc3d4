"""Ways of reading that no plain ``open``, ``stat`` or ``os.environ`` shows: more rows for ``test_incremental_correctness.py``."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from tests.build.input_edits import DATA, HERE, Way, in_place, link, renamed, touched_later, write


def _owner(name: str) -> Callable[[Path], None]:
    """A file of somebody else's where one may give files away, else of another mode."""

    def change(folder: Path) -> None:
        try:
            os.chown(folder / name, 12345, 12345)
        except PermissionError:
            os.chmod(folder / name, 0o600)

    return change


def _second_name(name: str, other: str) -> Callable[[Path], None]:
    return lambda folder: os.link(folder / name, folder / other)


_TWO = in_place("data.txt", "2\n")
_TEMPORARY = HERE + "import tempfile; d = tempfile.mkdtemp()\n"
_FOLDER = HERE + "f = os.open(here + 'there', os.O_RDONLY)\n"
_THERE = {"there/data.txt": "1\n"}
_TWO_THERE = in_place("there/data.txt", "2\n")
_LIBC = HERE + "import ctypes\nc = ctypes.CDLL(None)\n"
_KEEPER = (
    "import importlib\nREG = {}\ndef by_name(n):\n"
    "    if n not in REG: REG[n] = importlib.import_module(n)\n    return REG[n]\n"
)

UNUSUAL_WAYS: dict[str, Way] = {
    # ---- what the program seems to make itself
    "makedirs where it is there": Way(
        HERE + "os.makedirs(here + 'there', exist_ok=True); VALUE = open(here + 'there/data.txt').read()",
        _THERE,
        _TWO_THERE,
    ),
    "exists in a folder that is made anew": Way(
        HERE + "os.makedirs(here + 'there', exist_ok=True); VALUE = os.path.exists(here + 'there/more.txt')",
        _THERE,
        write("there/more.txt", ""),
    ),
    "an exclusive open that fails": Way(
        HERE + "try: open(here + 'data.txt', 'x')\nexcept FileExistsError: VALUE = open(here + 'data.txt').read()",
        DATA,
        _TWO,
    ),
    "an open for reading and writing": Way(HERE + "VALUE = open(here + 'data.txt', 'r+').read()", DATA, _TWO),
    "an open for appending": Way(
        HERE + "s = open(here + 'data.txt', 'a+'); s.seek(0); VALUE = s.read()", DATA, renamed("data.txt", "2\n")
    ),
    "a writable memory map": Way(
        HERE + "import mmap\ns = open(here + 'data.txt', 'r+b'); VALUE = mmap.mmap(s.fileno(), 0)[:]", DATA, _TWO
    ),
    "numpy.memmap": Way(HERE + "import numpy; VALUE = numpy.memmap(here + 'data.txt', mode='c').tolist()", DATA, _TWO),
    "a link that it makes": Way(
        _TEMPORARY + "os.symlink(here + 'data.txt', d + '/l'); VALUE = open(d + '/l').read()", DATA, _TWO
    ),
    "a link to a folder that it makes": Way(
        _TEMPORARY + "os.symlink(here, d + '/l'); VALUE = open(d + '/l/data.txt').read()", DATA, _TWO
    ),
    "a hard link that it makes": Way(
        HERE + "from pathlib import Path; Path(here + 'own').unlink(missing_ok=True)\n"
        "os.link(here + 'data.txt', here + 'own'); VALUE = open(here + 'own').read()\nos.unlink(here + 'own')",
        DATA,
        renamed("data.txt", "2\n"),
    ),
    "a copy that it makes": Way(
        _TEMPORARY + "import shutil; shutil.copyfile(here + 'data.txt', d + '/c'); VALUE = open(d + '/c').read()",
        DATA,
        _TWO,
    ),
    # ---- descriptors
    "open in a folder's descriptor": Way(
        _FOLDER + "VALUE = os.read(os.open('data.txt', os.O_RDONLY, dir_fd=f), 9)", _THERE, _TWO_THERE
    ),
    "stat in a folder's descriptor": Way(
        _FOLDER + "VALUE = os.stat('data.txt', dir_fd=f).st_size", _THERE, write("there/data.txt", "22\n")
    ),
    "listdir of a descriptor": Way(_FOLDER + "VALUE = sorted(os.listdir(f))", _THERE, write("there/more.txt", "")),
    "fwalk": Way(
        HERE + "VALUE = [n for x in os.fwalk(here + 'there') for n in x[2]]", _THERE, write("there/more.txt", "")
    ),
    "fstat": Way(HERE + "VALUE = os.fstat(os.open(here + 'data.txt', 0)).st_mtime_ns", DATA, touched_later),
    "chdir": Way(HERE + "os.chdir(here + 'there'); VALUE = open('data.txt').read()", _THERE, _TWO_THERE),
    "/proc/self/cwd": Way(
        HERE + "os.chdir(here); VALUE = open('/proc/self/cwd/data.txt').read()", DATA, renamed("data.txt", "2\n")
    ),
    # ---- links and folders
    "glob through a link": Way(
        HERE + "import glob; VALUE = len(glob.glob(here + '*/*/*.txt'))",
        {"real/deep/a.txt": "", "more/deep/a.txt": "", "more/deep/b.txt": "", "in/x": ""},
        link("in/l", "../more/deep"),
        before=link("in/l", "../real/deep"),
    ),
    "what links of a folder lead to": Way(
        HERE + "VALUE = [e.is_dir() for e in os.scandir(here + 'in')]",
        {"real/x": "", "in/x": ""},
        link("in/l", "../nowhere"),
        before=link("in/l", "../real"),
    ),
    "an entry's size": Way(
        HERE + "VALUE = [e.stat().st_size for e in os.scandir(here + 'there')]",
        _THERE,
        write("there/data.txt", "22\n"),
    ),
    "an owner": Way(HERE + "s = os.stat(here + 'data.txt'); VALUE = s.st_uid, s.st_mode", DATA, _owner("data.txt")),
    "a number of names": Way(
        HERE + "VALUE = os.stat(here + 'data.txt').st_nlink", DATA, _second_name("data.txt", "again.txt")
    ),
    "a time of change": Way(HERE + "VALUE = os.stat(here + 'data.txt').st_ctime_ns", DATA, renamed("data.txt", "1\n")),
    # ---- names that only look like caches and records
    "a file named like a cache": Way(
        HERE + "VALUE = open(here + '__pycache__.txt').read()",
        {"__pycache__.txt": "1\n"},
        in_place("__pycache__.txt", "2\n"),
    ),
    "data in a folder of compiled modules": Way(
        HERE + "VALUE = open(here + '__pycache__/data.txt').read()",
        {"__pycache__/data.txt": "1\n"},
        in_place("__pycache__/data.txt", "2\n"),
    ),
    "names like those of records": Way(
        HERE + "VALUE = sorted(os.listdir(here + 'there'))", _THERE, write("there/.sconsign-notes", "")
    ),
    # ---- C code
    "fopen": Way(
        _LIBC + "c.fopen.restype = ctypes.c_void_p; b = ctypes.create_string_buffer(9)\n"
        "c.fgets(b, 9, ctypes.c_void_p(c.fopen((here + 'data.txt').encode(), b'r'))); VALUE = b.value",
        DATA,
        _TWO,
    ),
    "access of C": Way(_LIBC + "VALUE = c.access((here + 'flag').encode(), 0)", {}, write("flag", "")),
    "getenv of C": Way(
        _LIBC + "c.getenv.restype = ctypes.c_char_p; VALUE = c.getenv(b'WAY_U')",
        environment={"WAY_U": "1"},
        later={"WAY_U": "2"},
    ),
    "posix.stat": Way(
        HERE + "import posix; VALUE = posix.stat(here + 'data.txt').st_size", DATA, write("data.txt", "22\n")
    ),
    "numpy.fromfile": Way(
        HERE + "import numpy; VALUE = numpy.fromfile(here + 'data.txt', 'u1').tolist()",
        DATA,
        renamed("data.txt", "2\n"),
    ),
    "a process of its own": Way(
        HERE + "import multiprocessing as m\ndef f(n): return open(n).read()\n"
        "with m.get_context('fork').Pool(1) as p: VALUE = p.map(f, [here + 'data.txt'])",
        DATA,
        _TWO,
    ),
    # ---- the environment
    "a copy of os.environ": Way("import os; VALUE = os.environ.copy().get('WAY_V')", later={"WAY_V": "2"}),
    "repr of os.environ": Way("import os; VALUE = \"'WAY_W'\" in repr(os.environ)", later={"WAY_W": "2"}),
    "the dictionary of os.environ": Way("import os; VALUE = os.environ._data.get(b'WAY_X')", later={"WAY_X": "2"}),
    "posix.environ": Way("import posix; VALUE = posix.environ.get(b'WAY_Y')", later={"WAY_Y": "2"}),
    "the time zone": Way(
        "import time; VALUE = time.localtime(0).tm_hour", environment={"TZ": "XXX-1"}, later={"TZ": "XXX-2"}
    ),
    # ---- libraries that remember
    "a user's module that a library keeps": Way(
        "import keeper; VALUE = keeper.by_name('kept_by_a_library').VALUE",
        {"site-packages/keeper.py": _KEEPER, "path/kept_by_a_library.py": "VALUE = 1\n"},
        in_place("path/kept_by_a_library.py", "VALUE = 2\n"),
        {"PYTHONPATH": "{here}/site-packages:{here}/path"},
    ),
}

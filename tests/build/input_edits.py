"""Changes of the inputs of a Python file's export: rows for ``test_incremental_correctness.py``.

A row is a kernel file's program, which sets VALUE, the files that it finds, and the change.
"""

from __future__ import annotations

import os
import shutil
import zipfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Way:
    """``program`` sets VALUE; ``files`` (by path in the row's folder) are there at first; ``change`` changes them.

    ``before`` makes what is no text. ``environment`` is added to that of the builds before the change, ``later`` to that of those after it. {here} in
    values stands for the row's folder.
    """

    program: str
    files: dict[str, str] = field(default_factory=dict)
    change: Callable[[Path], None] = lambda folder: None
    environment: dict[str, str] = field(default_factory=dict)
    later: dict[str, str] = field(default_factory=dict)
    before: Callable[[Path], None] = lambda folder: None
    kernel: str = "k.py"


def write(name: str, text: str) -> Callable[[Path], None]:
    """A new file, or an old one with another text."""

    def change(folder: Path) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    return change


def in_place(name: str, text: str) -> Callable[[Path], None]:
    """A text of the same length in the same file, whose time is set back."""

    def change(folder: Path) -> None:
        path, found = folder / name, (folder / name).stat()
        assert len(text) == found.st_size, (name, text)
        path.write_text(text)
        os.utime(path, ns=(found.st_atime_ns, found.st_mtime_ns))

    return change


def renamed(name: str, text: str) -> Callable[[Path], None]:
    """Another file of the same size and time in its place."""

    def change(folder: Path) -> None:
        path, found = folder / name, (folder / name).stat()
        assert len(text) == found.st_size, (name, text)
        other = path.with_name("other")
        other.write_text(text)
        os.utime(other, ns=(found.st_atime_ns, found.st_mtime_ns))
        other.rename(path)

    return change


def link(name: str, target: str) -> Callable[[Path], None]:
    """A symbolic link that points elsewhere from now on."""

    def change(folder: Path) -> None:
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(target)

    return change


def removed(name: str) -> Callable[[Path], None]:
    """A file less."""
    return lambda folder: (folder / name).unlink()


def to_package(folder: Path) -> None:
    """A folder that comes before the module of the same name."""
    (folder / "sizes").mkdir()
    (folder / "sizes/__init__.py").write_text("VALUE = 2\n")


def zipped(text: str) -> Callable[[Path], None]:
    """A module in an archive on the path."""

    def change(folder: Path) -> None:
        with zipfile.ZipFile(folder / "modules.zip", "w") as archive:
            archive.writestr("packed.py", text)

    return change


def touched_later(folder: Path) -> None:
    """A file's time only."""
    os.utime(folder / "data.txt", (1, 1))


def moved_away(folder: Path) -> None:
    """A folder less."""
    shutil.rmtree(folder / "there")


SIZES = {"sizes.py": "VALUE = 1\n"}
DATA = {"data.txt": "1\n"}
HERE = "import os; here = os.path.dirname(os.path.abspath(__file__)) + '/'\n"
_SITE = {"site-packages/lib/__init__.py": "from .part import VALUE\n", "site-packages/lib/part.py": "VALUE = 1\n"}
_CACHED = {"site-packages/keeps.py": "import os\ndef value(): return VALUE\nVALUE = os.environ.get('KEPT', '0')\n"}

WAYS: dict[str, Way] = {
    # ---- the file itself
    "the kernel's program": Way("VALUE = 1", change=lambda folder: in_place_source(folder)),
    "a kernel that is a link, edited behind it": Way(
        "", {"real/k.py": "VALUE = 1\n"}, lambda folder: in_place_source(folder / "real"), kernel="link:real/k.py"
    ),
    "what lies beside a link's target": Way(
        "",
        {"real/k.py": "from sizes import VALUE\n", "real/sizes.py": "VALUE = 1\n"},
        in_place("real/sizes.py", "VALUE = 2\n"),
        kernel="link:real/k.py",
    ),
    "a kernel's link to a like file with other neighbours": Way(
        "",
        {f"{real}/k.py": "from sizes import VALUE\n" for real in ("one", "two")}
        | {"one/sizes.py": "VALUE = 1\n", "two/sizes.py": "VALUE = 2\n"},
        link("k.py", "two/k.py"),
        kernel="link:one/k.py",
    ),
    # ---- modules
    "a module beside it, in place": Way("from sizes import VALUE", SIZES, in_place("sizes.py", "VALUE = 2\n")),
    "a module beside it, by rename": Way("from sizes import VALUE", SIZES, renamed("sizes.py", "VALUE = 2\n")),
    "a module beside it becomes a package": Way("from sizes import VALUE", SIZES, to_package),
    "a package's first file": Way(
        "from helpers import VALUE",
        {"helpers/__init__.py": "VALUE = 1\n"},
        in_place("helpers/__init__.py", "VALUE = 2\n"),
    ),
    "a module of a package": Way(
        "from helpers.sizes import VALUE",
        {"helpers/__init__.py": "", "helpers/sizes.py": "VALUE = 1\n"},
        in_place("helpers/sizes.py", "VALUE = 2\n"),
    ),
    "a module that a package imports relatively": Way(
        "from helpers.deep import VALUE",
        {
            "helpers/__init__.py": "",
            "helpers/deep/__init__.py": "from ..sizes import VALUE\n",
            "helpers/sizes.py": "VALUE = 1\n",
        },
        renamed("helpers/sizes.py", "VALUE = 2\n"),
    ),
    "a package without a first file": Way(
        "from spaces.sizes import VALUE", {"spaces/sizes.py": "VALUE = 1\n"}, in_place("spaces/sizes.py", "VALUE = 2\n")
    ),
    "a module on PYTHONPATH": Way(
        "from far_a import VALUE",
        {"path/far_a.py": "VALUE = 1\n"},
        in_place("path/far_a.py", "VALUE = 2\n"),
        {"PYTHONPATH": "{here}/path"},
    ),
    "a package on PYTHONPATH": Way(
        "from far_b.sizes import VALUE",
        {"path/far_b/__init__.py": "", "path/far_b/sizes.py": "VALUE = 1\n"},
        renamed("path/far_b/sizes.py", "VALUE = 2\n"),
        {"PYTHONPATH": "{here}/path"},
    ),
    "a module earlier on PYTHONPATH": Way(
        "from far_c import VALUE",
        {"first/x": "", "second/far_c.py": "VALUE = 1\n"},
        write("first/far_c.py", "VALUE = 2\n"),
        {"PYTHONPATH": "{here}/first:{here}/second"},
    ),
    "a module in an archive": Way(
        "from packed import VALUE",
        {},
        zipped("VALUE = 2\n"),
        {"PYTHONPATH": "{here}/modules.zip"},
        before=zipped("VALUE = 1\n"),
    ),
    "importlib.import_module": Way(
        "import importlib; VALUE = importlib.import_module('si' + 'zes').VALUE",
        SIZES,
        in_place("sizes.py", "VALUE = 2\n"),
    ),
    "a module from a path": Way(
        HERE + "from importlib import util\nspec = util.spec_from_file_location('any', here + 'parts/any.py')\n"
        "any_ = util.module_from_spec(spec)\nspec.loader.exec_module(any_)\nVALUE = any_.VALUE",
        {"parts/any.py": "VALUE = 1\n"},
        in_place("parts/any.py", "VALUE = 2\n"),
    ),
    "runpy": Way(
        HERE + "import runpy; VALUE = runpy.run_path(here + 'any.txt')['VALUE']",
        {"any.txt": "VALUE = 1\n"},
        in_place("any.txt", "VALUE = 2\n"),
    ),
    "exec of a file": Way(
        HERE + "exec(open(here + 'any.txt').read())", {"any.txt": "VALUE = 1\n"}, renamed("any.txt", "VALUE = 2\n")
    ),
    "an optional module appears": Way(
        "try:\n    from tuned import VALUE\nexcept ImportError:\n    VALUE = 1", {}, write("tuned.py", "VALUE = 2\n")
    ),
    "an optional module goes away": Way(
        "try:\n    from tuned import VALUE\nexcept ImportError:\n    VALUE = 1",
        {"tuned.py": "VALUE = 2\n"},
        removed("tuned.py"),
    ),
    "an optional part of a package appears": Way(
        "try:\n    from helpers.tuned import VALUE\nexcept ImportError:\n    VALUE = 1",
        {"helpers/__init__.py": ""},
        write("helpers/tuned.py", "VALUE = 2\n"),
    ),
    "importlib.util.find_spec": Way(
        "from importlib.util import find_spec; VALUE = find_spec('tuned') is None", {}, write("tuned.py", "")
    ),
    "a module that hides one of Python's": Way(
        "import colorsys; VALUE = getattr(colorsys, 'VALUE', 1)", {}, write("colorsys.py", "VALUE = 2\n")
    ),
    "a module that hides an installed one": Way(
        "import xdsl; VALUE = getattr(xdsl, 'VALUE', 1)", {}, write("xdsl.py", "VALUE = 2\n")
    ),
    "an installed package, in place": Way(
        "from lib import VALUE",
        _SITE,
        in_place("site-packages/lib/part.py", "VALUE = 2\n"),
        {"PYTHONPATH": "{here}/site-packages"},
    ),
    "an installed package, by rename": Way(
        "from lib import VALUE",
        _SITE,
        renamed("site-packages/lib/part.py", "VALUE = 2\n"),
        {"PYTHONPATH": "{here}/site-packages"},
    ),
    "a variable that a loaded package has asked for": Way(
        "import keeps; VALUE = keeps.value()",
        _CACHED,
        environment={"PYTHONPATH": "{here}/site-packages", "KEPT": "1"},
        later={"KEPT": "2"},
    ),
    "the version of an installed distribution": Way(
        "from importlib import metadata; VALUE = metadata.version('lib')",
        {"site-packages/lib-1.dist-info/METADATA": "Name: lib\nVersion: 1\n"},
        in_place("site-packages/lib-1.dist-info/METADATA", "Name: lib\nVersion: 2\n"),
        {"PYTHONPATH": "{here}/site-packages"},
    ),
    "a distribution that is installed later": Way(
        "from importlib import metadata\ntry:\n    VALUE = metadata.version('late')\nexcept metadata.PackageNotFoundError:\n"
        "    VALUE = 1",
        {"site-packages/x.py": ""},
        write("site-packages/late-2.dist-info/METADATA", "Name: late\nVersion: 2\n"),
        {"PYTHONPATH": "{here}/site-packages"},
    ),
    # ---- data
    "open": Way(HERE + "VALUE = open(here + 'data.txt').read()", DATA, in_place("data.txt", "2\n")),
    "open of bytes, by rename": Way(
        HERE + "VALUE = open(here + 'data.txt', 'rb').read()", DATA, renamed("data.txt", "2\n")
    ),
    "pathlib": Way(
        "from pathlib import Path; VALUE = Path(__file__).with_name('data.txt').read_text()",
        DATA,
        renamed("data.txt", "2\n"),
    ),
    "os.open": Way(
        HERE + "VALUE = os.read(os.open(here + 'data.txt', os.O_RDONLY), 9)", DATA, in_place("data.txt", "2\n")
    ),
    "mmap": Way(
        HERE
        + "import mmap\nwith open(here + 'data.txt') as s: VALUE = mmap.mmap(s.fileno(), 0, access=mmap.ACCESS_READ)[:]",
        DATA,
        in_place("data.txt", "2\n"),
    ),
    "linecache": Way(
        HERE + "import linecache; VALUE = linecache.getline(here + 'data.txt', 1)", DATA, in_place("data.txt", "2\n")
    ),
    "pkgutil": Way(
        "import pkgutil; VALUE = pkgutil.get_data('helpers', 'data.txt')",
        {"helpers/__init__.py": "", "helpers/data.txt": "1\n"},
        in_place("helpers/data.txt", "2\n"),
    ),
    "numpy.load": Way(
        HERE + "import numpy; VALUE = numpy.loadtxt(here + 'data.txt').tolist()", DATA, in_place("data.txt", "2\n")
    ),
    "a missing file appears": Way(
        HERE + "try:\n    VALUE = open(here + 'late.txt').read()\nexcept OSError:\n    VALUE = 1",
        {},
        write("late.txt", "2\n"),
    ),
    "a file behind a link": Way(
        HERE + "VALUE = open(here + 'link.txt').read()",
        {"data.txt": "1\n", "more.txt": "2\n"},
        link("link.txt", "more.txt"),
        before=link("link.txt", "data.txt"),
    ),
    # ---- what is asked of the file system
    "exists, a file": Way(HERE + "VALUE = os.path.exists(here + 'flag')", {}, write("flag", "")),
    "Path.is_file": Way(
        "from pathlib import Path; VALUE = Path(__file__).with_name('flag').is_file()", {"flag": ""}, removed("flag")
    ),
    "isdir": Way(HERE + "VALUE = os.path.isdir(here + 'there')", {"there/x": ""}, moved_away),
    "access": Way(HERE + "VALUE = os.access(here + 'flag', os.R_OK)", {}, write("flag", "")),
    "getsize": Way(HERE + "VALUE = os.path.getsize(here + 'data.txt')", DATA, write("data.txt", "22\n")),
    "getmtime": Way(HERE + "VALUE = os.path.getmtime(here + 'data.txt')", DATA, touched_later),
    "stat": Way(HERE + "VALUE = os.stat(here + 'data.txt').st_mtime_ns", DATA, touched_later),
    "readlink": Way(HERE + "VALUE = os.path.islink(here + 'link.txt')", {}, link("link.txt", "nowhere")),
    "where a link leads": Way(
        HERE + "VALUE = os.path.basename(os.path.realpath(here + 'link.txt'))",
        {},
        link("link.txt", "elsewhere"),
        before=link("link.txt", "somewhere"),
    ),
    "listdir": Way(HERE + "VALUE = sorted(os.listdir(here + 'there'))", {"there/a": ""}, write("there/b", "")),
    "glob": Way(
        HERE + "import glob; VALUE = len(glob.glob(here + 'there/*.txt'))", {"there/a": ""}, write("there/b.txt", "")
    ),
    "walk": Way(
        HERE + "VALUE = [n for f in os.walk(here + 'there') for n in f[2]]", {"there/in/a": ""}, write("there/in/b", "")
    ),
    "Path.rglob": Way(
        "from pathlib import Path; VALUE = len(list(Path(__file__).parent.rglob('*.txt')))",
        {"there/a": ""},
        write("there/b.txt", ""),
    ),
    # ---- the environment, and what cannot be followed
    "os.environ.get": Way("import os; VALUE = os.environ.get('WAY_A')", later={"WAY_A": "2"}),
    "os.environ[]": Way("import os; VALUE = os.environ['WAY_B']", environment={"WAY_B": "1"}, later={"WAY_B": "2"}),
    "os.getenv": Way("from os import getenv; VALUE = getenv('WAY_C', '1')", later={"WAY_C": "2"}),
    "in os.environ": Way("import os; VALUE = 'WAY_D' in os.environ", later={"WAY_D": ""}),
    "all of os.environ": Way(
        "import os; VALUE = sorted(k for k in os.environ if k[:4] == 'WAY_')", later={"WAY_E": "2"}
    ),
    "os.environb": Way("import os; VALUE = os.environb.get(b'WAY_F')", later={"WAY_F": "2"}),
    "a home folder": Way(
        "import os; VALUE = open(os.path.expanduser('~/data.txt')).read()",
        {"one/data.txt": "1\n", "two/data.txt": "2\n"},
        environment={"HOME": "{here}/one"},
        later={"HOME": "{here}/two"},
    ),
    "another program's output": Way(
        HERE + "import subprocess; VALUE = subprocess.check_output(['cat', here + 'data.txt'])",
        DATA,
        in_place("data.txt", "2\n"),
    ),
}


def in_place_source(folder: Path) -> None:
    """The kernel file itself: the first 1 of its program becomes a 2."""
    path = folder / "k.py"
    in_place("k.py", path.read_text().replace("VALUE = 1", "VALUE = 2", 1))(folder)

"""Ways in which libraries, and names that are seldom used, read for a program: more rows for ``test_incremental_correctness.py``."""

from __future__ import annotations

import gzip
import io
import lzma
import os
import pickle
import shutil
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from tests.build.input_edits import DATA, HERE, Way, in_place, link, removed, renamed, touched_later, write


def binary(name: str, make: Callable[[str], bytes], text: str) -> Callable[[Path], None]:
    """A file of what ``make`` makes of a text."""
    return lambda folder: Path(folder, name).write_bytes(make(text)) and None


def raw(name: bytes, text: str) -> Callable[[Path], None]:
    """A file whose name is no text."""

    def change(folder: Path) -> None:
        with open(os.fsencode(folder) + b"/" + name, "w") as stream:
            stream.write(text)

    return change


def mode(name: str, bits: int) -> Callable[[Path], None]:
    """Other permissions."""
    return lambda folder: (folder / name).chmod(bits)


def moved(name: str, other: str) -> Callable[[Path], None]:
    """A file or folder takes the place of another one, which is removed."""

    def change(folder: Path) -> None:
        if (folder / other).is_dir():
            shutil.rmtree(folder / other)
        else:
            (folder / other).unlink(missing_ok=True)
        (folder / name).rename(folder / other)

    return change


def in_turn(*changes: Callable[[Path], None]) -> Callable[[Path], None]:
    """Each of some changes."""
    return lambda folder: [change(folder) for change in changes] and None


def _zip(text: str) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("data.txt", text)
        archive.writestr("packed_way.py", f"VALUE = {text}")
    return made.getvalue()


def _tar(text: str) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as archive:
        member = tarfile.TarInfo("data.txt")
        member.size = len(text)
        archive.addfile(member, io.BytesIO(text.encode()))
    return made.getvalue()


def _numpy(text: str) -> bytes:
    """An array of one number in NumPy's format."""
    head = "{'descr': '<i4', 'fortran_order': False, 'shape': (1,), }".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + len(head).to_bytes(2, "little") + head.encode() + int(text).to_bytes(4, "little")


def _file(program: str, make: Callable[[str], bytes] = str.encode, name: str = "data.bin") -> Way:
    """``program`` reads ``here`` + ``name``, of one text before and another after."""
    return Way(HERE + program, {}, binary(name, make, "2\n"), before=binary(name, make, "1\n"))


def _text(program: str, first: str, second: str) -> Way:
    return Way(HERE + program, {"data.txt": first}, in_place("data.txt", second))


_THERE = {"there/data.txt": "1\n"}
_LONG = "long" * 50 + ".txt"
_PARTS = {"parts/sizes.py": "VALUE = 1\n"}
_PART_TWO = in_place("parts/sizes.py", "VALUE = 2\n")
_SIZES_TWO = in_place("sizes.py", "VALUE = 2\n")
_SIZES = {"sizes.py": "VALUE = 1\n"}

LIBRARY_WAYS: dict[str, Way] = {
    # ---- formats
    "tomllib": _text("import tomllib; VALUE = tomllib.load(open(here + 'data.txt', 'rb'))", "a = 1\n", "a = 2\n"),
    "configparser": _text(
        "import configparser; c = configparser.ConfigParser(); c.read(here + 'data.txt'); VALUE = c['a']['b']",
        "[a]\nb = 1\n",
        "[a]\nb = 2\n",
    ),
    "a configuration that is not there yet": Way(
        HERE
        + "import configparser; c = configparser.ConfigParser(); VALUE = c.read([here + 'data.txt', here + 'own.cfg'])[1:]",
        {"data.txt": "[a]\n"},
        write("own.cfg", "[a]\nb = 2\n"),
    ),
    "csv": _text("import csv; VALUE = list(csv.reader(open(here + 'data.txt')))", "1,2\n", "1,3\n"),
    "json": _text("import json; VALUE = json.load(open(here + 'data.txt'))", "[1]\n", "[2]\n"),
    "xml": _text(
        "import xml.etree.ElementTree as e; VALUE = e.parse(here + 'data.txt').getroot().text", "<a>1</a>", "<a>2</a>"
    ),
    "a netrc": _text(
        "import netrc; VALUE = netrc.netrc(here + 'data.txt').hosts",
        "machine a login b password 1\n",
        "machine a login b password 2\n",
    ),
    "pickle": _file(
        "import pickle; VALUE = pickle.load(open(here + 'data.bin', 'rb'))", lambda text: pickle.dumps(text)
    ),
    "gzip": _file(
        "import gzip; VALUE = gzip.open(here + 'data.bin').read()", lambda text: gzip.compress(text.encode(), mtime=0)
    ),
    "lzma": _file(
        "import lzma; VALUE = lzma.open(here + 'data.bin').read()", lambda text: lzma.compress(text.encode())
    ),
    "zipfile": _file("import zipfile; VALUE = zipfile.ZipFile(here + 'data.bin').read('data.txt')", _zip),
    "a path in an archive": _file(
        "import zipfile; VALUE = zipfile.Path(here + 'data.bin', 'data.txt').read_text()", _zip
    ),
    "tarfile": _file("import tarfile; VALUE = tarfile.open(here + 'data.bin').extractfile('data.txt').read()", _tar),
    "unpacked elsewhere": _file(
        "import shutil, tempfile; d = tempfile.mkdtemp(); shutil.unpack_archive(here + 'data.bin', d, 'zip')\n"
        "VALUE = open(d + '/data.txt').read()",
        _zip,
    ),
    "zipimport": _file(
        "import zipimport; VALUE = zipimport.zipimporter(here + 'data.bin').load_module('packed_way').VALUE", _zip
    ),
    "array": _file("import array; a = array.array('B'); a.fromfile(open(here + 'data.bin', 'rb'), 2); VALUE = a"),
    "npy": _file("import numpy; VALUE = numpy.load(here + 'data.bin').tolist()", _numpy),
    "npy, mapped": _file("import numpy; VALUE = numpy.load(here + 'data.bin', mmap_mode='r').tolist()", _numpy),
    "genfromtxt": _text("import numpy; VALUE = numpy.genfromtxt(here + 'data.txt').tolist()", "1 2\n", "1 3\n"),
    # ---- functions of the standard library
    "fileinput": Way(
        HERE + "import fileinput; VALUE = list(fileinput.input([here + 'data.txt']))", DATA, in_place("data.txt", "2\n")
    ),
    "tokenize.open": Way(
        HERE + "import tokenize; VALUE = tokenize.open(here + 'data.txt').read()", DATA, renamed("data.txt", "2\n")
    ),
    "io.FileIO": Way(
        HERE + "import io; VALUE = io.FileIO(here + 'data.txt').readall()", DATA, in_place("data.txt", "2\n")
    ),
    "io.open_code": Way(
        HERE + "import io; VALUE = io.open_code(here + 'data.txt').read()", DATA, in_place("data.txt", "2\n")
    ),
    "codecs.open": Way(
        HERE + "import codecs; VALUE = codecs.open(here + 'data.txt').read()", DATA, in_place("data.txt", "2\n")
    ),
    "an opener of open": Way(
        HERE + "VALUE = open(here + 'data.txt', opener=os.open).read()", DATA, in_place("data.txt", "2\n")
    ),
    "os.pread": Way(HERE + "VALUE = os.pread(os.open(here + 'data.txt', 0), 9, 0)", DATA, in_place("data.txt", "2\n")),
    "os.sendfile": Way(
        HERE + "import tempfile; t = tempfile.TemporaryFile(); f = os.open(here + 'data.txt', 0)\n"
        "os.sendfile(t.fileno(), f, 0, 2); t.seek(0); VALUE = t.read()",
        DATA,
        in_place("data.txt", "2\n"),
    ),
    "a tree that it copies": Way(
        HERE + "import tempfile; d = tempfile.mkdtemp(); import shutil; shutil.copytree(here + 'there', d + '/t')\n"
        "VALUE = open(d + '/t/data.txt').read()",
        _THERE,
        in_place("there/data.txt", "2\n"),
    ),
    "open of a descriptor": Way(
        HERE + "VALUE = open(os.open(here + 'data.txt', 0)).readline()", DATA, renamed("data.txt", "2\n")
    ),
    "filecmp": Way(
        HERE + "import filecmp; VALUE = filecmp.cmp(here + 'data.txt', here + 'more.txt', shallow=False)",
        DATA | {"more.txt": "1\n"},
        in_place("more.txt", "2\n"),
    ),
    "dircmp": Way(
        HERE + "import filecmp; VALUE = filecmp.dircmp(here + 'there', here + 'too').left_only",
        {"there/a": "", "too/a": ""},
        write("there/b", ""),
    ),
    "inspect.getsource": Way(
        "import inspect, helper_way; VALUE = inspect.getsource(helper_way)",
        {"helper_way.py": "A = 1  # 1\n"},
        in_place("helper_way.py", "A = 1  # 2\n"),
    ),
    "a module's code": Way("import dis, sizes; VALUE = dis.code_info(open(sizes.__file__).read())", _SIZES, _SIZES_TWO),
    "ast": Way(HERE + "import ast; VALUE = ast.dump(ast.parse(open(here + 'sizes.py').read()))", _SIZES, _SIZES_TWO),
    "expandvars": Way(
        "import os; VALUE = os.path.expandvars('$WAY_G')", environment={"WAY_G": "1"}, later={"WAY_G": "2"}
    ),
    "getuser": Way(
        "import getpass; VALUE = getpass.getuser()", environment={"LOGNAME": "one"}, later={"LOGNAME": "two"}
    ),
    "string.Template over the environment": Way(
        "import os, string; VALUE = string.Template('$WAY_H').substitute(os.environ)",
        environment={"WAY_H": "1"},
        later={"WAY_H": "2"},
    ),
    "os.environ in a format": Way(
        "import os; VALUE = '{0[WAY_I]}'.format(os.environ)", environment={"WAY_I": "1"}, later={"WAY_I": "2"}
    ),
    "os.environ.setdefault": Way("import os; VALUE = os.environ.setdefault('WAY_J', '1')", later={"WAY_J": "2"}),
    "os.environ.pop": Way("import os; VALUE = os.environ.pop('WAY_K', '1')", later={"WAY_K": "2"}),
    "os.environ as keywords": Way("import os; VALUE = dict(**os.environ).get('WAY_L')", later={"WAY_L": "2"}),
    "os.environ in a union": Way("import os; VALUE = ({'WAY_M': 1} | os.environ)['WAY_M']", later={"WAY_M": "2"}),
    "gettext": Way(
        HERE + "import gettext; VALUE = gettext.find('way', here + 'texts', ['de'])",
        {"texts/x": ""},
        write("texts/de/LC_MESSAGES/way.mo", ""),
    ),
    "which": Way(
        HERE + "import shutil; VALUE = shutil.which('tool', path=here + 'bin')",
        {"bin/tool": ""},
        mode("bin/tool", 0o755),
    ),
    "which, earlier": Way(
        HERE + "import shutil; VALUE = shutil.which('tool', path=here + 'a:' + here + 'b')[-6:]",
        {"a/x": "", "b/tool": ""},
        in_turn(write("a/tool", ""), mode("a/tool", 0o755)),
        before=mode("b/tool", 0o755),
    ),
    # ---- modules
    "importlib.resources": Way(
        "from importlib import resources; VALUE = (resources.files('res_way') / 'data.txt').read_text()",
        {"res_way/__init__.py": "", "res_way/data.txt": "1\n"},
        in_place("res_way/data.txt", "2\n"),
    ),
    "the resources that there are": Way(
        "from importlib import resources; VALUE = sorted(p.name for p in resources.files('res_all').iterdir() if p.name[0] == 'd')",
        {"res_all/__init__.py": "", "res_all/data.txt": "1\n"},
        write("res_all/data-2.txt", ""),
    ),
    "iter_modules": Way(
        HERE + "import pkgutil; VALUE = [m.name for m in pkgutil.iter_modules([here + 'there'])]",
        {"there/a.py": ""},
        write("there/b.py", ""),
    ),
    "walk_packages": Way(
        HERE
        + "import pkgutil, sys; sys.path.insert(0, here + 'there')\nVALUE = [m.name for m in pkgutil.walk_packages([here + 'there'])]",
        {"there/in_walk/__init__.py": ""},
        write("there/in_walk/b.py", ""),
    ),
    "a folder that it adds to the path": Way(
        HERE + "import sys; sys.path.insert(0, here + 'parts'); from sizes import VALUE", _PARTS, _PART_TWO
    ),
    "a folder that it adds, which another one precedes": Way(
        HERE + "import sys; sys.path[:0] = [here + 'none', here + 'parts']; from sizes import VALUE",
        _PARTS,
        write("none/sizes.py", "VALUE = 2\n"),
    ),
    "a folder of a site": Way(
        HERE + "import site; site.addsitedir(here + 'parts'); from in_site_way import VALUE",
        {"parts/a.pth": "one\n", "parts/one/in_site_way.py": "VALUE = 1\n", "parts/two/in_site_way.py": "VALUE = 2\n"},
        in_place("parts/a.pth", "two\n"),
    ),
    "a loader": Way(
        HERE
        + "from importlib.machinery import SourceFileLoader as L; VALUE = L('any', here + 'parts/sizes.py').load_module().VALUE",
        _PARTS,
        _PART_TWO,
    ),
    "the data of a loader": Way("import sizes; VALUE = sizes.__loader__.get_data(sizes.__file__)", _SIZES, _SIZES_TWO),
    "reload": Way("import importlib, sizes; VALUE = importlib.reload(sizes).VALUE", _SIZES, _SIZES_TWO),
    "a relative import": Way("from .sizes import VALUE", _SIZES, _SIZES_TWO),
    "a star": Way("from sizes import *", _SIZES, _SIZES_TWO),
    "a lazy part": Way(
        "import lazy_way; VALUE = lazy_way.part",
        {
            "lazy_way/__init__.py": "def __getattr__(n):\n    import importlib\n    return importlib.import_module('.sizes', __name__).VALUE\n",
            "lazy_way/sizes.py": "VALUE = 1\n",
        },
        in_place("lazy_way/sizes.py", "VALUE = 2\n"),
    ),
    "a package in two folders": Way(
        HERE + "import sys; sys.path[:0] = [here + 'a', here + 'b']; import two_way, pkgutil\n"
        "VALUE = sorted(m.name for m in pkgutil.iter_modules(two_way.__path__))",
        {"a/two_way/x.py": "", "b/x": ""},
        write("b/two_way/y.py", ""),
    ),
    "a package that gets a first file": Way(
        "import space_way; VALUE = getattr(space_way, 'VALUE', 1)",
        {"space_way/x.py": ""},
        write("space_way/__init__.py", "VALUE = 2\n"),
    ),
    "another package with a first file": Way(
        HERE
        + "import sys; sys.path[:0] = [here + 'a', here + 'b']; import first_way; VALUE = getattr(first_way, 'VALUE', 1)",
        {"a/first_way/x.py": "", "b/x": ""},
        write("b/first_way/__init__.py", "VALUE = 2\n"),
    ),
    "a link before two dots": Way(
        HERE + "VALUE = open(here + 'in/l/../data.txt').read()",
        {"one/in/x": "", "one/data.txt": "1\n", "two/in/x": "", "two/data.txt": "2\n", "in/x": ""},
        link("in/l", "../two/in"),
        before=link("in/l", "../one/in"),
    ),
    "a path that a package extends": Way(
        HERE + "import sys; sys.path[:0] = [here + 'a', here + 'b']; from ext_way.sizes import VALUE",
        {
            "a/ext_way/__init__.py": "__path__ = __import__('pkgutil').extend_path(__path__, __name__)\n",
            "b/ext_way/__init__.py": "",
            "b/ext_way/sizes.py": "VALUE = 1\n",
        },
        in_place("b/ext_way/sizes.py", "VALUE = 2\n"),
    ),
    "entry points": Way(
        "from importlib import metadata; VALUE = [e.value for e in metadata.entry_points(group='ways')]",
        {
            "site-packages/ep_way-1.dist-info/entry_points.txt": "[ways]\na = b1\n",
            "site-packages/ep_way-1.dist-info/METADATA": "Name: ep_way\n",
        },
        in_place("site-packages/ep_way-1.dist-info/entry_points.txt", "[ways]\na = b2\n"),
        {"PYTHONPATH": "{here}/site-packages"},
    ),
    "a module above it": Way(
        HERE + "import sys; sys.path.insert(0, here + 'in/..'); from sizes import VALUE",
        _SIZES | {"in/x": ""},
        _SIZES_TWO,
    ),
    # ---- folders
    "scandir, again and again": Way(
        HERE
        + "def f(d): return [f(e.path) if e.is_dir() else e.name for e in os.scandir(d)]\nVALUE = f(here + 'there')",
        {"there/a/b/c": ""},
        write("there/a/b/d", ""),
    ),
    "a recursive glob": Way(
        HERE + "import glob; VALUE = len(glob.glob(here + 'there/**/*.txt', recursive=True))",
        {"there/a/b/c": ""},
        write("there/a/b/d.txt", ""),
    ),
    "a glob from a root": Way(
        HERE + "import glob; VALUE = sorted(glob.glob('*.txt', root_dir=here + 'there'))",
        _THERE,
        write("there/d.txt", ""),
    ),
    "iterdir": Way(
        "from pathlib import Path; VALUE = sorted(p.name for p in (Path(__file__).parent / 'there').iterdir())",
        _THERE,
        write("there/d.txt", ""),
    ),
    "a walk from below": Way(
        HERE + "VALUE = [len(f[2]) for f in os.walk(here + 'there', topdown=False)]",
        {"there/a/b": ""},
        write("there/a/c", ""),
    ),
    "a walk through links": Way(
        HERE + "VALUE = sum(len(f[2]) for f in os.walk(here + 'in', followlinks=True))",
        {"real/a": "", "more/a": "", "more/b": "", "in/x": ""},
        link("in/l", "../more"),
        before=link("in/l", "../real"),
    ),
    "upper and lower case": Way(
        HERE + "VALUE = [n for n in os.listdir(here + 'there') if n.lower() == 'data.txt']",
        _THERE,
        lambda folder: (folder / "there/data.txt").rename(folder / "there/DATA.txt") and None,
    ),
    "a folder in its place": Way(
        HERE + "VALUE = open(here + 'there/data.txt').read()",
        _THERE | {"later/data.txt": "2\n"},
        moved("later", "there"),
    ),
    "a folder that becomes a file": Way(
        HERE + "try: VALUE = open(here + 'there').read()\nexcept IsADirectoryError: VALUE = 0",
        {"there/x": "", "data.txt": "1\n"},
        moved("data.txt", "there"),
    ),
    "a file that becomes a folder": Way(
        HERE + "try: VALUE = open(here + 'there/data.txt').read()\nexcept OSError: VALUE = 0",
        {"there": "", "later/data.txt": "2\n"},
        moved("later", "there"),
    ),
    "a folder that appears": Way(
        HERE + "import glob; VALUE = glob.glob(here + 'late/*/*.txt') != []", {}, write("late/in/data.txt", "")
    ),
    "what lies in the folder above": Way(
        HERE + "VALUE = os.path.exists(here + '../beside_way.txt')", {}, write("../beside_way.txt", "")
    ),
    # ---- links
    "resolve": Way(
        "from pathlib import Path; VALUE = Path(__file__).with_name('l').resolve().name",
        {},
        link("l", "two"),
        before=link("l", "one"),
    ),
    "a chain of links": Way(
        HERE + "VALUE = open(here + 'a').read()",
        {"one": "1\n", "two": "2\n"},
        link("b", "two"),
        before=in_turn(link("a", "b"), link("b", "one")),
    ),
    "a folder behind a link": Way(
        HERE + "VALUE = open(here + 'l/data.txt').read()",
        _THERE | {"later/data.txt": "2\n"},
        link("l", "later"),
        before=link("l", "there"),
    ),
    "a link into nothing": Way(
        HERE + "VALUE = os.path.exists(here + 'l')", {}, write("late.txt", ""), before=link("l", "late.txt")
    ),
    "a link to itself": Way(
        HERE + "try: VALUE = open(here + 'l').read()\nexcept OSError: VALUE = 0",
        {},
        link("l", "data.txt"),
        before=in_turn(write("data.txt", "1"), link("l", "l")),
    ),
    "samefile": Way(
        HERE + "VALUE = os.path.samefile(here + 'l', here + 'one')",
        {"one": "", "two": ""},
        link("l", "two"),
        before=link("l", "one"),
    ),
    "a file in the place of a link": Way(
        HERE + "VALUE = os.path.islink(here + 'l')",
        {"one": "", "two": ""},
        moved("two", "l"),
        before=link("l", "one"),
    ),
    "lexists": Way(HERE + "VALUE = os.path.lexists(here + 'l')", {"x": ""}, link("l", "nowhere")),
    # ---- states and names
    "is it executable": Way(HERE + "VALUE = os.access(here + 'data.txt', os.X_OK)", DATA, mode("data.txt", 0o755)),
    "permissions": Way(
        "from pathlib import Path; VALUE = Path(__file__).with_name('data.txt').stat().st_mode",
        DATA,
        mode("data.txt", 0o600),
    ),
    "an empty file goes": Way(
        HERE + "VALUE = os.path.exists(here + 'data.txt') and open(here + 'data.txt').read()",
        {"data.txt": ""},
        removed("data.txt"),
    ),
    "a file is emptied": Way(HERE + "VALUE = open(here + 'data.txt').read()", DATA, write("data.txt", "")),
    "which is newer": Way(
        HERE + "VALUE = os.stat(here + 'data.txt').st_mtime > os.stat(here + 'k.py').st_mtime - 9e8",
        DATA,
        touched_later,
    ),
    "a long name": Way(HERE + f"VALUE = open(here + '{_LONG}').read()", {_LONG: "1\n"}, in_place(_LONG, "2\n")),
    "a name that is no text": Way(
        HERE + "VALUE = open(os.fsencode(here) + b'\\xff.txt').read()",
        {},
        raw(b"\xff.txt", "2\n"),
        before=raw(b"\xff.txt", "1\n"),
    ),
    "names that are no text": Way(
        HERE + "VALUE = len(os.listdir(os.fsencode(here) + b'there'))", _THERE, raw(b"there/\xff.txt", "")
    ),
    "a name of two lines": Way(HERE + "VALUE = open(here + 'a\\nb').read()", {"a\nb": "1\n"}, in_place("a\nb", "2\n")),
    "a name with a sharp": Way(
        HERE + "VALUE = open(here + '#/a b').read()", {"#/a b": "1\n"}, in_place("#/a b", "2\n")
    ),
    "a name with quotes": Way(
        HERE + "VALUE = open(here + 'a\"\\\\b').read()", {'a"\\b': "1\n"}, in_place('a"\\b', "2\n")
    ),
    "a hidden file": Way(HERE + "VALUE = open(here + '.data').read()", {".data": "1\n"}, in_place(".data", "2\n")),
    "a path with dots": Way(
        HERE + "VALUE = open(here + 'there/../there/./data.txt').read()", _THERE, in_place("there/data.txt", "2\n")
    ),
    "dots behind a link": Way(
        HERE + "VALUE = open(here + 'in/l/../data.txt').read()",
        {"one/in/x": "", "one/data.txt": "1\n", "in/data.txt": "0\n"},
        in_place("one/data.txt", "2\n"),
        before=link("in/l", "../one/in"),
    ),
}

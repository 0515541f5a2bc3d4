"""What a build script learns, in whatever way, counts: the run after a change of it is no shortcut, others are."""

import os
import shutil
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

import pytest

from tests.build.incremental.test_null_build import WATCHED, is_short
from tests.build.test_artifact_node import replace_contents
from tests.build.test_build_session import ROOT, Project
from tileiras_build.build.incremental import build_record, sconscript_trace
from tileiras_build.build.incremental.fs_queries import query
from tileiras_build.core.tracing.dependency_state import stamp


def _link(path: Path, target: str) -> None:
    path.unlink(missing_ok=True)
    path.symlink_to(target)


def _folder_for_file(path: Path) -> None:
    path.unlink()
    path.mkdir()


# What the build script asks; what is there before; the change. ``W`` is the way's own folder.
WAYS = {
    "exists of what appears": ("os.path.exists(W + 'a')", None, lambda w: (w / "a").touch()),
    "exists of what goes": ("os.path.exists(W + 'a')", lambda w: (w / "a").touch(), lambda w: (w / "a").unlink()),
    "exists of a folder": ("os.path.exists(W + 'a')", None, lambda w: (w / "a").mkdir()),
    "isfile": ("os.path.isfile(W + 'a')", lambda w: (w / "a").touch(), lambda w: _folder_for_file(w / "a")),
    "isdir": ("os.path.isdir(W + 'a')", lambda w: (w / "a").touch(), lambda w: _folder_for_file(w / "a")),
    "islink": ("os.path.islink(W + 'a')", lambda w: (w / "a").touch(), lambda w: _link(w / "a", "b")),
    "lexists": ("os.path.lexists(W + 'a')", None, lambda w: _link(w / "a", "nothing")),
    "realpath": ("os.path.realpath(W + 'a/b')", lambda w: _link(w / "a", "c"), lambda w: _link(w / "a", "d")),
    "readlink": ("os.readlink(W + 'a')", lambda w: _link(w / "a", "c"), lambda w: _link(w / "a", "d")),
    "readlink of no link": ("os.path.islink(W + 'a') and os.readlink(W + 'a')", None, lambda w: _link(w / "a", "d")),
    "stat": ("os.stat(W + 'a').st_size", lambda w: (w / "a").touch(), lambda w: (w / "a").write_text("1")),
    "getmtime": ("os.path.getmtime(W + 'a')", lambda w: (w / "a").touch(), lambda w: os.utime(w / "a", (1, 1))),
    "getmtime of a folder": ("os.path.getmtime(W)", None, lambda w: (w / "a").touch()),
    "stat through a link": (
        "os.stat(W + 'a').st_size",
        lambda w: ((w / "b").touch(), _link(w / "a", "b")),
        lambda w: (w / "b").write_text("1"),
    ),
    "lstat": ("os.lstat(W + 'a').st_mtime", lambda w: _link(w / "a", "b"), lambda w: _link(w / "a", "b")),
    "access": ("os.access(W + 'a', os.X_OK)", lambda w: (w / "a").touch(0o644), lambda w: (w / "a").chmod(0o755)),
    "listdir": ("os.listdir(W)", None, lambda w: (w / "a").touch()),
    "scandir": (
        "[e.is_dir() for e in os.scandir(W)]",
        lambda w: (w / "a").touch(),
        lambda w: _folder_for_file(w / "a"),
    ),
    "scandir with states": (
        "[e.stat().st_size for e in os.scandir(W)]",
        lambda w: (w / "a").touch(),
        lambda w: (w / "a").write_text("1"),
    ),
    "walk": ("list(os.walk(W))", lambda w: (w / "a/b").mkdir(parents=True), lambda w: (w / "a/b/c").touch()),
    "glob": ("glob.glob(W + '*.x')", lambda w: (w / "a.x").touch(), lambda w: (w / "b.x").touch()),
    "glob without a pattern": ("glob.glob(W + 'a')", None, lambda w: (w / "a").touch()),
    "deep glob": (
        "glob.glob(W + '**/*.x', recursive=True)",
        lambda w: (w / "a").mkdir(),
        lambda w: (w / "a/b.x").touch(),
    ),
    "Path.exists": ("Path(W, 'a').exists()", None, lambda w: (w / "a").touch()),
    "Path.stat": ("Path(W, 'a').stat().st_size", lambda w: (w / "a").touch(), lambda w: (w / "a").write_text("1")),
    "Path.is_symlink": ("Path(W, 'a').is_symlink()", None, lambda w: _link(w / "a", "b")),
    "Path.resolve": ("Path(W, 'a').resolve()", lambda w: _link(w / "a", "b"), lambda w: _link(w / "a", "c")),
    "Path.glob": ("list(Path(W).glob('*.x'))", None, lambda w: (w / "a.x").touch()),
    "Path.rglob": ("list(Path(W).rglob('*.x'))", lambda w: (w / "a").mkdir(), lambda w: (w / "a/b.x").touch()),
    "Path.iterdir": ("list(Path(W).iterdir())", None, lambda w: (w / "a").touch()),
    "open": (
        "open(W + 'a').read()",
        lambda w: (w / "a").write_text("1"),
        lambda w: replace_contents(w / "a", "1", "2"),
    ),
    "Path.read_text": (
        "Path(W, 'a').read_text()",
        lambda w: (w / "a").write_text("1"),
        lambda w: replace_contents(w / "a", "1", "2"),
    ),
    "shutil.which": (
        "shutil.which('tool', path=W + 'a:' + W + 'b')",
        lambda w: ((w / "a").mkdir(), (w / "b").mkdir(), (w / "b/tool").touch(0o755)),
        lambda w: (w / "a/tool").touch(0o755),
    ),
    "File.exists": ("File('#' + W + 'a').exists()", None, lambda w: (w / "a").touch()),
    "File.exists of what goes": (
        "File('#' + W + 'a').exists()",
        lambda w: (w / "a").touch(),
        lambda w: (w / "a").unlink(),
    ),
    "File.get_text_contents": (
        "File('#' + W + 'a').get_text_contents()",
        lambda w: (w / "a").write_text("1"),
        lambda w: replace_contents(w / "a", "1", "2"),
    ),
    "Dir.exists": ("Dir('#' + W + 'a').exists()", None, lambda w: (w / "a").mkdir()),
    "Entry.isdir": ("Entry('#' + W + 'a').isdir()", lambda w: (w / "a").touch(), lambda w: _folder_for_file(w / "a")),
    "Glob": ("Glob('#' + W + '*.x')", None, lambda w: (w / "a.x").touch()),
    "Glob of what becomes a folder": (
        "[type(node).__name__ for node in Glob('#' + W + '*.x')]",
        lambda w: (w / "a.x").touch(),
        lambda w: _folder_for_file(w / "a.x"),
    ),
    "Glob of a link to what becomes a folder": (
        "[type(node).__name__ for node in Glob('#' + W + '*.x')]",
        lambda w: ((w / "b").touch(), _link(w / "a.x", "b")),
        lambda w: _folder_for_file(w / "b"),
    ),
    "Glob of folders": ("Glob('#' + W + '*/a.x')", lambda w: (w / "a").mkdir(), lambda w: (w / "a/a.x").touch()),
    "env.Glob of names": ("env.Glob('#' + W + '*.x', strings=True)", None, lambda w: (w / "a.x").touch()),
    "FindFile": (
        "env.FindFile('f', ['#' + W + 'a', '#' + W + 'b'])",
        lambda w: ((w / "a").mkdir(), (w / "b").mkdir(), (w / "b/f").touch()),
        lambda w: (w / "a/f").touch(),
    ),
    "WhereIs": (
        "env.WhereIs('tool', path=[W + 'a', W + 'b'])",
        lambda w: ((w / "a").mkdir(), (w / "b").mkdir(), (w / "b/tool").touch(0o755)),
        lambda w: (w / "a/tool").touch(0o755),
    ),
    "Variables": (
        "Variables(W + 'custom.py', {}).Update(env)",
        None,
        lambda w: (w / "custom.py").write_text("x = 1\n"),
    ),
    "SConscript": (
        "SConscript('#' + W + 'SConscript')",
        lambda w: (w / "SConscript").write_text("A = 1\n"),
        lambda w: replace_contents(w / "SConscript", "1", "2"),
    ),
    "import": (
        "sys.path.append(W) or __import_helper()",
        lambda w: (w / "way_helper.py").write_text("A = 1\n"),
        lambda w: replace_contents(w / "way_helper.py", "1", "2"),
    ),
    "tool": (
        "Environment(tools=['way_tool'], toolpath=['#' + W])",
        lambda w: (w / "way_tool.py").write_text("def generate(env): pass\ndef exists(env): return 1\n"),
        lambda w: replace_contents(w / "way_tool.py", "1", "2"),
    ),
}
IMPORTS = """
import glob, os, shutil, sys
from pathlib import Path

def __import_helper():
    import way_helper
"""


def _folder(name: str) -> str:
    return f"ways/{list(WAYS).index(name)}/"


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A project whose build script asks in every way."""
    project = Project(tmp_path_factory.mktemp("ways"))
    lines = []
    for name, (ask, prepare, _) in WAYS.items():
        folder = project.folder / _folder(name)
        folder.mkdir(parents=True)
        if prepare:
            prepare(folder)
        lines.append(f"W = {_folder(name)!r}; {ask}\n")
    project.write("SConstruct", WATCHED + IMPORTS + "".join(lines))
    assert is_recorded(project.run("explain=1", sm="90"))
    assert is_short(project.run("explain=1", sm="90"))
    yield project
    # After all the changes, which are recorded with their answers.
    assert is_recorded(project.run("explain=1", sm="90"))
    assert is_short(project.run("explain=1", sm="90"))


@pytest.fixture(scope="module")
def record(project) -> build_record.BuildRecord:
    """What the run before all changes has written down."""
    (path,) = (project.folder / "build").glob(".build_record-*")
    found = build_record.read(path)
    assert found is not None
    return found


def outdated(record: build_record.BuildRecord, folder: Path) -> list[tuple[str, str]]:
    """The queries, and the files, in a folder that the next run would find changed; each is a doubt for all kernels."""
    queries = [(how, path) for how, path, answer in record.head["queries"] if query(how, path) != answer]
    of_all = record.paths[: record.groups[""]]
    states = batched(record.states, len(build_record.ABSENT))
    files = [
        ("file", path) for path, state in zip(of_all, states) if tuple(stamp(path) or build_record.ABSENT) != state
    ]
    return [row for row in queries + files if Path(row[1]).is_relative_to(folder)]


def batched(values: Iterable[int], size: int) -> Iterator[tuple[int, ...]]:
    return zip(*[iter(values)] * size)


def is_recorded(done) -> bool:
    """Whether the next run may be short."""
    assert done.returncode == 0, done.stderr
    return not is_short(done) and "the next run will check every node" not in done.stdout


def test_what_a_build_script_asks_counts(project, record):
    for way, (*_, change) in WAYS.items():
        folder = project.folder / _folder(way)
        assert (way, outdated(record, folder)) == (way, [])
        change(folder)
        assert outdated(record, folder), way


@pytest.fixture(scope="module")
def plain(tmp_path_factory):
    """A project that is built; tests replace its build script."""
    project = Project(tmp_path_factory.mktemp("plain"))
    project.write("SConstruct", WATCHED)
    assert project.run(sm="90").returncode == 0
    return project


# What the command line or the environment says, where a record is not kept by it unless the build script asks; the runs that
# differ in one of them. Who asks for all of them would hide the others.
SAID = {
    "GetOption('num_jobs'), env.GetOption('keep_going'), os.environ.get('COLUMNS'), os.getenv('OLDPWD')": [
        (["-j3"], {}),
        (["-k"], {}),
        ([], {"COLUMNS": "77"}),
        ([], {"OLDPWD": "/somewhere"}),
    ],
    "sys.argv, dict(os.environ)": [(["-j3"], {}), ([], {"SHLVL": "77"})],
}


@pytest.mark.parametrize("asked", SAID)
def test_what_a_build_script_asks_of_the_run_counts(plain, asked):
    plain.write("SConstruct", f"{WATCHED}import os, sys; {asked}\n")
    assert not is_short(plain.run(sm="90"))
    assert is_short(plain.run(sm="90"))
    for options, environment in SAID[asked]:
        assert not is_short(plain.run(*options, sm="90", **environment))


def test_what_it_does_not_ask_does_not_count(plain):
    plain.write("SConstruct", WATCHED + "import os; os.environ.get('HOME')\n")
    assert not is_short(plain.run(sm="90"))
    assert is_short(plain.run("-j3", "-k", sm="90", COLUMNS="78", OLDPWD="/elsewhere"))


# From Python 3.14 on subprocess starts a shell by another function.
_STARTED = "os.posix_spawn" if sys.version_info >= (3, 14) else "subprocess.Popen"

# What cannot be asked again, and the words that say so with explain=1; of modules that are not traced (test_sconscript_purity.py) one.
DOUBTS = {
    "import subprocess; subprocess.run(['true'])": "the build scripts call subprocess.Popen, which is not traced",
    "import os; os.popen('true').read()": f"the build scripts call {_STARTED}, which is not traced",
    "import os; os.system('true')": "the build scripts call os.system, which is not traced",
    "import os; os.getpid() and os.waitpid(os.posix_spawn('/bin/true', ['true'], {}), 0)": "os.posix_spawn",
    "import os; os.waitpid(os.fork() or os._exit(0), 0)": "os.fork",
    "env.Execute(Touch('touched'))": "the build scripts",
    "import sqlite3; sqlite3.connect(':memory:')": "sqlite3",
    "open('/proc/loadavg').read()": "read /proc/loadavg",
    "open('/dev/urandom', 'rb').read(1)": "read /dev/urandom",
    "import os; os.stat('a.tilebc', dir_fd=os.open('.', os.O_RDONLY))": "dir_fd",
    "import os; os.getxattr('a.tilebc', 'user.x') if os.path.exists('none') else os.listxattr('a.tilebc')": "os.listxattr",
    "import time; time.time()": f"SConstruct:{WATCHED.count(chr(10)) + 1} uses time",
    "import socket; socket.gethostname()": "socket",
    "Variables('modules/variables.py', {}).Update(env)": "variables.py:1 uses time",
    "import helper_of_doubt": "helper_of_doubt.py:1 uses time",
    "Environment(tools=['running'], toolpath=['#modules'])": "the build scripts call subprocess.Popen, which is not traced",
    "env.Default(env.Command('copied', 'a.tilebc', 'cp $SOURCE $TARGET'))": "implicit dependencies found by SCons scanners",
}


@pytest.mark.parametrize("line", DOUBTS)
def test_what_cannot_be_asked_again_is_a_doubt(plain, line):
    modules = plain.folder / "modules"
    modules.mkdir(exist_ok=True)
    (modules / "helper_of_doubt.py").write_text("from time import time\n")
    (modules / "variables.py").write_text("import time\n")
    tool = "import subprocess\ndef generate(env): subprocess.run(['true'])\ndef exists(env): return True\n"
    (modules / "running.py").write_text(tool)
    plain.write("SConstruct", WATCHED + line + "\n")
    done = plain.run("explain=1", sm="90", PYTHONPATH=f"{ROOT}:{modules}")
    assert done.returncode == 0, done.stderr
    assert DOUBTS[line] in done.stdout.partition("the next run will check every node, because ")[2]


SITE = {
    "site_scons/site_init.py": "A = 1\n",
    "site_scons/site_tools/tileiras.py": "A = 1\n",
}


@pytest.mark.parametrize("path", SITE)
def test_folders_that_scons_reads_by_itself_count(plain, path):
    plain.write("SConstruct", WATCHED + f"# {path}\n")
    assert not is_short(plain.run(sm="90"))
    assert is_short(plain.run(sm="90"))
    (plain.folder / path).parent.mkdir(parents=True)
    plain.write(path, SITE[path])
    assert not is_short(plain.run(sm="90"))
    shutil.rmtree(plain.folder / "site_scons")


def test_site_init_that_does_anything_was_not_watched(plain):
    plain.write("SConstruct", WATCHED + "# site_init\n")
    (plain.folder / "site_scons").mkdir()
    plain.write("site_scons/site_init.py", "import os\nFOUND = os.path.exists('config')\n")
    assert "site_init.py:2 runs code before tileiras_build" in plain.run("explain=1", sm="90").stdout
    shutil.rmtree(plain.folder / "site_scons")


def test_functions_are_put_back_when_the_scripts_are_read(plain):
    plain.write(
        "SConstruct",
        "import os\nfrom tileiras_build import scons_tool\n"
        + WATCHED.replace("from tileiras_build import scons_tool\n", "")
        + "def show(target, source, env): print('real:', 'built-in' in repr(os.stat), len(os.supports_fd))\n"
        + "AlwaysBuild(env.Alias('kernels', [], show))\nprint('real:', 'built-in' in repr(os.stat))\n",
    )
    assert [line for line in plain.run(sm="90").stdout.splitlines() if line.startswith("real:")] == [
        "real: False",
        f"real: True {len(os.supports_fd)}",
    ]


def test_a_folder_of_the_disk_is_no_made_up_one(monkeypatch):
    """Some containers have nothing mounted where the kernel shows itself."""
    monkeypatch.setattr(sconscript_trace, "_VOLATILE_FOLDERS", ("/usr/",))
    sconscript_trace._volatile_devices.cache_clear()
    try:
        assert os.stat("/").st_dev not in sconscript_trace._volatile_devices()
    finally:
        sconscript_trace._volatile_devices.cache_clear()

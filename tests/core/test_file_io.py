"""Artifacts appear whole or not at all."""

import errno
import os
import resource
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.core.file_io import read_file, replace_files, write_files


def test_files_and_their_folders_are_made(tmp_path):
    write_files({tmp_path / "a/b/k.cubin": b"1", tmp_path / "a/k.json": b"2"})
    assert (tmp_path / "a/b/k.cubin").read_bytes() == b"1" and (tmp_path / "a/k.json").read_bytes() == b"2"


def test_one_that_cannot_be_written_means_none(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput, match="file/k.json: error.write-failed.: cannot write .*: parent path is a file"):
        write_files({tmp_path / "k.cubin": b"1", tmp_path / "file/k.json": b"2"})
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_one_that_cannot_be_placed_means_none(tmp_path):
    (tmp_path / "k.json").mkdir()
    with pytest.raises(InvalidInput, match="k.json: error.write-failed"):
        write_files({tmp_path / "k.cubin": b"1", tmp_path / "k.json": b"2"})
    assert [path.name for path in tmp_path.iterdir()] == ["k.json"]


def test_directory_in_the_place_of_the_output(tmp_path):
    (tmp_path / "k.cubin").mkdir()
    with pytest.raises(InvalidInput, match="k.cubin: error.write-failed.: cannot write the file: Is a directory"):
        write_files({tmp_path / "k.cubin": b"1"})
    assert [path.name for path in tmp_path.iterdir()] == ["k.cubin"]


def test_pipe_is_written_to_and_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_files({pipe: b"text"})
    reader.join(10)
    assert read == [b"text"] and pipe.is_fifo()


def test_missing_file_is_named(tmp_path):
    with pytest.raises(InvalidInput, match="absent: error.file-missing.: file not found"):
        read_file(tmp_path / "absent")


def _refuse_unnamed(monkeypatch):
    real = os.open

    def refuse(path, flags, *mode, **more):
        if flags & os.O_TMPFILE == os.O_TMPFILE:
            raise OSError(errno.EOPNOTSUPP, "Operation not supported")
        return real(path, flags, *mode, **more)

    monkeypatch.setattr(os, "open", refuse)


def _refuse_links(monkeypatch):
    def refuse(*arguments, **more):
        raise PermissionError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)


@pytest.mark.parametrize("prepare", [lambda _: None, _refuse_unnamed, _refuse_links], ids=["all", "unnamed", "links"])
def test_files_are_replaced_with_the_users_permissions_and_nothing_is_left(tmp_path, monkeypatch, prepare):
    """Also on a file system that has no files without a name, or does not let them be linked."""
    prepare(monkeypatch)
    path = tmp_path / ("k" * 240 + ".cubin")
    for data in (b"one", b"another", b""):
        write_files({path: data, tmp_path / "k.json": data})
        assert path.read_bytes() == (tmp_path / "k.json").read_bytes() == data
    (tmp_path / "plain").touch()
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode
    assert {entry.name for entry in tmp_path.iterdir()} == {path.name, "k.json", "plain"}


@pytest.fixture
def few_descriptors():
    """Eighty more than are open."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (len(os.listdir("/proc/self/fd")) + 80, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, before)


def test_more_files_than_descriptors_are_written(tmp_path, few_descriptors):
    files = {tmp_path / f"{number}.ll": b"x" for number in range(200)}
    for _ in range(2):
        write_files(files)
        assert len(list(tmp_path.iterdir())) == 200


WRITER = """
import os, pathlib, sys
from tileiras_build.core.file_io import write_files
class Endless(dict):
    def items(self):
        yield pathlib.Path(sys.argv[1], "k.cubin"), b"x" * 1000
        os.kill(os.getpid(), 9)
write_files(Endless({pathlib.Path(sys.argv[1], "k.cubin"): b""}))
"""


def test_process_that_is_killed_while_it_writes_leaves_nothing(tmp_path):
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).resolve().parents[2])}
    done = subprocess.run([sys.executable, "-c", WRITER, tmp_path], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    assert list(tmp_path.iterdir()) == []


def test_replacing_writes_through_no_link_and_into_no_pipe(tmp_path):
    (tmp_path / "victim").write_text("precious")
    (tmp_path / "link").symlink_to("victim")
    os.mkfifo(tmp_path / "pipe")
    replace_files({tmp_path / "link": b"1", tmp_path / "pipe": b"2"})
    assert (tmp_path / "victim").read_text() == "precious"
    assert not (tmp_path / "link").is_symlink() and (tmp_path / "pipe").read_bytes() == b"2"

"""Artifacts appear whole or not at all."""

import os
import threading

import pytest

from tileiras_build.errors import InvalidInput
from tileiras_build.files import read_file, write_files


def test_files_and_their_folders_are_made(tmp_path):
    write_files({tmp_path / "a/b/k.cubin": b"1", tmp_path / "a/k.json": b"2"})
    assert (tmp_path / "a/b/k.cubin").read_bytes() == b"1" and (tmp_path / "a/k.json").read_bytes() == b"2"


def test_one_that_cannot_be_written_means_none(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(InvalidInput, match="file/k.json: error.write-failed.: cannot write .*: its folder is a file"):
        write_files({tmp_path / "k.cubin": b"1", tmp_path / "file/k.json": b"2"})
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


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
    with pytest.raises(InvalidInput, match="absent: error.file-missing.: there is no such file"):
        read_file(tmp_path / "absent")

"""Maintenance of a cache folder: sizes, ``verify`` and ``trim``."""

import os
import shutil
import socket
import time
from pathlib import Path

import pytest

from tileiras_build.core.byte_sizes import size_text
from tileiras_build.core.errors import InvalidInput
from tileiras_build.workers.executor.cache import BuildCache, folder_maintenance, open_store
from tileiras_build.workers.executor.cache.action_result import Digest
from tileiras_build.workers.executor.cache.folder_maintenance import (
    DamagedEntry,
    measure,
    parse_size,
    remove,
    trim,
    verify,
)
from tileiras_build.workers.executor.cache.store import BLOBS, RESULTS

KEYS = ["aa" * 32, "bb" * 32, "cc" * 32]
SHARED = b"shared" * 100


@pytest.fixture
def store(tmp_path):
    """Three steps, the first used longest ago; each has a file of 1,000 bytes of its own, and all share one."""
    store = open_store(str(tmp_path))
    for age, key in enumerate(reversed(KEYS), 1):
        BuildCache(store).keep(key, {".cubin": key.encode()[:10] * 100, ".json": SHARED})
        days = time.time() - age * 86400
        for kind in (RESULTS, BLOBS):
            for path in (tmp_path / kind).glob(f"??/{key if kind == RESULTS else '*'}"):
                os.utime(path, (days, days))
    return store


def found(store) -> list[bool]:
    return [BuildCache(store).find(key, [".cubin", ".json"]) is not None for key in KEYS]


def test_contents_are_counted(store, tmp_path):
    (tmp_path / "cas/aa").mkdir(exist_ok=True)
    (tmp_path / "cas/aa/.half.tmp").write_bytes(b"x")
    records = sum(path.stat().st_size for path in tmp_path.rglob("*") if path.is_file())
    assert str(measure(tmp_path)) == f"3 steps, 4 files, {size_text(records)}; 1 temporary file of killed builds"
    assert measure(tmp_path).size == records


def test_empty_folder_is_an_empty_cache(tmp_path):
    assert str(measure(tmp_path)) == "0 steps, 0 files, 0"


def test_what_is_no_folder_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match="absent: error.cache-value.: this is not a folder"):
        measure(tmp_path / "absent")


def test_trimming_keeps_what_was_used_last(store, tmp_path):
    trim(tmp_path, 3500)
    assert found(store) == [False, True, True]
    assert measure(tmp_path).files == 3 and measure(tmp_path).size <= 3500


def test_trimming_to_nothing_leaves_nothing(store, tmp_path):
    trim(tmp_path, 0)
    assert measure(tmp_path).size == 0


def test_use_counts_not_age(store, tmp_path):
    BuildCache(store).find(KEYS[0], [".cubin", ".json"])
    trim(tmp_path, 2000)
    assert found(store) == [True, False, False]


def test_trimming_leaves_what_a_running_build_has_just_written(store, tmp_path):
    store.write(BLOBS, Digest.of(b"new").hash, b"new")
    trim(tmp_path, 0)
    assert [path.read_bytes() for path in (tmp_path / BLOBS).glob("??/*")] == [b"new"]


def test_verifying_names_what_is_damaged_and_removes_nothing(store, tmp_path):
    assert list(verify(tmp_path)) == []
    blob, result = store.path(BLOBS, Digest.of(KEYS[0].encode()[:10] * 100).hash), store.path(RESULTS, KEYS[1])
    for path in (blob, result):
        path.write_bytes(path.read_bytes()[:-1])
    for _ in range(2):
        assert list(verify(tmp_path)) == [
            DamagedEntry(result, "not an ActionResult"),
            DamagedEntry(blob, "content does not match its hash"),
        ]


def test_removing_leaves_what_is_whole(store, tmp_path):
    blob = store.path(BLOBS, Digest.of(KEYS[0].encode()[:10] * 100).hash)
    blob.write_bytes(b"")
    assert [remove(damage) for damage in verify(tmp_path)] == [None]
    assert list(verify(tmp_path)) == [] and found(store) == [False, True, True]


def _socket(path: Path) -> None:
    before = os.getcwd()
    os.chdir(path.parent)  # the path of a socket has at most 107 bytes
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path.name)
    os.chdir(before)


def _sparse(path: Path) -> None:
    with open(path, "wb") as stream:
        stream.truncate(1 << 40)


def _full_folder(path: Path) -> None:
    path.mkdir()
    (path / "file").touch()


def _link_to_itself(path: Path) -> None:
    path.symlink_to(path)


def _link_to_device(path: Path) -> None:
    path.symlink_to("/dev/zero")


def _link_to_folder(path: Path) -> None:
    path.symlink_to(path.parents[-1])


def _number_for_bytes(path: Path) -> None:
    """Field 2 as a varint: what it says of the next field is wrong as well."""
    path.write_bytes(bytes([2 << 3, 1]))


# What a record's place may hold instead: how it is made. A device needs a privileged user: the link stands for it.
STRANGE = {
    "pipe": os.mkfifo,
    "socket": _socket,
    "folder": Path.mkdir,
    "folder with a file": _full_folder,
    "link to itself": _link_to_itself,
    "link to a device": _link_to_device,
    "link to a folder": _link_to_folder,
    "dangling link": lambda path: path.symlink_to("absent"),
    "endless file": _sparse,
    "wrong kind of field": _number_for_bytes,
    "empty file": Path.touch,
}


@pytest.mark.parametrize("make", STRANGE)
@pytest.mark.parametrize("kind", [RESULTS, BLOBS])
def test_what_is_no_record_is_a_miss_is_named_and_removed(store, tmp_path, kind, make):
    blob = Digest.of(KEYS[0].encode()[:10] * 100).hash
    path = store.path(kind, KEYS[0] if kind == RESULTS else blob)
    path.unlink()
    STRANGE[make](path)
    assert found(store) == [False, True, True]
    measure(tmp_path)
    (damage,) = verify(tmp_path)
    assert damage.path == path
    assert remove(damage) is None and not os.path.lexists(path)
    assert list(verify(tmp_path)) == []


@pytest.mark.parametrize("make", [make for make in STRANGE if "folder" not in make])
@pytest.mark.parametrize("part", ["ac", "cas", "ac/aa"])
def test_what_is_no_folder_is_a_miss_is_named_and_removed(store, tmp_path, part, make):
    shutil.rmtree(tmp_path / part)
    STRANGE[make](tmp_path / part)
    assert found(store)[0] is False
    measure(tmp_path)
    trim(tmp_path, 1 << 40)
    assert [str(damage) for damage in verify(tmp_path)] == [f"{tmp_path / part}: not a folder"]
    assert [remove(damage) for damage in verify(tmp_path)] == [None]
    assert not os.path.lexists(tmp_path / part)


@pytest.mark.parametrize("make", [make for make in STRANGE if "folder" not in make or "link" in make])
@pytest.mark.parametrize("kind", [RESULTS, BLOBS])
def test_what_is_no_record_is_replaced_by_one(store, tmp_path, kind, make):
    blob = Digest.of(KEYS[0].encode()[:10] * 100).hash
    path = store.path(kind, KEYS[0] if kind == RESULTS else blob)
    path.unlink()
    STRANGE[make](path)
    BuildCache(store).keep(KEYS[0], {".cubin": KEYS[0].encode()[:10] * 100, ".json": SHARED})
    assert found(store) == [True] * 3 and list(verify(tmp_path)) == []


def test_nothing_behind_a_link_is_removed(store, tmp_path):
    victims = tmp_path / "victims"
    (victims / "sub").mkdir(parents=True)
    (victims / "file").touch()
    (tmp_path / "ac/00").symlink_to(victims)
    (tmp_path / "cas/00").mkdir()
    (tmp_path / "cas/00" / ("0" * 64)).symlink_to(victims)
    assert len([remove(damage) for damage in verify(tmp_path)]) == 2
    trim(tmp_path, 0)
    assert sorted(path.name for path in victims.iterdir()) == ["file", "sub"]


def test_one_kind_may_lie_on_another_disk(store, tmp_path):
    (tmp_path / "cas").rename(tmp_path / "disk")
    (tmp_path / "cas").symlink_to("disk")
    assert found(store) == [True] * 3 and list(verify(tmp_path)) == []
    blob = store.path(BLOBS, Digest.of(SHARED).hash)
    blob.write_bytes(b"damaged")
    assert [damage.path for damage in verify(tmp_path)] == [blob.resolve()]


def test_names_of_no_record_are_named(store, tmp_path):
    wrong = [tmp_path / "cas/aa/readme", tmp_path / "ac/aa" / ("bb" * 32), tmp_path / "ac/aa/new\nline"]
    for path in wrong:
        path.parent.mkdir(exist_ok=True)
        path.touch()
    (tmp_path / "ac/readme").touch()  # where no record is looked for
    assert sorted(damage.path for damage in verify(tmp_path)) == sorted(wrong)
    assert all("\n" not in str(damage) for damage in verify(tmp_path))


def test_what_cannot_be_read_is_named_and_stays(store, tmp_path, monkeypatch):
    def refuse(path, limit):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(folder_maintenance, "read_record", refuse)
    damages = list(verify(tmp_path))
    assert len(damages) == 7 and {damage.reason for damage in damages} == {"cannot be read: Permission denied"}
    assert remove(damages[0]) == "owned by another user" and damages[0].path.exists()


def test_record_that_goes_away_meanwhile_is_not_damaged(store, tmp_path, monkeypatch):
    def gone(path, limit):
        raise FileNotFoundError(2, "No such file or directory")

    monkeypatch.setattr(folder_maintenance, "read_record", gone)
    assert list(verify(tmp_path)) == []


@pytest.mark.parametrize(("text", "size"), [("0", 0), ("1500", 1500), ("500M", 500 << 20), ("2.5 GiB", 5 << 29)])
def test_sizes_are_read(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize("text", ["", "G", "-1", "ten", "nan", "inf", "1Q"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(InvalidInput, match="invalid size '.*'; use bytes"):
        parse_size(text)

"""What lies in everybody's temporary folder: nobody else has a hand in it, and it goes with its process."""

import fcntl
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

from tileiras_build.core import user_tmp
from tileiras_build.core.user_tmp import (
    ScratchFolder,
    dump_root,
    owned_folder,
    remove_dead_scratch,
    scratch_folder,
    tempdir_in_scratch,
    user_tmp_root,
)

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def temporary(tmp_path, monkeypatch):
    """A temporary folder for the test alone."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    user_tmp._fresh.cache_clear()
    return tmp_path


def root(temporary: Path) -> Path:
    return temporary / f"tileiras-{os.geteuid()}"


def test_folder_is_the_users_alone(temporary):
    assert user_tmp_root() == root(temporary)
    assert user_tmp_root().stat().st_mode & 0o777 == 0o700


def _link(path: Path) -> None:
    (path.parent / "elsewhere").mkdir(mode=0o700)
    path.symlink_to("elsewhere")


def _file(path: Path) -> None:
    path.touch(0o600)


def _open_to_others(path: Path) -> None:
    path.mkdir()
    path.chmod(0o777)


def _dangling(path: Path) -> None:
    path.symlink_to("absent")


@pytest.mark.parametrize("make", [_link, _file, _open_to_others, _dangling])
def test_what_may_be_another_users_is_not_used(temporary, make):
    make(root(temporary))
    before = sorted(temporary.rglob("*"))
    found = user_tmp_root()
    assert found.parent == temporary and found.name.startswith(f"{root(temporary).name}-")
    assert found.stat().st_mode & 0o777 == 0o700
    assert user_tmp_root() == found
    assert sorted(temporary.rglob("*")) == sorted([*before, found])


def test_folder_of_another_user_is_not_used(temporary, monkeypatch):
    root(temporary).mkdir(0o700)
    owner, name = os.geteuid(), root(temporary)
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    (temporary / f"tileiras-{owner + 1}").mkdir(0o700)
    assert user_tmp_root() not in (name, temporary / f"tileiras-{owner + 1}")


def test_dumps_are_in_a_folder_that_nobody_prepared(temporary):
    user_tmp_root()
    (temporary / "victims").mkdir()
    (root(temporary) / "dump").symlink_to(temporary / "victims")
    assert dump_root().parent == root(temporary) and not dump_root().is_symlink()


def test_folder_that_others_may_read_can_be_asked_for(tmp_path):
    (tmp_path / "mine").mkdir(0o755)
    assert owned_folder(tmp_path / "mine", user_tmp.OTHERS_WRITE) == tmp_path / "mine"
    assert owned_folder(tmp_path / "mine") != tmp_path / "mine"


def test_scratch_folder_goes_with_its_block_and_leaves_nothing(temporary):
    with scratch_folder() as first, scratch_folder() as second:
        assert first != second and first.parent == second.parent == root(temporary)
        (first / "file").touch()
    assert list(temporary.iterdir()) == []


def test_dumps_stay(temporary):
    (dump_root() / "error.txt").touch()
    with scratch_folder():
        pass
    assert [path.name for path in dump_root().iterdir()] == ["error.txt"]


def test_libraries_see_a_scratch_folder_and_dumps_do_not(temporary):
    with tempdir_in_scratch():
        inside = Path(tempfile.mkdtemp())
        assert inside.parent.parent == root(temporary)
        assert dump_root() == root(temporary) / "dump"
    assert tempfile.gettempdir() == str(temporary) and not inside.exists()


def test_folder_of_a_living_process_is_not_swept(temporary):
    with scratch_folder() as folder:
        remove_dead_scratch()
        assert folder.is_dir()


def test_folder_of_a_killed_process_is_swept(temporary):
    program = (
        "from tileiras_build.core.user_tmp import ScratchFolder; import os; ScratchFolder(); os.kill(os.getpid(), 9)"
    )
    environment = os.environ | {"TMPDIR": str(temporary), "PYTHONPATH": str(ROOT)}
    done = subprocess.run([sys.executable, "-c", program], env=environment, check=False)
    assert done.returncode == -signal.SIGKILL
    (left,) = root(temporary).iterdir()
    (left / "log").touch()
    (root(temporary) / "run-a-file").touch()
    remove_dead_scratch()
    assert [path.name for path in root(temporary).iterdir()] == ["run-a-file"]


def test_sweeping_follows_no_link(temporary):
    (temporary / "victims").mkdir()
    (temporary / "victims/file").touch()
    (user_tmp_root() / "run-link").symlink_to(temporary / "victims")
    remove_dead_scratch()
    assert (temporary / "victims/file").exists()


def test_folder_that_was_swept_before_it_was_locked_is_made_again(temporary, monkeypatch):
    """The other process has looked between the two steps."""
    lock, swept = fcntl.flock, []

    def swept_first(descriptor, operation):
        if not swept:
            swept.append(os.readlink(f"/proc/self/fd/{descriptor}"))
            os.rmdir(swept[0])
        lock(descriptor, operation)

    monkeypatch.setattr(fcntl, "flock", swept_first)
    made = ScratchFolder()
    assert swept and made.path.is_dir() and str(made.path) != swept[0]
    made.close()


def test_file_system_without_locks_has_scratch_folders_and_no_sweeping(temporary, monkeypatch):
    def refuse(descriptor, operation):
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(fcntl, "flock", refuse)
    made = ScratchFolder()
    remove_dead_scratch()
    assert made.path.is_dir()
    made.close()
    assert not made.path.exists() and made.closed


def test_fork_leaves_its_parents_folder(temporary):
    made = ScratchFolder()
    child = os.fork()
    if child == 0:
        made.close()
        os._exit(0)
    os.waitpid(child, 0)
    assert made.path.is_dir()
    made.close()

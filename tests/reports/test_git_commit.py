"""The commit in the title of a report."""

import subprocess

from tileiras_build.reports.git_commit import git_commit


def git(folder, *words: str) -> None:
    names = ["-c", "user.name=a", "-c", "user.email=a@b"]
    subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)


def test_changed_files_are_marked(tmp_path):
    assert git_commit(tmp_path) == git_commit(tmp_path / "missing") == ""
    git(tmp_path, "init")
    (tmp_path / "k.py").write_text("1")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-m", "one")
    commit = git_commit(tmp_path)
    assert len(commit) >= 7 and not commit.endswith("-dirty")
    (tmp_path / "k.py").write_text("2")
    assert git_commit(tmp_path) == f"{commit}-dirty"

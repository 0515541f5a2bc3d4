"""``tileiras-build init``: the written files, and refused names and folders."""

from pathlib import Path

import pytest

from tileiras_build.build.project_template.write_project import CUTILE, KINDS, write_project
from tileiras_build.cli.dispatch import main
from tileiras_build.core.errors import InvalidInput


@pytest.mark.parametrize("kind", KINDS)
def test_every_word_is_filled_in(kind, tmp_path):
    written = write_project(tmp_path / "fast-kernels", kind)
    assert {path.relative_to(tmp_path).parts[0] for path in written} == {"fast-kernels"}
    assert not [path for path in written if "@" in path.read_text().replace("@ct.kernel", "").replace("@pytest.", "")]
    assert 'env.KernelPackage("fast_kernels", library)' in (tmp_path / "fast-kernels/SConstruct").read_text()


def test_nothing_is_overwritten(tmp_path):
    (tmp_path / "kernels").mkdir()
    (tmp_path / "kernels/softmax.py").write_text("mine")
    with pytest.raises(InvalidInput) as caught:
        write_project(tmp_path, CUTILE)
    assert caught.value.id == "init-file-exists" and "\n" not in str(caught.value)
    assert caught.value.message == "kernels/softmax.py: file exists and is not overwritten"
    assert [path.name for path in tmp_path.rglob("*") if path.is_file()] == ["softmax.py"]
    assert (tmp_path / "kernels/softmax.py").read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "words"),
    [(name, "invalid project name '.*'; use letters") for name in ("3d", "a b", "-x")]
    + [("import", "'import' is a Python keyword")],
)
def test_a_package_must_be_able_to_bear_the_name(name, words, tmp_path):
    with pytest.raises(InvalidInput, match=rf"error\[init-name\]: {words}"):
        write_project(tmp_path / name, CUTILE)
    assert not (tmp_path / name).exists()


def test_the_command_writes_into_this_folder_or_another(tmp_path, monkeypatch, capsys):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    assert main(["init"]) == 0 and Path("kernels/softmax.py").exists()
    assert main(["init", "cpp", "--tilecpp"]) == 0 and Path("cpp/kernels/scale.cu").exists()
    assert capsys.readouterr().out.count("scons sm=80,90 verify package") == 2
    assert main(["init"]) == 1
    assert capsys.readouterr().err.startswith(".: error[init-file-exists]: SConstruct, README.md, .gitignore")

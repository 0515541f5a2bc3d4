"""The JSON of listing commands equals their text output."""

import json

import pytest

from tests.examples.example_library import bytecode_of
from tileiras_build.cli.dispatch import main
from tileiras_build.pipeline.opt import PASSES
from tileiras_build.pipeline.stages import STAGES
from tileiras_build.target.targets import ALL_TARGETS, TARGETS


@pytest.fixture
def printed(capsys):
    """The JSON that a command prints, and its exit code."""

    def run(*words: str):
        code = main(words)
        return json.loads(capsys.readouterr().out), code

    return run


def test_targets(printed):
    rows, _ = printed("targets", "--json")
    assert [row["name"] for row in rows] == list(ALL_TARGETS)
    runs_on = ["sm_80", "sm_86", "sm_89"]
    assert rows[0] == {"name": "sm_80", "arch": "sm_80", "ptx": "9.0", "shared_memory": 163 << 10, "runs_on": runs_on}
    assert rows[len(TARGETS)]["runs_on"] == ["sm_100", "sm_103", "sm_107"]


def test_passes(printed):
    edges, _ = printed("passes", "--json")
    assert [edge["to"] for edge in edges] == [*(stage.suffix for stage in STAGES[1:]), None]
    for edge, stage in zip(edges, STAGES[1:]):
        assert [one["name"] for one in edge["passes"]] == [one.name for one in stage.passes]
    assert {one["name"] for one in edges[-1]["passes"]} == set(PASSES)
    assert all(one["summary"] for edge in edges for one in edge["passes"])


def test_verify_and_report(printed, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.tilebc").write_bytes(bytecode_of("vector_add_f32"))
    rows, code = printed("verify", "k.tilebc", "--sm", "90", "--json")
    assert code == 0
    (row,) = rows
    assert row["target"] == "sm_90" and row["agrees"] and row["differences"] == [] and row["arrays"] == 3
    assert main(["lower", "k.tilebc", "--to", "cubin", "--sm", "90", "-o", "build/k.cubin", "--in-process"]) == 0
    assert capsys.readouterr().out == "wrote build/k.cubin, build/k.json\n"
    found, _ = printed("report", "build", "--json")
    (row,) = found["rows"]
    assert row["target"] == "sm_90" and row["shared"] == 0 and row["registers"] > 0 and row["instructions"] > 10


def test_verify_tells_of_differences_and_fails(printed, tmp_path, monkeypatch, capsys):
    path = tmp_path / "k.tilebc"
    path.write_bytes(bytecode_of("vector_add_f32"))
    monkeypatch.setattr(
        "tileiras_build.simulate.interpreter.compare_with_compiled.ExpectedMemory.compare",
        lambda self, arrays: ["one differs"],
    )
    assert main(["verify", str(path), "--sm", "90", "--json"]) == 3
    said = capsys.readouterr()
    assert json.loads(said.out)[0]["differences"] == ["one differs"] and not json.loads(said.out)[0]["agrees"]
    assert "internal error[verify-mismatch]: " in said.err and "one differs" in said.err


def test_verify_suggests_a_kernel(tmp_path, capsys):
    (tmp_path / "k.tilebc").write_bytes(bytecode_of("vector_add_f32"))
    assert main(["verify", str(tmp_path / "k.tilebc"), "--sm", "90", "--entry", "vector_ad"]) == 1
    assert "error[no-such-entry]: no kernel 'vector_ad' in this module; did you mean " in capsys.readouterr().err


def test_cache(printed, tmp_path):
    from tileiras_build.workers.executor.cache import BuildCache, open_store

    BuildCache(open_store(str(tmp_path))).keep("ab" * 32, {".ll": b"x" * 1000})
    found, code = printed("cache", str(tmp_path), "--verify", "--json")
    assert code == 0 and found["damaged"] == [] and (found["steps"], found["files"]) == (1, 1)
    (tmp_path / "ac/ab" / ("ab" * 32)).write_bytes(b"damaged")
    found, code = printed("cache", str(tmp_path), "--verify", "--json")
    assert code == 1 and len(found["damaged"]) == 1 and "not an ActionResult" in found["damaged"][0]


def test_servers_whose_folder_is_not_the_users_alone(capsys, tmp_path, monkeypatch):
    monkeypatch.delenv("XDG_RUNTIME_DIR", raising=False)
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert main(("server", "status")) == 0
    assert capsys.readouterr().out == "no servers running\n"
    (folder,) = tmp_path.iterdir()
    folder.chmod(0o777)
    assert main(("server", "status")) == 1
    assert capsys.readouterr().err == (
        "error[server-folder]: cannot use the server socket folder: insecure permissions (not private to this user) "
        f"({folder}); commands still work, without a server; set XDG_RUNTIME_DIR or TMPDIR to a private folder\n"
    )

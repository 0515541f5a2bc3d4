"""What a ranking writes into the file of choices, and prints."""

import json

import pytest

from tests.tuning.tuned_kernels import source
from tileiras_build.cli.dispatch import main
from tileiras_build.frontend.tuning_choices import Choice, read_choices, write_choices
from tileiras_build.tuning.tune_kernels import keep, ranking, table_row


def result(best: int = 1, space: str = "abc", **more) -> dict:
    points = [
        {"point": {"TILE": 64, "num_ctas": None}, "microseconds": [8.0], "mean": 8.0},
        {"point": {"TILE": 128, "num_ctas": 2}, "microseconds": [4.0], "mean": 4.0},
        {"point": {"TILE": 48, "num_ctas": None}, "problem": "no tile"},
    ]
    return {"kernel": "double", "target": "sm_90", "by": "model", "space": space, "points": points, "best": best} | more


def test_the_best_point_is_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert keep("double.py", [result()]) == ["wrote double.tune.json"]
    assert read_choices("double.py")["double"]["sm_90"] == Choice(
        {"TILE": 128, "num_ctas": 2}, "model", 4.0, 8.0, "abc"
    )


@pytest.mark.parametrize("by", ["gpu", "ct.tune", "hand"])
def test_the_model_replaces_no_measurement(tmp_path, by):
    path = tmp_path / "double.py"
    write_choices(path, {"double": {"sm_90": Choice({"TILE": 64}, by, space="abc")}})
    [told] = keep(str(path), [result()])
    assert told == f"double on sm_90: kept TILE=64, chosen by {by}; delete the entry to replace it"
    assert read_choices(path)["double"]["sm_90"].by == by
    keep(str(path), [result(space="new")])
    assert read_choices(path)["double"]["sm_90"].by == "model"


def test_rows_and_rankings():
    row = ("double", "sm_90", "3 (1 failed)", "TILE=128 num_ctas=2", "4.0 us", "8.0 us", "2.00x")
    assert table_row(result()) == row
    assert ranking(result(), 1) == ["         4.0 us  TILE=128 num_ctas=2", "  and 1 slower point"]


def test_the_command(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "double.py").write_text(source(1024))
    assert main(["tune", "double.py", "--sm", "90", "--kernel", "double", "--json"]) == 0
    [found] = json.loads(capfd.readouterr().out)
    assert found["points"][found["best"]]["point"] == {"TILE": 1024}
    assert read_choices("double.py")["double"]["sm_90"].point == {"TILE": 1024}
    assert main(["tune", "double.py", "--kernel", "plain"]) == 1
    assert "error[tune-space]: case 'plain' has no space to tune; use one of double" in capfd.readouterr().err

"""``lower --explain-schedule`` prints schedules, ``lower --schedule`` takes one back."""

import json

import pytest

from tests.examples.example_library import bytecode_of
from tileiras_build.cli.dispatch import main


@pytest.fixture
def kernel(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "k.tilebc").write_bytes(bytecode_of("matmul_f16_nt"))
    return tmp_path


def lower(*words: str) -> int:
    return main(["lower", "k.tilebc", "--in-process", *words])


def test_the_printed_schedule_of_a_kernel_is_a_schedule_file(kernel, capsys):
    assert lower("--explain-schedule", "--json", "--sm", "90") == 0
    printed = json.loads(capsys.readouterr().out)
    assert list(printed) == ["kernel", "target", "schedule", "cost", "schedules", "candidates"]
    clocks = printed["cost"]["clocks"]
    assert [one.get("clocks") for one in printed["schedules"] if "refused" not in one] == [clocks]
    assert {one["schedule"].get("grid_cluster") for one in printed["schedules"] if "refused" in one} == {None, 2}
    assert {"value": 14, "clocks": clocks} in printed["candidates"]["num_stages"]
    assert printed["schedule"]["num_stages"] == 14
    printed["schedule"]["num_stages"] = 3
    (kernel / "mine.json").write_text(json.dumps(printed, indent=2))
    assert lower("--to", "tileas", "--sm", "90", "--schedule", "mine.json") == 0
    assert "num_stages = 3 : i32" in (kernel / "k.tileas").read_text()


@pytest.mark.parametrize("output", ["mine.json", "{folder}/mine.json"])
def test_an_output_never_replaces_the_schedule_that_it_is_made_with(kernel, capsys, output):
    """A launch manifest is named after its cubin, and a schedule file is often named after its kernel."""
    (kernel / "mine.json").write_text(text := '{"schedule": {"num_stages": 3}}')
    assert lower("--to", "tileas", "--sm", "90", "--schedule", "mine.json", "-o", output.format(folder=kernel)) != 0
    assert "error[output-is-input]: the output " in capsys.readouterr().err
    assert (kernel / "mine.json").read_text() == text


def test_several_schedules_are_a_list(kernel, capsys):
    assert lower("--explain-schedule", "--json", "--sm", "80,90") == 0
    assert [one["target"] for one in json.loads(capsys.readouterr().out)] == ["sm_80", "sm_90"]


def test_an_explanation_is_text_for_a_terminal(kernel, capsys):
    assert lower("--explain-schedule", "--sm", "80") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith("matmul_f16_nt on sm_80: modelled ")
    assert any(line.split()[:2] == ["cp_async_stages", "4"] for line in lines)


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            '{"schedule": {"num_stage": 3}}',
            "mine.json:1:15: error[schedule-file]: unknown knob 'num_stage'; did you mean num_stages?",
        ),
        (
            '{"schedule":\n {"num_stages": 99}}',
            "mine.json:2:3: error[schedule-refused]: num_stages = 99 is refused: shared memory: 99 stages",
        ),
        (None, "error[file-missing]"),
    ],
)
def test_a_refused_schedule_names_its_file_and_line(kernel, capsys, text, sentence):
    if text is not None:
        (kernel / "mine.json").write_text(text)
    assert lower("--to", "ptx", "--sm", "90", "--schedule", "mine.json") != 0
    assert sentence in capsys.readouterr().err
    assert not (kernel / "k.ptx").exists()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--to", "ptx", "--json"), "--json needs --explain-schedule"),
        (("--explain-schedule", "--to", "ptx"), "not allowed with argument"),
    ],
)
def test_options_that_do_not_go_together(kernel, capsys, words, sentence):
    try:
        code = lower(*words, "--sm", "90")
    except SystemExit as end:
        code = end.code
    assert code != 0 and sentence in capsys.readouterr().err


def test_what_is_scheduled_has_no_candidates_left(kernel, capsys):
    assert lower("--to", "tileas", "--sm", "90") == 0
    assert main(["lower", "k.tileas", "--in-process", "--explain-schedule", "--sm", "90"]) != 0
    assert "cannot lower .tileas to .tileas" in capsys.readouterr().err

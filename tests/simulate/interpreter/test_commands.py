"""The commands run, verify and asm."""

from pathlib import Path

import numpy as np
import pytest

from tileiras_build.cli.dispatch import main

PREBUILT = Path(__file__).parents[3] / "examples" / "prebuilt"
SOURCE = str(PREBUILT.parent / "kernels" / "vector_add.py")
VECTOR_ADD = str(PREBUILT / "vector_add_f32.tilebc")
ARRAYS = ["--arg", "f32:300:1", "--arg", "f32:300:2", "--arg", "f32:300"]


def test_run_shows_and_saves_what_the_kernel_wrote(tmp_path, capsys):
    assert main(["run", VECTOR_ADD, *ARRAYS, "--grid", "2", "-o", str(tmp_path)]) == 0
    assert "parameter 6: 300 x f32, 300 changed" in capsys.readouterr().out
    first, second, total = (np.load(tmp_path / f"arg{index}.npy") for index in (0, 3, 6))
    assert (first + second == total).all()


def test_verify_derives_inputs(capsys):
    assert main(["verify", VECTOR_ADD, "--sm", "90"]) == 0
    assert "vector_add_f32 (sm_90, grid (2, 1, 1)): 3 arrays match" in capsys.readouterr().out


def test_verify_takes_a_source_file_and_several_targets(capsys):
    assert main(["verify", SOURCE, "--sm", "80,90", "--entry", "vector_add_f32"]) == 0
    grid = "grid (2, 1, 1)): 3 arrays match"
    assert capsys.readouterr().out.splitlines() == [f"vector_add_f32 ({sm}, {grid}" for sm in ("sm_80", "sm_90")]


def test_verify_takes_arguments(capsys):
    assert main(["verify", VECTOR_ADD, "--sm", "80", "--opt", "0", *ARRAYS, "--grid", "2"]) == 0
    assert "grid (2, 1, 1)" in capsys.readouterr().out


def test_verify_takes_a_schedule(tmp_path, capsys):
    path = tmp_path / "k.json"
    path.write_text('{"schedule": {"num_warps": 1}}')
    assert main(["verify", VECTOR_ADD, "--sm", "80", "--schedule", str(path)]) == 0
    path.write_text('{"schedule": {"num_stages": 2}}')
    assert main(["verify", VECTOR_ADD, "--sm", "80", "--schedule", str(path)]) != 0
    assert f"{path}:1:15: error[schedule-refused]: num_stages = 2 is refused" in capsys.readouterr().err


def test_verify_reports_a_difference(monkeypatch, capsys):
    from tileiras_build.simulate.interpreter import compare_with_compiled

    def broken(artifacts, entry, inputs, findings, steps):
        return [np.zeros_like(compare_with_compiled.elements(buffer)) for buffer in inputs.buffers]

    monkeypatch.setattr(compare_with_compiled, "run_in_emulator", broken)
    assert main(["verify", VECTOR_ADD, "--sm", "80"]) == 3
    assert "verify-mismatch" in capsys.readouterr().err


def test_verify_silences_findings(monkeypatch, capsys):
    from tileiras_build.simulate.interpreter import compare_with_compiled

    seen, emulate = [], compare_with_compiled.run_in_emulator
    monkeypatch.setattr(
        compare_with_compiled, "run_in_emulator", lambda *arguments: seen.append(arguments[3]) or emulate(*arguments)
    )
    assert main(["verify", VECTOR_ADD, "--sm", "80", "--silence", "exit-before-read"]) == 0
    assert seen == [{"exit-before-read": "silent"}]
    assert main(["verify", VECTOR_ADD, "--sm", "80", "--silence", "other"]) != 0
    assert "finding-unknown" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "message"), [
    (["--entry", "other"], "no kernel 'other' in this module"),
    (["--grid", "0"], "invalid grid '0'"),
    (["--arg", "f32:300"], "arguments supply 3"),
])  # fmt: skip
def test_wrong_launches_are_refused(arguments, message, capsys):
    assert main(["run", VECTOR_ADD, *arguments]) == 1
    assert message in capsys.readouterr().err


def test_blocks_whose_tiles_are_outside_change_nothing(capsys):
    printed = []
    for grid in ("2", "99"):
        assert main(["run", VECTOR_ADD, "--seed", "1", "--grid", grid]) == 0
        printed.append(capsys.readouterr().out)
    assert printed[0] == printed[1]


def test_asm_writes_what_dis_prints(tmp_path, capsys):
    assert main(["dis", VECTOR_ADD]) == 0
    text = capsys.readouterr().out
    (tmp_path / "k.mlir").write_text(text)
    assert main(["asm", str(tmp_path / "k.mlir")]) == 0
    assert main(["dis", str(tmp_path / "k.tilebc")]) == 0
    assert capsys.readouterr().out == text


@pytest.mark.parametrize("words, version", [([], (13, 4)), (["--bytecode", "13.5"], (13, 5))])
def test_asm_writes_the_version_asked_for(words, version, tmp_path):
    (tmp_path / "k.mlir").write_text("entry @k() {\n  return\n}\n")
    assert main(["asm", str(tmp_path / "k.mlir"), *words]) == 0
    assert tuple((tmp_path / "k.tilebc").read_bytes()[8:10]) == version


def test_asm_does_not_write_a_version_that_it_does_not_know(tmp_path, capsys):
    with pytest.raises(SystemExit):
        main(["asm", str(tmp_path / "k.mlir"), "--bytecode", "13.6"])
    assert "13.6 is not one of 13.1, 13.2, 13.3, 13.4, 13.5" in capsys.readouterr().err


def test_asm_points_at_the_line(tmp_path, capsys):
    path = tmp_path / "k.mlir"
    path.write_text("entry @k() {\n  %0 = frob\n  return\n}\n")
    assert main(["asm", str(path)]) == 1
    assert f"{path}:2:8: error[asm-syntax]: unknown operation 'frob'" in capsys.readouterr().err


def test_asm_remarks_on_an_old_name(tmp_path, capsys):
    path = tmp_path / "k.mlir"
    path.write_text("entry @k(%x: tile<f32>) {\n  %0 = pow %x, %x : tile<f32>\n}\n")
    assert main(["asm", str(path)]) == 0
    assert f"{path}:2:8: remark[asm-renamed]: 'pow' is a former name of 'fpowf'" in capsys.readouterr().err


def endless(tmp_path) -> str:
    """A kernel that waits for what nobody does."""
    text = tmp_path / "wait.mlir"
    text.write_text("entry @wait() {\n  loop {\n    %0 = make_token : token\n    continue\n  }\n  return\n}\n")
    assert main(["asm", str(text)]) == 0
    return str(tmp_path / "wait.tilebc")


@pytest.mark.parametrize("command", [["run"], ["verify", "--sm", "90"]])
def test_a_kernel_without_an_end_is_given_up(command, tmp_path, capsys):
    assert main([command[0], endless(tmp_path), *command[1:], "--max-steps", "1000"]) == 1
    said = capsys.readouterr().err
    assert "too-long" in said and "step limit of 1000 operations reached" in said and "--max-steps N" in said


@pytest.mark.parametrize("command", ["run", "verify"])
def test_there_is_a_limit_without_the_option(command):
    from tileiras_build.cli.command_options import MAX_STEPS
    from tileiras_build.cli.parser import parse

    words = [command, "k.tilebc", *(["--sm", "90"] if command == "verify" else [])]
    assert parse(words).max_steps == MAX_STEPS == 1_000_000


@pytest.mark.parametrize("word", ["0", "-5", "many"])
def test_the_limit_is_a_positive_number(word, capsys):
    with pytest.raises(SystemExit):
        main(["run", "k.tilebc", f"--max-steps={word}"])
    assert f"expected a positive number of operations, got '{word}'" in capsys.readouterr().err


DAMAGED = {
    "header": lambda data: data.replace(b"'shape'", b"'sh\0pe'"),
    "expression": lambda data: data.replace(b"(300,)", b"(300, "),
    "short": lambda data: data[:-5],
    "huge": lambda data: data.replace(b"(300,), }   ", b"(9999999999,)}"),
    "empty": lambda data: b"",
    "archive": lambda data: b"PK\x03\x04" + data,
    "objects": lambda data: data.replace(b"<f4", b"|O "),
}


@pytest.mark.parametrize("damage", DAMAGED.values(), ids=DAMAGED)
def test_damaged_arrays_are_refused(damage, tmp_path, capsys):
    path = tmp_path / "a.npy"
    np.save(path, np.zeros(300, np.float32))
    path.write_bytes(damage(path.read_bytes()))
    assert main(["run", VECTOR_ADD, "--arg", str(path), *ARRAYS[2:]]) == 1
    said = capsys.readouterr().err
    assert "error[launch-argument]" in said and len(said.splitlines()) == 1


def test_arrays_of_the_other_byte_order_keep_their_values(tmp_path, capsys):
    np.save(tmp_path / "a.npy", np.arange(300, dtype=">f4"))
    words = ["--arg", str(tmp_path / "a.npy"), "--arg", str(tmp_path / "a.npy"), "--arg", "f32:300"]
    assert main(["run", VECTOR_ADD, *words, "--grid", "2", "-o", str(tmp_path)]) == 0
    assert (np.load(tmp_path / "arg6.npy") == 2 * np.arange(300)).all()

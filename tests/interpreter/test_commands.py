"""The commands run, verify and asm."""

from pathlib import Path

import numpy as np
import pytest

from tileiras_build.cli import main

PREBUILT = Path(__file__).parents[2] / "examples" / "prebuilt"
VECTOR_ADD = str(PREBUILT / "vector_add_f32.tilebc")
ARRAYS = ["--arg", "f32:300:1", "--arg", "f32:300:2", "--arg", "f32:300"]


def test_run_shows_and_saves_what_the_kernel_wrote(tmp_path, capsys):
    assert main(["run", VECTOR_ADD, *ARRAYS, "--grid", "2", "-o", str(tmp_path)]) == 0
    assert "parameter 6: 300 x f32, 300 changed" in capsys.readouterr().out
    first, second, total = (np.load(tmp_path / f"arg{index}.npy") for index in (0, 3, 6))
    assert (first + second == total).all()


def test_verify_derives_inputs(capsys):
    assert main(["verify", VECTOR_ADD, "--sm", "90"]) == 0
    assert "vector_add_f32: 3 arrays agree on 90" in capsys.readouterr().out


def test_verify_takes_arguments(capsys):
    assert main(["verify", VECTOR_ADD, "--sm", "80", "--opt", "0", *ARRAYS, "--grid", "2"]) == 0
    assert "grid (2, 1, 1)" in capsys.readouterr().out


def test_verify_reports_a_difference(monkeypatch, capsys):
    from tileiras_build.interpreter import verify

    def broken(artifacts, entry, inputs, findings):
        return [np.zeros_like(verify.elements(buffer)) for buffer in inputs.buffers]

    monkeypatch.setattr(verify, "emulate", broken)
    assert main(["verify", VECTOR_ADD, "--sm", "80"]) == 3
    assert "verify-mismatch" in capsys.readouterr().err


def test_verify_silences_findings(monkeypatch, capsys):
    from tileiras_build.interpreter import verify

    seen, emulate = [], verify.emulate
    monkeypatch.setattr(verify, "emulate", lambda *arguments: seen.append(arguments[3]) or emulate(*arguments))
    assert main(["verify", VECTOR_ADD, "--sm", "80", "--silence", "exit-before-read"]) == 0
    assert seen == [{"exit-before-read": "silent"}]
    assert main(["verify", VECTOR_ADD, "--sm", "80", "--silence", "other"]) != 0
    assert "finding-unknown" in capsys.readouterr().err


@pytest.mark.parametrize(("arguments", "message"), [
    (["--entry", "other"], "no entry 'other'"),
    (["--grid", "0"], "the grid '0'"),
    (["--arg", "f32:300"], "the arguments fill 3"),
    (["--seed", "1", "--grid", "99"], "index-outside"),
])  # fmt: skip
def test_wrong_launches_are_refused(arguments, message, capsys):
    assert main(["run", VECTOR_ADD, *arguments]) == 1
    assert message in capsys.readouterr().err


def test_asm_writes_what_dis_prints(tmp_path, capsys):
    assert main(["dis", VECTOR_ADD]) == 0
    text = capsys.readouterr().out
    (tmp_path / "k.mlir").write_text(text)
    assert main(["asm", str(tmp_path / "k.mlir")]) == 0
    assert main(["dis", str(tmp_path / "k.tilebc")]) == 0
    assert capsys.readouterr().out == text


def test_asm_points_at_the_line(tmp_path, capsys):
    path = tmp_path / "k.mlir"
    path.write_text("entry @k() {\n  %0 = frob\n  return\n}\n")
    assert main(["asm", str(path)]) == 1
    assert f"{path}:2:8: error[asm-syntax]: unknown operation 'frob'" in capsys.readouterr().err

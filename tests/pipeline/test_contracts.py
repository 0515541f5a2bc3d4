"""Pass contracts: what a pass removes must be gone, and failures name the pass."""

import pytest
from xdsl.dialects import arith, builtin, test
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32
from xdsl.pattern_rewriter import RewritePattern

from tileiras_build.errors import InternalError, InvalidInput
from tileiras_build.pipeline.contracts import EdgePass, run_passes


def module() -> ModuleOp:
    constant = arith.ConstantOp.from_int_and_width(1, 32)
    return ModuleOp([constant, test.TestOp([constant.result], [i32])])


def edge_pass(name="example", removes=(), run=lambda module: None, patterns=()):
    def run_on(self, module, job):
        run(module)

    body = {"name": name, "removes": frozenset(removes), "patterns": patterns, "__doc__": "An example."}
    return type("Example", (EdgePass,), body if patterns else body | {"run": run_on})


@pytest.mark.parametrize("removes", [{"arith."}, {arith.ConstantOp}, {builtin.UnrealizedConversionCastOp, "arith."}])
def test_survivor_is_named_with_the_pass(removes):
    with pytest.raises(InternalError, match="operation arith.constant survived pass example, which removes it"):
        run_passes((edge_pass(removes=removes),), module(), None)


@pytest.mark.parametrize("removes", [set(), {"scf."}, {arith.AddiOp}])
def test_kept_contract_passes(removes):
    run_passes((edge_pass(removes=removes),), module(), None)


def test_survivor_inside_a_region_is_found():
    nested = ModuleOp([module()])
    with pytest.raises(InternalError, match="arith.constant"):
        run_passes((edge_pass(removes={"arith."}),), nested, None)


class EraseTests(RewritePattern):
    def match_and_rewrite(self, op, rewriter):
        if isinstance(op, test.TestOp):
            rewriter.erase(op)


def test_patterns_run_without_a_run_method():
    changed = run_passes((edge_pass(removes={test.TestOp}, patterns=(EraseTests(),)),), module(), None)
    assert not any(isinstance(op, test.TestOp) for op in changed.walk())


def test_passes_run_in_order():
    seen = []
    passes = [edge_pass(name, run=lambda module, name=name: seen.append(name)) for name in ("a", "b")]
    run_passes([passes[0], passes[1]()], module(), None)
    assert seen == ["a", "b"]


def test_diagnostics_of_a_pass_go_through():
    def refuse(module):
        raise InvalidInput("bad-shape", "a shape")

    with pytest.raises(InvalidInput, match="bad-shape"):
        run_passes((edge_pass(run=refuse),), module(), None)


def test_bug_in_a_pass_names_it():
    with pytest.raises(InternalError, match="pass example failed: KeyError: 'x'"):
        run_passes((edge_pass(run=lambda module: {}["x"]),), module(), None)


def break_module(module):
    """Leave a constant whose value is not of its type."""
    module.body.block.first_op.properties["value"] = IntegerAttr(1, 64)


def test_verification_after_each_pass_is_a_knob(monkeypatch):
    run_passes((edge_pass(run=break_module),), module(), None)
    monkeypatch.setenv("TILEIRAS_CHECK", "2")
    with pytest.raises(InternalError, match="after pass example the IR does not verify"):
        run_passes((edge_pass(run=break_module),), module(), None)


def test_debug_shows_times_and_dumps_ir(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("TILEIRAS_DEBUG", "6")
    monkeypatch.setenv("TILEIRAS_DUMP", str(tmp_path))
    run_passes((edge_pass(),), module(), None, edge="ll")
    assert "ms  pass  example" in capsys.readouterr().err
    assert "arith.constant 1" in (tmp_path / "ll-00-example.mlir").read_text()

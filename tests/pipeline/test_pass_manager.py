"""Pass contracts: what a pass removes must be gone, and failures name the pass."""

import re

import pytest
from xdsl.dialects import arith, builtin, test
from xdsl.dialects.builtin import IntegerAttr, ModuleOp, i32

from tileiras_build.core.errors import InternalError, InvalidInput
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.opt import parse_module
from tileiras_build.pipeline.pass_manager import EdgePass, run_passes
from tileiras_build.pipeline.rewriting.dialect_conversion import RuleTable
from tileiras_build.target.targets import find_target

JOB = Job(find_target("sm_90"))


def module() -> ModuleOp:
    constant = arith.ConstantOp.from_int_and_width(1, 32)
    return ModuleOp([constant, test.TestOp([constant.result], [i32])])


def edge_pass(name="example", illegal_ops=(), run=lambda module: None, rules=None):
    def run_on(self, module, job):
        run(module)

    body = {"name": name, "illegal_ops": frozenset(illegal_ops), "__doc__": "An example."}
    return type("Example", (EdgePass,), body | ({"rules": rules} if rules else {"run": run_on}))


@pytest.mark.parametrize(
    "illegal_ops", [{"arith."}, {arith.ConstantOp}, {builtin.UnrealizedConversionCastOp, "arith."}]
)
def test_survivor_is_named_with_the_pass(illegal_ops):
    with pytest.raises(InternalError, match="operation arith.constant survived pass example, which removes it"):
        run_passes((edge_pass(illegal_ops=illegal_ops),), module(), None)


@pytest.mark.parametrize("illegal_ops", [set(), {"scf."}, {arith.AddiOp}])
def test_kept_contract_passes(illegal_ops):
    run_passes((edge_pass(illegal_ops=illegal_ops),), module(), None)


def test_survivor_inside_a_region_is_found():
    nested = ModuleOp([module()])
    with pytest.raises(InternalError, match="arith.constant"):
        run_passes((edge_pass(illegal_ops={"arith."}),), nested, None)


def test_what_a_pass_leaves_is_named_where_a_later_one_stumbles_over_it():
    with pytest.raises(InternalError, match="operation arith.constant survived pass first, which removes it"):
        run_passes((edge_pass("first", {"arith."}), edge_pass("second", run=lambda module: {}["x"])), module(), None)


def test_a_pass_that_fails_has_broken_no_promise():
    with pytest.raises(InternalError, match="pass example failed: KeyError: 'x'"):
        run_passes((edge_pass(illegal_ops={"arith."}, run=lambda module: {}["x"]),), module(), None)


def test_what_a_later_pass_removes_is_found_after_each_pass_by_a_knob(monkeypatch):
    def remove_all(module):
        for op in reversed(list(module.body.block.ops)):
            op.detach()

    passes = (edge_pass("first", {"arith."}), edge_pass("second", run=remove_all))
    run_passes(passes, module(), None)
    monkeypatch.setenv("TILEIRAS_CHECK", "2")
    with pytest.raises(InternalError, match="survived pass first"):
        run_passes(passes, module(), None)


def test_rules_run_without_a_run_method():
    rules = RuleTable({test.TestOp.name: lambda rewriter, op: rewriter.replace(op.operands[0])})
    changed = run_passes((edge_pass(illegal_ops={test.TestOp}, rules=rules),), module(), JOB)
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
    run_passes((edge_pass(),), module(), JOB, edge="ll")
    assert "ms  pass  example" in capsys.readouterr().err
    [dump] = tmp_path.iterdir()
    assert "arith.constant 1" in dump.read_text()
    assert re.fullmatch(r"module-sm_90-[0-9a-f]{8}-ll-00-example\.mlir", dump.name)


def kernel(name: str, value: int) -> ModuleOp:
    """A module with one kernel."""
    text = f"nv_tileaa.func @{name} attributes {{num_warps = {value} : i32}} {{\n  nv_tileaa.return\n}}"
    return parse_module(text)


def test_dumps_carry_kernel_and_target_and_are_never_overwritten(monkeypatch, tmp_path):
    monkeypatch.setenv("TILEIRAS_DEBUG", "6")
    monkeypatch.setenv("TILEIRAS_DUMP", str(tmp_path))
    jobs = [JOB, Job(find_target("sm_80")), Job(find_target("sm_90"), opt_level=0)]
    for value, name in ((1, "one"), (2, "one"), (1, "two")):
        for job in jobs:
            run_passes((edge_pass("first"), edge_pass("second")), kernel(name, value), job, edge="ll")
    names = sorted(path.name for path in tmp_path.iterdir())
    # Three modules, three jobs, two passes.
    assert len(names) == 18
    assert all(re.fullmatch(r"(one|two)-sm_(80|90)-[0-9a-f]{8}-ll-0(0-first|1-second)\.mlir", name) for name in names)
    # The same work again takes the same names.
    run_passes((edge_pass("first"),), kernel("one", 1), JOB, edge="ll")
    assert len(list(tmp_path.iterdir())) == 18


def test_what_a_pass_cannot_import_is_no_fault_of_the_pass():
    def run(module):
        raise ModuleNotFoundError("No module named 'numpy'", name="numpy")

    with pytest.raises(ModuleNotFoundError):
        run_passes((edge_pass(run=run),), module(), None)

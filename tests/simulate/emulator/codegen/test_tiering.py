"""Generated functions are fused after calls for enough threads."""

import gc
from types import SimpleNamespace

import numpy as np
import pytest

from tests.simulate.emulator.codegen.test_fuse_elementwise import AFTER, KINDS, LINES, SHAPE, SPACE, values_of
from tileiras_build.simulate.emulator.codegen import tiering
from tileiras_build.simulate.emulator.codegen.python_code_cache import PythonCodeCache
from tileiras_build.simulate.emulator.codegen.tiering import BaselineFunction, FunctionBody
from tileiras_build.simulate.emulator.jit import vector_vm
from tileiras_build.simulate.emulator.matmul import gemm_jit
from tileiras_build.simulate.emulator.ptx.program import load

LOADS = [f"r{i} = R[{i}]" for i in (1, 2, 3, 5)]


def body(lines: list[str]) -> FunctionBody:
    lines = [*LOADS, *lines, *AFTER, "return 9"]
    origin = list(range(len(lines)))
    return FunctionBody(
        "block_0", lines, origin, KINDS, dict(SPACE), "<ptx kernel:0>", (), len(LINES), 9, PythonCodeCache("", "kernel")
    )


@pytest.fixture
def group() -> SimpleNamespace:
    registers = dict(values_of(np.random.default_rng(0)))
    return SimpleNamespace(R=registers, shape=SHAPE, size=SHAPE[0] * SHAPE[1])


@pytest.fixture
def kept() -> list:
    return []


def called(first: BaselineFunction, group: SimpleNamespace) -> tuple[object, list[bytes]]:
    """(the result of a call, the registers after it)."""
    registers, group.R = group.R, dict(group.R)
    with np.errstate(all="ignore"):
        result = first(group)
    out = [np.broadcast_to(group.R[i], SHAPE).tobytes() for i in (3, 4, 2, 7)]
    group.R = registers
    return result, out


@pytest.fixture(autouse=True)
def open_gate(monkeypatch):
    """Make the process count as one that has computed enough."""
    monkeypatch.setattr(vector_vm, "COMPILE_COST", -1)


def test_function_is_fused_after_enough_threads(group, kept):
    def keep(make):
        kept.append(make())
        return kept[-1]

    first = BaselineFunction(body(LINES), keep)
    calls = tiering.TIER_UP_THREADS // (group.size + tiering.CALL_OVERHEAD_THREADS)
    before = {str(called(first, group)) for _ in range(calls)}
    assert not kept and len(before) == 1
    assert str(called(first, group)) in before
    (fused,) = kept
    assert len(fused.origin) < len(first.origin) and (fused.count, fused.end) == (first.count, first.end)
    assert fused.origin[:2] == [0, 0] and fused.origin[2:] == sorted(fused.origin[2:])


def test_nothing_is_fused_before_the_process_has_computed_enough(group, kept, monkeypatch):
    monkeypatch.setattr(vector_vm, "_results_done", 0)
    monkeypatch.setattr(gemm_jit, "_multiplications", 0)
    monkeypatch.setattr(gemm_jit, "_before", lambda: 0)
    monkeypatch.setattr(vector_vm, "COMPILE_COST", 3 * len(body(LINES).lines) * group.size // tiering.LINES_PER_RESULT)

    def keep(make):
        kept.append(make())
        return kept[-1]

    first = BaselineFunction(body(LINES), keep)
    first.threads = tiering.TIER_UP_THREADS
    for _ in range(4):
        called(first, group)
    assert not kept
    called(first, group)
    assert kept


def test_function_without_runs_is_compiled_once(group, kept):
    def keep(make):
        kept.append(make())
        return kept[-1]

    first = BaselineFunction(body(["r4 = r2", "r7 = r2"]), keep)
    first.threads = tiering.TIER_UP_THREADS
    assert called(first, group)[0] == 9 and kept == [first.baseline]


def test_translation_pauses_garbage_collection():
    collected: list[int] = []
    note = lambda phase, about: collected.append(about["generation"])
    program = "\n".join(f"mov.u32 %r{i}, {i};" for i in range(3000))
    text = f".version 8.0\n.target sm_80\n.address_size 64\n.entry many() {{ .reg .b32 %r<3000>;\n{program}\nret; }}"
    thresholds = gc.get_threshold()
    gc.set_threshold(700, *thresholds[1:])
    gc.callbacks.append(note)
    try:
        load(text, "many", None)
    finally:
        gc.callbacks.remove(note)
        gc.set_threshold(*thresholds)
    assert len(collected) <= 4 and gc.isenabled()

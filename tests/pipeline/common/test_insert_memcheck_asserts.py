"""pipeline/common/insert_memcheck_asserts.py: an index beyond the tiles stops the kernel at its line; others pass."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from tileiras_build.driver import lower
from tileiras_build.pipeline.common.insert_memcheck_asserts import insert_bounds_checks
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.tile_ir_text_format import parse, render
from tileiras_build.simulate import emulator
from tileiras_build.simulate.emulator.errors import EmulatorFault
from tileiras_build.target.targets import TARGETS

JOB = Job(TARGETS["sm_90"])
PREBUILT = Path(__file__).resolve().parents[3] / "examples" / "prebuilt"


def module(name: str):
    return parse(lower((PREBUILT / f"{name}.tilebc").read_bytes(), "tilebc", "tileaa", JOB)[".tileaa"])


@pytest.mark.parametrize("name, checks", [("vector_add_f32", 3), ("matmul_f16_nt", 6)])
def test_every_dimension_of_every_access_is_checked(name, checks):
    checked = module(name)
    before = [op.name for op in checked.walk()]
    assert insert_bounds_checks(checked) == checks
    checked.verify()
    names = [op.name for op in checked.walk()]
    assert names.count("nv_tileaa.assert") == checks
    added = {"nv_tileaa.assert", "arith.cmpi", "nv_tileaa.get_tile_count"}
    assert [name for name in names if name not in added] == [name for name in before if name not in added]
    assert parse(render(checked)).is_structurally_equivalent(checked)


def run(text: bytes, elements: int, blocks: int) -> np.ndarray:
    ptx = lower(text, "tileaa", "ptx", JOB)[".ptx"].decode()
    x, y, z = (np.full(elements, value, np.float32) for value in (1.0, 2.0, 0.0))
    memory = emulator.Memory()
    for array in (x, y, z):
        memory.map(array.ctypes.data, array.nbytes)
    parameters = []
    for array in (x, y, z):
        parameters += [array.ctypes.data, elements, 1]
    widths = [8, 4, 4] * 3
    values = [int(value).to_bytes(width, "little") for value, width in zip(parameters, widths, strict=True)]
    emulator.launch(SimpleNamespace(ptx=ptx), "vector_add_f32", (blocks, 1, 1), values, memory=memory)
    return z


def test_indices_inside_pass_and_compute_the_same():
    checked = module("vector_add_f32")
    insert_bounds_checks(checked)
    assert (run(render(checked), 700, 3) == 3.0).all(), "the last tile sticks out, which is allowed"


def test_an_index_outside_stops_the_kernel_at_its_line():
    checked = module("vector_add_f32")
    assert (run(render(checked), 700, 4) == 3.0).all(), "unchecked: the tile is masked"
    insert_bounds_checks(checked)
    with pytest.raises(EmulatorFault) as caught:
        run(render(checked), 700, 4)
    text = str(caught.value)
    assert "tile index outside the tensor in dimension 0 of this load" in text
    assert re.search(r"vector_add\.py\D+(17|18)\b", text), text

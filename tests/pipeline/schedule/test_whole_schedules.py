"""The whole schedules that are explained are what the passes make, for kernels of each kind."""

import json
from pathlib import Path

import pytest

from tests.emulated_kernels import bytecode
from tileiras_build.driver import compile, explain_schedule
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.schedule.schedule_attribute import schedule_of
from tileiras_build.pipeline.tile_ir_text_format import parse
from tileiras_build.target.targets import find_target

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
MATMULS, FORMS = BENCHMARKS / "schedule_kernels.py", BENCHMARKS / "operand_forms.py"
ALONE = {"num_ctas": 1}  # what a schedule without clusters may say
# A pair of CTAs, fewer warps, computed operands, block scales, attention, tiles of three dimensions, and rows.
KINDS = (
    (MATMULS, "matmul_f16_256x128x64", "sm_100"),
    (FORMS, "left_int8", "sm_90"),
    (FORMS, "batches_of_two", "sm_90"),
    (MATMULS, "scaled_mxf8e4m3_128x128x128", "sm_90"),
    (MATMULS, "scaled_mxf8e4m3_128x128x128", "sm_120"),
    (MATMULS, "attention_f16_64x64x64", "sm_90"),
    (MATMULS, "attention_f16_256x128x128", "sm_100"),
    (MATMULS, "attention_f16_128x128x64", "sm_80"),
    (MATMULS, "softmax_float16_2048", "sm_100"),
)


def made(code: bytes, target: str, schedule: dict | None = None) -> dict:
    """The schedule of a kernel, as nobody listens."""
    asked = "" if schedule is None else json.dumps({"schedule": schedule})
    found = compile(code, target, stop_at="tileas", schedule=asked).tileas
    [func] = (op for op in parse(found.encode()).body.block.ops if op.name == "nv_tileaa.func")
    return schedule_of(func).chosen


@pytest.mark.parametrize(("file", "name", "target"), KINDS)
def test_each_whole_schedule_is_what_is_made(file, name, target):
    code = bytecode(file, name)
    [kernel] = explain_schedule(code, ".tilebc", Job(find_target(target)))
    chosen, *others = [row for row in kernel["schedules"] if "refused" not in row]
    assert chosen is kernel["schedules"][0] and chosen["chosen"] and not any(row.get("chosen") for row in others)
    assert kernel["schedule"] == chosen["schedule"] == made(code, target)
    for row in others:
        found = made(code, target, row["schedule"])
        assert ALONE | found == ALONE | row["schedule"] != ALONE | chosen["schedule"]

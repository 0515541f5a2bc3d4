"""What the description of a kernel says, from small programs."""

import pytest

from tests.examples.example_library import bytecode_of
from tileiras_build import driver
from tileiras_build.pipeline.analysis.loop_trips import ASSUMED_EXTENT
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.schedule.choose import listening
from tileiras_build.pipeline.schedule.kernel import Kernel
from tileiras_build.target.targets import find_target


def described(name: str, sm: str = "sm_90") -> Kernel:
    with listening() as heard:
        driver.lower(bytecode_of(name), ".tilebc", "tileas", Job(find_target(sm)))
    return heard.kernels[name]


def test_a_matmul_has_its_dot_with_assumed_trips():
    kernel = described("matmul_f16_nt")
    [dot] = kernel.dots
    assert (dot.m, dot.n, dot.k, dot.a_type, dot.c_type) == (64, 64, 32, "f16", "f32")
    assert dot.trips == ASSUMED_EXTENT / dot.k == kernel.trips
    assert (dot.a_bytes, dot.b_bytes) == (64 * 32 * 2, 64 * 32 * 2) and kernel.stage_bytes == 8192
    assert kernel.stored == 64 * 64 * 4 and kernel.loaded == 0 and not dot.is_computed


def test_attention_has_a_chain_and_its_softmax_in_the_loop():
    kernel = described("attention_f16")
    first, last = kernel.dots
    assert kernel.is_chained and (first.is_computed, last.is_computed) == (False, True)
    assert first.a_bytes == 0 < first.b_bytes  # the queries are loaded once
    assert kernel.loop["special"] >= first.trips * first.m * first.n
    assert kernel.loaded == first.m * first.k * 2


def test_a_row_kernel_has_bytes_and_reductions():
    kernel = described("softmax_f16")
    assert kernel.dots == () and kernel.trips == 0
    assert kernel.loaded == kernel.stored > 0 and kernel.reductions == 2 and kernel.reused == 0


def test_rows_that_all_programs_load_are_reused():
    kernel = described("layer_norm_f16")
    assert 0 < kernel.reused < kernel.loaded


@pytest.mark.parametrize("ctas", [2, 4])
def test_ctas_divide_the_rows(ctas):
    kernel = described("matmul_f16_nt")
    part = kernel.divided(ctas)
    assert part.dots[0].m == kernel.dots[0].m // ctas and part.dots[0].b_bytes == kernel.dots[0].b_bytes
    assert part.dots[0].a_bytes == kernel.dots[0].a_bytes // ctas and part.stored == kernel.stored / ctas

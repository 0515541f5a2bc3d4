"""pipeline/tileas_to_ll/memory/atomics.py: additions of vectors in the emulator, with its race check on."""

import re
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

from tests.emulated_kernels import compiled, run

KERNELS = Path(__file__).with_name("atomic_kernels.py")
DTYPES = {"f16": np.float16, "bf16": ml_dtypes.bfloat16, "f32": np.float32}
TARGETS = ("sm_80", "sm_90", "sm_100", "sm_120")
VECTORS = {"f16": "add.noftz.v4.f16x2", "bf16": "add.noftz.v4.bf16x2", "f32": "add.v4.f32"}
ON_SM_80 = {"f16": "add.noftz.f16x2", "bf16": "cas.b16", "f32": "add.f32"}


def instructions(case, sm):
    """The operations of the atomic instructions, with their opcodes."""
    found = re.findall(r"(?:atom|red)\.\w+\.gpu\.global\.\S+", compiled(KERNELS, case, sm).ptx)
    return {re.sub(r"\.\w+\.gpu\.global", "", one) for one in found}


def add(case, sm, columns, rows=12):
    """Check the totals after three tile blocks have added each element; sums of small integers are exact."""
    dtype, rng = DTYPES[case.rpartition("_")[2]], np.random.default_rng(7)
    a, totals = (rng.integers(-8, 8, (rows, columns)).astype(dtype) for _ in range(2))
    expected = totals.astype(np.float32) + 3 * a.astype(np.float32)
    result = run(KERNELS, case, sm, [a, totals], (2, 3, 1))[1]
    np.testing.assert_array_equal(result.astype(np.float32), expected)


@pytest.mark.parametrize("sm", TARGETS)
@pytest.mark.parametrize("name", DTYPES)
def test_additions_through_views(name, sm):
    add(f"tiles_{name}", sm, 136)
    opcode = "red" if sm != "sm_80" or name == "f16" else "atom"
    assert instructions(f"tiles_{name}", sm) == {f"{opcode}.{(ON_SM_80 if sm == 'sm_80' else VECTORS)[name]}"}


@pytest.mark.parametrize("sm", TARGETS)
@pytest.mark.parametrize("name", DTYPES)
def test_additions_through_pointers_acquire(name, sm):
    """An atom without a destination, as nothing could acquire after a red."""
    add(f"elements_{name}", sm, 136)
    assert instructions(f"elements_{name}", sm) == {f"atom.{(ON_SM_80 if sm == 'sm_80' else VECTORS)[name]}"}


@pytest.mark.parametrize("sm", ["sm_80", "sm_90"])
def test_a_row_that_ends_inside_a_vector(sm):
    """Through the view, single elements in the boundary tile and vectors in all others; a mask that ends inside forbids vectors."""
    a, *starts = np.random.default_rng(7).integers(-8, 8, (3, 2048 + 71)).astype(np.float16)
    _, *results = run(KERNELS, "rows_f16", sm, [a, *starts], (2, 3, 1))
    np.testing.assert_array_equal(results, [start + 3 * a for start in starts])
    vector = ON_SM_80["f16"] if sm == "sm_80" else VECTORS["f16"]
    assert instructions("rows_f16", sm) == {f"red.{vector}", "atom.add.noftz.f16"}


def test_rows_that_begin_at_odd_places():
    add("unaligned_f16", "sm_90", 137)
    assert instructions("unaligned_f16", "sm_90") == {"atom.add.noftz.f16"}


def test_pairs_where_threads_have_one_element():
    add("few_f16", "sm_100", 136, rows=1)
    assert instructions("few_f16", "sm_100") == {"red.add.noftz.f16x2"}

"""The examples' own promises: names, inputs, tolerances, and references checked by a second, slower computation."""

import itertools
import math

import numpy as np
import pytest

from tests import compiled_once
from tests.examples.example_library import CASES, FILE_OF, FILES, FOLDER, bytecode_of, inputs_of
from tileiras_build.frontend.export_cutile import list_cases, load_cases, pack_arguments
from tileiras_build.launch.packages.generate_c_launcher import render_header
from tileiras_build.launch.runtime.library_manifest import CUBIN, Image, LibraryManifest
from tileiras_build.launch.runtime.python_signature import document
from tileiras_build.manifest.launch_manifest import read_launch_manifest
from tileiras_build.verify import find_faults

every_case = pytest.mark.parametrize("name", CASES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_names_read_without_importing_are_those_of_the_cases(path):
    assert list_cases(path) == [case.name for case in load_cases(path)]


@pytest.mark.parametrize("path", sorted((FOLDER / "prebuilt").iterdir()), ids=lambda path: path.stem)
def test_prebuilt_bytecode_is_what_the_kernels_export(path):
    remedy = f"export_kernels({str(FILE_OF[path.stem])!r}, [{path.stem!r}], source_root={str(FOLDER.parent)!r})"
    assert path.suffix == ".tilebc"
    assert path.read_bytes() == bytecode_of(path.stem), f"write there what {remedy} returns"


def test_an_example_says_what_its_grid_counts():
    manifest = compiled_once.compiled(bytecode_of("transpose_f32"), "sm_90", stop_at="cubin").manifest
    launch = read_launch_manifest(manifest).kernels["transpose_f32"]
    rows, columns = CASES["transpose_f32"].grid_axes
    assert launch.grid.meaning == [rows, columns] == ["tiles of 32 rows of x", "tiles of 64 columns of x"]
    assert f"``grid`` counts blocks (x: {rows}, y: {columns})" in document("transpose_f32", launch)
    library = LibraryManifest("k", "k.fatbin", 0, "", {"transpose_f32": (Image("sm_90a", CUBIN, 0, 0, launch),)})
    assert f"grid: x counts {rows}, y counts {columns} */" in render_header(library)


@every_case
def test_inputs_fit_the_arguments(name):
    case, values = CASES[name], inputs_of(name)
    parameters = pack_arguments(case, list(values.values()))  # checks dtypes, strides and alignment
    expected = sum(1 + 2 * getattr(argument, "ndim", 0) for argument in case.launch_arguments)
    assert len(parameters) == expected
    assert all(count > 0 for count in case.grid(values)) and math.prod(case.grid(values)) <= 32


@every_case
def test_inputs_repeat_and_are_left_alone_by_the_reference(name):
    values = inputs_of(name)
    CASES[name].reference(values)
    for key, again in inputs_of(name).items():
        assert np.asarray(values[key]).tobytes() == np.asarray(again).tobytes()


@every_case
def test_the_reference_describes_the_written_arrays(name):
    values = inputs_of(name)
    for key, expected in CASES[name].reference(values).items():
        assert (expected.dtype, expected.shape) == (values[key].dtype, values[key].shape)
        assert np.isfinite(expected.astype(np.float64)).all()


# ---- the checker ---------------------------------------------------------------------------------------------------
def run_reference(name):
    """Arguments as a perfect kernel leaves them."""
    values = inputs_of(name)
    for key, expected in CASES[name].reference(inputs_of(name)).items():
        values[key][...] = expected
    return values


@every_case
def test_a_perfect_kernel_passes(name):
    assert find_faults(CASES[name], inputs_of(name), run_reference(name)) == []


@every_case
def test_an_element_never_written_is_found(name):
    case, before = CASES[name], inputs_of(name)
    for key in case.reference(before):
        after = run_reference(name)
        changed = np.argwhere(after[key] != before[key])
        if len(changed):
            last = tuple(changed[-1])
            after[key][last] = before[key][last]
            assert [fault.split(":")[0] for fault in find_faults(case, before, after)] == [key]


@every_case
def test_an_error_of_one_percent_is_found(name):
    case, before = CASES[name], inputs_of(name)
    for key, expected in case.reference(before).items():
        after = run_reference(name)
        largest = np.unravel_index(np.abs(expected.astype(np.float64)).argmax(), expected.shape)
        step = 1 if expected.dtype.kind in "iu" else np.abs(expected[largest].astype(np.float64)) * 0.02
        after[key][largest] = (expected[largest].astype(np.float64) - step).astype(expected.dtype)
        assert find_faults(case, before, after)


def test_a_changed_input_is_found():
    after = run_reference("vector_add_f32")
    after["x"][5] += 1
    assert find_faults(CASES["vector_add_f32"], inputs_of("vector_add_f32"), after) == [
        f"x: 1 of 1000 elements differ; first at (5,): got {after['x'][5]}, expected {after['x'][5] - 1}"
    ]


@pytest.mark.parametrize("reach", ["before", "between rows", "after"])
def test_a_store_beside_the_array_is_found(reach):
    after = run_reference("matmul_f16_nt")
    out = after["c"]
    raw, start = out.base, out.ctypes.data - out.base.ctypes.data
    row_end = start + out.shape[1] * out.itemsize
    place = {"before": start - 1, "between rows": row_end, "after": start + out.shape[0] * out.strides[0]}[reach]
    raw[place] ^= 1
    assert find_faults(CASES["matmul_f16_nt"], inputs_of("matmul_f16_nt"), after) == [
        "out-of-bounds write: padding of c was modified"
    ]


# ---- a second computation of samples -------------------------------------------------------------------------------
# One element at a time, in Python floats, straight from the definition, added by math.fsum.
def softmax_row(row):
    peak = max(row)
    powers = [math.exp(x - peak) for x in row]
    return [power / math.fsum(powers) for power in powers]


def tf32(x):
    """x rounded to 11 significant bits."""
    mantissa, exponent = math.frexp(x)
    return math.ldexp(round(mantissa * 2**11), exponent - 11)


def matmul(v, i, j):
    return math.fsum(float(v["a"][i, k]) * float(v["b"][k, j]) for k in range(v["a"].shape[1]))


def matmul_tf32(v, i, j):
    return math.fsum(tf32(float(v["a"][i, k])) * tf32(float(v["b"][k, j])) for k in range(v["a"].shape[1]))


def batch_matmul(v, h, i, j):
    return math.fsum(float(v["a"][h, i, k]) * float(v["b"][h, k, j]) for k in range(v["a"].shape[2]))


def attention(v, h, i, d, keys=None):
    q, k = v["q"][h].astype(float), v["k"][h].astype(float)
    keys = range(len(k)) if keys is None else keys
    weights = softmax_row([math.fsum(q[i] * k[j]) * v["scale"] for j in keys])
    return math.fsum(weight * float(v["v"][h, j, d]) for weight, j in zip(weights, keys))


def attention_causal(v, h, i, d):
    return attention(v, h, i, d, range(i + 1))


def moments(row):
    mean = math.fsum(row) / len(row)
    return mean, math.fsum((x - mean) ** 2 for x in row) / len(row)


def layer_norm(v, i, j):
    row = v["x"][i].astype(float).tolist()
    mean, variance = moments(row)
    return (row[j] - mean) / math.sqrt(variance + v["eps"]) * float(v["weight"][j]) + float(v["bias"][j])


def rms_norm(v, i, j):
    row = v["x"][i].astype(float).tolist()
    return row[j] / math.sqrt(math.fsum(x * x for x in row) / len(row) + v["eps"]) * float(v["weight"][j])


def normal_integral(x, steps=2000):
    """The standard normal distribution at x, by Simpson's rule from 0: GELU's definition, without erf."""
    width = x / steps
    density = [math.exp(-((n * width) ** 2) / 2) for n in range(steps + 1)]
    weighted = math.fsum(value * (1 if n in (0, steps) else 4 if n % 2 else 2) for n, value in enumerate(density))
    return 0.5 + weighted * width / 3 / math.sqrt(2 * math.pi)


def gelu_erf(v, i):
    return float(v["x"][i]) * normal_integral(float(v["x"][i]))


def gelu_tanh(v, i):
    x = float(v["x"][i])
    return x / (1 + math.exp(-2 * math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))


def argmax(v, i):
    row = v["x"][i].tolist()
    return row.index(max(row))


def linear_recurrence(v, i, j):
    """x[j] + decay[j] x[j-1] + decay[j] decay[j-1] x[j-2] + …"""
    x, decay = v["x"][i].astype(float), v["decay"][i].astype(float)
    return math.fsum(x[k] * math.prod(decay[k + 1 : j + 1]) for k in range(j + 1))


def gather(v, i):
    row, column, mask = (int(v[key][i]) for key in ("rows", "columns", "mask"))
    inside = row in range(v["table"].shape[0]) and column in range(v["table"].shape[1])
    return float(v["table"][row, column]) if mask and inside else -1.0


def scatter(v, i):
    writers = [j for j, place in enumerate(v["places"].tolist()) if place == i and v["mask"][j]]
    return float(v["values"][writers[0]]) if writers else float(v["out"][i])


ELEMENT = {
    ("vector_add", "out"): lambda v, i: float(v["x"][i]) + float(v["y"][i]),
    ("masked_saxpy", "y"): lambda v, i, j: (
        float(v["y"][i, j]) + (v["a"] * float(v["x"][i, j]) if v["mask"][i, j] else 0.0)
    ),
    ("matmul_tf32", "c"): matmul_tf32,
    ("matmul", "c"): matmul,
    ("batch_matmul", "c"): batch_matmul,
    ("softmax", "out"): lambda v, i, j: softmax_row(v["x"][i].astype(float).tolist())[j],
    ("layer_norm", "out"): layer_norm,
    ("layer_norm", "mean"): lambda v, i: moments(v["x"][i].astype(float).tolist())[0],
    ("layer_norm", "rstd"): lambda v, i: (moments(v["x"][i].astype(float).tolist())[1] + v["eps"]) ** -0.5,
    ("rms_norm", "out"): rms_norm,
    ("gelu_erf", "out"): gelu_erf,
    ("gelu_tanh", "out"): gelu_tanh,
    ("transpose", "out"): lambda v, i, j: float(v["x"][j, i]),
    ("argmax", "out"): argmax,
    ("max_and_argmax", "out"): argmax,
    ("max_and_argmax", "best"): lambda v, i: max(v["x"][i].tolist()),
    ("prefix_sum", "out"): lambda v, i, j: math.fsum(v["x"][i, : j + 1].tolist()),
    ("suffix_sum", "out"): lambda v, i, j: math.fsum(v["x"][i, j:].tolist()),
    ("linear_recurrence", "out"): linear_recurrence,
    ("gather", "out"): gather,
    ("scatter", "out"): scatter,
    ("histogram", "bins"): lambda v, i: int(v["bins"][i]) + v["values"].tolist().count(i),
    ("attention_f16_causal", "out"): attention_causal,
    ("attention_bf16_causal", "out"): attention_causal,
    ("attention", "out"): attention,
}


def element_of(name, key):
    """The definition for an output: the entry with the longest prefix of the case's name."""
    prefixes = [prefix for prefix, output in ELEMENT if output == key and name.startswith(prefix)]
    return ELEMENT[max(prefixes, key=len), key]


@every_case
def test_the_reference_agrees_with_the_definition(name):
    rng, values = np.random.default_rng(1), inputs_of(name)
    for key, expected in CASES[name].reference(values).items():
        element = element_of(name, key)
        corners = list(itertools.product(*((0, length - 1) for length in expected.shape)))
        samples = [tuple(int(rng.integers(length)) for length in expected.shape) for _ in range(20)]
        actual = np.array([expected[index] for index in corners + samples]).astype(np.float64)
        exact = np.array([element(values, *index) for index in corners + samples]).astype(expected.dtype)
        # Only the two float64 computations differ, so at most the final rounding can.
        spacing = 0 if expected.dtype.kind in "iu" else np.spacing(np.abs(exact)).astype(np.float64)
        assert (np.abs(actual - exact.astype(np.float64)) <= spacing).all()


def test_every_definition_is_used():
    used = set()
    for name in CASES:
        for key in CASES[name].reference(inputs_of(name)):
            used.add(element_of(name, key))
    assert used == set(ELEMENT.values())

"""Errors of cuTile's front end at a launch: its message and the user's line, without frames below the launch."""

import traceback

import numpy as np
import pytest

import tileiras_build.cutile as hook

ct = pytest.importorskip("cuda.tile", reason="cuda-tile is not installed")


@pytest.fixture(autouse=True)
def device():
    with hook.enabled("sm_90", device="cpu"):
        yield


@ct.kernel
def two_shapes(x):
    ct.store(x, (0,), ct.load(x, (0,), (16,)) + ct.zeros((8,), ct.float32))


@ct.kernel
def two_types(x):
    ct.store(x, (0,), ct.zeros((16,), ct.float64))


@ct.kernel
def itself(x):
    def helper(tile):
        return helper(tile) + 1

    ct.store(x, (0,), helper(ct.load(x, (0,), (16,))))


NAMELESS = (lambda tile: tile + 1,)[0]


@ct.kernel
def nameless(x):
    ct.store(x, (0,), NAMELESS(ct.load(x, (0,), (16,))))


a_lambda = ct.kernel(lambda x: ct.store(x, (0,), ct.zeros((16,), ct.float32)))


def shown(kernel, kind="float32"):
    """The lines of what Python shows of a launch that fails."""
    with pytest.raises(Exception) as caught:
        ct.launch(0, (1,), kernel, (np.zeros(16, kind),))
    return "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize(
    ("kernel", "kind", "sentence"),
    [
        (two_shapes, "float32", "Shapes are not broadcastable: (16,), (8,)"),
        (two_types, "float16", "cannot implicitly cast float64 to float16"),
    ],
)
def test_a_mistake_in_a_kernel_is_its_sentence_and_the_line(kernel, kind, sentence):
    text = shown(kernel, kind)
    assert sentence in text and f'"{__file__}", line ' in text
    assert "site-packages" not in text and "another exception" not in text and "direct cause" not in text


def test_a_lambda_from_outside_is_placed_and_said():
    text = shown(nameless)
    assert "NAMELESS(ct.load" in text and "a kernel cannot call a lambda that is defined outside of it" in text
    assert "site-packages" not in text and "direct cause" not in text


def test_a_kernel_that_is_a_lambda_is_refused():
    assert "error[cutile-source]: lambdas cannot be kernels" in shown(a_lambda)


def test_what_cutile_has_not_expected_is_placed_and_named(monkeypatch):
    def read(*_, **__):
        raise KeyError("unforeseen")

    monkeypatch.setattr("cuda.tile._passes.hir2ir.get_function_hir", read)
    text = shown(nameless)
    assert "NAMELESS(ct.load" in text and "cuTile's front end raised KeyError in " in text
    assert "set TILEIRAS_DEBUG=1 for the full traceback" in text and "direct cause" not in text


def test_all_frames_are_shown_on_request(monkeypatch):
    monkeypatch.setenv("TILEIRAS_DEBUG", "1")
    assert "in _wrap_exceptions" in shown(two_shapes)


def test_of_a_kernel_that_calls_itself_the_ends_of_the_chain_are_shown():
    text = shown(itself)
    assert text.count("helper(tile) + 1") == 5 and "in itself" in text
    assert "994 frames omitted between the first 4 and the last 2" in text


@pytest.mark.parametrize("give", [lambda x: x, lambda x: (x,), lambda x: [x]])
def test_the_array_whose_elements_kernels_do_not_know_is_named(give):
    with pytest.raises(TypeError, match=r"Unsupported array dtype: unsupported element type complex64 of x(\[0])?; "):
        ct.launch(0, (1,), two_types, (give(np.zeros(16, "complex64")),))

"""The emulator as a device: results of launches, refused launches, and reports of faults."""

import inspect
import pickle
import signal
import traceback
from typing import Annotated

import numpy as np
import pytest

import tileiras_build.cutile as hook
from tileiras_build.core.errors import InvalidInput
from tileiras_build.cutile.cuda_tile_versions import MAX_SYMBOL_LENGTH
from tileiras_build.cutile.fakes import streams
from tileiras_build.cutile.kernel_fault_report import KernelFault, name_of
from tileiras_build.simulate import emulator

ct = pytest.importorskip("cuda.tile", reason="cuda-tile is not installed")

from tests.cutile import faulty_kernels as kernels  # noqa: E402 - it imports cuTile
from tests.cutile.matmul_kernel import matmul  # noqa: E402

TILE = kernels.TILE


@pytest.fixture(scope="module")
def device():
    with hook.enabled("sm_90", device="cpu") as session:
        yield session.device


def fault_of(grid, kernel, arguments) -> KernelFault:
    with pytest.raises(KernelFault) as caught:
        ct.launch(0, grid, kernel, arguments)
    return caught.value


def test_reading_past_an_array_names_its_line_block_and_array(device):
    x, y = np.zeros(2 * TILE, np.float32), np.zeros(2 * TILE, np.float32)
    fault = fault_of((2,), kernels.shifted, (x, y, TILE))
    assert (fault.id, fault.kernel, fault.block) == ("kernel-out-of-bounds", "shifted", (1, 0, 0))
    assert (fault.location.file, fault.location.line) == (kernels.__file__, kernels.line_of("reads past x"))
    assert 'reads 4 bytes, right after the end of array "x" (float32, shape [128])' in str(fault)


def test_writing_before_an_array_is_reported_as_such(device):
    x, y = np.zeros(TILE, np.float32), np.zeros(TILE, np.float64)
    fault = fault_of((1,), kernels.spread, (x.astype(np.float64), y, -1))
    assert 'writes 8 bytes, 8 bytes before the start of array "y" (float64' in str(fault)
    assert fault.location.line == kernels.line_of("writes past y")


def test_what_a_view_is_a_part_of_may_be_read(device):
    whole, y = np.arange(4 * TILE, dtype=np.float32), np.zeros(TILE, np.float32)
    ct.launch(0, (1,), kernels.shifted, (whole[TILE : 2 * TILE], y, TILE))
    np.testing.assert_array_equal(y, whole[2 * TILE : 3 * TILE])


def test_what_cutile_says_of_an_annotation_reaches_the_user(device):
    annotation = getattr(ct, "ArrayAnnotation", None)
    if annotation is None or "static_shape_dims" not in inspect.signature(annotation).parameters:
        pytest.skip("this cuda-tile has no such annotation of arrays")
    if ct.__version__.startswith("1.5."):
        pytest.skip("the C code of cuda-tile 1.5 ends the process, whoever launches")

    @ct.kernel
    def annotated(x: Annotated[ct.Array, annotation(static_shape_dims=(5,))]):
        pass

    with pytest.raises(ValueError, match="static_shape_dims contains axis 5"):
        ct.launch(0, (1,), annotated, (np.zeros(TILE, np.float32),))


def test_parameters_by_keyword_alone_are_passed_like_others(device):
    x = np.zeros(TILE, np.int32)
    ct.launch(0, (1,), kernels.plus, (x, 3, TILE))
    assert (x == 3).all()


def test_an_assertion_is_printed_and_told_with_its_message_and_line(device, capsys):
    fault = fault_of((1,), kernels.asserting, (np.full(TILE, -1, np.int32),))
    assert fault.id == "kernel-assertion" and "all are positive" in str(fault)
    assert fault.location.line == kernels.line_of("fails")
    assert "all are positive" in capsys.readouterr().out


def test_an_assertion_is_reported_without_the_place_that_stands_before_it(device):
    told = str(fault_of((1,), kernels.asserting, (np.full(TILE, -1, np.int32),)))
    assert told.count(kernels.__file__) == 1 and told.endswith("assertion failed: all are positive")


def test_what_is_past_a_list_is_an_array_without_elements(device):
    """A list is an array of arrays: a tile outside of it is padded."""
    out = np.full(TILE, 7, np.float32)
    ct.launch(0, (1,), kernels.item_of, ([np.ones(TILE, np.float32)] * 2, out, 7))
    assert not out.any()


def test_a_fault_keeps_what_it_knows_where_it_is_pickled(device):
    fault = fault_of((1,), kernels.asserting, (np.full(TILE, -1, np.int32),))
    copied = pickle.loads(pickle.dumps(fault))
    assert (copied.kernel, copied.block, copied.fault.kind) == ("asserting", (0, 0, 0), "assertion")
    assert str(copied) == str(fault)


def test_a_read_only_array_may_be_read_and_not_written(device):
    x, y = np.zeros(TILE, np.float32), np.zeros(TILE, np.float32)
    x.flags.writeable = False
    ct.launch(0, (1,), kernels.shifted, (x, y, 0))
    with pytest.raises(InvalidInput, match=r"\[launch-read-only\]: kernel shifted writes to read-only array y"):
        ct.launch(0, (1,), kernels.shifted, (y, x, 0))


class Interface:
    """What offers the CUDA array interface."""

    def __init__(self, **parts):
        self.__cuda_array_interface__ = {"shape": (TILE,), "typestr": "<f4", "version": 3} | parts


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        (Interface(data=(0, False)), "argument y: its data pointer is null; pass an array that has memory"),
        (Interface(), "argument y: its __cuda_array_interface__ cannot be read: KeyError: 'data'"),
        (np.array([None]), "argument y: unsupported element type object"),
        (np.zeros(TILE, ">f4"), "argument y: unsupported element type >f4"),
    ],
)
def test_what_is_no_array_of_a_kernel_is_named_by_its_parameter(device, wrong, words):
    with pytest.raises(InvalidInput, match=words):
        ct.launch(0, (1,), kernels.shifted, (np.zeros(TILE, np.float32), wrong, 0))


def test_what_is_no_stream_and_a_grid_without_blocks_are_refused_as_on_a_gpu(device):
    x = np.zeros(TILE, np.int32)
    with pytest.raises(InvalidInput, match="launch-stream"):
        ct.launch("stream", (1,), kernels.plus_one, (x, TILE))
    with pytest.raises(InvalidInput, match="invalid grid .* for kernel plus_one"):
        ct.launch(0, (0,), kernels.plus_one, (x, TILE))


def test_tracebacks_end_at_the_launch(device):
    source = "import cuda.tile as ct\n@ct.kernel\ndef made(x): pass\n"
    held: dict = {}
    exec(source, held)
    x = np.zeros(TILE, np.int32)
    for arguments, kernel in (((x - 1,), kernels.asserting), ((), kernels.asserting), ((x,), held["made"])):
        with pytest.raises((KernelFault, TypeError, InvalidInput)) as caught:
            ct.launch(0, (1,), kernel, arguments)
        frames = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
        assert frames[0] == "test_tracebacks_end_at_the_launch" and frames[1:] in ([], ["launch"])
    assert caught.value.id == "cutile-source" and caught.value.location.line == 2


def test_who_interrupts_a_launch_learns_which(device, monkeypatch):
    monkeypatch.setattr(emulator, "launch", lambda *_, **__: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt) as caught:
        ct.launch(0, (1,), kernels.plus_one, (np.zeros(TILE, np.int32), TILE))
    assert len(traceback.extract_tb(caught.value.__traceback__)) <= 2


def test_a_launch_ends_at_its_time_limit():
    with hook.enabled("sm_90", device="cpu", time_limit=0.3):
        fault = fault_of((1,), kernels.endless, (np.zeros(2, np.int32),))
    assert fault.id == "kernel-time-limit" and fault.kernel == "endless"


@pytest.mark.parametrize("sm", ["sm_80", "sm_90"])
def test_blocks_that_write_one_place_are_found_by_the_race_check_unless_they_write_the_same(sm):
    x, y = np.zeros(TILE, np.int32), np.zeros(TILE, np.int32)
    with hook.enabled(sm, device="cpu", race_check=True):
        ct.launch(0, (3,), kernels.overlapping, (x, y, 5))
        fault = fault_of((3,), kernels.overlapping, (x, y, 0))
    assert fault.id == "kernel-block-race" and 'at element [0] of array "y" (int32, shape [64]);' in str(fault)
    assert fault.location.line == kernels.line_of("all write y")


def test_an_array_that_is_given_twice_is_reported_by_both_names():
    x = np.arange(TILE, dtype=np.int32)
    with hook.enabled("sm_90", device="cpu", race_check=True):
        fault = fault_of((3,), kernels.overlapping, (x, x, 0))
    assert 'of array "x" (int32, shape [64]) (aliases y)' in str(fault)


def test_blocks_that_read_what_others_write_are_found_by_the_race_check():
    x = np.arange(3 * TILE, dtype=np.int32)
    with hook.enabled("sm_90", device="cpu", race_check=True):
        ct.launch(0, (3,), kernels.plus_one, (x, TILE))
        fault = fault_of((3,), kernels.leaning, (x,))
    assert fault.id == "kernel-block-race" and "with no synchronization between the two accesses" in str(fault)
    assert fault.location.line == kernels.line_of("each reads one of the next")


def test_prints_reach_standard_output(device, capsys):
    ct.launch(0, (2,), kernels.printing, (np.zeros(1, np.int32),))
    assert sorted(capsys.readouterr().out.splitlines()) == ["block 0", "block 1"]


def test_a_graph_runs_what_was_launched_while_it_was_captured(device):
    x, graph = np.zeros(TILE, np.float32), streams.Graph()
    graph.capture_begin()
    ct.launch(0, (1,), kernels.plus_one, (x, TILE))
    graph.capture_end()
    assert not x.any()
    graph.replay()
    graph.replay()
    assert (x == 2).all()


@pytest.mark.parametrize(("how", "launches", "word"), [("launch", 2, "runs"), ("compile", 0, "compiles")])
def test_tuning_launches_each_configuration_once_and_takes_the_first_of_them(how, launches, word, capsys):
    tune = pytest.importorskip("cuda.tile.tune", reason="this cuda-tile has no ct.tune")
    x = np.zeros(TILE, np.float32)
    with hook.enabled("sm_90", device="cpu", tune=how):
        for searches in (1, 2):
            found = tune.exhaustive_search(
                [3, 16, 32], 0, lambda tile: (TILE // tile,), kernels.plus_one, lambda tile: (x, tile), quiet=True
            )
            assert found.best.config == 16  # tiles have powers of two
            assert [config for config, *_ in found.failures] == [3] and (x == launches * searches).all()
    assert f"picks the first configuration that {word}" in capsys.readouterr().err


def test_each_call_of_the_function_that_times_is_a_launch_where_no_search_calls_it(device):
    from cuda.tile import _cext

    if not hasattr(_cext, "_benchmark"):
        pytest.skip("this cuda-tile has no function that times")
    for _ in range(2):
        x = np.zeros(TILE, np.float32)
        _cext._benchmark(0, (1,), kernels.plus_one, (x, TILE))
        assert (x == 1).all()


def test_a_configuration_that_faults_is_a_failure_of_the_search(device):
    tune = pytest.importorskip("cuda.tile.tune", reason="this cuda-tile has no ct.tune")
    x, y = np.zeros(TILE, np.float32), np.zeros(TILE, np.float32)
    found = tune.exhaustive_search([TILE, 0], 0, lambda _: (1,), kernels.shifted, lambda by: (x, y, by), quiet=True)
    assert found.best.config == 0 and [config for config, *_ in found.failures] == [TILE]


def test_tuning_with_a_limit_runs_each_configuration_within_it(device):
    tune = pytest.importorskip("cuda.tile.tune", reason="this cuda-tile has no ct.tune")
    if "single_run_timeout_sec" not in inspect.signature(tune.exhaustive_search).parameters:
        pytest.skip("this cuda-tile's search has no limit")
    launches = lambda tile: (np.zeros(2, np.int32),)
    with pytest.raises(ValueError, match="exceeded timeout of 0.2 seconds"):
        tune.exhaustive_search(
            [1], 0, lambda tile: (1,), kernels.endless, launches, quiet=True, single_run_timeout_sec=0.2
        )
    assert device.options.time_limit is None


def test_tiles_are_printed_as_lists_each_block_s_on_a_line(device, capsys):
    size = 32  # with the halves twice as many arguments as one call of printf takes
    x = np.arange(2 * size, dtype=np.int32)
    ct.launch(0, (2,), kernels.listing, (x, size))
    lists = [
        (tile.reshape(2, -1).tolist(), ", ".join(f"{half:4.1f}" for half in tile * 0.5)) for tile in x.reshape(2, -1)
    ]
    assert capsys.readouterr().out == "".join(
        f"{at}% {whole}, [{halves}]\n" for at, (whole, halves) in enumerate(lists)
    )


def test_blocks_run_in_several_processes_where_they_may(capsys):
    x = np.zeros(64 * TILE, np.float32)
    with hook.enabled("sm_90", device="cpu", jobs=2):
        for _ in range(3):
            ct.launch(0, (64,), kernels.plus_one, (x, TILE))
        assert (x == 3).all()
        ct.launch(0, (2,), kernels.printing, (np.zeros(1, np.int32),))
    assert "kernel printing runs in one process: its CTAs print" in capsys.readouterr().err


def test_unknown_options_and_a_device_without_a_target_are_refused():
    with pytest.raises(InvalidInput, match="unknown emulator option 'jbs'; did you mean jobs"):
        hook.enable("sm_90", device="cpu", jbs=3)
    for option, wrong in (("tune", "best"), ("jobs", 0), ("time_limit", "1"), ("race_check", 1)):
        with pytest.raises(InvalidInput, match=f"invalid value {wrong!r} of emulator option {option}"):
            hook.enable("sm_90", device="cpu", **{option: wrong})
    with pytest.raises(InvalidInput, match="enable\\('sm_90', device='cpu'\\)"):
        hook.enable(device="cpu")


def test_a_kernel_of_many_arrays_has_a_short_name(device):
    """cuTile's tells of each array, and each parameter in the PTX is called by it."""
    arrays, out = tuple(np.full(TILE, number, np.float32) for number in range(40)), np.zeros(TILE, np.float32)
    ct.launch(0, (1,), kernels.sum_of_many, (arrays, out))
    assert (out == sum(range(40))).all()
    [compiled] = hook.launch_hook.session.kernel_state(kernels.sum_of_many).compiled.values()
    assert len(compiled.entry) == MAX_SYMBOL_LENGTH and name_of(compiled.entry) == "sum_of_many"
    others = (np.zeros(TILE, np.float16), *arrays[1:]), (*arrays[:-1], np.zeros(TILE, np.float16))
    assert len({compiled.entry, *(_entry(arguments, out) for arguments in others)}) == 3


def _entry(arrays, out) -> str:
    """The name of the kernel for these arrays."""
    return hook.launch_hook.session.compile(kernels.sum_of_many, (arrays, out)).entry


def test_the_name_of_a_kernel_is_what_cutile_mangled():
    assert name_of("a_Kernel_Kt2_A1f32") == "a_Kernel" and name_of("plain") == "plain"


@pytest.mark.parametrize(("sm", "options", "later"), [("sm_90", {"variants": 2}, 0), ("sm_100", {}, 2)])
def test_grids_of_few_tile_blocks_take_a_split_k_variant(sm, options, later, monkeypatch):
    """Each is compiled with the kernel, or when a launch asks for it."""
    rng, taken = np.random.default_rng(3), []
    with hook.enabled(sm, device="cpu", race_check=True, **options) as session:
        launch = session.device.launch
        record = lambda compiled, *rest: (taken.append(compiled.entry.rpartition("__")[2]), launch(compiled, *rest))
        monkeypatch.setattr(session.device, "launch", record)
        for blocks, depth in ((2, 2048), (1, 130), (40, 2064)):
            a, b = (rng.integers(-2, 3, shape).astype(np.float16) for shape in ((128 * blocks, depth), (depth, 128)))
            c = np.full((128 * blocks, 128), np.nan, np.float32)
            ct.launch(0, (blocks, 1), matmul, (a, b, c, 128))
            np.testing.assert_array_equal(c, a.astype(np.float32) @ b.astype(np.float32))
    assert (taken[0], taken[2]) == ("split4", "split2") and "split" not in taken[1]
    assert sum("__split" in name for name in matmul._tileiras_build.compiled) == later

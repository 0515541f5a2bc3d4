"""Granules of the shadow memory: splitting them keeps the recorded accesses."""

import numpy as np
import pytest

from tests.simulate.emulator.sanitizers.test_access_observers import WRITE, check, races
from tileiras_build.simulate.emulator.sanitizers.shadow_memory import CHUNK, ShadowMemory


def starts(*bytes_):
    return np.array(bytes_)


def test_a_whole_chunk_is_one_granule():
    shadow = ShadowMemory(64)
    assert shadow.of_spans(starts(0, 48), CHUNK).tolist() == [[0], [3]]
    assert shadow.of_chunks(starts(2, 1)).tolist() == [2, 1]
    assert shadow.of_bytes(np.arange(16, 48)).tolist() == [1, 2] and shadow.grain == CHUNK


@pytest.mark.parametrize(("start", "size", "grain"), [(0, 4, 4), (8, 8, 8), (2, 4, 2), (1, 2, 1), (32, 64, CHUNK)])
def test_an_access_splits_granules_as_far_as_needed(start, size, grain):
    shadow = ShadowMemory(128)
    granules = shadow.of_spans(starts(start), size)
    assert shadow.grain == grain
    assert granules.tolist() == [list(range(start // grain, (start + size) // grain))]


@pytest.mark.parametrize("bytes_", [np.arange(4, 20), np.arange(0, 32, 2), np.array([3, 2, 1, 0])])
def test_partial_granules_are_split(bytes_):
    shadow = ShadowMemory(32)
    granules = shadow.of_bytes(bytes_)
    assert (granules[:, None] * shadow.grain + np.arange(shadow.grain)).reshape(-1).tolist() == bytes_.tolist()


def test_splitting_keeps_recorded_accesses():
    shadow = ShadowMemory(64)
    shadow.writer[shadow.of_spans(starts(16), CHUNK)] = 7
    shadow.column(3)[0][shadow.of_spans(starts(32), CHUNK)] = 5
    shadow.refine(2)
    assert np.flatnonzero(shadow.writer == 7).tolist() == list(range(8, 16))
    assert np.flatnonzero(shadow.column(3)[0]).tolist() == list(range(16, 24))


def test_a_race_on_one_byte_of_a_word():
    """The other warp reads the third byte of a word. Reading a byte of its own is no race."""
    third = "add.u32 t5, t{}, 2; ld.shared.u8 t6, [t5];\n"
    assert "race on shared byte 0x86" in races(WRITE + third.format(3))
    check(WRITE + third.format(2))

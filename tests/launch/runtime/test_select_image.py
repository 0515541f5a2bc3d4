"""Which image runs where: compute capabilities, arch-specific code, systems on chips, PTX."""

import pytest

from tileiras_build.core.errors import Unsupported
from tileiras_build.launch.runtime.library_manifest import CUBIN, PTX, Image
from tileiras_build.launch.runtime.select_image import require_image, runs_on, select_image
from tileiras_build.manifest.launch_manifest import Launch, SharedMemory


def image(target, kind=CUBIN, shared=0):
    return Image(target, kind, 0, 1, Launch(threads_per_cta=128, shared_memory=SharedMemory(dynamic=shared)))


@pytest.mark.parametrize(
    ("target", "kind", "runs"),
    [
        ("sm_80", CUBIN, {80, 86, 89}),
        ("sm_86", CUBIN, {86, 89}),
        ("sm_87", CUBIN, {87}),
        ("sm_89", CUBIN, {89}),
        ("sm_90a", CUBIN, {90}),
        ("sm_100a", CUBIN, {100}),
        ("sm_100f", CUBIN, {100, 103}),
        ("sm_100f", PTX, {100, 103}),
        ("sm_103f", CUBIN, {103}),
        ("sm_120f", CUBIN, {121}),
        ("sm_80", PTX, {80, 86, 87, 89, 90, 100, 103, 121}),
        ("sm_89", PTX, {89, 90, 100, 103, 121}),
        ("sm_90a", PTX, {90}),
    ],
)
def test_image_runs_on_these(target, kind, runs):
    tried = (75, 80, 86, 87, 89, 90, 100, 103, 121)
    assert {number for number in tried if runs_on(image(target, kind), number)} == runs


@pytest.mark.parametrize(
    ("kind", "shared", "runs"),
    [
        (CUBIN, 99 * 1024, {80, 86, 89}),
        (CUBIN, 99 * 1024 + 1, {80}),
        (PTX, 163 * 1024, {80, 87, 90, 100, 103, 999}),
        (PTX, 163 * 1024 + 1, {90, 100, 103, 999}),  # what no sm_80 could launch
    ],
)
def test_an_image_runs_where_its_shared_memory_fits(kind, shared, runs):
    tried = (80, 86, 87, 89, 90, 100, 103, 121, 999)
    assert {number for number in tried if runs_on(image("sm_80", kind, shared), number)} == runs


def test_a_gpu_with_less_shared_memory_is_refused():
    images = [image("sm_80", shared=147456), image("sm_80", PTX, 147456)]
    assert select_image([*images, image("sm_86", PTX)], 89) == image("sm_86", PTX)
    with pytest.raises(
        Unsupported, match="needs 147456 bytes of shared memory .built for sm_80.; sm_89 allows 101376"
    ) as caught:
        require_image("k", images, 89)
    assert "sm=89" in str(caught.value)


def test_a_gpu_prefers_its_own_code_to_its_familys():
    images = [image("sm_100f"), image("sm_100"), image("sm_103f")]
    assert [select_image(images, number).target for number in (100, 103)] == ["sm_100", "sm_103f"]
    assert select_image([image("sm_100f")], 110) is None


def test_best_image_is_a_cubin_then_the_newest():
    images = [image("sm_80", PTX), image("sm_86", PTX), image("sm_80"), image("sm_86"), image("sm_90a")]
    assert select_image(images, 89) == image("sm_86")
    assert select_image(images, 80) == image("sm_80")
    assert select_image(images, 100) == image("sm_86", PTX)
    assert select_image(images, 75) is None

"""Which image runs where: compute capabilities, arch-specific code, systems on chips, PTX."""

import pytest

from tileiras_build.runtime.library_manifest import CUBIN, PTX, Image
from tileiras_build.runtime.matching import choose, runs_on


def image(target, kind=CUBIN):
    return Image(target, kind, 0, 1, {})


@pytest.mark.parametrize(
    ("target", "kind", "runs"),
    [
        ("sm_80", CUBIN, {80, 86, 89}),
        ("sm_86", CUBIN, {86, 89}),
        ("sm_87", CUBIN, {87}),
        ("sm_89", CUBIN, {89}),
        ("sm_90a", CUBIN, {90}),
        ("sm_100a", CUBIN, {100}),
        ("sm_80", PTX, {80, 86, 87, 89, 90, 100, 103, 121}),
        ("sm_89", PTX, {89, 90, 100, 103, 121}),
        ("sm_90a", PTX, {90}),
    ],
)
def test_image_runs_on_these(target, kind, runs):
    tried = (75, 80, 86, 87, 89, 90, 100, 103, 121)
    assert {number for number in tried if runs_on(image(target, kind), number)} == runs


def test_best_image_is_a_cubin_then_the_newest():
    images = [image("sm_80", PTX), image("sm_86", PTX), image("sm_80"), image("sm_86"), image("sm_90a")]
    assert choose(images, 89) == image("sm_86")
    assert choose(images, 80) == image("sm_80")
    assert choose(images, 100) == image("sm_86", PTX)
    assert choose(images, 75) is None

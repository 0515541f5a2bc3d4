"""Manifests with valid field types and invalid values."""

import json
import shutil

import pytest

from tests.manifest.test_launch_manifest import KERNEL, manifest
from tileiras_build.core.errors import InvalidInput
from tileiras_build.launch.runtime import Library, library_manifest
from tileiras_build.launch.runtime.library_manifest import FILE_NAME, Image, LibraryManifest, render
from tileiras_build.manifest.launch_manifest import Launch, convert, parse_json, read_launch_manifest


def at(*path, to):
    """Sets the value at a path of the kernel's manifest."""

    def damage(launch):
        *way, last = path
        for step in way:
            launch = launch[step]
        launch[last] = to

    return damage


DAMAGE = {
    "threads": (at("threads_per_cta", to=0), "invalid threads_per_cta 0 (1 to 1024)"),
    "shared memory": (at("shared_memory", to={"dynamic": -1}), "invalid dynamic shared memory of -1 bytes"),
    "a cluster": (at("cluster", to=[1, 1, 1 << 40]), "invalid cluster"),
    "an axis": (at("grid", to={"axes": [7]}), "invalid grid: axes [7]"),
    "a kind": (at("params", 1, "kind", to="i72"), "the lengths and strides of argument a are incomplete or out of order"),
    "a role": (at("params", 1, "role", to="stride"), "the lengths and strides of argument a are incomplete or out of order"),
    "a size": (at("params", 1, "size", to=8), "parameter 1 of kind 'i32' has invalid size 8"),
    "an offset": (at("params", 2, "offset", to=9223372036854775808), "parameter 2 has invalid offset 9223372036854775808"),
    "an overlap": (at("params", 1, "offset", to=4), "parameter 1 has invalid offset 4"),
    "a factor": (at("params", 0, "divisible_by", to=0), "parameter 0 has invalid divisible_by 0"),
    "a bound": (at("params", 1, "minimum", to=1 << 70), "parameter 1 has a bound of more than 64 bits"),
    "an element": (at("tensor_maps", 0, "element", to="f31"), "tensor map 0 has invalid element 'f31'"),
    "a rank": (at("tensor_maps", 0, "box", to=[1]), "tensor map 0: shape, strides and box have different ranks"),
    "a division": (
        at("tensor_maps", 0, "shape", 0, to={"param": 1, "over": 0}), "refers to missing parameters",
    ),
    "no such parameter": (at("tensor_maps", 1, "base", "param", to=99), "refers to missing parameters"),
    "a map too few": (lambda launch: launch["tensor_maps"].pop(), "1 tensor maps"),
}  # fmt: skip


@pytest.mark.parametrize("name", DAMAGE)
def test_invalid_values_are_refused(name):
    damage, sentence = DAMAGE[name]
    content = manifest()
    damage(content["kernels"][KERNEL])
    with pytest.raises(ValueError) as caught:
        read_launch_manifest(content)
    assert str(caught.value).startswith(f"kernels.{KERNEL}: ") and sentence in str(caught.value)


def test_brackets_that_are_too_deep_and_half_characters_are_refused():
    with pytest.raises(ValueError, match="nested too deep"):
        parse_json(b"[" * 200_000)
    content = manifest()
    content["kernels"]["\ud800"] = content["kernels"][KERNEL]
    with pytest.raises(ValueError, match="invalid Unicode"):
        read_launch_manifest(content)


# ---- packages
@pytest.fixture
def package(tmp_path):
    """A library of one kernel, whose image is no machine code."""
    launch = convert(manifest()["kernels"][KERNEL], Launch, 2)
    image = Image("sm_90a", "cubin", 0, 64, launch)
    (tmp_path / "k.fatbin").write_bytes(bytes(64))
    (tmp_path / FILE_NAME).write_bytes(render(LibraryManifest("k", "k.fatbin", 64, "0" * 64, {KERNEL: (image,)})))
    return tmp_path


PACKAGES = {
    "no image": (lambda content: content["kernels"][KERNEL].clear(), "no images"),
    "an image too far": (
        lambda content: content["kernels"][KERNEL][0].update(offset=1), "an image exceeds the image file",
    ),
    "a file elsewhere": (lambda content: content["image"].update(file="../k.fatbin"), "is not a file name"),
    "a file of no name": (lambda content: content["image"].update(file="a\0b"), "is not a file name"),
    "a parameter": (
        lambda content: content["kernels"][KERNEL][0]["launch"]["params"][1].update(offset=1 << 63), "parameter 1 has invalid offset",
    ),
}  # fmt: skip


def test_a_package_is_opened(package):
    assert list(Library(package)) == [KERNEL]


@pytest.mark.parametrize("name", PACKAGES)
def test_a_damaged_package_is_refused_when_it_is_opened(package, name):
    damage, sentence = PACKAGES[name]
    content = json.loads((package / FILE_NAME).read_text())
    damage(content)
    (package / FILE_NAME).write_text(json.dumps(content))
    with pytest.raises(InvalidInput, match=sentence) as caught:
        Library(package)
    assert caught.value.id == "library-manifest"


def test_a_package_that_is_no_text_is_refused(package, tmp_path):
    for data in (b"", b"\xff", b"[" * 100_000, b"{}", b"1" * 5000):
        (package / FILE_NAME).write_bytes(data)
        with pytest.raises(InvalidInput) as caught:
            library_manifest.read(package / FILE_NAME)
        assert caught.value.id == "library-manifest"
    shutil.rmtree(package)

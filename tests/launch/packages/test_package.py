"""A package: its contents are where the manifest says, and every packed kernel can be found."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import msgspec
import pytest
from cuda import pathfinder

from tests.launch.packages import sample_library
from tests.launch.packages.sample_library import NAME, PLAIN, TENSOR, artifacts_of
from tests.launch.runtime.fake_driver import FakeDriver
from tileiras_build.core.errors import InvalidInput
from tileiras_build.core.file_io import write_files
from tileiras_build.launch.packages.fatbin import FatbinImage, find_fatbinary, make_fatbin
from tileiras_build.launch.packages.package_library import KernelFiles, file_names, pack_kernel, pack_library
from tileiras_build.launch.packages.package_name import check_package_name
from tileiras_build.launch.runtime import Library
from tileiras_build.launch.runtime.library_manifest import CUBIN, PTX, read

FREE = ["mine", "all", "test", "x", "_x", "FFT", "CUSTOM", "status", "library", "detail", "tensor", "kind", "grid", "pointer", "cuda_kernels"]  # fmt: skip


def test_every_image_lies_where_the_manifest_says(package):
    manifest, image = read(package / "manifest.json"), (package / f"{NAME}.fatbin").read_bytes()
    assert (manifest.name, manifest.size, manifest.sha256) == (NAME, len(image), hashlib.sha256(image).hexdigest())
    assert sorted(manifest.kernels) == [TENSOR, PLAIN] and manifest.targets == ("sm_80", "sm_90")
    cubins = [(entry, row) for entry, rows in manifest.kernels.items() for row in rows if row.kind == CUBIN]
    assert len(cubins) == 3
    for entry, row in cubins:
        assert image[row.offset : row.offset + row.size] == artifacts_of(entry, row.gpu.name).cubin
    (ptx,) = [row for row in manifest.kernels[PLAIN] if row.kind == PTX]
    assert b".entry vector_add_f32(" in image[ptx.offset : ptx.offset + ptx.size]
    packed = msgspec.to_builtins(ptx.launch)
    assert packed["params"] == artifacts_of(PLAIN, "sm_80").manifest["kernels"][PLAIN]["params"]


def test_cuobjdump_lists_every_image_of_the_library(package):
    program = pathfinder.find_nvidia_binary_utility("cuobjdump")
    command = [program, "--list-elf", "--list-ptx", str(package / f"{NAME}.fatbin")]
    listed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    names = sorted(line.split(": ")[1] for line in listed.splitlines() if ": " in line)
    assert names == sorted(
        [f"{PLAIN}.sm_80.cubin", f"{PLAIN}.sm_90a.cubin", f"{PLAIN}.sm_80.ptx", f"{TENSOR}.sm_90a.cubin"]
    )


def test_fat_binaries_end_where_the_tools_expect_it(package):
    """cuobjdump takes more than a little padding for a damaged file, at the end of the library as of each kernel."""
    program = pathfinder.find_nvidia_binary_utility("cuobjdump")
    files = [*(package.parent / "fatbin").glob("*.fatbin"), package / f"{NAME}.fatbin"]
    assert len(files) == 3
    for file in files:
        done = subprocess.run([program, "--list-elf", str(file)], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stderr) == (0, ""), file


def test_same_artifacts_give_the_same_package(package, tmp_path):
    again = sample_library.build(tmp_path, embed=True)
    for name in file_names(NAME, embed=True):
        assert (again / name).read_bytes() == (package / name).read_bytes(), name


@pytest.mark.parametrize("name", ["", "my-kernels", "9lives", "class", "größe", "a.b"])
def test_names_that_cannot_be_imported_are_refused(name):
    with pytest.raises(InvalidInput, match="invalid package name"):
        file_names(name)


def test_two_kernels_of_one_name_are_refused(package):
    folder = package.parent
    files = [
        KernelFiles(name, str(folder / f"fatbin/{PLAIN}.fatbin"), ((CUBIN, str(folder / f"sm_80/{PLAIN}.cubin")),))
        for name in ("a", "b")
    ]
    with pytest.raises(InvalidInput, match="kernel vector_add_f32 is defined in both a and b"):
        pack_library(NAME, files)


def alike(package, tmp_path, *folders: str) -> list[KernelFiles]:
    """Files whose kernels have one name, of sources in folders."""
    files = []
    for number, folder in enumerate(folders):
        there = shutil.copytree(package.parent, tmp_path / str(number))
        images = ((CUBIN, str(there / f"sm_80/{PLAIN}.cubin")),)
        files.append(KernelFiles("k.py", str(there / f"fatbin/{PLAIN}.fatbin"), images, folder))
    return files


@pytest.mark.parametrize(
    "folders", [("a", "a"), ("", ""), ("", "a"), ("a", 'b"'), ("a", "b\\"), ("a", "b\n"), ("a", "b/"), ("a", "b", "a")]
)
def test_two_kernels_of_one_name_are_refused_where_their_folders_do_not_tell(package, tmp_path, folders):
    files = alike(package, tmp_path, *folders)
    with pytest.raises(
        InvalidInput, match=rf"kernel {PLAIN} is defined in both .*\d/fatbin/.* and .*\d/fatbin/.*; rename one"
    ):
        pack_library(NAME, files)


def test_kernels_of_one_name_are_called_by_their_folders(package, tmp_path):
    made = pack_library(NAME, alike(package, tmp_path, ".", "nn/blocks", "2-d", "2_d"))
    write_files({tmp_path / NAME / name: data for name, data in made.items()})
    library = Library(tmp_path / NAME, FakeDriver(80))
    entries = [f"{folder}/{PLAIN}" for folder in (".", "2-d", "2_d", "nn/blocks")]
    assert sorted(library) == entries and "2-d" not in str(library.manifest.name)
    with pytest.raises(KeyError) as caught:
        library[PLAIN]
    assert str(caught.value) == f"library {NAME}: ambiguous kernel name {PLAIN}: {', '.join(entries)}"
    offsets = {library[entry].images[0].offset for entry in entries}
    assert len(offsets) == 4 and {library[entry].symbol for entry in entries} == {PLAIN}
    assert PLAIN not in library and entries[0] in library


TAKEN = ["cuda", "std", "int", "main", "linux", "site", "stdint", "stdio", "math", "printf", "index", "sem", "_X", "__a", "_",
         "CUstream", "cuInit", "CUDA_VERSION", "size_t", "NULL", "numpy", "class", "template", "time", "con", "posix"]  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_names_that_somebody_has_are_refused(name):
    with pytest.raises(InvalidInput, match=rf"error\[package-name\]: invalid package name '{name}' .*; use e.g."):
        check_package_name(name)


def test_other_names_are_packages():
    """Those of build targets and of the launcher's own classes too."""
    for name in FREE:
        check_package_name(name)


@pytest.mark.parametrize("text", ["", "{", "{}", '{"target": "sm_80", "kernels": {}}'])
def test_damaged_launch_manifest_is_named(tmp_path, text):
    write_files({tmp_path / "k.cubin": b"cubin", tmp_path / "k.json": text.encode()})
    with pytest.raises(InvalidInput, match=r"k\.json: error\[package-manifest\]"):
        pack_kernel("k", ((CUBIN, str(tmp_path / "k.cubin")),))


def test_ptx_without_a_manifest_is_named(tmp_path):
    write_files({tmp_path / "k.ptx": b".version 8.0\n"})
    with pytest.raises(InvalidInput, match=r"k\.ptx: error\[package-manifest\]"):
        pack_kernel("k", ((PTX, str(tmp_path / "k.ptx")),))


def test_absent_fatbinary_is_named(tmp_path):
    with pytest.raises(InvalidInput, match="pip install nvidia-cuda-nvcc"):
        find_fatbinary(str(tmp_path / "fatbinary"))


def test_refused_images_are_one_sentence():
    with pytest.raises(InvalidInput, match=r"error\[fatbinary\]: fatbinary failed") as caught:
        make_fatbin("k", (FatbinImage(CUBIN, "sm_80", b"no cubin"),))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "change",
    [
        lambda content: content.update(format="other"),
        lambda content: content.update(version=3),
        lambda content: content.pop("image"),
        lambda content: content["kernels"][PLAIN][0].update(target="sm_75"),
        lambda content: content["kernels"][PLAIN][0].update(kind="elf"),
        lambda content: content["kernels"][PLAIN][0].update(offset=-1),
        lambda content: content["kernels"][PLAIN][0].pop("launch"),
        lambda content: content.update(kernels=[]),
    ],
)
def test_damaged_library_manifest_is_named(package, tmp_path, change):
    content = json.loads((package / "manifest.json").read_text())
    change(content)
    path = Path(tmp_path / "manifest.json")
    path.write_text(json.dumps(content))
    with pytest.raises(InvalidInput, match=r"manifest\.json: error\[library-manifest\]"):
        read(path)

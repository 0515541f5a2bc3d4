"""Launching from a package: which image, which parameters, which launch; on a driver that records."""

import pickle
import shutil

import numpy as np
import pytest
from msgspec import structs

from tests.examples.example_library import CASES, inputs_of
from tests.launch.packages.sample_library import NAME, PLAIN, TENSOR, artifacts_of
from tests.launch.runtime.fake_driver import FakeDriver, Launched
from tileiras_build.core.errors import InvalidInput, TileirasError, Unsupported
from tileiras_build.frontend.export_cutile import pack_arguments
from tileiras_build.launch.runtime import Address, Library
from tileiras_build.launch.runtime.kernel_library import check_grid
from tileiras_build.manifest.launch_manifest import Grid, Launch, Parameter


def vectors(dtype=np.float32):
    return [np.zeros(1000, dtype) for _ in range(3)]


def test_library_is_a_mapping_of_its_kernels(package):
    library = Library(package)
    assert sorted(library) == [TENSOR, PLAIN] and len(library) == 2 and PLAIN in library
    assert library.targets == ("sm_80", "sm_90")
    with pytest.raises(KeyError, match="library sample: no kernel absent"):
        library["absent"]
    with pytest.raises(KeyError) as caught:
        library[PLAIN[:-1]]
    assert str(caught.value) == f"library sample: no kernel {PLAIN[:-1]}; did you mean {PLAIN}?"
    assert "did you mean" in str(pickle.loads(pickle.dumps(caught.value)))


def test_a_kernel_of_cpp_is_found_by_its_name_there(package):
    library = Library(package, FakeDriver(90))
    images = library.manifest.kernels[PLAIN]
    symbols = ("_Z5scaleIfLi256EEvPKT_PS0_i", "_Z5scaleI6__halfLi256EEvPKT_PS1_i", "_Z6negatePf", "_Z6negatePd")
    library.manifest.kernels.update(dict.fromkeys(symbols, images))
    assert library["scale<float, 256>"].name == symbols[0] and library[symbols[1]].name == symbols[1]
    assert repr(library[symbols[1]]).startswith("<kernel scale<__half, 256>(grid")
    with pytest.raises(InvalidInput, match="invalid grid .* for kernel scale<float, 256>"):
        library["scale<float, 256>"].launch(0, *vectors())
    with pytest.raises(KeyError, match="library sample: ambiguous kernel name negate"):
        library["negate"]


@pytest.mark.parametrize("name", [None, 3, b"vector_add_f32", ["vector_add_f32"], {}])
def test_what_is_no_name_is_no_kernel(package, name):
    library = Library(package)
    with pytest.raises(KeyError) as caught:
        library[name]
    kind = type(name).__name__
    assert str(caught.value) == f"library sample: kernel names are str, got {kind}"
    assert name not in library and library.get(name) is None


class TwoGpus(FakeDriver):
    """Two GPUs whose arrays lie at the same addresses, as those in managed memory do; ``current`` is the context's."""

    current = 0

    def device(self):
        return self.current, (90, 100)[self.current]

    def view(self, array, stream):
        return super().view(array, stream)._replace(device=self.current)


@pytest.mark.parametrize("order", [(0, 1), (1, 0), (0, 1, 0)])
def test_tensor_maps_are_those_of_the_image(package, order):
    library = Library(package, TwoGpus(90))
    driver, [image] = library.driver, library.manifest.kernels[TENSOR]
    maps = image.launch.tensor_maps
    two = structs.replace(image.launch, tensor_maps=[*maps, structs.replace(maps[0], swizzle="none", box=[8, 4])])
    other = structs.replace(image, target="sm_100a", offset=image.offset + 8, launch=two)
    library.manifest.kernels[TENSOR] = (image, other)
    library.image_bytes = lambda image: b""
    x, y, out = vectors(np.float16)
    for driver.current in order:
        library[TENSOR].launch(4, Address(x), 1000, 64, y, out)
    assert [len(params) for _, _, params in driver.of("launch")] == [10 + (gpu == 1) for gpu in order]
    assert sorted(made.swizzle for (made,) in driver.of("encode")) == ["128B", "128B", "none"]


def test_tensor_maps_are_kept_for_each_device(package):
    library = Library(package, TwoGpus(90))
    library.driver.device = lambda: (library.driver.current, 90)
    x, y, out = vectors(np.float16)
    for library.driver.current in (0, 1, 0, 1):
        library[TENSOR].launch(4, Address(x), 1000, 64, y, out)
    assert len(library.driver.of("encode")) == 2


def test_load_all_loads_what_the_gpu_can_run_and_launches_load_nothing(package):
    driver = FakeDriver(80)
    library = Library(package, driver)
    library.load_all()  # TENSOR has no image for it
    assert driver.of("prepare") == [(PLAIN,)] and driver.images == [artifacts_of(PLAIN, "sm_80").cubin]
    driver.calls.clear()
    library[PLAIN].launch(4, *vectors())
    library.load_all()
    assert [call[0] for call in driver.calls] == ["launch", "prepare"] and len(driver.images) == 1


@pytest.mark.parametrize(("damage", "sentence"), [
    (lambda path: path.unlink(), "cannot read the library image: No such file"),
    (lambda path: path.write_bytes(b"short"), "library image truncated"),
])  # fmt: skip
def test_an_image_that_is_gone_after_opening_is_one_sentence(package, tmp_path, damage, sentence):
    shutil.copytree(package, tmp_path / "copy")
    library = Library(tmp_path / "copy", FakeDriver(90))
    damage(tmp_path / f"copy/{NAME}.fatbin")
    for _ in range(2):
        with pytest.raises(InvalidInput, match=rf"error\[library-image\]: {sentence}.*; reinstall the package"):
            library[PLAIN].launch(4, *vectors())


@pytest.mark.parametrize(("number", "target"), [(80, "sm_80"), (86, "sm_80"), (90, "sm_90")])
def test_gpu_gets_its_cubin(package, number, target):
    driver = FakeDriver(number)
    Library(package, driver)[PLAIN].launch(4, *vectors())
    assert driver.images == [artifacts_of(PLAIN, target).cubin]


@pytest.mark.parametrize("number", [87, 100, 121, 130])
def test_newer_gpu_gets_ptx(package, number):
    driver = FakeDriver(number)
    Library(package, driver)[PLAIN].launch(4, *vectors())
    (image,) = driver.images
    assert b".target sm_80" in image


@pytest.mark.parametrize(
    ("kernel", "number", "sentence"),
    [
        (PLAIN, 75, "for sm_75 (built for sm_80, sm_90a, PTX of sm_80); rebuild with ptx=80"),
        (TENSOR, 100, "for sm_100 (built for sm_90a); rebuild with sm=100"),
    ],
)
def test_gpu_without_an_image_lists_the_targets(package, kernel, number, sentence):
    with pytest.raises(Unsupported) as caught:
        Library(package, FakeDriver(number))[kernel].launch(4, *vectors())
    assert sentence in str(caught.value)


def test_parameters_are_those_that_the_emulator_gets(package):
    """The emulator runs the example from the same bytes (tests/examples), so a GPU would too."""
    values, driver = inputs_of(PLAIN), FakeDriver(90)
    grid = CASES[PLAIN].grid(values)
    Library(package, driver)[PLAIN].launch(grid, *values.values(), stream=77)
    ((entry, config, params),) = driver.of("launch")
    assert (entry, params) == (PLAIN, pack_arguments(CASES[PLAIN], list(values.values())))
    threads = artifacts_of(PLAIN, "sm_90").manifest["kernels"][PLAIN]["threads_per_cta"]
    assert config == Launched(grid, (threads, 1, 1), 0, 77)


def test_tensor_map_and_shared_memory_are_set_up_and_the_grid_counts_clusters(package):
    driver, (x, y, out) = FakeDriver(90), vectors(np.float16)
    Library(package, driver)[TENSOR].launch((4, 2), Address(x), 1000, 64, y, out)
    ((tensor_map,),) = driver.of("encode")
    assert (tensor_map.address, tensor_map.shape, tensor_map.strides) == (x.ctypes.data, (500, 4), (128,))
    assert (tensor_map.box, tensor_map.swizzle, tensor_map.fill) == ((64, 4), "128B", "nan")
    ((entry, config, params),) = driver.of("launch")
    assert entry == TENSOR and (config.grid, config.shared_memory) == ((4, 2, 1), 102400)
    assert [len(param) for param in params] == [8, 4, 4, 8, 4, 4, 8, 4, 4, 128]
    assert driver.of("allow_shared_memory") == [(TENSOR, 0, 102400)]


def test_kernel_is_loaded_once(package):
    driver = FakeDriver(90)
    library = Library(package, driver)
    for _ in range(3):
        library[PLAIN].launch(4, *vectors())
    assert len(driver.images) == 1 and len(driver.of("allow_shared_memory")) == 1 and len(driver.of("launch")) == 3
    library.close()
    assert driver.of("unload") == [(0,)]
    library[PLAIN].launch(4, *vectors())
    assert len(driver.images) == 2


def test_address_passes_an_array_alone(package):
    driver, arrays = FakeDriver(90), vectors()
    x, y, out = map(Address, arrays)
    Library(package, driver)[PLAIN].launch(4, x, 1000, 1, y, 1000, 1, out, np.int32(1000), 1)
    with_lengths = FakeDriver(90)
    Library(package, with_lengths)[PLAIN].launch(4, *arrays)
    assert driver.of("launch") == with_lengths.of("launch")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (lambda v: v[:2], r"takes 3 arguments \(x: 1-d array, y: 1-d array, out: 1-d array\), got 2"),
        (lambda v: [*v, 1], "takes 3 arguments .*, got 4"),
        (lambda v: [v[0], v[1], "out", 5, 1], "out must be an address, got a str; pass arrays"),
        (
            lambda v: [v[0], v[1], Address(v[2]), 1 << 31, 1],
            r"invalid value 2147483648 for out_shape_0 \(i32\): it does not fit 32 bits",
        ),
        (lambda v: [v[0], v[1], Address(v[2]), 1000.5, 1], "invalid value 1000.5 for .*: not an integer"),
    ],
)
def test_wrong_arguments_are_one_sentence(package, arguments, sentence):
    driver = FakeDriver(90)
    with pytest.raises(InvalidInput, match=sentence):
        Library(package, driver)[PLAIN].launch(4, *arguments(vectors()))
    assert not driver.of("launch")


@pytest.mark.parametrize(("home", "where"), [(None, "in host memory"), (1, "on GPU 1")])
def test_array_elsewhere_is_refused(package, home, where):
    with pytest.raises(InvalidInput, match=f"x is {where}, the kernel runs on GPU 0"):
        Library(package, FakeDriver(90, home))[PLAIN].launch(4, *vectors())


@pytest.mark.parametrize("grid", [0, (1, 0), (1, 2, 3, 4), (), (1, 65536), (2**31,), -1, 2.5, (1, 2.0), "a", (None,)])
def test_wrong_grid_is_refused(grid):
    with pytest.raises(InvalidInput, match="invalid grid"):
        check_grid("k", grid, Launch(threads_per_cta=128))


def test_a_grid_may_be_of_numpy_s_integers():
    launch = Launch(threads_per_cta=128)
    grids = [check_grid("k", grid, launch) for grid in (np.int64(3), (np.int32(4), 2), np.array([5, 6]))]
    assert grids == [(3, 1, 1), (4, 2, 1), (5, 6, 1)] and all(type(axis) is int for grid in grids for axis in grid)


def test_a_grid_counts_clusters_and_their_ctas_must_fit():
    clusters = Launch(threads_per_cta=128, cluster=(2, 2, 1))
    assert check_grid("k", (3, 2**15 - 1), clusters) == (3, 2**15 - 1, 1)
    with pytest.raises(InvalidInput, match="invalid grid"):
        check_grid("k", (3, 2**15), clusters)


def test_a_persistent_kernel_is_launched_on_as_many_blocks_as_run_together(package):
    """Two CTAs on each of three SMs; the requested grid is passed to the kernel before its tensor map."""
    library, driver = Library(package), FakeDriver(90)
    persistent = persistent_library(library, driver)
    x, y, out = vectors(np.float16)
    for grid in ((4, 2), (1, 2, 2), (9, 1, 3)):
        persistent[TENSOR].launch(grid, Address(x), 1000, 64, y, out)
    launches = [(config.grid, params) for _, config, params in driver.of("launch")]
    assert [grid for grid, _ in launches] == [(3, 1, 1)] * 3, "clusters of two"
    assert [[int.from_bytes(one, "little") for one in params[9:12]] for _, params in launches] == [
        [4, 2, 1],
        [1, 2, 2],
        [9, 1, 3],
    ]
    assert [len(param) for param in launches[0][1]] == [8, 4, 4, 8, 4, 4, 8, 4, 4, 4, 4, 4, 128]
    assert len(driver.of("encode")) == 1, "the same arrays have the same tensor maps, whatever the grid"


def persistent_library(library, driver):
    """The library with its tensor map kernel made persistent, with two CTAs per SM."""
    [image] = library.manifest.kernels[TENSOR]
    launch = image.launch
    offsets = [launch.params[8].offset + 4 * (1 + axis) for axis in range(3)]
    extents = [
        Parameter(name=f"grid_{n}", kind="i32", size=4, offset=at, role="grid", axis=n) for n, at in enumerate(offsets)
    ]
    made = structs.replace(
        launch, params=[*launch.caller_parameters, *extents, launch.params[-1]], grid=Grid(persistent=2)
    )
    library._driver = driver
    library.manifest.kernels[TENSOR] = (structs.replace(image, launch=made),)
    return library


def test_a_grid_of_clusters_of_tile_blocks_is_a_multiple_of_them():
    clusters = Launch(threads_per_cta=128, grid=Grid(cluster=2))
    assert [check_grid("k", grid, clusters) for grid in (4, (2, 3))] == [(4, 1, 1), (2, 3, 1)]
    for grid in (3, (1, 2)):
        with pytest.raises(InvalidInput, match="form clusters along the first axis; use a multiple of 2"):
            check_grid("k", grid, clusters)


def test_a_grid_that_a_persistent_kernel_cannot_number_is_refused():
    params = [Parameter(name=f"grid_{n}", kind="i32", size=4, offset=4 * n, role="grid", axis=n) for n in range(3)]
    persistent = Launch(threads_per_cta=128, params=params, grid=Grid(persistent=1))
    assert check_grid("k", (2**15 - 1, 2**15, 2), persistent) == (2**15 - 1, 2**15, 2)
    with pytest.raises(InvalidInput, match="is too large for persistent kernel .*2147418112 tile blocks"):
        check_grid("k", (2**15, 2**15, 2), persistent)


def test_damaged_package_is_refused_when_opened(package, tmp_path):
    copy = tmp_path / "copy"
    shutil.copytree(package, copy)
    (copy / f"{NAME}.fatbin").write_bytes(b"short")
    with pytest.raises(InvalidInput, match="library image size 5 does not match the manifest"):
        Library(copy)
    (copy / f"{NAME}.fatbin").unlink()
    with pytest.raises(InvalidInput, match="cannot read the library image"):
        Library(copy)
    with pytest.raises(TileirasError, match="pass the folder with manifest.json"):
        Library(tmp_path / "absent")

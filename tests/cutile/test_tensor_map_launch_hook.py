"""The function between cuTile's launcher and the driver, with functions of Python in the driver's place."""

import ctypes
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.cutile.tensor_map_launch_hook import LAUNCHES, DriverHook, variables_of
from tileiras_build.launch.runtime.encode_tensor_maps import ALIGNMENT, SIZE

KERNEL, OTHER, DYNAMIC, INVALID_VALUE = 0x7000_0010, 0x7000_4010, 60000, 1
TYPES = {
    "cuLaunchKernel": ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_uint64, *[ctypes.c_uint32] * 7, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p
    ),
    "cuLaunchKernelEx": ctypes.CFUNCTYPE(
        ctypes.c_int, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p, ctypes.c_void_p
    ),
}
GET_ADDRESS = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p
)
GET_KERNEL = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


class Driver:
    """Remembers what the launch function was given: the values of so many parameters, then the addresses behind them."""

    def __init__(self, launch: str):
        self.launch, self.launched, self.next_kernel = launch, [], KERNEL
        self.functions = {
            launch.encode(): TYPES[launch](self._launched),
            b"cuLibraryGetKernel": GET_KERNEL(self._found),
        }

    def get_address(self, name, place, version, flags, status):
        function = self.functions.get(name)
        ctypes.c_void_p.from_address(place).value = self.address(name) if function else 0
        return 0 if function else INVALID_VALUE

    def address(self, name):
        return ctypes.cast(self.functions[name], ctypes.c_void_p).value

    def _found(self, place, library, name):
        ctypes.c_uint64.from_address(place).value = self.next_kernel
        return 0

    def _launched(self, *given):
        kernel, params = (given[0], given[9]) if self.launch == "cuLaunchKernel" else (given[1], given[2])
        shared = given[7] if self.launch == "cuLaunchKernel" else None
        places = (ctypes.c_uint64 * 3).from_address(params)
        first = ctypes.c_uint64.from_address(places[0]).value
        self.launched.append((kernel, first, shared, places[2] if kernel == KERNEL else None))
        return 0


class Kernel:
    """What the shim asks of a loaded kernel with two parameters and one tensor map, made of the first."""

    mapped = (0,)

    def __init__(self, refuses=()):
        param = SimpleNamespace(size=8)
        memory = SimpleNamespace(dynamic=DYNAMIC)
        launch = SimpleNamespace(caller_parameters=(param, param), tensor_maps=("map",), shared_memory=memory)
        self.launch, self.layout = launch, self
        self.refuses, self.allowed, self.encoded = refuses, [], []

    def unpack(self, parts):
        return [int.from_bytes(part, "little") for part in parts]

    def maps_of(self, words):
        if "maps" in self.refuses:
            raise InvalidInput("tensor-map", "no map")
        self.encoded.append(words[0])
        return (bytes([words[0]]) * SIZE,)

    def allow_shared_memory(self, kernel):
        if "memory" in self.refuses:
            raise InvalidInput("driver", "no memory")
        self.allowed.append(kernel)


class Caller:
    """cuTile's C code: it has asked for its functions."""

    def __init__(self, launch: str, kernel: Kernel | None = None):
        self.driver, self.launch_name = Driver(launch), launch
        self.shim = DriverHook(self.driver.get_address, launch)
        self.functions = {
            name: kind(self.ask(name)) for name, kind in ((launch, TYPES[launch]), ("cuLibraryGetKernel", GET_KERNEL))
        }
        self.load_status = self.load(kernel) if kernel else 0

    def ask(self, name: str) -> int | None:
        """The address of a function, as any thread may ask for it."""
        place = ctypes.c_void_p()
        assert GET_ADDRESS(self.shim.place.value)(name.encode(), ctypes.addressof(place), 12000, 0, None) == 0
        return place.value

    def load(self, kernel: Kernel | None, handle: int = KERNEL) -> int:
        self.driver.next_kernel, place = handle, ctypes.c_uint64()
        self.shim.pending(kernel)
        return self.functions["cuLibraryGetKernel"](ctypes.addressof(place), None, None)

    def launch(self, kernel: int, first: int) -> int:
        words = (ctypes.c_uint64 * 2)(first, 5)
        params = (ctypes.c_uint64 * 3)(ctypes.addressof(words), ctypes.addressof(words) + 8)
        if self.launch_name == "cuLaunchKernel":
            return self.functions[self.launch_name](kernel, *[1] * 6, 7, 0, ctypes.addressof(params), None)
        return self.functions[self.launch_name](None, kernel, ctypes.addressof(params), None)


def test_threads_that_ask_at_once_get_one_function():
    """cuTile keeps the address that any of them got: a function that another takes the place of would be gone."""
    caller = Caller("cuLaunchKernel", Kernel())
    caller.shim._functions.clear()
    with ThreadPoolExecutor(8) as pool:
        found = set(pool.map(lambda _: caller.ask("cuLaunchKernel"), range(8)))
    assert len(found) == 1
    caller.functions["cuLaunchKernel"] = TYPES["cuLaunchKernel"](found.pop())
    assert caller.launch(KERNEL, 3) == 0


@pytest.mark.parametrize("launch", LAUNCHES)
def test_a_registered_kernel_gets_its_maps_and_its_memory(launch):
    kernel = Kernel()
    caller = Caller(launch, kernel)
    assert [caller.launch(KERNEL, first) for first in (3, 3, 4, 3)] == [0] * 4
    assert kernel.encoded == [3, 4] and kernel.allowed == [KERNEL]
    for (handle, first, shared, place), expected in zip(caller.driver.launched, (3, 3, 4, 3), strict=True):
        assert (handle, first) == (KERNEL, expected) and place % ALIGNMENT == 0
        assert ctypes.string_at(place, SIZE) == bytes([expected]) * SIZE
        assert shared in (None, DYNAMIC)


@pytest.mark.parametrize("launch", LAUNCHES)
def test_other_kernels_are_launched_as_they_are(launch):
    caller = Caller(launch, Kernel())
    assert caller.load(None, OTHER) == 0 and caller.launch(OTHER, 9) == 0
    [(handle, first, shared, _)] = caller.driver.launched
    assert (handle, first) == (OTHER, 9) and shared in (None, 7)


@pytest.mark.parametrize("launch", LAUNCHES)
def test_what_cannot_be_encoded_is_not_launched(launch):
    caller = Caller(launch, Kernel(refuses=("maps",)))
    assert caller.launch(KERNEL, 3) == INVALID_VALUE and not caller.driver.launched


def test_a_kernel_that_may_not_have_its_memory_is_not_loaded():
    caller = Caller("cuLaunchKernel", Kernel(refuses=("memory",)))
    assert caller.load_status == INVALID_VALUE
    caller.launch(KERNEL, 3)
    assert caller.driver.launched[0][2] == 7  # as it is


def test_functions_that_were_asked_for_before_are_replaced_where_they_stand():
    driver = Driver("cuLaunchKernelEx")
    shim = DriverHook(driver.get_address, driver.launch)
    names = (b"cuLibraryGetKernel", b"cuLaunchKernelEx")
    variables = (ctypes.c_uint64 * 4)(1, driver.address(names[0]), driver.address(names[1]), 2)
    words = [ctypes.addressof(variables) + 8 * index for index in range(4)]
    assert shim.replace(words) and shim.is_in_use
    assert variables[0] == 1 and variables[3] == 2
    assert not {driver.address(name) for name in names} & set(variables)


@pytest.mark.parametrize("copies", (0, 2))
def test_nothing_is_replaced_where_a_function_does_not_stand_once(copies):
    driver = Driver("cuLaunchKernelEx")
    shim = DriverHook(driver.get_address, driver.launch)
    known = [driver.address(b"cuLibraryGetKernel"), *[driver.address(b"cuLaunchKernelEx")] * copies]
    variables = (ctypes.c_uint64 * len(known))(*known)
    words = [ctypes.addressof(variables) + 8 * index for index in range(len(known))]
    assert not shim.replace(words) and list(variables) == known and not shim.is_in_use


def test_the_variables_of_a_module_of_c_code_are_found():
    import _ctypes

    words = set(variables_of("_ctypes"))
    assert id(_ctypes._Pointer) in words  # a type's object is a variable of the module
    assert not variables_of("no.such.module")

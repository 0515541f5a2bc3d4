"""Adds what cuTile's own launcher lacks for a kernel: machine code between the launcher and the driver.

cuTile's C code gets the driver's functions from ``cuda.tile._load_libcuda``, once. ``install`` replaces the one that launches
(LAUNCHES). For a kernel that is not registered, the hook calls the driver's function and nothing else. For a registered kernel
it compares the parameters that its tensor maps depend on with those of earlier launches, appends the addresses of the maps to
the parameters, and requests dynamic shared memory if the launcher cannot. For new parameters it calls Python, which encodes
the maps (``_KernelRecord.miss``). When the launcher loads a registered kernel, its shared memory limit is raised. LLVM
compiles the hook, because the package has no C compiler.

A record is an array of 8-byte words that Python writes and the hook reads: the kernel's handle; the counts of parameters and
maps; the count and address of the keys (each a parameter's index, and 1 if it has 8 bytes); the count and address of the
entries (each the value of every key, then the address of the maps); the bytes of dynamic shared memory. Writers hold the GIL,
and so does cuTile's launcher.
"""

from __future__ import annotations

import ctypes
import struct
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..launch.runtime.encode_tensor_maps import ALIGNMENT, SIZE

if TYPE_CHECKING:
    from .devices.cutile_kernel import CutileKernel

_LOADER = "cuda.tile._load_libcuda"  # imported by cuTile's C code when it first needs the driver
_LAUNCHER = "cuda.tile._cext"  # cuTile's C code
_GET_KERNEL = "cuLibraryGetKernel"
_DRIVER_VERSION = 12000  # since which the signatures of these functions have not changed
_SLOTS = 1024  # in the table of records, indexed by the kernel's handle; a power of two
_MAX_KERNELS = _SLOTS // 2
_MAX_ENTRIES = 16
_INVALID_VALUE = 1
_MISS = ctypes.CFUNCTYPE(ctypes.c_uint64, ctypes.c_uint64, ctypes.c_void_p)
_THREE = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 3)
_PROC = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_char_p, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint64, ctypes.c_void_p)


@dataclass(frozen=True)
class LaunchFunction:
    """A driver function that launches: its parameters, and the arguments of a call that replaces the addresses of the kernel's
    parameters (``{params}``) and, if it is a parameter, the dynamic shared memory (``{shared}``).
    """

    parameters: str
    call: str
    shared: str = ""


LAUNCHES = {
    "cuLaunchKernel": LaunchFunction(
        "i64 %kernel, i32 %gx, i32 %gy, i32 %gz, i32 %bx, i32 %by, i32 %bz, i32 %shared, i64 %stream, ptr %params, ptr %extra",
        "i64 %kernel, i32 %gx, i32 %gy, i32 %gz, i32 %bx, i32 %by, i32 %bz, i32 {shared}, i64 %stream, ptr {params}, ptr %extra",
        "%shared",
    ),
    "cuLaunchKernelEx": LaunchFunction(
        "ptr %config, i64 %kernel, ptr %params, ptr %extra", "ptr %config, i64 %kernel, ptr {params}, ptr %extra"
    ),
}
"""Source: CUDA Driver API, "Execution Control"."""

_TEXT = """
define i32 @launch({parameters}) {{
entry:
  %table = inttoptr i64 {table} to ptr
  %real = inttoptr i64 {real} to ptr
  %miss = inttoptr i64 {miss} to ptr
  %shifted = lshr i64 %kernel, 4
  br label %probe
probe:
  %hash = phi i64 [ %shifted, %entry ], [ %next_hash, %other ]
  %slot = and i64 %hash, {mask}
  %place = getelementptr i64, ptr %table, i64 %slot
  %found = load i64, ptr %place
  %none = icmp eq i64 %found, 0
  br i1 %none, label %plain, label %compare
plain:
  %plain_status = tail call i32 %real({plain})
  ret i32 %plain_status
compare:
  %record = inttoptr i64 %found to ptr
  %owner = load i64, ptr %record
  %same = icmp eq i64 %owner, %kernel
  br i1 %same, label %known, label %other
other:
  %next_hash = add i64 %slot, 1
  br label %probe
known:
  %count_at = getelementptr i64, ptr %record, i64 1
  %count = load i64, ptr %count_at
  %maps_at = getelementptr i64, ptr %record, i64 2
  %maps = load i64, ptr %maps_at
  %keys_at = getelementptr i64, ptr %record, i64 3
  %keys = load i64, ptr %keys_at
  %rows_at = getelementptr i64, ptr %record, i64 4
  %rows = load ptr, ptr %rows_at
  %entries_at = getelementptr i64, ptr %record, i64 5
  %entries = load i64, ptr %entries_at
  %first_at = getelementptr i64, ptr %record, i64 6
  %first = load ptr, ptr %first_at
  %dynamic_at = getelementptr i64, ptr %record, i64 7
  %dynamic_wide = load i64, ptr %dynamic_at
  %dynamic = trunc i64 %dynamic_wide to i32
  %stride = add i64 %keys, 1
  br label %entry_loop
entry_loop:
  %e = phi i64 [ 0, %known ], [ %e_next, %next_entry ]
  %more_entries = icmp ult i64 %e, %entries
  br i1 %more_entries, label %entry_start, label %unknown
unknown:
  %made = call ptr %miss(i64 %kernel, ptr %params)
  %failed = icmp eq ptr %made, null
  br i1 %failed, label %refuse, label %launch_made
refuse:
  ret i32 {invalid}
launch_made:
  %made_status = call i32 %real({made})
  ret i32 %made_status
entry_start:
  %e_offset = mul i64 %e, %stride
  %values = getelementptr i64, ptr %first, i64 %e_offset
  br label %key_loop
key_loop:
  %k = phi i64 [ 0, %entry_start ], [ %k_next, %key_same ]
  %more_keys = icmp ult i64 %k, %keys
  br i1 %more_keys, label %key, label %hit
key:
  %k_twice = shl i64 %k, 1
  %row = getelementptr i64, ptr %rows, i64 %k_twice
  %index = load i64, ptr %row
  %wide_at = getelementptr i64, ptr %row, i64 1
  %wide = load i64, ptr %wide_at
  %param_at = getelementptr ptr, ptr %params, i64 %index
  %param = load ptr, ptr %param_at
  %is_wide = icmp ne i64 %wide, 0
  br i1 %is_wide, label %wide_key, label %narrow_key
wide_key:
  %wide_value = load i64, ptr %param, align 1
  br label %key_read
narrow_key:
  %narrow = load i32, ptr %param, align 1
  %narrow_value = sext i32 %narrow to i64
  br label %key_read
key_read:
  %value = phi i64 [ %wide_value, %wide_key ], [ %narrow_value, %narrow_key ]
  %wanted_at = getelementptr i64, ptr %values, i64 %k
  %wanted = load i64, ptr %wanted_at
  %k_next = add i64 %k, 1
  %equal = icmp eq i64 %value, %wanted
  br i1 %equal, label %key_same, label %next_entry
key_same:
  br label %key_loop
next_entry:
  %e_next = add i64 %e, 1
  br label %entry_loop
hit:
  %base_at = getelementptr i64, ptr %values, i64 %keys
  %base = load i64, ptr %base_at
  %total = add i64 %count, %maps
  %pointers = alloca i64, i64 %total
  br label %copy
copy:
  %c = phi i64 [ 0, %hit ], [ %c_next, %copy_one ]
  %more_copies = icmp ult i64 %c, %count
  br i1 %more_copies, label %copy_one, label %append
copy_one:
  %from = getelementptr i64, ptr %params, i64 %c
  %pointer = load i64, ptr %from
  %to = getelementptr i64, ptr %pointers, i64 %c
  store i64 %pointer, ptr %to
  %c_next = add i64 %c, 1
  br label %copy
append:
  %m = phi i64 [ 0, %copy ], [ %m_next, %append_one ]
  %more_maps = icmp ult i64 %m, %maps
  br i1 %more_maps, label %append_one, label %go
append_one:
  %m_offset = mul i64 %m, {size}
  %map = add i64 %base, %m_offset
  %m_index = add i64 %count, %m
  %map_to = getelementptr i64, ptr %pointers, i64 %m_index
  store i64 %map, ptr %map_to
  %m_next = add i64 %m, 1
  br label %append
go:
  %status = call i32 %real({known})
  ret i32 %status
}}
"""


class DriverHook:
    """The hook and its records. Only ``install`` creates one."""

    def __init__(self, real_get_address: Callable[..., int], launch: str):
        self._real_get_address, self._launch = real_get_address, launch
        self._table = (ctypes.c_uint64 * _SLOTS)()
        self._records: dict[int, _KernelRecord] = {}
        self._callbacks: list[_KernelRecord] = []  # all records that were ever in the table
        self._pending = threading.local()
        self._get_address = _PROC(self._find)
        self._get_kernel = _THREE(self._kernel_found)
        self._miss = _MISS(self._missed)
        self._functions: dict[int, _CompiledHook] = {}  # by the function that they call; cuTile keeps their addresses
        self._changes = threading.Lock()  # cuTile's C code may call from any thread
        self._real_get_kernel: Callable[..., int] | None = None
        self.place = ctypes.c_void_p(_address(self._get_address))
        """The replacement of cuTile's pointer to ``cuGetProcAddress``."""

    def pending(self, loaded: CutileKernel | None) -> None:
        """Register the next kernel that cuTile loads in this thread as ``loaded``; None: it is not one of ours."""
        self._pending.loaded = loaded

    @property
    def is_in_use(self) -> bool:
        """Whether cuTile has looked up its functions."""
        return bool(self._functions) and self._real_get_kernel is not None

    # ---- called by cuTile's C code: exceptions must not propagate into it
    def _find(self, name: bytes, place: int, version: int, flags: int, status: int | None) -> int:
        result = self._real_get_address(name, place, version, flags, status)
        found = ctypes.c_void_p.from_address(place)
        if result or not found.value:
            return result
        if name == self._launch.encode():
            found.value = self._function_for(found.value).address
        elif name == _GET_KERNEL.encode():
            self._real_get_kernel = _THREE(found.value)
            found.value = _address(self._get_kernel)
        return result

    def _function_for(self, real: int) -> _CompiledHook:
        with self._changes:
            if real not in self._functions:
                self._functions[real] = _compiled(self._launch, _address(self._table), real, _address(self._miss))
            return self._functions[real]

    def _kernel_found(self, place: int, library: int, name: int) -> int:
        assert self._real_get_kernel is not None
        status = self._real_get_kernel(place, library, name)
        if status == 0:
            kernel = ctypes.c_uint64.from_address(place).value
            self._forget(kernel)
            loaded = getattr(self._pending, "loaded", None)
            if loaded is not None:
                return self._register(_KernelRecord(kernel, loaded))
        return status

    def _register(self, record: _KernelRecord) -> int:
        try:
            record.allow_shared_memory()
        except Exception:
            return _INVALID_VALUE  # Python loads the kernel again, and raises the error
        with self._changes:
            slot = (record.kernel >> 4) % _SLOTS
            while self._table[slot]:
                slot = (slot + 1) % _SLOTS
            self._records[record.kernel] = record
            self._callbacks.append(record)
            self._table[slot] = record.address
        return 0

    def _forget(self, kernel: int) -> None:
        """Forget a record whose handle the driver has reused for another kernel."""
        if (before := self._records.pop(kernel, None)) is not None:
            before.clear()

    def _missed(self, kernel: int, params: int) -> int:
        try:
            pointers = self._pending.pointers = self._records[kernel].miss(params)
        except Exception:
            return 0  # Python repeats the launch, and raises the error
        return ctypes.addressof(pointers)

    def replace(self, addresses: list[int]) -> bool:
        """Replace functions that cuTile has already looked up: ``words`` are the variables of its C code.

        Changes nothing and returns False unless each of the functions is in exactly one of them.
        """
        places = {}
        for name in (self._launch.encode(), _GET_KERNEL.encode()):
            found = ctypes.c_void_p()
            failed = self._real_get_address(name, ctypes.addressof(found), _DRIVER_VERSION, 0, None)
            held = [word for word in addresses if ctypes.c_void_p.from_address(word).value == found.value]
            if failed or not found.value or len(held) != 1:
                return False
            places[name] = held[0]
        for name, place in places.items():
            self._find(name, place, _DRIVER_VERSION, 0, None)
        return self.is_in_use

    @property
    def has_capacity(self) -> bool:
        """Whether one more kernel can be registered."""
        return len(self._callbacks) < _MAX_KERNELS


class _KernelRecord:
    """The hook's data of one kernel."""

    def __init__(self, kernel: int, loaded: CutileKernel):
        launch = loaded.launch
        self.kernel, self._loaded = kernel, loaded
        self._sizes = [param.size for param in launch.caller_parameters]
        self._maps = len(launch.tensor_maps)
        rows = [word for index in loaded.mapped for word in (index, int(self._sizes[index] == 8))]
        self._rows = (ctypes.c_int64 * max(len(rows), 1))(*rows)
        self._width = len(loaded.mapped) + 1
        self._entries = (ctypes.c_int64 * (self._width * _MAX_ENTRIES))()
        self._held: list[ctypes.Array] = []
        words = [
            kernel,
            len(self._sizes),
            self._maps,
            len(loaded.mapped),
            _address(self._rows),
            0,
            _address(self._entries),
            launch.shared_memory.dynamic,
        ]
        self._words = (ctypes.c_uint64 * len(words))(*words)
        self.address = _address(self._words)

    def allow_shared_memory(self) -> None:
        """Raise the kernel's limit of dynamic shared memory to what it needs. Raises InvalidInput[driver]."""
        self._loaded.allow_shared_memory(self.kernel)

    def clear(self) -> None:
        """Make this the record of no kernel."""
        self._words[0] = 0

    def miss(self, params: int) -> ctypes.Array:
        """The addresses of parameters and maps for a launch with new parameters; later launches find them."""
        given = (ctypes.c_uint64 * len(self._sizes)).from_address(params)
        data = [ctypes.string_at(place, size) for place, size in zip(given, self._sizes)]
        values = self._loaded.layout.unpack(data)
        maps = self._loaded.maps_of(values)
        base = self._add_entry([_signed(data[index]) for index in self._loaded.mapped], b"".join(maps))
        return (ctypes.c_uint64 * (len(given) + self._maps))(*given, *[base + SIZE * one for one in range(self._maps)])

    def _add_entry(self, values: Sequence[int], maps: bytes) -> int:
        """Add an entry, or overwrite the first one if the record is full. Returns the address of the maps."""
        count = self._words[5] % _MAX_ENTRIES
        held = ctypes.create_string_buffer(len(maps) + ALIGNMENT)
        base = -(-ctypes.addressof(held) // ALIGNMENT) * ALIGNMENT
        ctypes.memmove(base, maps, len(maps))
        start = count * self._width
        self._entries[start : start + self._width] = [*values, base]
        self._held[count:] = [held]
        self._words[5] = count + 1
        return base


def _signed(data: bytes) -> int:
    return int.from_bytes(data, "little", signed=True)


class _CompiledHook:
    """The machine code of the hook, and the owner of its memory."""

    def __init__(self, engine: Any, address: int):
        self._engine, self.address = engine, address


def _compiled(launch: str, table: int, real: int, miss: int) -> _CompiledHook:
    from llvmlite import binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    row = LAUNCHES[launch]
    text = _TEXT.format(
        table=table, real=real, miss=miss, mask=_SLOTS - 1, size=SIZE, invalid=_INVALID_VALUE, parameters=row.parameters,
        plain=row.call.format(params="%params", shared=row.shared),
        made=row.call.format(params="%made", shared="%dynamic"),
        known=row.call.format(params="%pointers", shared="%dynamic"),
    )  # fmt: skip
    module = llvm.parse_assembly(text)
    module.verify()
    engine = llvm.create_mcjit_compiler(module, llvm.Target.from_default_triple().create_target_machine(opt=2))
    engine.finalize_object()
    return _CompiledHook(engine, engine.get_function_address("launch"))


def variables_of(module: str) -> list[int]:
    """The addresses of the 8-byte words that may be variables of a C module; none if it is not loaded."""
    words: list[int] = []
    file, end = getattr(sys.modules.get(module), "__file__", None), None
    for line in Path("/proc/self/maps").read_text().splitlines() if file else ():
        bounds, flags, *_, inode, path = [*line.split(maxsplit=5), ""][:6]
        start, stop = (int(bound, 16) for bound in bounds.split("-"))
        # Zero-initialized variables follow the file's contents, in an anonymous mapping.
        is_own = path == file or (start == end and inode == "0" and not path)
        end = stop if is_own else None
        if is_own and flags.startswith("rw"):
            words += range(start, stop, 8)
    return words


def _address(held: Any) -> int:
    address = ctypes.cast(held, ctypes.c_void_p).value
    assert address is not None
    return address


_installed: DriverHook | None = None


def install(launch: str) -> DriverHook | None:
    """Make cuTile launch through the hook instead of the driver's function; None if that is impossible."""
    global _installed
    if _installed is not None:
        return _installed
    asked_before = _LOADER in sys.modules
    try:
        loader = import_module(_LOADER)
    except OSError:
        return None
    real = _PROC(struct.unpack("<Q", ctypes.string_at(loader.cuGetProcAddress_v2_ptrptr, 8))[0])
    hook = DriverHook(real, launch)
    if not asked_before:
        loader.cuGetProcAddress_v2_ptrptr = ctypes.addressof(hook.place)  # type: ignore[attr-defined]
    elif not hook.replace(variables_of(_LAUNCHER)):
        return None
    _installed = hook
    return _installed

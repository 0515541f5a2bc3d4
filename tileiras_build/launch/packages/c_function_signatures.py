"""The C and C++ functions of a library's kernels: names, argument structs and their members."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lcm
from typing import NamedTuple

from msgspec import structs

from ...core.errors import InvalidInput, Location
from ...core.symbols.c_identifiers import c_identifier, c_identifiers, is_mangled
from ...core.symbols.check_symbol_names import KERNEL, quoted_name
from ...core.symbols.itanium_demangler import demangle, symbol_of
from ...core.symbols.unique_names import unique_names
from ...manifest.launch_manifest import Argument, Parameter
from ...manifest.manifest_constants import POINTER, READ_WRITE, WRITE
from ...target.element_types import ELEMENT_TYPES
from ..runtime.library_manifest import CUBIN, Image, LibraryManifest
from ..runtime.pack_arguments import describe_argument

# The C type of each parameter kind; floats without a C type are passed as their bits.
SCALAR_TYPES = {POINTER: "CUdeviceptr"} | {name: row.c for name, row in ELEMENT_TYPES.items() if row.c is not None}
# The kind of each element in launcher.hpp; bytes if it has none.
_ELEMENT_KINDS = {name: row.c_type_class for name, row in ELEMENT_TYPES.items() if row.c_type_class is not None}
# Size and alignment of each C type in bytes.
_SIZES = {"CUdeviceptr": 8, "uint8_t": 1, "int8_t": 1, "int16_t": 2, "uint16_t": 2, "int32_t": 4, "int64_t": 8, "float": 4, "double": 8}  # fmt: skip
_STRUCT_ALIGNMENT = 8  # bytes of an address, a length or a stride
_ARRAY = "{}_tensor_{}"
# Members of the class in launcher.hpp.
CLASS_MEMBERS = (
    "library", "get", "handle_", "opened", "load_all", "try_load_all", "open_embedded", "open", "try_open", "open_file",
    "try_open_file",
)  # fmt: skip
_PARAMETER = re.compile(r"[A-Za-z_]\w*", re.ASCII)


class Names(NamedTuple):
    """The names of a kernel: in C, its launch function, its struct of arguments, and its C++ method."""

    kernel: str
    function: str
    type: str
    method: str


def kernel_functions(manifest: LibraryManifest) -> list[KernelFunction]:
    """The library's kernels in the order of their symbols; raises InvalidInput if C cannot call one."""
    names = _names_of(manifest)
    return [
        KernelFunction(entry, names[entry], images, manifest.name) for entry, images in sorted(manifest.kernels.items())
    ]


def _names_of(manifest: LibraryManifest) -> dict[str, Names]:
    called = c_identifiers(manifest.kernels)
    _check_names(manifest, called)
    functions = {name: f"{manifest.name}_launch_{name}" for name in called.values()}
    wanted = {name: f"{manifest.name}_{name}_arguments" for name in called.values()}
    types = unique_names(wanted.values(), functions.values())
    methods = unique_names(called.values(), CLASS_MEMBERS, ("{}", "try_{}"), c_identifier)
    return {entry: Names(name, functions[name], types[wanted[name]], methods[name]) for entry, name in called.items()}


class KernelFunction:
    """The C and C++ interface of a kernel of ``library``: the common parameters of its images. ``symbol`` is its entry point."""

    def __init__(self, entry: str, names: Names, images: Sequence[Image], library: str):
        self.entry, self.names, self.images, self.library = entry, names, images, library
        self.symbol = symbol_of(entry)
        self.params = [
            _strictest_parameter(rows) for rows in zip(*(image.launch.caller_parameters for image in images))
        ]

    @cached_property
    def members(self) -> list[Member]:
        """The members of the struct of arguments."""
        arguments = self.images[0].launch.arguments
        types = [self._type_of(argument) for argument in arguments]
        names = unique_names([row.name for row in arguments], {self.names.type, *types}, spelled=c_identifier)
        made: list[Member] = []
        for argument, type in zip(arguments, types):
            own = self.params[argument.param : argument.param + argument.parameters]
            words = describe_argument(argument, self.params)
            made.append(Member(argument, own, words, names[argument.name], type, made[-1].end if made else 0))
        return made

    def _type_of(self, argument: Argument) -> str:
        if argument.kind == "array":
            return _ARRAY.format(self.library, argument.rank)
        return SCALAR_TYPES[self.params[argument.param].kind]

    @property
    def size(self) -> int:
        """Bytes of the struct of arguments."""
        most = max((member.alignment for member in self.members), default=0)
        return -(-self.members[-1].end // most) * most if most else _SIZES["int32_t"]

    @property
    def title(self) -> str:
        """Its name in comments, with the GPUs of its images."""
        return f"{demangle(self.entry)} for {self.targets}"

    @property
    def shown(self) -> str:
        """Its name in error messages."""
        return self.names.kernel if is_mangled(self.entry) else self.entry

    @property
    def targets(self) -> str:
        """The GPUs of its images as text."""
        return ", ".join(image.target + ("" if image.kind == CUBIN else " (PTX)") for image in self.images)

    @property
    def grid(self) -> str:
        """The meaning of the grid's axes, if the export specifies it."""
        grid = self.images[0].launch.grid
        if grid.meaning:
            counted = ", ".join(f"{axis} counts {meaning}" for axis, meaning in zip("xyz", grid.meaning))
            return f"grid: {counted}"
        axes = ", ".join("xyz"[axis] for axis in grid.axes) or "none"
        return f"grid axes used: {axes}"


@dataclass(frozen=True)
class Member:
    """An argument, the parameters that it fills, and its requirements as text for a comment.

    In C it is a member ``name`` of ``type``, at the first aligned offset from ``after`` on.
    """

    argument: Argument
    params: Sequence[Parameter]
    description: str
    name: str
    type: str
    after: int

    @property
    def alignment(self) -> int:
        """Its alignment in bytes."""
        return _SIZES.get(self.type, _STRUCT_ALIGNMENT)

    @property
    def place(self) -> int:
        """Its offset in the struct."""
        return -(-self.after // self.alignment) * self.alignment

    @property
    def end(self) -> int:
        """The offset of its end in the struct."""
        words = 1 + 2 * self.rank if self.rank is not None else None
        return self.place + (_SIZES[self.type] if words is None else words * _STRUCT_ALIGNMENT)

    def place_of(self, param: Parameter) -> int:
        """The offset of one of its parameters in the struct."""
        words = {"shape": 1, "stride": 1 + (self.rank or 0)}.get(param.role, 0) if self.kind == "array" else 0
        return self.place + _STRUCT_ALIGNMENT * (words + (param.axis or 0) * bool(words))

    @property
    def kind(self) -> str:
        """``array``, ``pointer`` or ``scalar``."""
        return self.argument.kind

    @property
    def rank(self) -> int | None:
        """The rank of an array."""
        return self.argument.rank

    @property
    def cpp_type(self) -> str:
        """The type of a pointer or scalar in C++, fully qualified: a class may have members of any name."""
        if self.type in ("float", "double"):
            return self.type
        return f"::{self.type}" if self.type == SCALAR_TYPES[POINTER] else f"::std::{self.type}"

    @property
    def element_kind(self) -> str:
        """The element class in launcher.hpp."""
        return _ELEMENT_KINDS.get(self.params[0].element or "", "bits")

    @property
    def is_written(self) -> bool:
        """Whether the kernel writes the memory."""
        return self.params[0].access in (WRITE, READ_WRITE)


def _strictest_parameter(parameters: Sequence[Parameter]) -> Parameter:
    """A parameter that satisfies the assumptions of every image of the kernel."""
    values = [row.value for row in parameters if row.value is not None]
    return structs.replace(
        parameters[0],
        value=values[0] if values else None,
        divisible_by=lcm(*(row.divisible_by for row in parameters)),
        minimum=max((row.minimum for row in parameters if row.minimum is not None), default=None),
        maximum=min((row.maximum for row in parameters if row.maximum is not None), default=None),
    )


def _check_names(manifest: LibraryManifest, called: dict[str, str]) -> None:
    owners: dict[str, str] = {}
    for entry, images in manifest.kernels.items():
        if owners.setdefault(called[entry], entry) != entry:
            message = f"kernels {owners[called[entry]]} and {entry} have the same C name {called[entry]}"
            raise InvalidInput(f"{KERNEL}-name", message, location=Location(f"{manifest.name}.h"), remedy="rename one")
        _check_parameters(entry, images)


def _check_parameters(entry: str, images: Sequence[Image]) -> None:
    launches = [image.launch for image in images]
    names = {row.name for launch in launches for row in launch.caller_parameters}
    names |= {row.name for launch in launches for row in launch.arguments}
    if wrong := {name for name in names if not _PARAMETER.fullmatch(name)}:
        message = f"kernel {entry} has a parameter with the invalid C name {quoted_name(min(wrong))}"
        raise InvalidInput("package-parameters", message, remedy="rebuild it, or package without C sources")
    kinds = {tuple(row.kind for row in launch.caller_parameters) for launch in launches}
    unknown = {kind for row in kinds for kind in row} - SCALAR_TYPES.keys()
    if len(kinds) > 1 or unknown:
        what = (
            f"parameters of kind {', '.join(sorted(unknown))}" if unknown else "different parameters on different GPUs"
        )
        raise InvalidInput("package-parameters", f"kernel {entry} has {what}", remedy="package without C sources")

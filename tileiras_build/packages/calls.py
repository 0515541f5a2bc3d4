"""The kernels of a library as C and C++ call them: functions with a struct of arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import lcm

from msgspec import structs

from ..c_names import c_names, is_mangled
from ..cpp_names import readable
from ..errors import InvalidInput, Location
from ..launch_manifest import Argument, Parameter
from ..manifest_words import STORED, UPDATED
from ..names import KERNEL, quoted_name
from ..runtime.arguments import words_of
from ..runtime.library_manifest import CUBIN, Image, LibraryManifest

# The C type of each parameter kind; floats without a C type travel as their bits.
SCALAR_TYPES = {
    "pointer": "CUdeviceptr", "i1": "uint8_t", "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t",
    "f16": "uint16_t", "bf16": "uint16_t", "f32": "float", "tf32": "float", "f64": "double", "f8E4M3FN": "uint8_t",
    "f8E5M2": "uint8_t", "f8E8M0FNU": "uint8_t",
}  # fmt: skip
# The kind of each element in launcher.hpp; what has none there is bytes.
_ELEMENT_KINDS = {name: name for name in ("i1", "i8", "i16", "i32", "i64", "f16", "bf16", "f32", "f64")} | {
    "tf32": "f32", "f8E4M3FN": "f8", "f8E5M2": "f8", "f8E8M0FNU": "f8",
}  # fmt: skip
# Of C and C++; a source may name its arguments so.
_KEYWORDS = frozenset(
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char class co_await co_return co_yield compl "
    "concept const const_cast consteval constexpr constinit continue decltype default delete do double dynamic_cast else "
    "enum explicit export extern false float for friend goto if inline int long mutable namespace new noexcept not not_eq "
    "nullptr operator or or_eq private protected public register reinterpret_cast requires restrict return short signed "
    "sizeof static static_assert static_cast struct switch template this thread_local throw true try typedef typeid "
    "typename union unsigned using virtual void volatile wchar_t while xor xor_eq unix linux errno stdin stdout stderr "
    "assert NULL INT_MAX grid stream".split()
)
# Of the class in launcher.hpp.
_MEMBERS = ("open", "open_file", "open_embedded", "load_all", "get", "opened", "library", "status", "require")
_PARAMETER = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def calls_of(manifest: LibraryManifest) -> list[Call]:
    """The library's kernels, in the order of their symbols; raises InvalidInput where C cannot call one."""
    called = c_names(manifest.kernels)
    _check_names(manifest, called)
    return [Call(entry, called[entry], images) for entry, images in sorted(manifest.kernels.items())]


class Call:
    """A kernel as C and C++ call it, by ``name``: what its images agree on. The driver calls it ``entry``."""

    def __init__(self, entry: str, name: str, images: Sequence[Image]):
        self.entry, self.images, self.name = entry, images, name
        self.params = [_strictest(rows) for rows in zip(*(image.launch.ordinary for image in images))]

    @cached_property
    def members(self) -> list[Member]:
        """The members of the struct of arguments."""
        return [_member(argument, self.params) for argument in self.images[0].launch.arguments]

    @property
    def cpp_name(self) -> str:
        """The name of its function where the class in C++ has others of its own, and C++ its words."""
        return f"{self.name}_" if self.name in _MEMBERS or self.name in _KEYWORDS else self.name

    @property
    def title(self) -> str:
        """What comments call it, and the GPUs of its images."""
        return f"{readable(self.entry)} for {self.targets}"

    @property
    def shown(self) -> str:
        """What sentences call it."""
        return self.name if is_mangled(self.entry) else self.entry

    @property
    def targets(self) -> str:
        """Of its images, for people."""
        return ", ".join(image.target + ("" if image.kind == CUBIN else " (PTX)") for image in self.images)

    @property
    def grid(self) -> str:
        """What the axes of a launch's grid count, where the export has said so; it has no end of a comment in it."""
        grid = self.images[0].launch.grid
        if grid.meaning:
            counted = ", ".join(f"{axis} counts {meaning}" for axis, meaning in zip("xyz", grid.meaning))
            return f"grid: {counted}".replace("*/", "* /")
        axes = ", ".join("xyz"[axis] for axis in grid.axes) or "none"
        return f"of the grid it tells apart: {axes}"


@dataclass(frozen=True)
class Member:
    """An argument, the parameters that it fills, and what it must be in words for a comment."""

    argument: Argument
    params: Sequence[Parameter]
    words: str

    @property
    def name(self) -> str:
        """The argument's name where the language has not taken it."""
        return f"{self.argument.name}_" if self.argument.name in _KEYWORDS else self.argument.name

    @property
    def kind(self) -> str:
        """``array``, ``pointer`` or ``scalar``."""
        return self.argument.kind

    @property
    def rank(self) -> int | None:
        """How many dimensions an array has."""
        return self.argument.rank

    @property
    def scalar_type(self) -> str:
        """The C type of a pointer or number."""
        return SCALAR_TYPES[self.params[0].kind]

    @property
    def element_kind(self) -> str:
        """What the memory holds, in the words of launcher.hpp."""
        return _ELEMENT_KINDS.get(self.params[0].element or "", "bits")

    @property
    def is_written(self) -> bool:
        """Whether the kernel writes the memory."""
        return self.params[0].access in (STORED, UPDATED)


def _member(argument: Argument, params: Sequence[Parameter]) -> Member:
    own = params[argument.param : argument.param + argument.parameters]
    return Member(argument, own, words_of(argument, params))


def _strictest(rows: Sequence[Parameter]) -> Parameter:
    """A parameter that every image of the kernel is right for."""
    values = [row.value for row in rows if row.value is not None]
    return structs.replace(
        rows[0],
        value=values[0] if values else None,
        divisible_by=lcm(*(row.divisible_by for row in rows)),
        minimum=max((row.minimum for row in rows if row.minimum is not None), default=None),
        maximum=min((row.maximum for row in rows if row.maximum is not None), default=None),
    )


def _check_names(manifest: LibraryManifest, called: dict[str, str]) -> None:
    owners: dict[str, str] = {}
    for entry, images in manifest.kernels.items():
        if owners.setdefault(called[entry], entry) != entry:
            message = f"kernels {owners[called[entry]]} and {entry} are both called {called[entry]} in C"
            raise InvalidInput(f"{KERNEL}-name", message, location=Location(f"{manifest.name}.h"), remedy="rename one")
        _check_parameters(entry, images)


def _check_parameters(entry: str, images: Sequence[Image]) -> None:
    launches = [image.launch for image in images]
    names = {row.name for launch in launches for row in launch.ordinary}
    names |= {row.name for launch in launches for row in launch.arguments}
    if wrong := {name for name in names if not _PARAMETER.fullmatch(name)}:
        message = f"kernel {entry} has a parameter named {quoted_name(min(wrong))}"
        raise InvalidInput("package-parameters", message, remedy="build it again, or pack it without C sources")
    kinds = {tuple(row.kind for row in launch.ordinary) for launch in launches}
    unknown = {kind for row in kinds for kind in row} - SCALAR_TYPES.keys()
    if len(kinds) > 1 or unknown:
        what = f"parameters of kind {', '.join(sorted(unknown))}" if unknown else "other parameters on other GPUs"
        raise InvalidInput("package-parameters", f"kernel {entry} has {what}", remedy="pack it without C sources")

"""CUDA_TILE_RELEASES: how each release of cuda-tile is used, and ``Cutile``, the only interface to it.

cuTile has no public interface to replace its compiler and its launcher. Only this file and ``monkeypatch_cutile.py`` use its
private names; ``tests/cutile/`` tests them with every installed release.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..core.errors import InvalidInput, Location, Unsupported
from .installation_fingerprint import cached_lookup

if TYPE_CHECKING:
    from types import ModuleType

PACKAGE = "cuda-tile"
INSTALL = "pip install 'cuda-tile==1.7.0'"
MAX_SYMBOL_LENGTH = 256
_NO_SOURCE = ("could not get source code", "source code not available")  # messages of inspect


@dataclass(frozen=True)
class Version:
    """A release: ``release`` is "1.7" for 1.7.x, ``bytecode`` the newest released bytecode version that it writes,
    ``convention`` the newest calling convention (a static method of CallingConvention).

    ``launcher`` launches with a number of threads, through the driver's ``driver_launch``. It requests dynamic shared memory if
    ``asks_for_shared_memory``, and raises a kernel's limit if ``raises_shared_memory``. ``masks`` are the attributes of an
    annotated function from which the kernel's C object is made. ``no_extras`` is the last item of ``_compile``'s result if there
    are no extras. ``looks_once``: the front end reads each function once per process, and ``kernel_fingerprint.py`` can
    reproduce what it read.
    """

    release: str
    bytecode: str
    convention: str
    masks: tuple[str, ...] = ("parameter_annotations",)
    launcher: str = "launch_extended"
    driver_launch: str = "cuLaunchKernelEx"
    asks_for_shared_memory: bool = True
    raises_shared_memory: bool = True
    no_extras: list | tuple = ()
    looks_once: bool = False


_MASKS = ("constant_parameter_mask", "int64_index_parameter_mask", "int64_parameter_mask")
CUDA_TILE_RELEASES: tuple[Version, ...] = (
    Version("1.3", "13.2", "cutile_python_v1", _MASKS[:1], "launch_with_block", "cuLaunchKernel", False, False),
    Version("1.4", "13.3", "cutile_python_v1", _MASKS, raises_shared_memory=False, no_extras=[]),
    Version("1.5", "13.3", "cutile_python_v2", raises_shared_memory=False, no_extras=[]),
    Version("1.6", "13.4", "cutile_python_v2", no_extras=[]),
    Version("1.7", "13.4", "cutile_python_v2", looks_once=True),
)


def installed_version() -> Version:
    """The row of the installed cuda-tile; raises InvalidInput[cutile-missing] or Unsupported[cutile-version]."""
    found = cached_lookup(f"version of {PACKAGE}", _installed)
    for row in CUDA_TILE_RELEASES:
        if found == row.release or found.startswith(f"{row.release}."):
            return row
    between = f"{CUDA_TILE_RELEASES[0].release} to {CUDA_TILE_RELEASES[-1].release}"
    message = f"unsupported {PACKAGE} {found}; supported: {between}"
    raise Unsupported("cutile-version", message, remedy=INSTALL)


def _installed() -> str:
    # These imports take longer than the launch of a small kernel.
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(PACKAGE)
    except PackageNotFoundError:
        raise InvalidInput("cutile-missing", f"{PACKAGE} is not installed", remedy=INSTALL) from None


@dataclass(frozen=True)
class Exported:
    """A kernel as bytecode: ``data``, and the entry point's name in it."""

    data: bytes
    entry: str


class Cutile:
    """The installed cuda-tile."""

    def __init__(self) -> None:
        self.release = installed_version()
        self.signatures = self._module("compilation._signature")
        own = self._module("_cext")
        self.kernel_class: type = own.TileDispatcher
        self.launch_blocks: Callable[..., None] = getattr(own, self.release.launcher)
        self._twin_class = _twin_class(own.TileDispatcher)
        convention = getattr(own.CallingConvention, self.release.convention)
        self._convention = convention()

    @cached_property
    def compile(self) -> ModuleType:
        """The front end; its import takes as long as the rest of cuTile (it imports PyTorch and JAX)."""
        return self._module("_compile")

    @cached_property
    def bytecode_version(self) -> Any:
        """The newest bytecode version that is written."""
        return self.compile.parse_bytecode_version(self.release.bytecode)

    @cached_property
    def element_kinds(self) -> frozenset[str]:
        """The supported element types of arrays, by NumPy's names."""
        own = vars(import_module("cuda.tile"))
        return frozenset(name.rstrip("_") for name, value in own.items() if isinstance(value, own["DType"]))

    def _module(self, name: str) -> ModuleType:
        try:
            return import_module(f"cuda.tile.{name}")
        except ImportError as error:
            message = f"{PACKAGE} cannot be imported: {error}"
            raise InvalidInput("cutile-missing", message, remedy=INSTALL) from None

    def signature(self, kernel: Any, shown: tuple[object, ...]) -> Any:
        """The KernelSignature of a launch of ``kernel`` with these arguments, the same as cuTile's own launcher computes."""
        _check_count(len(self.parameter_names(kernel)), len(shown))
        return self.signatures.KernelSignature.from_kernel_args(kernel, shown, self._convention)

    def as_ours(self, signature: Any, kernel: Any) -> Any:
        """A signature of cuTile's launcher in the form of ``signature``."""
        made = self.signatures.KernelSignature(signature.parameters, self._convention)
        return made.with_mangled_symbol(kernel._pyfunc.__name__)

    def twin(self, kernel: Any, answer: Callable[[Any], tuple[object, ...]]) -> Any:
        """A kernel with the parameters of ``kernel`` that takes the cubin for a signature from ``answer``."""
        function = kernel._annotated_function
        made = self._twin_class(*[getattr(function, mask) for mask in self.release.masks])
        made.answer = answer
        return made

    def export(self, kernel: Any, signature: Any, target: str) -> Exported:
        """The bytecode of a kernel; raises the errors of cuTile's front end, and InvalidInput[cutile-source] without a source."""
        if kernel._pyfunc.__name__ == "<lambda>":
            raise _lambda(kernel)
        called = self.signatures.KernelSignature(
            signature.parameters, signature.calling_convention, symbol=short_symbol(signature.symbol)
        )
        try:
            made = self.compile.compile_tile(
                kernel._annotated_function, (called,), target, kernel._compiler_options,
                bytecode_version=self.bytecode_version, return_bytecode=True, return_cubin=False,
            )  # fmt: skip
        except OSError as error:
            if str(error) in _NO_SOURCE:
                raise _no_source(kernel) from None
            raise
        return Exported(bytes(made.bytecode), made.kernel_signatures[0].symbol)

    def options(self, kernel: Any) -> Any:
        """The hints of a kernel's decorator."""
        return kernel._compiler_options

    def opt_level(self, options: Any, target: str) -> int:
        """The optimization level of a kernel's options for a target."""
        if hasattr(options, "opt_level_for_target"):
            return options.opt_level_for_target(target)
        level = options.opt_level
        by_target = getattr(level, "_by_target", None)
        if by_target is None:
            return level
        found = by_target.get(target, level._default)
        return found if isinstance(found, int) else type(options).__dataclass_fields__["opt_level"].default

    @property
    def timeout_class(self) -> type[Exception]:
        """The exception of ``ct.tune`` for a launch that takes too long."""
        return self._module("tune._tune_utils").TileLaunchTimeoutError

    def parameter_names(self, kernel: Any) -> Sequence[str]:
        """The parameter names of the Python function."""
        code = kernel._pyfunc.__code__
        return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def short_symbol(symbol: str) -> str:
    """A short name for a kernel whose mangled name may list hundreds of arrays: LLVM repeats the kernel's name in each
    parameter's name, so the size of the PTX would be quadratic in their count.
    """
    if len(symbol) <= MAX_SYMBOL_LENGTH:
        return symbol
    digest = sha256(symbol.encode()).hexdigest()[:16]
    return f"{symbol[: MAX_SYMBOL_LENGTH - 1 - len(digest)]}_{digest}"


def _lambda(kernel: Any) -> InvalidInput:
    message = "lambdas cannot be kernels"
    return InvalidInput("cutile-source", message, location=_place(kernel), remedy="use def kernel(...)")


def _place(kernel: Any) -> Location:
    code = kernel._pyfunc.__code__
    return Location(code.co_filename, code.co_firstlineno, 1)


def _no_source(kernel: Any) -> InvalidInput:
    message = f"no source available for {kernel._pyfunc.__code__.co_name}"
    where = _place(kernel)
    remedy = "define it in a file (or register it in linecache)"
    return InvalidInput("cutile-source", message, location=where, remedy=remedy)


def _twin_class(base: type) -> type:
    class Twin(base):
        """A kernel without a function of its own."""

        answer: Callable[[Any], tuple[object, ...]]

        def _compile(self, signature: Any, *_: object) -> tuple[object, ...]:
            return self.answer(signature)

    return Twin


def _check_count(expected: int, count: int) -> None:
    """Raise the error of other releases: some releases crash if arguments are missing."""
    if count != expected:
        arguments, were = "argument" if expected == 1 else "arguments", "was" if count == 1 else "were"
        raise TypeError(f"Kernel expects {expected} {arguments} but {count} {were} given")

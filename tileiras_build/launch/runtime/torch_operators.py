"""PyTorch operators of a kernel library: each kernel is a ``torch.library`` custom operator, also under ``torch.compile``.

    register_torch_operators(library)                    # import my_kernels.torch_ops does this
    torch.ops.my_kernels.vector_add_f32((4,), x, y, out)

An operator has the parameters of the kernel's ``launch`` but the stream, which is PyTorch's current one. It returns nothing: it
writes its outputs, which its schema declares as mutated (``Tensor(a0!)``) where the manifest says that the kernel stores to them.
PyTorch is imported when operators are registered.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

from ...core.errors import InvalidInput
from ...core.symbols.c_identifiers import c_identifiers
from ...manifest.manifest_constants import READ, UNUSED
from .python_signature import python_names

if TYPE_CHECKING:
    from ...manifest.launch_manifest import Launch
    from .kernel_library import Kernel, Library

_BOOL = "i1"


def register_torch_operators(library: Library, namespace: str | None = None) -> dict[str, Any]:
    """Register an operator for each kernel under ``torch.ops.<namespace>`` (the library's name), and return them by kernel.

    Raises InvalidInput[torch-missing] without PyTorch.
    """
    try:
        torch = import_module("torch")
        custom_op = import_module("torch.library").custom_op
    except ImportError as error:
        message = f"PyTorch operators need PyTorch: {error}"
        raise InvalidInput("torch-missing", message, remedy="pip install torch") from None
    names = c_identifiers(library)
    return {
        name: _operator(torch, custom_op, library[name], f"{namespace or library.manifest.name}::{names[name]}")
        for name in library
    }


def _operator(torch: Any, custom_op: Any, kernel: Kernel, name: str) -> Any:
    launch = kernel.described
    schema, mutated = operator_schema(launch)

    def run(grid: Any, *arguments: Any) -> None:
        gpus = [argument.device for argument in arguments if getattr(argument, "is_cuda", False)]
        if not gpus:
            kernel.launch(grid, *arguments)
            return
        with torch.cuda.device(gpus[0]):
            kernel.launch(grid, *arguments, stream=torch.cuda.current_stream())

    made = custom_op(name, run, mutates_args=mutated, schema=schema)
    # A launch returns nothing, and the shapes of its outputs are those of its arguments.
    made.register_fake(lambda grid, *arguments: None)
    return made


def operator_schema(launch: Launch) -> tuple[str, tuple[str, ...]]:
    """The schema of a kernel's operator, and the names of the arguments that it writes."""
    names, written, words = python_names(launch), [], ["SymInt[] grid"]
    for index, (argument, name) in enumerate(zip(launch.arguments, names, strict=True)):
        first = launch.params[argument.param]
        if argument.kind == "scalar":
            words.append(f"{_scalar(first.kind)} {name}")
        elif first.access in (READ, UNUSED):
            words.append(f"Tensor {name}")
        else:
            words.append(f"Tensor(a{index}!) {name}")
            written.append(name)
    return f"({', '.join(words)}) -> ()", tuple(written)


def _scalar(kind: str) -> str:
    if kind == _BOOL:
        return "bool"
    return "SymInt" if kind.startswith("i") else "float"

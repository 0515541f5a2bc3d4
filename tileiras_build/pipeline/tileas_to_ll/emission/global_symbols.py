"""The module-level symbols that kernels share: declared functions, constant tables, the symbol of shared memory."""

from __future__ import annotations

from functools import cached_property
from itertools import chain, count

from xdsl.dialects import llvm
from xdsl.dialects.builtin import BytesAttr, DenseIntOrFPElementsAttr, ModuleOp, TensorType
from xdsl.ir import Attribute, Operation

from ....core.symbols.check_symbol_names import GLOBAL as GLOBAL_NAME
from ....ir.casting import int_attr
from ....ir.dialects.llvm_ext import make_function, make_global
from ....target.targets import COMMON_SHARED_MEMORY
from ...common.llvm_type_constructors import GLOBAL, I8, SHARED, array, integer
from ...common.module_symbols import symbols
from ..emit_global_smem import ALIGNMENT, SYMBOL, global_smem_bytes, kernel_bytes


class GlobalSymbols:
    """Functions, tables and shared memory of one module, under names unused in the program."""

    def __init__(self, module: ModuleOp):
        self.globals: list[llvm.GlobalOp] = []
        self.declarations: dict[str, llvm.FuncOp] = {}
        self._module = module
        self._tables: dict[tuple[tuple[int, ...], int], str] = {}
        self._used = {name: kind for kind, name in symbols(module)}
        self.variables = {name for name, kind in self._used.items() if kind == GLOBAL_NAME}
        self.shared_memory = self._unused(SYMBOL)

    def use_function(self, name: str, result: Attribute | None, arguments: tuple[Attribute, ...]) -> None:
        """Declare a function that is linked later."""
        if name not in self.declarations:
            type = llvm.LLVMFunctionType(arguments, result)
            self.declarations[name] = make_function(name, type)

    def constant_table(self, values: list[int], bits: int) -> str:
        """The symbol of a constant array in global memory."""
        key = (tuple(values), bits)
        if key not in self._tables:
            name = self._tables[key] = self._unused(f"table{len(self._tables)}")
            type, value = array(len(values), integer(bits)), _dense(values, bits)
            alignment = max(bits // 8, 16)
            self.globals.append(
                make_global(type, name, "internal", GLOBAL, constant=True, value=value, alignment=alignment)
            )
        return self._tables[key]

    def _unused(self, stem: str) -> str:
        """``stem``, or the first of stem_0, stem_1, … that the program does not define."""
        names = chain((stem,), (f"{stem}_{number}" for number in count()))
        return next(name for name in names if name not in self._used)

    # ---- shared memory -----------------------------------------------------------------------------
    @cached_property
    def shared_bytes(self) -> int:
        """The largest shared memory of all kernels, which share one symbol."""
        return global_smem_bytes(self._module)

    @cached_property
    def _is_uniform(self) -> bool:
        """Whether all kernels of the module use equally much shared memory."""
        return len(set(kernel_bytes(self._module))) <= 1

    def shared_bytes_of(self, kernel: Operation) -> int:
        """The shared memory of a kernel."""
        return self.shared_bytes if self._is_uniform else int_attr(kernel, "shared_bytes", 0)

    @property
    def dynamic_shared(self) -> bool:
        """Whether the launch must request the shared memory: static ``.shared`` variables are limited to less, and
        one of several kernels would have the size of the largest.
        """
        return self.shared_bytes > COMMON_SHARED_MEMORY or not self._is_uniform

    def shared_global(self) -> llvm.GlobalOp:
        size, linkage = (0, "external") if self.dynamic_shared else (self.shared_bytes, "internal")
        return make_global(array(size, I8), self.shared_memory, linkage, SHARED, alignment=ALIGNMENT)


def _dense(values: list[int], bits: int) -> DenseIntOrFPElementsAttr:
    """A dense array of integers of ``bits`` bits."""
    data = b"".join(value.to_bytes(bits // 8, "little", signed=value < 0) for value in values)
    return DenseIntOrFPElementsAttr(TensorType(integer(bits), [len(values)]), BytesAttr(data))

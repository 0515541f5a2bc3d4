"""What kernels are compared with: torch (cuBLAS, its attention) where it is installed, or a copy of as many bytes."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

_VIEWS = {"bfloat16": "bfloat16", "float8_e4m3fn": "float8_e4m3fn"}


def find(case) -> dict[str, Callable[[], None]]:
    """Runners by name for a ``case.Prepared``; none where nothing comparable is there."""
    kind = case.row["kind"]
    if kind not in ("product", "attention", "attention_causal"):
        return {"copy": _copy(case)}
    try:
        torch = import_module("torch")
        if not torch.cuda.is_available():
            return {}
    except ImportError:
        return {}
    arrays = [_tensor(torch, array) for array in case.arrays[:-1]]
    return {"torch": _product(torch, case, arrays) if kind == "product" else _attention(torch, case, arrays)}


def _copy(case) -> Callable[[], None]:
    half = sum(array.memory.nbytes for array in case.arrays) // 2
    source, target = case.gpu.allocate(half), case.gpu.allocate(half)
    return lambda: case.gpu.copy(target, source, half)


def _tensor(torch, array):
    made = torch.from_numpy(array.memory).cuda()
    made = made.view(getattr(torch, _VIEWS[array.dtype])) if array.dtype in _VIEWS else made
    return made.t() if array.view is not array.memory else made


def _product(torch, case, arrays) -> Callable[[], None]:
    a, b = arrays
    torch.backends.cuda.matmul.allow_tf32 = True
    if case.row["dtypes"][0] == "float8_e4m3fn":
        one = torch.ones((), device="cuda")
        return lambda: torch._scaled_mm(a, b, one, one, out_dtype=torch.float16)
    return lambda: torch.matmul(a, b)


def _attention(torch, case, arrays) -> Callable[[], None]:
    q, k, v = (array.unsqueeze(0) for array in arrays)
    scale, causal = case.variant["scalars"][0], case.row["kind"].endswith("causal")
    return lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=scale, is_causal=causal)

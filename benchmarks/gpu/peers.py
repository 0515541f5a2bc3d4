"""What kernels are compared with, where it is installed: torch, CuPy, cuBLAS; and a copy of as many bytes.

Each peer computes what the kernel does, in memory of its own, on the default stream; its result is compared like ours.
What cannot be had for a case (no bf16 in CuPy, no epilogue in cuBLAS) is left out.
"""

from __future__ import annotations

import ctypes
import os
import site
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

import numpy as np

PRODUCT, ATTENTION = "product", "attention"
COPIED = ("layer_norm", "softmax", "transpose", "vector_add")  # kinds that a copy is the limit of
_VIEWS = ("bfloat16", "float8_e4m3fn")  # types that NumPy stores as bits


class Absent(Exception):
    """Nothing of the kind is installed, or it has nothing for a case."""


@dataclass(frozen=True)
class Peer:
    """``run`` enqueues one launch; ``result`` fetches what the last one made, as it is stored; None: nothing."""

    run: Callable[[], None]
    result: Callable[[], np.ndarray] | None = None


def find(case) -> tuple[dict[str, Peer], dict[str, str]]:
    """Peers by name for a ``case.Prepared``, and why others failed."""
    found, failed = {}, {}
    for name, make in PEERS.items():
        try:
            found[name] = make(case)
        except Absent:
            continue
        except Exception as error:  # whatever a library of any version raises costs that library alone
            failed[name] = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return found, failed


def _copy(case) -> Peer:
    if case.row["kind"] not in COPIED:
        raise Absent
    half = sum(array.memory.nbytes for array in case.arrays) // 2
    source, target = case.gpu.allocate(half), case.gpu.allocate(half)
    return Peer(lambda: case.gpu.copy(target, source, half))


# ---- torch -----------------------------------------------------------------------------------------------------------
def _torch_product(torch, case, a, b) -> Callable:
    torch.backends.cuda.matmul.allow_tf32 = True
    if case.row["dtypes"][0] != "float8_e4m3fn":
        return lambda: torch.matmul(a, b)
    one = torch.ones((), device="cuda")
    return lambda: torch._scaled_mm(a, b, one, one, out_dtype=torch.float16)


def _torch_attention(torch, case, q, k, v) -> Callable:
    q, k, v = (tensor.unsqueeze(0) for tensor in (q, k, v))
    scale, causal = case.variant["scalars"][0], case.row["kind"].endswith("causal")
    attend = torch.nn.functional.scaled_dot_product_attention
    return lambda: attend(q, k, v, scale=scale, is_causal=causal).squeeze(0)


def _torch_layer_norm(torch, case, x, gamma, beta) -> Callable:
    epsilon = case.variant["scalars"][0]
    return lambda: torch.nn.functional.layer_norm(x, (x.shape[1],), gamma, beta, epsilon)


def _torch_gelu(torch, case, a, b, bias) -> Callable:
    return lambda: torch.nn.functional.gelu(torch.addmm(bias, a, b), approximate="tanh")


TORCH: dict[str, Callable] = {
    PRODUCT: _torch_product,
    "product_gelu": _torch_gelu,
    "product_residual": lambda torch, case, a, b, more: lambda: torch.addmm(more, a, b),
    ATTENTION: _torch_attention, "attention_causal": _torch_attention,
    "layer_norm": _torch_layer_norm,
    "softmax": lambda torch, case, x: lambda: torch.softmax(x, 1),
    "transpose": lambda torch, case, x: lambda: x.t().contiguous(),
    "vector_add": lambda torch, case, a, b: lambda: torch.add(a, b),
}  # fmt: skip


def _torch(case) -> Peer:
    torch = _library("torch")
    if case.row["kind"] not in TORCH or not torch.cuda.is_available():
        raise Absent
    compute = TORCH[case.row["kind"]](torch, case, *(_tensor(torch, array) for array in case.arrays[:-1]))
    made = {}

    def run() -> None:
        made["out"] = compute()

    return Peer(run, lambda: _fetched(torch, made["out"], case.arrays[-1].memory.dtype))


def _tensor(torch, array):
    memory = array.memory.view(np.int16) if array.memory.dtype == np.uint16 else array.memory  # torch knew no uint16
    made = torch.from_numpy(memory).cuda()
    made = made.view(getattr(torch, array.dtype)) if array.dtype in _VIEWS else made
    return made.t() if array.view is not array.memory else made


def _fetched(torch, tensor, stored: np.dtype) -> np.ndarray:
    bits = tensor.contiguous().view(torch.uint8).cpu().numpy()
    return bits.view(stored).reshape(tuple(tensor.shape))


def _library(name: str):
    try:
        return import_module(name)
    except ImportError:
        raise Absent from None


# ---- CuPy ------------------------------------------------------------------------------------------------------------
CUPY: dict[str, Callable] = {
    PRODUCT: lambda cupy, a, b, out: lambda: cupy.matmul(a, b, out=out),
    "transpose": lambda cupy, x, out: lambda: cupy.copyto(out, x.T),
    "vector_add": lambda cupy, a, b, out: lambda: cupy.add(a, b, out=out),
}


def _cupy(case) -> Peer:
    if case.row["kind"] not in CUPY or not {"float16", "float32"}.issuperset(case.row["dtypes"]):
        raise Absent
    os.environ.setdefault("CUPY_TF32", "1")  # read when it is imported: products of f32 as ours
    cupy = _library("cupy")
    arrays = [cupy.asarray(array.memory) for array in case.arrays[:-1]]
    out = cupy.empty(case.arrays[-1].memory.shape, case.arrays[-1].memory.dtype)
    return Peer(CUPY[case.row["kind"]](cupy, *arrays, out), lambda: cupy.asnumpy(out))


# ---- cuBLAS: its C interface, cublas_api.h and library_types.h -------------------------------------------------------
_TYPES = {"float32": 0, "float16": 2, "bfloat16": 14}  # cudaDataType
_COMPUTE = {"float32": 77}  # cublasComputeType_t: TF32, else f32
_F32, _DEFAULT, _AS_IT_IS = 68, -1, 0  # CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT, CUBLAS_OP_N
CUBLAS = ("libcublas.so.13", "libcublas.so.12", "libcublas.so.11")


def _cublas(case) -> Peer:
    dtype, out = case.row["dtypes"][0], case.arrays[-1]
    by_columns = any(array.view is not array.memory for array in case.arrays)
    if case.row["kind"] != PRODUCT or dtype not in _TYPES or by_columns:
        raise Absent
    library, handle = _load_cublas(), ctypes.c_void_p()
    _checked(library.cublasCreate_v2(ctypes.byref(handle)))
    address = case.gpu.put(out.memory)
    words = _gemm_words(case, dtype, address)

    def run() -> None:
        _checked(library.cublasGemmEx(handle, *words))

    return Peer(run, lambda: case.gpu.read(address, out.memory.nbytes).view(out.memory.dtype).reshape(out.memory.shape))


def _gemm_words(case, dtype: str, out: int) -> list:
    """cublasGemmEx's arguments behind the handle. It knows columns: the transpose of c is that of b times that of a."""
    (m, k), n = case.arrays[0].view.shape, case.arrays[1].view.shape[1]
    one, nothing = (ctypes.byref(ctypes.c_float(number)) for number in (1, 0))
    a, b, c = (ctypes.c_void_p(address) for address in (*case.addresses[:2], out))
    kind = _TYPES[dtype]
    operands = [b, kind, n, a, kind, k, nothing, c, kind, n]
    return [_AS_IT_IS, _AS_IT_IS, n, m, k, one, *operands, _COMPUTE.get(dtype, _F32), _DEFAULT]


def _load_cublas() -> ctypes.CDLL:
    for path in _cublas_places():
        try:
            return ctypes.CDLL(path)
        except OSError:
            continue
    raise Absent


def _cublas_places() -> Iterator[str]:
    """Where the loader looks, then the wheels of NVIDIA and the toolkit."""
    yield from CUBLAS
    folders = [Path(folder, "nvidia") for folder in {*sys.path, site.getusersitepackages()}]
    for name in CUBLAS:
        yield from (str(path) for folder in folders for path in folder.glob(f"*/lib/{name}"))
        yield f"/usr/local/cuda/lib64/{name}"


def _checked(status: int) -> None:
    if status:
        raise RuntimeError(f"cuBLAS: status {status}")


PEERS: dict[str, Callable[..., Peer]] = {"torch": _torch, "cupy": _cupy, "cublas": _cublas, "copy": _copy}

"""What kernels are compared with, where it is installed: cuBLAS, cuDNN's and FlashAttention's attention, torch, CuPy, Triton; and
a copy of as many bytes.

Each peer computes what the kernel does, in memory of its own, on the default stream; its result is compared like ours.
What cannot be had for a case (no bf16 in CuPy, no epilogue in cuBLAS) is left out.
"""

from __future__ import annotations

import ctypes
import os
import site
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from importlib import import_module, metadata
from pathlib import Path

import numpy as np
import triton_programs

MATMUL, ATTENTION = "matmul", "attention"
COPIED = ("layer_norm", "softmax", "transpose", "vector_add")  # kinds that a copy is the limit of
LIBRARIES = ("torch", "triton", "cupy-cuda13x", "nvidia-cublas", "nvidia-cudnn-cu13", "numpy")
ALL = "all"  # peers
# Types that NumPy stores as bits, and torch's.
_VIEWS = {"bfloat16": "bfloat16", "float8_e4m3fn": "float8_e4m3fn", "scale_e4m3": "float8_e4m3fn"}


class Absent(Exception):
    """Nothing of the kind is installed, or it has nothing for a case."""


@dataclass(frozen=True)
class Peer:
    """``run`` enqueues one launch; ``result`` fetches what the last one made, as it is stored; None: nothing."""

    run: Callable[[], None]
    result: Callable[[], np.ndarray] | None = None
    note: str = ""  # which of its programs it is


def find(case, without: Collection[str] = ()) -> tuple[dict[str, Peer], dict[str, str]]:
    """Peers by name for a ``case.Prepared``, but for some of them or ALL, and why others failed. Each has run once."""
    found, failed = {}, {}
    for name, make in PEERS.items():
        if {name, ALL} & set(without):
            continue
        try:
            found[name] = make(case)
            found[name].run()
        except Absent:
            continue
        except Exception as error:  # whatever a library of any version raises costs that library alone
            found.pop(name, None)
            failed[name] = " ".join(f"{type(error).__name__}: {error}".split())[:200]
    return found, failed


def versions() -> dict[str, str]:
    """Of the libraries that are installed."""
    found = {}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def prepare(row: dict) -> int:
    """Import what a row's kernel is compared with and compile Triton's programs for it; how many there are."""
    for name in ("torch", "cupy"):
        try:
            _library(name)
        except Absent:
            continue
    programs = row["variants"]["full"].get("triton", [])
    try:
        return triton_programs.compile_all(_library("torch"), _library("triton_kernels"), row, programs)
    except Absent:
        return 0


def _copy(case) -> Peer:
    if case.row["kind"] not in COPIED:
        raise Absent
    half = sum(array.memory.nbytes for array in case.arrays) // 2
    source, target = case.gpu.allocate(half), case.gpu.allocate(half)
    return Peer(lambda: case.gpu.copy(target, source, half))


# ---- torch -----------------------------------------------------------------------------------------------------------
def _torch_matmul(torch, case, a, b) -> Callable:
    torch.backends.cuda.matmul.allow_tf32 = True
    if case.row["dtypes"][0] != "float8_e4m3fn":
        return lambda: torch.matmul(a, b)
    one = torch.ones((), device="cuda")
    return lambda: torch._scaled_mm(a, b, one, one, out_dtype=torch.float16)


def _attention(backend: str) -> Callable[[object], Peer]:
    """Attention by one of torch's backends: a name in ``torch.nn.attention.SDPBackend``."""

    def make(case) -> Peer:
        if not case.row["kind"].startswith(ATTENTION):
            raise Absent
        torch = _torch_with_gpu()
        choose = import_module("torch.nn.attention")
        q, k, v = (_tensor(torch, array).unsqueeze(0) for array in case.arrays[:-1])
        scale, causal = case.variant["scalars"][0], case.row["kind"].endswith("causal")
        attend, made = torch.nn.functional.scaled_dot_product_attention, {}

        def run() -> None:
            with choose.sdpa_kernel(getattr(choose.SDPBackend, backend)):
                made["out"] = attend(q, k, v, scale=scale, is_causal=causal).squeeze(0)

        return Peer(run, lambda: _fetched(torch, made["out"], case.arrays[-1].memory.dtype))

    return make


def _torch_layer_norm(torch, case, x, gamma, beta) -> Callable:
    epsilon = case.variant["scalars"][0]
    return lambda: torch.nn.functional.layer_norm(x, (x.shape[1],), gamma, beta, epsilon)


def _torch_gelu(torch, case, a, b, bias) -> Callable:
    return lambda: torch.nn.functional.gelu(torch.addmm(bias, a, b), approximate="tanh")


TORCH: dict[str, Callable] = {
    MATMUL: _torch_matmul,
    "matmul_gelu": _torch_gelu,
    "matmul_residual": lambda torch, case, a, b, more: lambda: torch.addmm(more, a, b),
    "layer_norm": _torch_layer_norm,
    "softmax": lambda torch, case, x: lambda: torch.softmax(x, 1),
    "transpose": lambda torch, case, x: lambda: x.t().contiguous(),
    "vector_add": lambda torch, case, a, b: lambda: torch.add(a, b),
}  # fmt: skip


def _torch(case) -> Peer:
    if case.row["kind"] not in TORCH:
        raise Absent
    torch = _torch_with_gpu()
    compute = TORCH[case.row["kind"]](torch, case, *(_tensor(torch, array) for array in case.arrays[:-1]))
    made = {}

    def run() -> None:
        made["out"] = compute()

    return Peer(run, lambda: _fetched(torch, made["out"], case.arrays[-1].memory.dtype))


def _torch_with_gpu():
    torch = _library("torch")
    if not torch.cuda.is_available():
        raise Absent
    return torch


def _tensor(torch, array):
    made = _stored(torch, array)
    return made.t() if array.view is not array.memory else made


def _stored(torch, array):
    """A tensor as the array lies in memory."""
    memory = array.memory.view(np.int16) if array.memory.dtype == np.uint16 else array.memory  # torch knew no uint16
    made = torch.from_numpy(memory).cuda()
    return made.view(getattr(torch, _VIEWS[array.dtype])) if array.dtype in _VIEWS else made


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
    MATMUL: lambda cupy, a, b, out: lambda: cupy.matmul(a, b, out=out),
    "transpose": lambda cupy, x, out: lambda: cupy.copyto(out, x.T),
    "vector_add": lambda cupy, a, b, out: lambda: cupy.add(a, b, out=out),
}


def _cupy(case) -> Peer:
    if case.row["kind"] not in CUPY or not {"float16", "float32"}.issuperset(case.row["dtypes"]):
        raise Absent
    os.environ.setdefault("CUPY_TF32", "1")  # read when it is imported: f32 matmuls as ours
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
    if case.row["kind"] != MATMUL or dtype not in _TYPES or by_columns:
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


# ---- Triton ----------------------------------------------------------------------------------------------------------
def _triton(case) -> Peer:
    programs = case.variant.get("triton")
    if not programs:
        raise Absent
    torch, kernels = _torch_with_gpu(), _library("triton_kernels")
    tensors = [_stored(torch, array) for array in case.arrays]
    run, note = triton_programs.fastest(kernels, programs, tensors, case.gpu.sm_count, case.gpu.stopwatch())
    shape, stored = case.arrays[-1].memory.shape, case.arrays[-1].memory.dtype
    return Peer(run, lambda: _fetched(torch, tensors[-1], stored).reshape(shape), note)


# Those whose programs are not NVIDIA's come last: one that brings the GPU down leaves the others' results.
PEERS: dict[str, Callable[..., Peer]] = {
    "cublas": _cublas, "cudnn": _attention("CUDNN_ATTENTION"), "flash-attention": _attention("FLASH_ATTENTION"),
    "torch": _torch, "cupy": _cupy, "copy": _copy, "triton": _triton,
}  # fmt: skip

"""Measure prebuilt kernels on a GPU, beside NVIDIA's libraries; needs cuda-core, NumPy and torch, nothing else.

    python run.py FOLDER [--runs 50] [--only PATTERN]... [--table FILE.md]

FOLDER is what ``build.py`` made. Each image's result is checked against a float64 reference before it is timed. A figure
is the median over single launches between CUDA events, after a write of 256 MiB that empties the L2 cache. Products and
attention are compared with torch (cuBLAS, cuDNN or FlashAttention), the others with a device copy of the same bytes.
"""

from __future__ import annotations

import argparse
import ctypes
import datetime
import fnmatch
import json
import statistics
import sys
from pathlib import Path

import numpy as np

FLUSH_BYTES, WARM_UPS = 256 << 20, 5
# Relative to the largest magnitude of the reference: a few units of the result's last place, f16 sums of 4096 terms.
CLOSE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-3, "float8_e4m3fn": 1e-1}
ENCODE = ctypes.CFUNCTYPE(
    ctypes.c_int, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32, ctypes.c_uint64, *[ctypes.c_void_p] * 4, *[ctypes.c_int] * 4,
)  # fmt: skip
MAP_TYPES = {"u8": "UINT8", "f16": "FLOAT16", "bf16": "BFLOAT16", "f32": "FLOAT32"}


# ---- parameters -----------------------------------------------------------------------------------
def parameters(arrays, scalars) -> list[bytes]:
    """cuTile's calling convention: address, lengths and strides of each array, then scalars as f32."""
    packed: list[bytes] = []
    for array in arrays:
        packed.append(np.uint64(array.data_ptr()).tobytes())
        packed += [np.int32(number).tobytes() for number in (*array.shape, *array.stride())]
    return packed + [np.float32(number).tobytes() for number in scalars]


def value_of(entry, packed: list[bytes]) -> int:
    """A number of the manifest: itself, or an integer parameter times a factor."""
    if isinstance(entry, int):
        return entry
    return int.from_bytes(packed[entry["param"]], "little", signed=True) * entry.get("times", 1)


def tensor_map(cuda, row: dict, packed: list[bytes]) -> bytes:
    """The 128 bytes that ``cuTensorMapEncodeTiled`` makes of a row of the manifest, at a multiple of 64 as it wants them."""
    status, function, *_ = cuda.cuGetProcAddress(b"cuTensorMapEncodeTiled", 12000, 0)
    check(status)
    held, place = _aligned(bytes(128))
    check(ENCODE(int(function))(place, *encode_arguments(cuda, row, packed)))
    return ctypes.string_at(place, 128)


def encode_arguments(cuda, row: dict, packed: list[bytes]) -> tuple:
    """What follows the descriptor's place in a call of ``cuTensorMapEncodeTiled``."""
    shape = [value_of(entry, packed) or 1 for entry in row["shape"]]
    strides = [value_of(entry, packed) for entry in row["strides"]]
    return (
        int(getattr(cuda.CUtensorMapDataType, f"CU_TENSOR_MAP_DATA_TYPE_{MAP_TYPES[row['element']]}")),
        len(shape),
        int.from_bytes(packed[row["base"]["param"]], "little"),
        *((ctypes.c_uint64 * 5)(*numbers) for numbers in (shape, strides)),
        *((ctypes.c_uint32 * 5)(*row[name]) for name in ("box", "element_strides")),
        int(cuda.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE),
        int(getattr(cuda.CUtensorMapSwizzle, f"CU_TENSOR_MAP_SWIZZLE_{row['swizzle'].upper()}")),
        int(cuda.CUtensorMapL2promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_128B),
        int(cuda.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE),
    )


def check(status) -> None:
    if int(status):
        raise RuntimeError(f"CUDA: {status}")


class Image:
    """One cubin, ready to launch on the current stream."""

    def __init__(self, cuda, row: dict, by: str, cubin: bytes):
        self.cuda, self.row, self.by = cuda, row, by
        status, self.module = cuda.cuModuleLoadData(cubin)
        check(status)
        status, self.function = cuda.cuModuleGetFunction(self.module, row["name"].encode())
        check(status)
        launch = row["launch"]
        # tileiras' images carry their own launch shape; the driver wants blocks of one thread for them.
        self.threads = launch["threads_per_cta"] if by == "ours" else 1
        self.shared = launch["shared_memory"]["dynamic"] if by == "ours" else 0
        if self.shared:
            limit = cuda.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
            check(cuda.cuFuncSetAttribute(self.function, limit, self.shared)[0])

    def bind(self, packed: list[bytes]) -> None:
        """Keep the parameters of the launches to come."""
        maps = self.row["launch"]["tensor_maps"] if self.by == "ours" else []
        packed = packed + [tensor_map(self.cuda, entry, packed) for entry in maps]
        self.held = [_aligned(data) for data in packed]
        self.pointers = (ctypes.c_void_p * len(packed))(*(address for _, address in self.held))

    def launch(self, stream: int) -> None:
        cuda, config = self.cuda, self.cuda.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = self.row["grid"]
        config.blockDimX, config.blockDimY, config.blockDimZ = self.threads, 1, 1
        config.sharedMemBytes, config.hStream = self.shared, cuda.CUstream(stream)
        check(cuda.cuLaunchKernelEx(config, self.function, ctypes.addressof(self.pointers), 0)[0])


def _aligned(data: bytes) -> tuple[object, int]:
    """A copy at a multiple of 64 bytes, as a tensor map must lie, and its address."""
    held = ctypes.create_string_buffer(len(data) + 64)
    address = -(-ctypes.addressof(held) // 64) * 64
    ctypes.memmove(address, data, len(data))
    return held, address


# ---- problems -------------------------------------------------------------------------------------
def make_arrays(torch, row: dict) -> list:
    """Inputs in (-1, 1), the result filled with NaN; an array whose unit stride is axis 0 is stored by columns."""
    generator = torch.Generator("cuda").manual_seed(0)
    arrays = []
    for shape, dtype, unit in zip(row["shapes"], row["dtypes"], row["unit_strides"]):
        by_columns = unit == 0 and len(shape) == 2
        stored = shape[::-1] if by_columns else shape
        values = torch.rand(stored, generator=generator, device="cuda", dtype=torch.float32) * 2 - 1
        array = values.to(getattr(torch, dtype))
        arrays.append(array.t() if by_columns else array)
    arrays[-1].fill_(float("nan"))
    return arrays


def _attend(torch, arrays, scale: float, causal: bool):
    q, k, v = (array.double() for array in arrays[:3])
    out = torch.empty_like(q)
    for head in range(q.shape[0]):
        scores = q[head] @ k[head].T * scale
        if causal:
            mask = torch.ones_like(scores, dtype=torch.bool).tril()
            scores = scores.masked_fill(~mask, -float("inf"))
        out[head] = scores.softmax(1) @ v[head]
    return out


def _attend_peer(torch, arrays, scale: float, causal: bool):
    q, k, v = (array.unsqueeze(0) for array in arrays[:3])
    return lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, scale=scale, is_causal=causal)


def reference(torch, row: dict, arrays):
    """The result in float64."""
    kind, scalars = row["kind"], row["scalars"]
    if kind == "product":
        return arrays[0].double() @ arrays[1].double()
    if kind.startswith("attention"):
        return _attend(torch, arrays, scalars[0], kind.endswith("causal"))
    if kind == "layer_norm":
        x, gamma, beta = (array.double() for array in arrays[:3])
        return torch.nn.functional.layer_norm(x, x.shape[1:], gamma, beta, scalars[0])
    if kind == "softmax":
        return arrays[0].double().softmax(1)
    return arrays[0].double().T if kind == "transpose" else arrays[0].double() + arrays[1].double()


def peer(torch, row: dict, arrays):
    """(name, function) of what a kernel is compared with; a copy moves as many bytes as the kernel does."""
    kind = row["kind"]
    if kind == "product" and row["dtypes"][0] == "float8_e4m3fn":
        one = torch.ones((), device="cuda")
        return "cuBLAS", lambda: torch._scaled_mm(arrays[0], arrays[1], one, one, out_dtype=arrays[2].dtype)
    if kind == "product":
        return "cuBLAS", lambda: torch.matmul(arrays[0], arrays[1])
    if kind.startswith("attention"):
        return "torch SDPA", _attend_peer(torch, arrays, row["scalars"][0], kind.endswith("causal"))
    half = sum(array.numel() * array.element_size() for array in arrays) // 2
    source, target = (torch.empty(half, dtype=torch.uint8, device="cuda") for _ in range(2))
    return "copy", lambda: target.copy_(source)


# ---- measuring ------------------------------------------------------------------------------------
def median_ms(torch, run, runs: int) -> float:
    """The median time of single calls in milliseconds, each with a cold L2 cache."""
    flush = torch.empty(FLUSH_BYTES, dtype=torch.uint8, device="cuda")
    for _ in range(WARM_UPS):
        run()
    times = []
    for _ in range(runs):
        flush.zero_()
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        run()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end))
    return statistics.median(times)


def measure(torch, cuda, row: dict, folder: Path, runs: int) -> dict:
    """Times by image and by peer; a wrong result is a time of None."""
    arrays = make_arrays(torch, row)
    want = reference(torch, row, arrays)
    packed = parameters(arrays, row["scalars"])
    stream = torch.cuda.current_stream().cuda_stream
    times: dict[str, float | None] = {}
    for by in row["images"]:
        image = Image(cuda, row, by, (folder / f"{row['name']}.{by}.cubin").read_bytes())
        image.bind(packed)
        arrays[-1].fill_(float("nan"))
        image.launch(stream)
        torch.cuda.synchronize()
        error = float((arrays[-1].double() - want).abs().max() / want.abs().max())
        right = error <= CLOSE[row["dtypes"][-1]]
        print(f"{row['name']:32} {by:9} error {error:.1e} {'' if right else 'WRONG'}", flush=True)
        times[by] = median_ms(torch, lambda image=image: image.launch(stream), runs) if right else None
    name, run = peer(torch, row, arrays)
    times[name] = median_ms(torch, run, runs)
    return times


def table(rows: list[tuple[dict, dict]], head: str) -> str:
    """A Markdown table: times in ms, and how much faster ours is than each other one."""
    lines = [head, "", "| kernel | ours ms | TFLOP/s | tileiras ms | ours is faster | peer ms | of the peer |"]
    lines.append("|---|---|---|---|---|---|---|")
    for row, times in rows:
        ours, theirs = times.get("ours"), times.get("tileiras")
        name = next(key for key in times if key not in ("ours", "tileiras"))
        rate = f"{row['work'] / ours / 1e9:.0f}" if ours and row["work"] else ""
        cells = [_number(ours), rate, _number(theirs), _ratio(theirs, ours), f"{_number(times[name])} ({name})"]
        lines.append(f"| {row['name']} | " + " | ".join([*cells, _ratio(times[name], ours)]) + " |")
    return "\n".join(lines) + "\n"


def _number(value: float | None) -> str:
    return "wrong or missing" if value is None else f"{value:.3f}"


def _ratio(other: float | None, ours: float | None) -> str:
    return f"{other / ours:.2f}x" if other and ours else ""


def main() -> int:
    options = _options()
    import torch
    from cuda.bindings import driver as cuda

    torch.backends.cuda.matmul.allow_tf32 = True
    torch.zeros(1, device="cuda")  # makes the context that everything below uses
    plan = json.loads((options.folder / "plan.json").read_text())
    chosen = [
        row
        for row in plan["kernels"]
        if any(fnmatch.fnmatch(row["name"], pattern) for pattern in options.only or ["*"])
    ]
    rows = [(row, measure(torch, cuda, row, options.folder, options.runs)) for row in chosen]
    versions = ", ".join(f"{name} {version}" for name, version in plan["versions"].items())
    head = f"{torch.cuda.get_device_name()}, {datetime.date.today()}, torch {torch.__version__}, {versions}"
    text = table(rows, head)
    print(text)
    if options.table:
        options.table.write_text(text)
    return int(any(times.get("ours") is None for _, times in rows))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--only", action="append", metavar="PATTERN", help="kernels whose names match")
    parser.add_argument("--table", type=Path, help="write the table there too")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())

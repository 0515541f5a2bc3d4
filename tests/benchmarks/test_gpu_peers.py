"""What the GPU runner compares with: every library is handed the same problem, runs once before it is timed, and its result is
checked like ours.

The libraries are stand-ins on NumPy, and torch itself on the CPU where it is installed; GPU memory is the host's."""

import ctypes
import sys
import types
from contextlib import contextmanager
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

FOLDER = Path(__file__).resolve().parents[2] / "benchmarks" / "gpu"
F16, F32, BF16, FP8 = "float16", "float32", "bfloat16", "float8_e4m3fn"
M, N, K = 48, 32, 64
# Kind -> shapes of its arrays, scalars.
PROBLEMS = {
    "matmul": ([[M, K], [K, N], [M, N]], []),
    "matmul_gelu": ([[M, K], [K, N], [N], [M, N]], []),
    "matmul_residual": ([[M, K], [K, N], [M, N], [M, N]], []),
    "attention": ([[2, 40, 16]] * 4, [0.25]),
    "attention_causal": ([[2, 40, 16]] * 4, [0.25]),
    "layer_norm": ([[M, N], [N], [N], [M, N]], [1e-5]),
    "softmax": ([[M, N]] * 2, []),
    "transpose": ([[M, N], [N, M]], []),
    "vector_add": ([[M]] * 3, []),
}


@pytest.fixture(scope="module")
def gpu_modules():
    """The modules of benchmarks/gpu that need no GPU."""
    sys.path.insert(0, str(FOLDER))
    names = ("peers", "problems", "triton_programs")
    try:
        yield {name: __import__(name) for name in names}
    finally:
        sys.path.remove(str(FOLDER))
        for name in names:
            sys.modules.pop(name, None)


class HostGpu:
    """Memory of the host, at its own addresses."""

    def __init__(self):
        self.held = {}

    def put(self, data):
        copy = data.copy()
        self.held[copy.ctypes.data] = copy
        return copy.ctypes.data

    def allocate(self, size):
        return self.put(np.zeros(size, np.uint8))

    def read(self, address, size):
        return np.frombuffer(ctypes.string_at(address, size), np.uint8)

    def copy(self, target, source, size):
        ctypes.memmove(target, source, size)


def prepare(problems, kind, dtype=F16, out=None, by_columns=False):
    """A prepared case, and its reference."""
    shapes, scalars = PROBLEMS[kind]
    dtypes = [dtype] * (len(shapes) - 1) + [out or dtype]
    row = {"kind": kind, "dtypes": dtypes, "unit_strides": [-1, 0 if by_columns else -1, *[-1] * (len(shapes) - 2)]}
    variant = {"shapes": shapes, "scalars": scalars}
    arrays, gpu = problems.make_arrays(row, variant), HostGpu()
    addresses = [gpu.put(array.memory) for array in arrays]
    case = types.SimpleNamespace(row=row, variant=variant, arrays=arrays, addresses=addresses, gpu=gpu)
    return case, problems.Reference(row, variant, arrays)


def faults(peer, reference):
    """What is wrong with the result of a peer's second launch."""
    peer.run()
    peer.run()
    return reference.faults(peer.result())


# ---- CuPy ------------------------------------------------------------------------------------------------------------
@pytest.fixture
def cupy(monkeypatch):
    names = ("empty", "matmul", "copyto", "add")
    module = types.SimpleNamespace(**{name: getattr(np, name) for name in names}, asarray=np.array, asnumpy=np.array)
    monkeypatch.setitem(sys.modules, "cupy", module)
    monkeypatch.delenv("CUPY_TF32", raising=False)
    return module


@pytest.mark.parametrize("dtype", [F16, F32])
@pytest.mark.parametrize("kind", ["matmul", "transpose", "vector_add"])
def test_cupy_computes_the_same(gpu_modules, cupy, kind, dtype):
    case, reference = prepare(gpu_modules["problems"], kind, dtype)
    assert faults(gpu_modules["peers"].find(case)[0]["cupy"], reference) == []


@pytest.mark.parametrize(("kind", "dtype"), [("matmul", BF16), ("matmul_gelu", F16), ("softmax", F16)])
def test_cupy_is_left_out_where_it_has_nothing(gpu_modules, cupy, kind, dtype):
    assert "cupy" not in gpu_modules["peers"].find(prepare(gpu_modules["problems"], kind, dtype)[0])[0]


def test_a_library_that_fails_says_why(gpu_modules, cupy):
    def asarray(_):
        raise RuntimeError("no kernel image\nis available")

    cupy.asarray = asarray
    found, failed = gpu_modules["peers"].find(prepare(gpu_modules["problems"], "vector_add")[0])
    assert failed == {"cupy": "RuntimeError: no kernel image is available"} and "copy" in found


# ---- cuBLAS ----------------------------------------------------------------------------------------------------------
CUBLAS_TYPES = {0: np.float32, 2: np.float16, 14: np.uint16}  # cudaDataType


class Cublas:
    """cublasGemmEx of column-major matrices without transposes, as the cuBLAS documentation has it."""

    def __init__(self, decode):
        self.decode, self.computes = decode, []

    def cublasCreate_v2(self, handle):
        return 0

    def cublasGemmEx(self, handle, ta, tb, m, n, k, alpha, a, ka, lda, b, kb, ldb, beta, c, kc, ldc, compute, way):
        assert (ta, tb, way, alpha._obj.value, beta._obj.value) == (0, 0, -1, 1, 0)
        assert lda >= m and ldb >= k and ldc >= m
        self.computes.append(compute)
        left, right, out = (self._matrix(*one) for one in ((a, ka, lda, k), (b, kb, ldb, n), (c, kc, ldc, n)))
        made = self.decode(left[:m]).astype(np.float64) @ self.decode(right[:k])
        out[:m] = made if kc != 14 else (made.astype(np.float32).view(np.uint32) + 0x8000 >> 16).astype(np.uint16)
        return 0

    def _matrix(self, address, kind, leading, columns):
        size = leading * columns * np.dtype(CUBLAS_TYPES[kind]).itemsize
        data = (ctypes.c_uint8 * size).from_address(address.value)
        return np.frombuffer(data, CUBLAS_TYPES[kind]).reshape((leading, columns), order="F")


@pytest.mark.parametrize(("dtype", "compute"), [(F16, 68), (BF16, 68), (F32, 77)])
def test_cublas_computes_the_same(gpu_modules, monkeypatch, dtype, compute):
    peers, problems = gpu_modules["peers"], gpu_modules["problems"]
    library = Cublas(problems.FORMATS[dtype].decode)
    monkeypatch.setattr(peers, "_load_cublas", lambda: library)
    case, reference = prepare(problems, "matmul", dtype)
    assert faults(peers.find(case)[0]["cublas"], reference) == []
    assert library.computes == [compute] * 3


def test_cublas_is_left_out_where_it_has_nothing(gpu_modules, monkeypatch):
    peers, problems = gpu_modules["peers"], gpu_modules["problems"]
    monkeypatch.setattr(peers, "_load_cublas", lambda: pytest.fail("it is not to be loaded"))
    for case, _ in (prepare(problems, "softmax"), prepare(problems, "matmul", FP8, F16, by_columns=True)):
        assert "cublas" not in peers.find(case)[0]


def test_cublas_is_looked_for_among_wheels(gpu_modules, monkeypatch, tmp_path):
    library = tmp_path / "nvidia" / "cu13" / "lib" / "libcublas.so.13"
    library.parent.mkdir(parents=True)
    library.touch()
    monkeypatch.syspath_prepend(str(tmp_path))
    assert str(library) in list(gpu_modules["peers"]._cublas_places())


# ---- copies and torch ------------------------------------------------------------------------------------------------
def test_a_copy_moves_half_of_the_bytes(gpu_modules):
    case, _ = prepare(gpu_modules["problems"], "vector_add", F32)
    moved = []
    case.gpu.copy = lambda target, source, size: moved.append(size)
    copy = gpu_modules["peers"].find(case)[0]["copy"]
    copy.run()
    assert moved == [3 * M * 4 // 2] * 2 and copy.result is None
    assert "copy" not in gpu_modules["peers"].find(prepare(gpu_modules["problems"], "matmul")[0])[0]


class Tensor(np.ndarray):
    """What the peers ask of a tensor."""

    def cuda(self):
        return self

    def cpu(self):
        return self

    def contiguous(self):
        return np.ascontiguousarray(self).view(Tensor)

    def numpy(self):
        return np.asarray(self)

    def t(self):
        return self.T

    def unsqueeze(self, axis):
        return np.expand_dims(self, axis)


def _rounded(like, values):
    return np.asarray(values).astype(like.dtype).view(Tensor)


def _wide(*tensors):
    return [np.asarray(one).astype(np.float64) for one in tensors]


def _softmax(scores):
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def _attend(q, k, v, *, scale, is_causal):
    left, right, values = _wide(q, k, v)
    scores = left @ right.swapaxes(-1, -2) * scale
    hidden = np.triu(np.ones(scores.shape[-2:], bool), 1) & is_causal
    return _rounded(q, _softmax(np.where(hidden, -np.inf, scores)) @ values)


def _layer_norm(x, shape, gamma, beta, epsilon):
    wide, factors, shifts = _wide(x, gamma, beta)
    assert shape == (x.shape[-1],)
    centered = wide - wide.mean(-1, keepdims=True)
    return _rounded(x, centered / np.sqrt((centered**2).mean(-1, keepdims=True) + epsilon) * factors + shifts)


def _gelu(x, approximate):
    assert approximate == "tanh"
    [wide] = _wide(x)
    return _rounded(x, wide / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (wide + 0.044715 * wide**3))))


def _addmm(more, a, b):
    added, left, right = _wide(more, a, b)
    return _rounded(a, added + left @ right)


def stand_in():
    """torch's functions as its documentation has them."""
    functional = types.SimpleNamespace(scaled_dot_product_attention=_attend, layer_norm=_layer_norm, gelu=_gelu)
    return types.SimpleNamespace(
        cuda=types.SimpleNamespace(is_available=lambda: True), nn=types.SimpleNamespace(functional=functional),
        backends=types.SimpleNamespace(cuda=types.SimpleNamespace(matmul=types.SimpleNamespace())),
        from_numpy=lambda array: array.view(Tensor), uint8=np.uint8, add=np.add, addmm=_addmm,
        matmul=lambda a, b: _rounded(a, np.matmul(*_wide(a, b))), softmax=lambda x, axis: _rounded(x, _softmax(*_wide(x))),
    )  # fmt: skip


@pytest.fixture(params=["stand-in", *(["torch"] if find_spec("torch") else [])])
def torch(request, monkeypatch):
    """torch on the CPU where it is installed, and a stand-in everywhere."""
    if request.param == "stand-in":
        monkeypatch.setitem(sys.modules, "torch", stand_in())
        return request.param
    found = import_module("torch")
    monkeypatch.setattr(found.cuda, "is_available", lambda: True)
    monkeypatch.setattr(found.Tensor, "cuda", lambda tensor: tensor)
    return request.param


@pytest.mark.parametrize("kind", [kind for kind in PROBLEMS if not kind.startswith("attention")])
def test_torch_computes_the_same(gpu_modules, torch, kind):
    case, reference = prepare(gpu_modules["problems"], kind)
    found, failed = gpu_modules["peers"].find(case)
    assert "torch" not in failed and faults(found["torch"], reference) == []


@pytest.mark.parametrize(("dtype", "by_columns"), [(F32, False), (F16, True), (BF16, False)])
def test_torch_computes_matmuls_of_other_types(gpu_modules, torch, dtype, by_columns):
    case, reference = prepare(gpu_modules["problems"], "matmul", dtype, by_columns=by_columns)
    found, failed = gpu_modules["peers"].find(case)
    if (torch, dtype) == ("stand-in", BF16):  # NumPy has no such type
        assert "bfloat16" in failed["torch"]
    else:
        assert faults(found["torch"], reference) == []


# ---- attention by name ---------------------------------------------------------------------------------------------------
NAMED = {"cudnn": "CUDNN_ATTENTION", "flash-attention": "FLASH_ATTENTION"}


@pytest.fixture
def backends(monkeypatch):
    """Stand-ins for torch and ``torch.nn.attention``; the backends that were chosen while attention was computed."""
    chosen, inside = [], []

    @contextmanager
    def sdpa_kernel(backend):
        inside.append(backend)
        yield
        inside.pop()

    module = stand_in()
    attend = module.nn.functional.scaled_dot_product_attention

    def recording(*arrays, **words):
        chosen.append(inside[-1])
        return attend(*arrays, **words)

    module.nn.functional.scaled_dot_product_attention = recording
    monkeypatch.setitem(sys.modules, "torch", module)
    names = types.SimpleNamespace(**{name: name for name in NAMED.values()})
    monkeypatch.setitem(
        sys.modules, "torch.nn.attention", types.SimpleNamespace(sdpa_kernel=sdpa_kernel, SDPBackend=names)
    )
    return chosen


@pytest.mark.parametrize("kind", ["attention", "attention_causal"])
@pytest.mark.parametrize("name", NAMED)
def test_attention_is_that_of_the_library_that_is_named(gpu_modules, backends, kind, name):
    case, reference = prepare(gpu_modules["problems"], kind)
    found, failed = gpu_modules["peers"].find(case)
    assert failed == {} and set(NAMED) <= set(found) and "torch" not in found
    backends.clear()
    assert faults(found[name], reference) == [] and backends == [NAMED[name]] * 2


def test_a_backend_that_torch_was_built_without_costs_itself(gpu_modules, backends):
    del sys.modules["torch.nn.attention"].SDPBackend.CUDNN_ATTENTION
    found, failed = gpu_modules["peers"].find(prepare(gpu_modules["problems"], "attention")[0])
    assert list(failed) == ["cudnn"] and "flash-attention" in found


def test_peers_that_are_not_wanted_are_left_out(gpu_modules, cupy):
    find, case = gpu_modules["peers"].find, prepare(gpu_modules["problems"], "vector_add", F32)[0]
    assert {"cupy", "copy"} <= set(find(case)[0])
    assert "cupy" not in find(case, ["cupy"])[0] and find(case, ["all"]) == ({}, {})


# ---- Triton --------------------------------------------------------------------------------------------------------------
class Kernel:
    """A program of Triton's, called as its users call it; ``compute`` gets the arguments by name."""

    def __init__(self, compute):
        self.compute, self.calls, self.compiled = compute, [], []

    def __getitem__(self, grid):
        def launch(**words):
            self.calls.append((grid, words["num_warps"], words["num_stages"]))
            self.compute(**words)

        return launch

    def warmup(self, grid, **words):
        self.compiled.append((words["num_warps"], words["num_stages"]))


def add(a, b, c, N, num_warps, num_stages):
    if num_warps > 8:
        raise RuntimeError("out of resources")
    c[...] = a + b


def transpose(x, out, **words):
    assert x.box == [64, 64] and out.base.shape == (N, M)
    out.base[...] = x.base.T


def program(kernel, arguments, configurations, **more):
    told = {"constants": {"N": 64}, "grid": [9, 1, 1], "boxes": {}, "is_persistent": False}
    return {"kernel": kernel, "arguments": arguments, "configurations": configurations, **told, **more}


@pytest.fixture
def triton(monkeypatch):
    """Stand-ins for torch, Triton's descriptors and the programs."""
    kernels = types.SimpleNamespace(vector_add=Kernel(add), transpose=Kernel(transpose))
    made = types.SimpleNamespace(from_tensor=lambda tensor, box: types.SimpleNamespace(base=tensor, box=box))
    monkeypatch.setitem(sys.modules, "torch", stand_in())
    monkeypatch.setitem(sys.modules, "triton_kernels", kernels)
    monkeypatch.setitem(sys.modules, "triton.tools.tensor_descriptor", types.SimpleNamespace(TensorDescriptor=made))
    return kernels


def told(*places, shape):
    return {name: {"array": place, "shape": shape} for place, name in enumerate(places)}


def with_stopwatch(case, times):
    """A case on a GPU of two SMs, where launches take these times."""
    left = iter(times)

    def measure(run):
        run()
        return next(left)

    case.gpu.stopwatch, case.gpu.sm_count = lambda: measure, 2
    return case


def test_the_fastest_of_tritons_programs_is_taken(gpu_modules, triton):
    case, reference = prepare(gpu_modules["problems"], "vector_add", F32)
    configurations = [[4, 1], [16, 1], [8, 1]]
    arguments = told("a", "b", "c", shape=[M])
    case.variant["triton"] = [program("vector_add", arguments, configurations, is_persistent=True)]
    found, failed = gpu_modules["peers"].find(with_stopwatch(case, [3.0, 2.0, 3.0, 1.0, 5.0, 5.0]))
    assert "triton" not in failed and found["triton"].note == "vector_add 64 warps 8 stages 1"
    triton.vector_add.calls.clear()
    assert faults(found["triton"], reference) == []
    assert triton.vector_add.calls == [((2, 1, 1), 8, 1)] * 2


def test_descriptors_are_those_of_the_box(gpu_modules, triton):
    case, reference = prepare(gpu_modules["problems"], "transpose")
    arguments = {"x": {"array": 0, "shape": [M, N]}, "out": {"array": 1, "shape": [N, M]}}
    boxes = {"x": [64, 64], "out": [64, 64]}
    case.variant["triton"] = [program("transpose", arguments, [[4, 1]], boxes=boxes)]
    found, failed = gpu_modules["peers"].find(with_stopwatch(case, [1.0] * 3))
    assert "triton" not in failed and faults(found["triton"], reference) == []


def test_no_program_that_runs_is_reported(gpu_modules, triton):
    case, _ = prepare(gpu_modules["problems"], "vector_add", F32)
    case.variant["triton"] = [program("vector_add", told("a", "b", "c", shape=[M]), [[16, 1]])]
    found, failed = gpu_modules["peers"].find(with_stopwatch(case, []))
    assert failed["triton"] == "NoProgram: RuntimeError: out of resources" and "triton" not in found


def test_programs_are_compiled_before_they_are_timed(gpu_modules, triton):
    made = []
    torch = sys.modules["torch"]
    torch.float32, torch.empty = (
        "f32",
        lambda shape, **words: made.append((shape, words)) or np.zeros(shape, np.float32),
    )
    arguments = told("a", "b", "c", shape=[M])
    row = {"dtypes": [F32] * 3, "variants": {"full": {"triton": [program("vector_add", arguments, [[4, 1], [8, 1]])]}}}
    assert gpu_modules["peers"].prepare(row) == 2 and triton.vector_add.compiled == [(4, 1), (8, 1)]
    assert made == [([M], {"dtype": "f32", "device": "cuda"})] * 3
    assert gpu_modules["peers"].prepare({"dtypes": [], "variants": {"full": {}}}) == 0

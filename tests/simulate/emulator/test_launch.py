"""launch on artifacts, run_ptx, and real PTX from LLVM with libdevice's mathematics."""

import importlib.util
import math
from pathlib import Path
from types import SimpleNamespace

import llvmlite.binding as llvm
import numpy as np
import pytest
from ptx_kernels import kernel

from tileiras_build.simulate import emulator


def pointers(memory, *arrays):
    return [memory.map_array(a).to_bytes(8, "little") for a in arrays]


SQUARE = """.version 9.0
.target sm_90
.address_size 64
.visible .entry square(.param .u64 p, .param .u32 n) {
 .reg .b32 r<6>; .reg .b64 d<3>; .reg .pred q;
 ld.param.u64 d0, [p]; ld.param.u32 r0, [n]; mov.u32 r1, %ctaid.x; mov.u32 r2, %ntid.x; mov.u32 r3, %tid.x;
 mad.lo.u32 r4, r1, r2, r3; setp.ge.u32 q, r4, r0; @q ret; mul.wide.u32 d1, r4, 4; add.u64 d2, d0, d1;
 ld.global.u32 r5, [d2]; mul.lo.u32 r5, r5, r5; st.global.u32 [d2], r5; ret; }"""


def test_launch_reads_threads_and_shared_memory_from_the_manifest():
    kernels = {"square": {"param_sizes": [8, 4], "threads_per_cta": 96, "shared_memory": {"static": 0, "dynamic": 0}}}
    artifacts = SimpleNamespace(ptx=SQUARE, manifest={"kernels": kernels})
    a = np.arange(500, dtype=np.uint32)
    memory = emulator.Memory()
    address = a.__array_interface__["data"][0]
    memory.map(address, a.nbytes)
    emulator.launch(
        artifacts, "square", (6, 1, 1), [address.to_bytes(8, "little"), (500).to_bytes(4, "little")], memory=memory
    )
    np.testing.assert_array_equal(a, np.arange(500) ** 2)


def test_programs_are_loaded_once():
    from tileiras_build.simulate.emulator.ptx.program import load

    assert load(SQUARE, "square") is load(SQUARE, "square")


def test_overlapping_regions_are_merged():
    memory = emulator.Memory()
    memory.map(1000, 10)
    memory.map(2000, 10)
    memory.map(1005, 20)
    assert [(r.base, r.size) for r in memory.regions] == [(1000, 25), (2000, 10)]
    assert memory.find(1024).base == 1000 and memory.find(1025) is None


def test_large_grids_run_in_batches():
    out = np.zeros(1000, np.uint32)
    memory = emulator.Memory()
    ptx = kernel(
        "mov.u32 t0, %ctaid.x; mul.wide.u32 u1, t0, 4; add.u64 u1, u1, u0; st.global.u32 [u1], t0;", threads=128
    )
    emulator.run_ptx(ptx, "k", 1000, None, pointers(memory, out), memory=memory)
    np.testing.assert_array_equal(out, np.arange(1000))


# -- LLVM --------------------------------------------------------------------------------------------
def libdevice() -> Path | None:
    spec = importlib.util.find_spec("nvidia")
    for root in spec.submodule_search_locations if spec else []:
        for path in Path(root).glob("*/nvvm/libdevice/libdevice.10.bc"):
            return path
    return None


def compile_ir(text: str, cpu: str = "sm_90") -> str:
    """PTX of an LLVM module, with what it needs of libdevice linked in."""
    llvm.initialize_all_targets()
    llvm.initialize_all_asmprinters()
    module = llvm.parse_assembly(text)
    if "__nv_" in text:
        library = llvm.parse_bitcode(libdevice().read_bytes())
        library.triple, library.data_layout = module.triple, module.data_layout
        for function in library.functions:
            if not function.is_declaration and function.name.startswith("__"):
                function.linkage = "linkonce_odr"
        module.link_in(library)
    machine = llvm.Target.from_triple("nvptx64-nvidia-cuda").create_target_machine(cpu=cpu, opt=3, features="+ptx80")
    options = llvm.create_pipeline_tuning_options(3)
    builder = llvm.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)
    return machine.emit_assembly(module)


UNARY = """target triple = "nvptx64-nvidia-cuda"
declare {type} @__nv_{name}({args})
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
define ptx_kernel void @k(ptr addrspace(1) %x, ptr addrspace(1) %z, ptr addrspace(1) %y, i32 %n) {{
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %b = mul i32 %c, 128
  %i = add i32 %b, %t
  %in = icmp slt i32 %i, %n
  br i1 %in, label %do, label %end
do:
  %p = getelementptr {type}, ptr addrspace(1) %x, i32 %i
  %v = load {type}, ptr addrspace(1) %p
  %pz = getelementptr {type}, ptr addrspace(1) %z, i32 %i
  %w = load {type}, ptr addrspace(1) %pz
  %r = call {type} @__nv_{name}({values})
  %q = getelementptr {type}, ptr addrspace(1) %y, i32 %i
  store {type} %r, ptr addrspace(1) %q
  br label %end
end:
  ret void
}}
"""

# name -> (reference, low, high, units in the last place that the CUDA guide allows)
FUNCTIONS = {
    "expf": (math.exp, -80, 80, 2), "logf": (math.log, 1e-3, 1e6, 2), "sinf": (math.sin, -1e5, 1e5, 2),
    "cosf": (math.cos, -1e5, 1e5, 2), "tanhf": (math.tanh, -5, 5, 2), "erff": (math.erf, -3, 3, 2),
    "log2f": (math.log2, 1e-3, 1e6, 1), "powf": (math.pow, 0.1, 20, 4), "atan2f": (math.atan2, -10, 10, 3),
    "exp": (math.exp, -600, 600, 1), "log": (math.log, 1e-5, 1e9, 1), "sin": (math.sin, -1e9, 1e9, 2),
    "cos": (math.cos, -1e9, 1e9, 2), "pow": (math.pow, 0.1, 50, 2), "erf": (math.erf, -4, 4, 2),
    "tan": (math.tan, -1e7, 1e7, 2), "cbrt": (lambda x: float(np.cbrt(np.longdouble(x))), -1e5, 1e5, 1), "fmod": (math.fmod, -1e5, 1e5, 0),
}  # fmt: skip
BINARY = {"pow", "powf", "atan2f", "fmod"}


@pytest.mark.skipif(libdevice() is None, reason="no libdevice in this environment")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_libdevice(name):
    """Arguments that reach the slow paths included; accuracy as the CUDA programming guide states."""
    function, low, high, ulps = FUNCTIONS[name]
    single = name.endswith("f") and name not in ("erf",)
    dtype, type_ = (np.float32, "float") if single else (np.float64, "double")
    rng = np.random.default_rng(0)
    x = rng.uniform(low, high, 300).astype(dtype)
    z = rng.uniform(0.5, 5, 300).astype(dtype)
    y = np.zeros_like(x)
    two = name in BINARY
    text = UNARY.format(
        type=type_,
        name=name,
        args=f"{type_}, {type_}" if two else type_,
        values=f"{type_} %v, {type_} %w" if two else f"{type_} %v",
    )
    memory = emulator.Memory()
    params = [*pointers(memory, x, z, y), (300).to_bytes(4, "little")]
    emulator.run_ptx(compile_ir(text), "k", 3, 128, params, memory=memory)
    want = np.array([function(float(a), float(b)) if two else function(float(a)) for a, b in zip(x, z)])
    bound = (ulps + 0.5) * np.spacing(np.abs(want).astype(dtype)).astype(np.float64)
    assert (np.abs(y.astype(np.float64) - want) <= bound).all(), np.abs(y - want).max()

"""What MLIR's standard dialects leave in hand-written IR goes to LLVM, and computes what it says."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import IntegerAttr

from tests.golden import GoldenCase, split_file
from tests.simulate.emulator.ptx_kernels import aligned
from tileiras_build.core.errors import TileirasError
from tileiras_build.ir.dialects.nvgpu.dialect import NVGPU
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ll_to_ptx import lower
from tileiras_build.pipeline.opt import find_pass, llvm_ir, parse_module, run, transform
from tileiras_build.pipeline.pass_manager import run_passes
from tileiras_build.pipeline.tile_ir_text_format import render
from tileiras_build.pipeline.tileas_to_ll.attach_nvvm_target import CAPABILITY
from tileiras_build.simulate import emulator
from tileiras_build.target.targets import find_target

PASSES = ["nv-tile-ir-convert-target-to-nvvm", "convert-nvgpu-and-gpu-to-nvvm"]


def module(body: str, arguments: str = "%o: !llvm.ptr<1>, %x: i32", more: str = "") -> str:
    return (
        "gpu.module @m attributes {nv_tileaa.compute_capability = 90 : i32} {\n"
        f"{more}\ngpu.func @k({arguments}) kernel {{\n{body}\ngpu.return\n}}\n}}"
    )


def ptx_of(text: str, index_width: int = 64, sm: str = "90") -> str:
    job = Job(find_target(sm), index_width=index_width)
    return lower(llvm_ir(transform(text, PASSES, job), job), job)


def launch(
    text: str, out: np.ndarray, *values: np.generic | np.ndarray, threads: int = 1, width: int = 64, sm: str = "90"
) -> np.ndarray:
    """What kernel ``k`` leaves in its first argument; the others are scalars, or arrays that it reads."""
    memory = emulator.Memory()
    arrays = [aligned(value) if isinstance(value, np.ndarray) else value for value in (out, *values)]
    given = [
        memory.map_array(one).to_bytes(8, "little") if isinstance(one, np.ndarray) else one.tobytes() for one in arrays
    ]
    emulator.run_ptx(ptx_of(text, width, sm), "k", 1, (threads, 1, 1), given, memory=memory)
    return arrays[0]


STORE = "llvm.store %r, %o : {}, !llvm.ptr<1>"
# Each leaves %r, an i32, and reads %x: 7.
COMPUTED = {
    "index arithmetic": ("%i = arith.index_cast %x : i32 to index\n%c = arith.constant 5 : index\n"
                         "%s = arith.muli %i, %c : index\n%q = arith.index_cast %s : index to i32\n%r = arith.addi %q, %x : i32", 42),
    "division up": ("%c = arith.constant 2 : i32\n%r = arith.ceildivui %x, %c : i32", 4),
    "division up of a negative": ("%c = arith.constant -2 : i32\n%r = arith.ceildivsi %x, %c : i32", -3),
    "division down of a negative": ("%c = arith.constant -2 : i32\n%r = arith.floordivsi %x, %c : i32", -4),
    "division down": ("%c = arith.constant 2 : i32\n%r = arith.floordivsi %x, %c : i32", 3),
    "zeros": ("%r = math.ctlz %x : i32", 29),
    "zeros behind": ("%c = arith.constant 24 : i32\n%r = math.cttz %c : i32", 3),
    "ones": ("%r = math.ctpop %x : i32", 3),
    "a matrix": ("%m = arith.constant dense<[[1, 2], [3, 4], [5, 6]]> : vector<3x2xi32>\n"
                 "%b = vector.broadcast %x : i32 to vector<3x2xi32>\n%s = arith.muli %m, %b : vector<3x2xi32>\n"
                 "%r = vector.extract %s[1, 1] : i32 from vector<3x2xi32>", 28),
    "a row of a matrix": ("%m = arith.constant dense<[[1, 2], [3, 4]]> : vector<2x2xi32>\n"
                          "%v = vector.extract %m[1] : vector<2xi32> from vector<2x2xi32>\n"
                          "%n = vector.insert %v, %m[0] : vector<2xi32> into vector<2x2xi32>\n"
                          "%p = vector.insert %x, %n[0, 1] : i32 into vector<2x2xi32>\n"
                          "%a = vector.extract %p[0, 0] : i32 from vector<2x2xi32>\n"
                          "%c = vector.extract %p[0, 1] : i32 from vector<2x2xi32>\n%r = arith.muli %a, %c : i32", 21),
    "a lane by a number": ("%i = arith.index_cast %x : i32 to index\n"
                           "%v = arith.constant dense<[10, 11, 12, 13, 14, 15, 16, 17]> : vector<8xi32>\n"
                           "%r = vector.extract %v[%i] : i32 from vector<8xi32>", 17),
    "rows again": ("%v = arith.constant dense<[[3, 4]]> : vector<1x2xi32>\n"
                   "%b = vector.broadcast %v : vector<1x2xi32> to vector<2x2x2xi32>\n"
                   "%r = vector.extract %b[1, 1, 1] : i32 from vector<2x2x2xi32>", 4),
    "a shuffle": ("%v = arith.constant dense<[1, 2]> : vector<2xi32>\n%w = arith.constant dense<[3, 4]> : vector<2xi32>\n"
                  "%s = vector.shuffle %v, %w [3, 0, 2] : vector<2xi32>, vector<2xi32>\n"
                  "%r = vector.extract %s[0] : i32 from vector<3xi32>", 4),
    "bits of rows": ("%m = arith.constant dense<[[1, 2], [3, 4]]> : vector<2x2xi16>\n"
                     "%c = vector.bitcast %m : vector<2x2xi16> to vector<2x1xi32>\n"
                     "%r = vector.extract %c[1, 0] : i32 from vector<2x1xi32>", 3 + (4 << 16)),
    "a choice of rows": ("%m = arith.constant dense<[[1, 2], [3, 9]]> : vector<2x2xi32>\n"
                         "%b = vector.broadcast %x : i32 to vector<2x2xi32>\n%c = arith.cmpi slt, %x, %x : i32\n"
                         "%s = arith.select %c, %m, %b : vector<2x2xi32>\n"
                         "%r = vector.extract %s[1, 1] : i32 from vector<2x2xi32>", 7),
    "a loop": ("%z = arith.constant 0 : index\n%e = arith.constant 2 : index\n%n = arith.index_cast %x : i32 to index\n"
               "%f = arith.constant 0 : i32\n%r = scf.for %i = %z to %n step %e iter_args(%a = %f) -> (i32) {\n"
               "%j = arith.index_cast %i : index to i32\n%s = arith.addi %a, %j : i32\nscf.yield %s : i32\n}", 12),
    "a condition": ("%c = arith.constant 6 : i32\n%p = arith.cmpi sgt, %x, %c : i32\n%r = scf.if %p -> (i32) {\n"
                    "scf.yield %x : i32\n} else {\nscf.yield %c : i32\n}", 7),
    "a while loop": ("%one = arith.constant 1 : i32\n%r = scf.while (%a = %x) : (i32) -> i32 {\n"
                     "%h = arith.constant 100 : i32\n%p = arith.cmpi slt, %a, %h : i32\nscf.condition(%p) %a : i32\n} do {\n"
                     "^bb0(%b: i32):\n%t = arith.addi %b, %b : i32\nscf.yield %t : i32\n}", 112),
    "a switch": ("%i = arith.index_cast %x : i32 to index\n%r = scf.index_switch %i -> i32\ncase 2 {\n%a = arith.constant 20 : i32\n"
                 "scf.yield %a : i32\n}\ncase 7 {\n%b = arith.constant 70 : i32\nscf.yield %b : i32\n}\ndefault {\n"
                 "%c = arith.constant 1 : i32\nscf.yield %c : i32\n}", 70),
    "storage": ("%s = memref.alloca() : memref<2x4xi32>\n%a = arith.constant 1 : index\n%b = arith.constant 2 : index\n"
                "memref.store %x, %s[%a, %b] : memref<2x4xi32>\n"
                "%v = memref.subview %s[1, 1] [1, 2] [1, 1] : memref<2x4xi32> to memref<2xi32, strided<[1], offset: 5>>\n"
                "%r = memref.load %v[%a] : memref<2xi32, strided<[1], offset: 5>>", 7),
    "a part by a number": ("%s = memref.alloca() : memref<4xi32>\n%a = arith.constant 3 : index\n%z = arith.constant 0 : index\n"
                           "%i = arith.subi %a, %z : index\nmemref.store %x, %s[%a] : memref<4xi32>\n"
                           "%v = memref.subview %s[%i] [1] [1] : memref<4xi32> to memref<1xi32, strided<[1], offset: ?>>\n"
                           "%r = memref.load %v[%z] : memref<1xi32, strided<[1], offset: ?>>", 7),
    "another shape": ("%s = memref.alloca() : memref<8xi32>\n%a = arith.constant 1 : index\n%z = arith.constant 0 : index\n"
                      "%v = memref.reinterpret_cast %s to offset: [2], sizes: [2, 2], strides: [3, 1]"
                      " : memref<8xi32> to memref<2x2xi32, strided<[3, 1], offset: 2>>\n"
                      "memref.store %x, %v[%a, %z] : memref<2x2xi32, strided<[3, 1], offset: 2>>\n"
                      "%five = arith.constant 5 : index\n%r = memref.load %s[%five] : memref<8xi32>", 7),
    "a size": ("%s = memref.alloca() : memref<3x5xi32>\n%a = arith.constant 1 : index\n%d = memref.dim %s, %a : memref<3x5xi32>\n"
               "%r = arith.index_cast %d : index to i32", 5),
    "a vector of memory": ("%s = memref.alloca() : memref<4xi32>\n%z = arith.constant 0 : index\n%t = arith.constant 2 : index\n"
                           "%v = vector.broadcast %x : i32 to vector<4xi32>\nvector.store %v, %s[%z] : memref<4xi32>, vector<4xi32>\n"
                           "%w = vector.load %s[%t] : memref<4xi32>, vector<2xi32>\n%r = vector.extract %w[1] : i32 from vector<2xi32>", 7),
    "a pointer": ("%s = memref.alloca() : memref<4xi32>\n%z = arith.constant 0 : index\nmemref.store %x, %s[%z] : memref<4xi32>\n"
                  "%p = builtin.unrealized_conversion_cast %s : memref<4xi32> to !llvm.ptr\n%r = llvm.load %p : !llvm.ptr -> i32", 7),
}  # fmt: skip


@pytest.mark.parametrize("name", COMPUTED)
def test_it_computes_what_the_operations_say(name):
    body, expected = COMPUTED[name]
    text = module(f"{body}\n{STORE.format('i32')}")
    assert launch(text, np.zeros(1, np.int32), np.int32(7))[0] == expected


FUNCTIONS = """
memref.global "private" constant @table : memref<4xi32> = dense<[10, 20, 30, 40]>
func.func @both(%m: memref<4xi32>, %i: index) -> (i32, index) {
  %a = memref.load %m[%i] : memref<4xi32>
  %j = arith.addi %i, %i : index
  cf.br ^next(%j : index)
^next(%k: index):
  func.return %a, %k : i32, index
}
"""


@pytest.mark.parametrize("width", [32, 64])
def test_functions_take_and_give_references_and_indices(width):
    body = (
        "%t = memref.get_global @table : memref<4xi32>\n%i = arith.constant 2 : index\n"
        "%a, %j = func.call @both(%t, %i) : (memref<4xi32>, index) -> (i32, index)\n"
        f"%b = arith.index_cast %j : index to i32\n%r = arith.addi %a, %b : i32\n{STORE.format('i32')}"
    )
    assert launch(module(body, more=FUNCTIONS), np.zeros(1, np.int32), np.int32(7), width=width)[0] == 34


def test_the_width_of_an_index_reaches_every_type():
    text = module("%p = arith.addi %i, %i : index", "%i: index, %m: memref<?xf32>").replace("kernel", "")
    job = Job(find_target("90"), index_width=32)
    out = render(transform(text, ["convert-nvgpu-and-gpu-to-nvvm", "convert-to-llvm"], job)).decode()
    words = "!llvm.array<1 x i32>"
    assert "%i: i32" in out and f"!llvm.struct<(!llvm.ptr, !llvm.ptr, i32, {words}, {words})>" in out
    assert "llvm.add %i, %i : i32" in out


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("%m = arith.constant dense<1> : vector<2x2xi32>\n%i = arith.index_cast %x : i32 to index\n"
         "%r = vector.extract %m[%i, 0] : i32 from vector<2x2xi32>", "by a dynamic index"),
        ("%y = arith.trunci %x : i32 to i4\n%r = arith.addi %y, %y : i4", "computes with 'i4'"),
        ("%n = arith.index_cast %x : i32 to index\n%s = memref.alloca(%n) : memref<?xi32>", "needs a static shape"),
        ("%r = tensor.empty() : tensor<4xi32>", "tensor.empty"),
    ],
)  # fmt: skip
def test_what_has_no_form_is_refused(body, message):
    with pytest.raises(TileirasError, match=message):
        ptx_of(module(body))


# Operations, each from a golden test of its conversion ---------------------------------------------------------------------

GOLDEN = Path(__file__).parents[1] / "convert_nvgpu_and_gpu_to_nvvm"
OF_THE_HOST = {"launch_func.mlir", "leftovers.mlir"}


def cases_of_operations() -> dict[str, GoldenCase]:
    """For each operation of nvgpu and of device code of gpu the first golden test that has it."""
    found: dict[str, GoldenCase] = {}
    for path in sorted(GOLDEN.glob("*.mlir")):
        for case in split_file(path.read_text())[1] if path.name not in OF_THE_HOST else ():
            accepted = not case.expected.startswith("// ") and PASSES[1] in case.passes
            for name in re.findall(r"\b(?:nvgpu|gpu)\.[a-z_0-9.]+", case.source) if accepted else ():
                found.setdefault(name, case)
    return found


OPERATIONS = cases_of_operations()


@pytest.mark.parametrize("name", [name for name in OPERATIONS if "address_space" not in name])
def test_every_operation_that_is_converted_goes_on_to_ptx(name):
    case = OPERATIONS[name]
    target = find_target("100" if "{pair}" in case.source else case.target)
    job, module = Job(target), parse_module(case.source)
    module.attributes[CAPABILITY] = IntegerAttr(target.number, 32)
    run_passes([find_pass(entry) for entry in PASSES], module, job)
    assert ".target sm_" in lower(llvm_ir(module, job), job)


def test_the_operations_are_all_of_nvgpu():
    assert {operation.name for operation in NVGPU.operations} <= OPERATIONS.keys()


@pytest.mark.parametrize(
    ("element", "bits", "values", "expected"),
    [("f8E4M3FN", 8, [1.0, 2.0], [0x38, 0x40]), ("f4E2M1FN", 4, [1.0, 6.0], [0x72])],
)
def test_small_floats_are_their_bits_in_memory(element, bits, values, expected):
    dense = ", ".join(map(str, values))
    body = (
        f"%v = arith.constant dense<[{dense}]> : vector<2xf32>\n%s = nvgpu.cvt_fptrunc %v : vector<2xf32> to vector<2x{element}>\n"
        f"%b = vector.bitcast %s : vector<2x{element}> to vector<{len(expected)}xi8>\n"
        f"llvm.store %b, %o : vector<{len(expected)}xi8>, !llvm.ptr<1>\n"
        f"%again = vector.bitcast %b : vector<{len(expected)}xi8> to vector<2x{element}>\n"
        f"%w = nvgpu.cvt_fpext %again : vector<2x{element}> to vector<2xf16>\n"
        "%four = llvm.getelementptr %o[4] : (!llvm.ptr<1>) -> !llvm.ptr<1>, i8\nllvm.store %w, %four : vector<2xf16>, !llvm.ptr<1>"
    )
    out = launch(module(body).replace("= 90", "= 100"), np.zeros(8, np.uint8), np.int32(0), sm="100")
    assert out[: len(expected)].tolist() == expected
    assert out[4:].view(np.float16).tolist() == values


def test_a_cast_that_nothing_undoes_is_refused():
    with pytest.raises(TileirasError, match="cast-survives"):
        ptx_of(module("%r = builtin.unrealized_conversion_cast %x : i32 to f32\nllvm.store %r, %o : f32, !llvm.ptr<1>"))


def test_the_pass_leaves_ir_of_llvm_alone():
    text = module(f"%r = llvm.add %x, %x : i32\n{STORE.format('i32')}")
    converted = run(text, PASSES, sm="90")
    assert run(converted, ["convert-to-llvm"], sm="90") == converted

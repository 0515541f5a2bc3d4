"""Reading every opcode, type and attribute of every version, and what the operations then say."""

import numpy as np
import pytest
from sample_modules import (
    SAMPLES,
    V13_1,
    V13_3,
    V13_4,
    V13_5,
    EntryHints,
    S,
    build,
    e,
    one_pointer,
    sample,
    tile,
)
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, f32
from xdsl.parser import Parser

from tileiras_build.core.errors import Location
from tileiras_build.ir.bytecode import disassemble, read_module
from tileiras_build.ir.bytecode.opcodes import OPCODES, SECTION_OPCODES, VERSIONS
from tileiras_build.ir.dialects import cuda_tile as ct


def operations(data: bytes) -> list:
    return [op for op in read_module(data).walk() if op.name.startswith("cuda_tile.")]


def find(data: bytes, kind: type):
    return next(op for op in operations(data) if isinstance(op, kind))


def test_the_samples_use_every_opcode():
    used = {op.name.removeprefix("cuda_tile.") for name in SAMPLES for op in operations(sample(name))}
    assert used == {row.name for row in OPCODES.values()} | set(SECTION_OPCODES.values())


@pytest.mark.parametrize("name", SAMPLES)
def test_every_version_reads_alike(name):
    """A file of an older version means the same as one of the newest."""
    oldest = SAMPLES[name][2]
    texts = {disassemble(sample(name, version)) for version in type(oldest) if oldest <= version}
    assert len(texts) == 1


@pytest.mark.parametrize("name", SAMPLES)
def test_the_generic_text_reads_back(name):
    module = read_module(sample(name))
    module.verify()
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(ct.CudaTile)
    again = Parser(context, str(module)).parse_module()
    again.verify()
    assert module.is_structurally_equivalent(again)


def test_a_module_has_its_name_and_entries():
    module = read_module(build(SAMPLES["memory"][0], one_pointer, name="load"))
    (inner,) = module.body.block.ops
    assert isinstance(inner, ct.ModuleOp) and inner.sym_name.data == "kernels"
    (entry,) = inner.body.block.ops
    assert entry.sym_name.data == "load"
    assert entry.function_type.inputs.data == (ct.TileType((), ct.PointerType(f32)),)


def test_print_has_a_token_even_in_13_1():
    def fill(_, types, code, values):
        e.encode_PrintTkoOp(code, None, [], None, "hello")
        e.encode_AbsIOp(code, tile(types, S.I32), e.encode_ConstantOp(code, tile(types, S.I32), bytes(4)))

    module = read_module(build(fill, version=V13_1))
    show, constant, use = list(module.walk())[3:6]
    assert isinstance(show, ct.PrintTkoOp) and show.result_token.type == ct.TOKEN
    assert use.source is constant.result


def test_attributes_have_python_values():
    data = sample("views")
    load = find(data, ct.LoadViewTkoOp)
    assert load.memory_ordering_semantics.data is ct.MemoryOrderingSemantics.WEAK
    assert load.memory_scope is None
    assert load.optimization_hints.for_target("sm_90") == {"latency": 2}
    view = load.view.type
    assert (view.tile_shape, view.dim_map, view.padding_value) == ((4, 8), (1, 0), ct.PaddingValue.NEG_INF)
    assert (view.tensor_view.shape, view.tensor_view.strides) == ((None, 16), (16, None))


def test_inbounds_flags_are_kept():
    load = find(sample("flagged_views"), ct.LoadViewTkoOp)
    assert load.inbounds_flags == (True,)
    old = find(sample("views", V13_3), ct.LoadViewTkoOp)
    assert old.inbounds is None and old.inbounds_flags == (False, False)


@pytest.mark.parametrize("version", [V13_4, V13_5])
def test_entries_of_both_forms_have_their_hints(version):
    hints = {"sm_100": EntryHints(num_worker_warps_per_cta=16)}
    entry = find(sample("control", version, hints=hints), ct.EntryOp)
    assert entry.optimization_hints.as_dict() == {"sm_100": {"num_worker_warps_per_cta": 16}}
    assert entry.arg_attrs is None


def test_operations_on_multicast_objects():
    load, reduce, _, atomic = [op for op in operations(sample("since_13_5")) if hasattr(op, "inbounds")]
    assert isinstance(load, ct.MultimemLoadReduceViewTkoOp) and isinstance(reduce, ct.MultimemReduceViewTkoOp)
    assert load.reduction.data is ct.MultimemReductionKind.ADD and load.token is None
    assert load.view.type.tensor_view.ptr_attr == "multicast"
    assert [bool(flag) for flag in reduce.inbounds.get_values()] == [True, False]
    assert reduce.tile is load.reduced_values and reduce.token is load.result_token
    assert atomic.inbounds_flags == (True, True)


def test_hints_of_an_entry():
    hints = {"sm_100": EntryHints(num_cta_in_cga=2), "default": EntryHints(occupancy=3)}
    entry = find(sample("control", hints=hints), ct.EntryOp)
    assert entry.optimization_hints.as_dict() == {"default": {"occupancy": 3}, "sm_100": {"num_cta_in_cga": 2}}
    assert entry.optimization_hints.for_target("sm_100") == {"occupancy": 3, "num_cta_in_cga": 2}


def test_assumptions():
    bounded, divisible = [op.predicate for op in operations(sample("memory")) if isinstance(op, ct.AssumeOp)]
    assert (bounded.lb, bounded.ub) == (0, None)
    assert (divisible.divisor, divisible.every, divisible.along) == (16, None, None)


def test_identities_are_scalars():
    reduce = find(sample("aggregates"), ct.ReduceOp)
    assert reduce.identities.data[0].value.data == -np.inf
    scan = find(sample("aggregates"), ct.ScanOp)
    assert scan.identities.data[0].value.data == 0 and scan.reverse.value.data


def constant(element, raw: bytes, *shape):
    return find(
        build(lambda _, types, code, __: e.encode_ConstantOp(code, tile(types, element, *shape), raw)), ct.ConstantOp
    ).value


def test_a_splat_is_not_expanded():
    value = constant(S.F32, np.float32(1.5).tobytes(), 1 << 12, 1 << 12)
    array = value.as_array()
    assert value.is_splat and array.shape == (4096, 4096) and array.strides == (0, 0)
    assert value.splat_value() == np.float32(1.5) and len(value.raw) == 4


def test_equal_elements_are_a_splat():
    assert constant(S.I16, np.full(8, -3, np.int16).tobytes(), 8).splat_value() == -3
    assert constant(S.I1, b"\x0f", 4).splat_value()


CONSTANTS = {
    "i1": (S.I1, b"\x05", [True, False, True, False]),
    "i8": (S.I8, bytes([1, 2, 255, 4]), [1, 2, -1, 4]),
    "f16": (S.F16, np.arange(4, dtype=np.float16).tobytes(), [0, 1, 2, 3]),
    "bf16": (S.BF16, bytes.fromhex("803f0040 404080bf"), [1, 2, 3, -1]),
    "tf32": (S.TF32, bytes.fromhex("00fc01 000002 020002 00fc05"), [1, 2, 2 + 2**-8, -1]),
    "f8E4M3FN": (S.F8E4M3FN, bytes([0x38, 0x40, 0xB8, 0x00]), [1, 2, -1, 0]),
    "f8E5M2": (S.F8E5M2, bytes([0x3C, 0x40, 0xBC, 0x00]), [1, 2, -1, 0]),
    "f8E8M0FNU": (S.F8E8M0FNU, bytes([127, 128, 126, 130]), [1, 2, 0.5, 8]),
    "f4E2M1FN": (S.F4E2M1FN, bytes([2, 4, 1, 10]), [1, 2, 0.5, -1]),
}


@pytest.mark.parametrize("element, raw, expected", CONSTANTS.values(), ids=CONSTANTS)
def test_constants_of_every_type(element, raw, expected):
    value = constant(element, raw, 4)
    assert value.as_array().tolist() == expected
    assert ct.DenseConstantAttr.from_array(value.type, value.as_array()) == value


def debug_locations(table):
    source = table.file("kernels.py", "/src")
    unit = table.compile_unit(source)
    function = table.subprogram(source, 10, "kernel", "k", unit, 10)
    helper = table.subprogram(source, 1, "helper", "helper", unit, 1)
    block = table.lexical_block(helper, source, 2, 4)
    call = table.loc(function, "/src/kernels.py", 12, 8)
    return call, table.call_site(table.loc(block, "/src/lib.py", 3, 5), table.call_site(call, call))


def test_locations():
    data = build(SAMPLES["control"][0], debug=debug_locations)
    op = find(data, ct.ForOp)
    assert ct.source_location(op) == Location("/src/lib.py", 3, 5)
    loc = op.attributes["loc"]
    assert loc.position.function == "helper" and isinstance(loc.position.scope, ct.DILexicalBlockAttr)
    assert [(site.line, site.function) for site in loc.call_sites] == [(12, "kernel"), (12, "kernel")]
    unit = loc.position.scope.subprogram.compile_unit
    assert unit.file.path == "/src/kernels.py"


def test_an_operation_without_location_has_its_parents():
    data = build(SAMPLES["control"][0], debug=debug_locations)
    inner = find(data, ct.ContinueOp)
    del inner.attributes["loc"]
    assert ct.source_location(inner) == Location("/src/lib.py", 3, 5)
    assert ct.source_location(find(sample("control"), ct.ForOp)) is None


def test_deep_call_chains_do_not_recurse():
    def chain(table):
        own, loc = debug_locations(table)
        for _ in range(600):
            loc = table.call_site(table.loc(table.subprogram(*SOURCE(table)), "f.py", 1, 1), loc)
        return own, loc

    def SOURCE(table):
        source = table.file("kernels.py", "/src")
        return source, 10, "kernel", "k", table.compile_unit(source), 10

    op = find(build(SAMPLES["control"][0], debug=chain), ct.ForOp)
    assert len(op.attributes["loc"].call_sites) == 602
    assert hash(op.attributes["loc"]) is not None and str(op.attributes["loc"])


def test_versions_are_in_order():
    assert list(VERSIONS) == sorted(VERSIONS)

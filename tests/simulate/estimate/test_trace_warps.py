"""Warp traces: loops with counters, divergence and reconvergence, and data-dependent branches."""

import pytest

from tests.simulate.estimate.handwritten import code, launch, parameter, trace
from tileiras_build.core.errors import InvalidInput
from tileiras_build.simulate.estimate import trace_warps as tracing
from tileiras_build.simulate.estimate.backward_slice import tensor_memory_words
from tileiras_build.simulate.estimate.constant_bank_values import GlobalBuffer
from tileiras_build.simulate.estimate.cta_work_counts import WorkCounter
from tileiras_build.target.gpu_models import GPUS

LOOP = [
    f"MOV R2, {parameter(0)}",
    "MOV R1, RZ",
    ".L_x_1:",
    "FFMA R9, R9, R9, R9",
    "IADD3 R1, R1, 0x4, RZ",
    "ISETP.GE.AND P0, PT, R1, R2, PT",
    "@!P0 BRA `(.L_x_1)",
    "EXIT",
]


@pytest.mark.parametrize(("bound", "trips"), [(4, 1), (64, 16), (65, 17)])
def test_loop_with_a_parameter_as_its_bound(bound, trips):
    found = trace(LOOP, [bound])
    assert found.passes()[1] == trips and not found.unknown_branches


def test_lanes_diverge_and_reconverge():
    """Half of the warp leaves out a block: it is passed once, and so is what follows."""
    found = trace(
        ["S2R R0, SR_TID.X", "ISETP.GE.AND P0, PT, R0, 0x10, PT", "@P0 BRA `(.L_x_1)", "FADD R9, R9, R9",
         ".L_x_1:", "FMUL R9, R9, R9", "EXIT"]
    )  # fmt: skip
    assert found.blocks == [0, 1, 2]


def test_lanes_with_different_trip_counts():
    """The warp has the trip count of the lane with the most iterations."""
    found = trace(
        ["S2R R0, SR_TID.X", ".L_x_1:", "IADD3 R0, R0, -0x1, RZ", "ISETP.GT.AND P0, PT, R0, RZ, PT",
         "@P0 BRA `(.L_x_1)", "EXIT"]
    )  # fmt: skip
    assert found.passes()[1] == 31


def test_warps_of_a_cta_diverge():
    lines = ["S2R R0, SR_TID.X", "ISETP.LT.AND P0, PT, R0, 0x20, PT", "@P0 EXIT", "FADD R9, R9, R9", "EXIT"]
    assert trace(lines, block=(64, 1, 1), warp=0).blocks == [0]
    assert trace(lines, block=(64, 1, 1), warp=1).blocks == [0, 1]


def test_ctas_differ_by_their_coordinates():
    lines = ["S2R R2, SR_CTAID.X", *LOOP[1:]]
    assert trace(lines, place=(12, 0, 0), grid=(16, 1, 1)).passes()[1] == 3


SPIN = [
    "MOV R4, c[0x0][0x210]", "MOV R5, c[0x0][0x214]",
    ".L_x_1:", "LDG.E R0, desc[UR4][R4.64]", "ISETP.NE.AND P0, PT, R0, RZ, PT", "@P0 BRA `(.L_x_1)", "EXIT",
]  # fmt: skip


def test_data_dependent_branches_are_not_taken_and_reported():
    found = trace(SPIN, [GlobalBuffer("flag", 4)])
    assert found.passes()[1] == 1 and list(found.unknown_branches) == [4]


# ptxas calls a function of its own for reciprocals of denormals.
RECIPROCAL = [
    "MOV R4, c[0x0][0x210]", "MOV R5, c[0x0][0x214]", "LDG.E R0, desc[UR4][R4.64]", "ISETP.GT.U32.AND P0, PT, R0, 0x1ffffff, PT",
    "@P0 BRA `(.L_x_1)", "MOV R6, 0x90", "{}", "MOV R0, R3", "BRA `(.L_x_2)", ".L_x_1:", "MUFU.RCP R0, R0", ".L_x_2:", "EXIT",
    ".L_x_3:", "FADD R9, R9, R9", "RET.REL.NODEC R6 `(k)",
]  # fmt: skip


def test_a_branch_around_a_call_is_taken():
    lines = [line.format("CALL.REL.NOINC `(.L_x_3)") for line in RECIPROCAL]
    found = trace(lines, [GlobalBuffer("x", 4)])
    assert found.blocks == [0, 3, 4] and not found.unknown_branches
    without = [line.format("FADD R3, R3, R3") for line in RECIPROCAL]
    assert (
        trace(without, [GlobalBuffer("x", 4)]).blocks == [0, 1, 3]
        and len(trace(without, [GlobalBuffer("x", 4)]).unknown_branches) == 1
    )


@pytest.mark.parametrize(
    "writes", ["FADD2 R4, R8.F32x2.HI_LO, R8.F32x2.HI_LO", "LDTM.x2 R4, tmem[UR4]", "LDTM.16dp256bit.x1 R2, tmem[UR4]"]
)
def test_each_register_that_an_instruction_writes_is_unknown_then(writes):
    """A branch on the second one would follow from what was there before."""
    lines = ["MOV R5, 0x1", "LDG.E.64 R8, desc[UR4][R2.64]", writes, "ISETP.GT.AND P0, PT, R5, RZ, PT", "@P0 BRA `(.L_x_1)", "NOP",
             ".L_x_1:", "EXIT"]  # fmt: skip
    assert list(trace(lines, [GlobalBuffer("x", 4)]).unknown_branches) == [4]


def test_trips_can_be_given():
    assert trace(SPIN, [GlobalBuffer("flag", 4)], trips={0x40: 5}).passes()[1] == 5


@pytest.mark.parametrize(
    ("content", "offset", "width", "passes"),
    [
        (b"\x00\x00\x00\x00", "", "", 1),
        (b"\x05\x00\x00\x00", "", "", 5),
        (b"\xff\x00\x00\x00\x03\x00\x00\x00", "+0x4", "", 3),
        (b"\x01\x00\x00\x00\x02\x00\x00\x00", "+0x8", "", 1),  # the elements repeat
        (b"\x04\x02", "+0x1", ".U8", 2),
        (b"\xff\xff", "", ".S16", 1),
    ],
)
def test_elements_that_are_given_decide_branches(content, offset, width, passes):
    lines = [
        "MOV R4, c[0x0][0x210]", "MOV R5, c[0x0][0x214]", f"LDG.E{width} R0, desc[UR4][R4.64{offset}]",
        ".L_x_1:", "IADD3 R0, R0, -0x1, RZ", "ISETP.GT.AND P0, PT, R0, RZ, PT", "@P0 BRA `(.L_x_1)", "EXIT",
    ]  # fmt: skip
    found = trace(lines, [GlobalBuffer("sizes", 64, "loaded", content)])
    assert found.passes()[1] == passes and not found.unknown_branches
    assert trace(lines, [GlobalBuffer("sizes", 64, "updated", content)]).unknown_branches


def test_each_lane_reads_its_own_element():
    lines = ["S2R R0, SR_TID.X", "IMAD.WIDE R2, R0, 0x4, c[0x0][0x210]", "LDG.E.64 R6, desc[UR4][R2.64+0x4]",
             "ISETP.EQ.AND P0, PT, R7, 0x9, PT", "@P0 BRA `(.L_x_1)", "FADD R9, R9, R9", ".L_x_1:", "EXIT"]  # fmt: skip
    content = b"".join(n.to_bytes(4, "little") for n in (0, 0, 9, 0))
    found = trace(lines, [GlobalBuffer("a", 256, "loaded", content)])
    assert found.blocks == [0, 1, 2] and not found.unknown_branches
    assert trace(lines, [GlobalBuffer("a", 256, "loaded", content[8:12])]).blocks == [0, 2]


def test_functions_return():
    found = trace(["CALL.REL.NOINC `(.L_x_1)", "EXIT", ".L_x_1:", "FADD R9, R9, R9", "RET.REL.NODEC R2 `(k)"])
    assert found.blocks == [0, 2, 1]


def test_waits_succeed_at_once():
    found = trace(
        ["MOV R0, RZ", ".L_x_1:", "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R0", "@!P0 BRA `(.L_x_1)", "EXIT"]
    )
    assert found.passes()[1] == 1


def test_accesses_are_recorded_with_addresses():
    """Lanes 8 bytes apart touch twice the sectors of lanes side by side."""
    lines = ["S2R R0, SR_TID.X", "IMAD.WIDE R2, R0, {}, c[0x0][0x210]", "LDG.E R0, desc[UR4][R2.64]", "EXIT"]
    for stride, sectors in (("0x4", 4), ("0x8", 8), ("0x20", 32)):
        found = trace([line.format(stride) for line in lines], [GlobalBuffer("a", 1 << 20)])
        [seen] = found.observed.values()
        assert seen.accesses[0].sectors == {1: sectors}


def copies(*condition):
    """A loop of 16 copies to shared memory, of 512 bytes each, with a predicate."""
    return [
        "S2R R0, SR_TID.X", "IMAD.WIDE R2, R0, 0x10, c[0x0][0x210]", "MOV R4, RZ", ".L_x_1:", *condition,
        "LDGSTS.E.BYPASS.128 [R0], desc[UR4][R2.64], P1", "IADD3 R4, R4, 0x1, RZ",
        "ISETP.LT.AND P0, PT, R4, 0x10, PT", "@P0 BRA `(.L_x_1)", "EXIT",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("condition", "read", "known"),
    [
        ("ISETP.LT.AND P1, PT, R4, 0x10, PT", 16, True),
        ("ISETP.LT.AND P1, PT, R4, 0xc, PT", 12, True),  # it fails after the executions whose addresses are evaluated
        ("ISETP.GE.AND P1, PT, R4, 0x2, PT", 14, True),
        ("ISETP.GE.AND P1, PT, R4, 0x8, PT", 8, False),  # it only holds after them
        ("ISETP.LT.AND P1, PT, R0, 0x10, PT", 8, True),  # half of the lanes
        ("ISETP.LT.AND P1, PT, R4, RZ, PT", 0, True),
        ("ISETP.EQ.AND P1, PT, R40, RZ, PT", 16, True),  # what is not known may hold
    ],
)
def test_copies_read_where_their_predicate_holds(condition, read, known):
    lines = copies(condition)
    found = trace(lines, [GlobalBuffer("a", 1 << 20)])
    work = WorkCounter(code(*lines), GPUS["h100"]).block([found])
    assert work.l2_reads == 512 * read and bool(work.unknown_accesses) is not known
    assert work.shared == 16 * found.observed[4].accesses[0].wavefronts


def test_an_endless_loop_is_refused(monkeypatch):
    monkeypatch.setattr(tracing, "MAX_BASIC_BLOCKS", 1000)
    with pytest.raises(InvalidInput, match="estimate-endless") as caught:
        trace(["MOV R1, RZ", ".L_x_1:", "IADD3 R1, R1, 0x1, RZ", "ISETP.NE.AND P0, PT, R1, -0x1, PT", "@P0 BRA `(.L_x_1)",
               "EXIT"])  # fmt: skip
    assert "1000 basic blocks" in str(caught.value)


def test_a_kernel_s_last_jump_to_itself_ends_it():
    assert trace(["EXIT", ".L_x_1:", "BRA `(.L_x_1)"]).blocks == [0]


def test_blocks_begin_where_jumps_lead():
    assert [list(block) for block in code(*LOOP).blocks] == [[0, 1], [2, 3, 4, 5], [6]]
    assert launch(grid=(3, 4, 5)).blocks == 60


def test_a_vote_reads_what_it_votes_on():
    """Its condition is followed: the loop ends when no lane is left to say so."""
    found = trace(
        ["S2R R0, SR_TID.X", ".L_x_1:", "IADD3 R0, R0, -0x1, RZ", "ISETP.GT.AND P0, PT, R0, RZ, PT",
         "VOTEU.ANY UP0, P0", "@UP0 BRA `(.L_x_1)", "EXIT"]
    )  # fmt: skip
    assert found.passes()[1] == 31 and not found.unknown_branches


def test_return_addresses_on_the_stack():
    found = trace([LOOP[0], "RPCMOV.32 Rpc.LO, R2", "MOV R2, RZ", "RPCMOV.32 R2, Rpc.LO", *LOOP[1:]], [64])
    assert found.passes()[1] == 16 and not found.unknown_branches


def test_lanes_arrive_at_different_barriers():
    """The upper half of a warp arrives at another block's barrier."""
    lines = [
        "S2R R0, SR_TID.X", "LOP3.LUT R0, R0, 0x10, RZ, 0xc0, !PT", "SYNCS.ARRIVE.TRANS64.RED.A1T0 RZ, [R0+URZ], RZ", "EXIT",
    ]  # fmt: skip
    [words] = trace(lines).observed[2].recorded_words
    assert (words["place"], words["lanes"], words["place1"], words["lanes1"]) == (0, 16, 16, 16)


@pytest.mark.parametrize(("shape", "words"), [("x8", 8), ("16dp256bit.x8", 32), ("16dp128bit.x2", 4)])
def test_words_of_tensor_memory_follow_from_the_shape(shape, words):
    [load] = code(f"LDTM.{shape} R4, tmem[UR4]").instructions
    assert tensor_memory_words(load) == words

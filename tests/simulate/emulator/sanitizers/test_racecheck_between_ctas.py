"""Racecheck of global memory between CTAs: bulk copies and ordinary stores to the same bytes."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.simulate.emulator.ptx_kernels import HEADER, aligned
from tileiras_build.simulate import emulator
from tileiras_build.simulate.emulator import EmulatorFault
from tileiras_build.simulate.emulator.tensor_map import TensorMap

# Thread 0 of each CTA stores a box of 8 by 16 words, all equal to {word}.
STORE = """.visible .entry k(.param .align 64 .b8 map[128]) .reqntid 32, 1, 1 {{
.reg .pred p<4>; .reg .b32 t<8>; .reg .b64 u<4>; .shared .align 128 .b8 s[512];
mov.u32 t0, %tid.x; mov.u32 t1, s; mad.lo.u32 t2, t0, 16, t1; mov.u32 t3, {word}; st.shared.v4.u32 [t2], {{t3, t3, t3, t3}};
mov.b64 u1, map; cvta.param.u64 u2, u1; setp.ne.u32 p0, t0, 0; fence.proxy.async.shared::cta; bar.sync 0; @p0 bra OUT;
cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [u2, {{0, {row}}}], [t1]; cp.async.bulk.commit_group;
cp.async.bulk.wait_group 0; OUT: ret; }}
"""


def launch(word: str, row: str = "0") -> np.ndarray:
    tensor, memory = aligned(np.zeros((24, 16), np.uint32)), emulator.Memory()
    box = TensorMap("u32", memory.map_array(tensor), (16, 24), (64,), (16, 8), (1, 1), "none", "zero")
    ptx = HEADER + STORE.format(word=word, row=row)
    emulator.launch(SimpleNamespace(ptx=ptx), "k", 3, [box.encode()], memory=memory, cta_racecheck=True)
    return tensor


def test_boxes_with_equal_values_do_not_race():
    assert (launch("5")[:8] == 5).all()


@pytest.mark.parametrize("row", ["0", "%ctaid.x"])
def test_overlapping_boxes_of_two_ctas_race(row):
    move = "t4" if row != "0" else "0"
    word = "%ctaid.x" if row == "0" else "%ctaid.x; mov.u32 t4, %ctaid.x"
    with pytest.raises(EmulatorFault, match="with no synchronization between the two accesses") as caught:
        launch(word, move)
    assert "cp.async.bulk.tensor" in str(caught.value)


# Each CTA of a cluster of two writes its word, {between}, and adds {step} to its number for the word that it reads.
EXCHANGE = """.visible .entry k(.param .u64 out) .reqntid 1, 1, 1 .reqnctapercluster 2, 1, 1 {{
.reg .b32 t<4>; .reg .b64 u<4>; ld.param.u64 u0, [out]; mov.u32 t0, %ctaid.x; mul.wide.u32 u1, t0, 4; add.s64 u2, u0, u1;
{before} st.global.u32 [u2], t0; {between} {turn} t1, t0, {step}; mul.wide.u32 u1, t1, 4; add.s64 u3, u0, u1; ld.global.u32 t2, [u3]; ret; }}
"""
BARRIER = "barrier.cluster.arrive; barrier.cluster.wait;"
# Each CTA arrives at the mbarrier of both, and waits at its own one.
MBARRIER = """.shared .align 8 .b64 m; .reg .b32 a<3>; .reg .pred done; mov.u32 a0, m; mbarrier.init.shared.b64 [a0], 2;
fence.mbarrier_init.release.cluster; barrier.cluster.arrive.relaxed; barrier.cluster.wait;
mapa.shared::cluster.u32 a1, a0, 0; mapa.shared::cluster.u32 a2, a0, 1;
mbarrier.arrive.release.cluster.shared::cluster.b64 _, [a1]; mbarrier.arrive.release.cluster.shared::cluster.b64 _, [a2];
WAIT: mbarrier.try_wait.parity{acquire}.shared::cta.b64 done, [a0], 0; @!done bra WAIT;"""


def exchange(between: str, turn: str = "xor.b32", step: int = 1, before: str = "") -> None:
    words, memory = aligned(np.full(8, 9, np.uint32)), emulator.Memory()
    address = np.uint64(memory.map_array(words)).tobytes()
    ptx = HEADER + EXCHANGE.format(between=between, turn=turn, step=step, before=before)
    emulator.launch(SimpleNamespace(ptx=ptx), "k", 4, [address], memory=memory, cta_racecheck=True)
    assert (words[:4] == np.arange(4)).all()


@pytest.mark.parametrize("before", ["", "ld.global.u32 t2, [u0];" + BARRIER], ids=["write", "read"])
def test_a_barrier_of_the_cluster_orders_its_ctas(before):
    exchange(BARRIER, before=before and before.replace("u0", "u2"))


@pytest.mark.parametrize("between", ["", BARRIER.replace("arrive", "arrive.relaxed")], ids=["none", "relaxed"])
def test_ctas_of_a_cluster_race_without_a_barrier_that_orders(between):
    with pytest.raises(EmulatorFault, match="with no synchronization between the two accesses"):
        exchange(between)


def test_waits_that_acquire_in_the_cluster_order_its_ctas():
    exchange(MBARRIER.format(acquire=".acquire.cluster"))
    with pytest.raises(EmulatorFault, match="with no synchronization between the two accesses"):
        exchange(MBARRIER.format(acquire=""))


def test_a_barrier_of_the_cluster_does_not_order_other_clusters():
    with pytest.raises(EmulatorFault, match="with no synchronization between the two accesses"):
        exchange(BARRIER, "add.u32", 2)


def test_a_write_races_with_what_ctas_have_read_since_the_barrier_of_their_cluster():
    read_both = "and.b64 u3, u2, -8; ld.global.v2.u32 {t1, t2}, [u3];"
    exchange(BARRIER, before=read_both + BARRIER)
    with pytest.raises(EmulatorFault, match="st.global"):
        exchange(BARRIER, before=read_both)

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

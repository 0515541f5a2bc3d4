"""tools/mutate_synchronization.py: what it changes, and that it tells what the emulator notices from what it does not."""

from types import SimpleNamespace

import numpy as np
import pytest

from tests.emulated_kernels import aligned
from tileiras_build.simulate.interpreter.derive_inputs import Inputs
from tools import mutate_synchronization
from tools.mutate_synchronization import UNNOTICED, Subject, mutations_of, prepared

TEXT = """mbarrier.init.shared::cta.b64 [%r1], 2;
fence.proxy.async.shared::cta;
add.s32 %r2, %r2, 1;
bar.sync 0;
$L__BB0_1:
mbarrier.try_wait.parity.shared.b64 %p1, [%r1], %r3;
@!%p1 bra $L__BB0_1;
mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 1024;
@%p2 mbarrier.arrive.shared::cta.b64 _, [%r1];
cp.async.bulk.wait_group.read 0;
tcgen05.wait::ld.sync.aligned;"""


def changed(kind: str) -> list[str]:
    return [one.apply(TEXT) for one in mutations_of(TEXT, [kind])]


def test_each_synchronizing_instruction_is_dropped():
    gone = [set(TEXT.split("\n")) - set(text.split("\n")) for text in changed("drop")]
    words = ["fence.proxy", "bar.sync", "expect_tx", "@%p2 mbarrier.arrive", "wait_group", "tcgen05.wait"]
    assert len(gone) == len(words) and all(word in "".join(lines) for word, lines in zip(words, gone))


def test_an_instruction_moves_behind_the_next_one_of_its_block():
    first, *others = changed("behind")
    assert "add.s32 %r2, %r2, 1;\nbar.sync 0;\nfence.proxy.async.shared::cta;\n$L__BB0_1" in first
    assert len(others) == 3 and all(len(text) == len(TEXT) for text in others)


@pytest.mark.parametrize(("kind", "text"), [
    ("pass", "setp.eq.u32 %p1, 0, 0;\n@!%p1 bra"),
    ("parity", "xor.b32 %mutated, %r3, 1;\nmbarrier.try_wait.parity.shared.b64 %p1, [%r1], %mutated;"),
    ("more arrivals", "[%r1], 3;"), ("fewer arrivals", "[%r1], 1;"), ("more bytes", "[%r1], 1040;"), ("fewer bytes", "[%r1], 1008;"),
    ("later groups", "wait_group.read 1;"),
])  # fmt: skip
def test_one_number_or_wait_changes(kind, text):
    (found,) = changed(kind)
    assert text in found and found.count("\n") == TEXT.count("\n") + (kind == "parity")


# Thread t writes its word and reads that of thread t ^ 33; the second barrier is not needed.
KERNEL = """.version 8.0
.target sm_80
.address_size 64
.visible .entry k(.param .u64 k_0) .reqntid 64, 1, 1 {
.reg .pred %p<2>;
.reg .b32 %r<8>; .reg .b64 %rd<4>; .shared .align 16 .b8 s[256];
ld.param.u64 %rd0, [k_0];
mov.u32 %r0, %tid.x; mov.u32 %r1, s; mad.lo.u32 %r2, %r0, 4, %r1; xor.b32 %r3, %r0, 33; mad.lo.u32 %r3, %r3, 4, %r1;
st.shared.u32 [%r2], %r0;
bar.sync 0;
ld.shared.u32 %r4, [%r3];
bar.sync 0;
mul.wide.u32 %rd1, %r0, 4; add.u64 %rd1, %rd1, %rd0; st.global.u32 [%rd1], %r4;
ret;
}"""


def subject() -> Subject:
    out = aligned(np.zeros(64, np.uint32))
    buffer = SimpleNamespace(
        address=out.ctypes.data, bytes=out.view(np.uint8), content=out.view(np.uint8).copy(), element="i32", count=64
    )
    inputs = SimpleNamespace(buffers=[buffer], grid=(1, 1, 1), params=[out.ctypes.data.to_bytes(8, "little")])
    return Subject(prepared(KERNEL), {}, "k", inputs, [])


def test_what_is_needed_is_noticed_and_what_is_not_is_reported(monkeypatch):
    def run(inputs: Inputs, launch):
        launch()
        return [inputs.buffers[0].bytes.copy()]

    monkeypatch.setattr(mutate_synchronization, "run_compiled", run)
    made = subject()
    wanted = mutate_synchronization._run(made.ptx, made.manifest, made.entry, made.inputs)
    assert wanted[0].view(np.uint32).tolist() == [thread ^ 33 for thread in range(64)]
    verdicts = dict(mutate_synchronization.try_all(Subject(made.ptx, {}, "k", made.inputs, wanted), ["drop"], 1))
    first, second = verdicts.values()
    assert first.startswith("race: race on shared byte") and second == UNNOTICED

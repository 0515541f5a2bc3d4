"""target/sass_listing.py: instructions, labels and loops of nvdisasm's text."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tileiras_build.core.errors import InvalidInput
from tileiras_build.target import sass_listing
from tileiras_build.target.sass_listing import cycles, disassemble, read_listings, read_section

HEAD = """
//--------------------- .text.k  --------------------------
\t.section\t.text.k,"ax",@progbits
k:
.text.k:
"""
COPY = "        /*0010*/                   LDGSTS.E.BYPASS.128 [R3], [R4.64] ;\n"
MMA = "        /*0020*/                   HMMA.16816.F32 R4, R8, R12, R4 ;\n"
BACK = "        /*0040*/              @!P0 BRA `(.L_x_0) ;\n"
END = ".L_x_9:\n        /*0050*/                   BRA `(.L_x_9);\n        /*0060*/                   NOP;\n"


def listing(*parts: str):
    [found] = read_listings(HEAD + "".join(parts))
    return found


def test_counts_by_opcode():
    spill = '        /*0030*/             @!UP1 STL [R1+0x64], R212                (*"SpillRefill"*);\n'
    kernel = listing(COPY, MMA, MMA, spill, END)
    assert (kernel.name, kernel.total) == ("k", 5)
    assert (kernel.count("HMMA"), kernel.count("STL", "LDL"), kernel.count("LDGSTS")) == (2, 1, 1)


def test_the_mma_loop_is_the_shortest_with_most_mmas():
    outer = "        /*0050*/                   BRA `(.L_x_1) ;\n"
    kernel = listing(".L_x_1:\n", COPY, ".L_x_0:\n", MMA, BACK, outer, END)
    assert kernel.loops == [range(1, 3), range(4)]
    assert kernel.mma_loop() == range(1, 3)


def test_a_natural_loop_contains_its_wait_behind_the_end_only():
    retry = ".L_x_1:\n        /*0060*/              @!P0 BRA `(.L_x_1) ;\n        /*0070*/                   BRA `(.L_x_2) ;\n"
    leave = "        /*0050*/                   EXIT ;\n"
    wait = "        /*0030*/              @!P0 BRA `(.L_x_1) ;\n"
    kernel = listing(COPY, ".L_x_0:\n", COPY, wait, ".L_x_2:\n", MMA, BACK, leave, retry, END)
    assert kernel.natural_loops == [{1, 2, 3, 4, 6, 7}, {6}]


def test_the_mma_loop_is_not_an_outer_loop():
    outer = "        /*0050*/                   BRA `(.L_x_1) ;\n"
    kernel = listing(".L_x_1:\n", COPY, ".L_x_0:\n", MMA, BACK, MMA, outer, END)
    assert kernel.mma_loop() == range(1, 3)


@pytest.mark.parametrize(
    ("parts", "ahead"),
    [
        ((COPY, ".L_x_0:\n", COPY, MMA, BACK), True),
        ((".L_x_0:\n", COPY, MMA, BACK), False),
        ((".L_x_0:\n", MMA, BACK), False),
        ((COPY, MMA), True),
    ],
    ids=["prologue", "in the loop only", "no copies", "no loop"],
)
def test_loads_ahead(parts, ahead):
    assert listing(*parts, END).loads_ahead is ahead


def test_what_a_thread_may_execute_afterwards():
    """Past jumps that may fall through, not past those that never do."""
    one_way = "        /*0030*/                   BRA `(.L_x_2) ;\n"
    perhaps = "        /*0030*/                   BRA.U UP0, `(.L_x_2) ;\n"
    store, load = (f"        /*0040*/                   {opcode} R1, R2 ;\n" for opcode in ("STG", "LDG"))
    assert "LDG" not in listing(MMA, one_way, load, ".L_x_2:\n", store, END).reached_from("HMMA")
    for jump in (perhaps, one_way.replace("BRA", "@P0 BRA").replace("   @", "@")):
        kernel = listing(MMA, jump, load, ".L_x_2:\n", store, END)
        assert {"LDG", "STG"} <= kernel.reached_from("HMMA")
        assert "HMMA" not in kernel.reached_from("STG")
    assert "HMMA" in listing(".L_x_0:\n", MMA, BACK, END).reached_from("HMMA")


def test_each_section_is_a_kernel():
    both = read_listings(HEAD + COPY + HEAD.replace("text.k", "text.other") + MMA)
    assert [(one.name, one.total) for one in both] == [("k", 1), ("other", 1)]


def test_what_is_no_cubin_is_refused():
    with pytest.raises(InvalidInput, match="nvdisasm"):
        disassemble(b"none")


FENCE = "        /*0030*/               @P0 CCTL.IVALL ;\n"
LOCAL = "        /*0030*/                   MEMBAR.ALL.CTA ;\n"


def test_fences_of_the_gpu_that_a_loop_repeats():
    """A wait whose second attempt stands behind the kernel repeats only what lies between it and its way back."""
    away = "        /*0030*/               @P0 BRA `(.L_x_5) ;\n"
    again = (
        ".L_x_5:\n        /*0060*/                   SYNCS R1 ;\n        /*0070*/                   BRA `(.L_x_3) ;\n"
    )
    looped = listing(".L_x_0:\n", FENCE, LOCAL, MMA, BACK, END)
    assert looped.fences_in_loops == ["CCTL.IVALL"]
    outside = listing(FENCE, ".L_x_3:\n", away, FENCE, END, again)
    assert outside.repeated == [1, 5, 6]
    assert outside.fences_in_loops == []


@given(st.lists(st.lists(st.integers(0, 7), max_size=3, unique=True), min_size=8, max_size=8))
def test_cycles_are_what_reaches_itself(targets):
    reached = np.zeros((8, 8), bool)
    for number, following in enumerate(targets):
        reached[number, following] = True
    for _ in range(3):
        reached |= reached @ reached
    both = reached & reached.T
    expected = {tuple(np.flatnonzero(both[n])) for n in range(8) if both[n].sum() > 1}
    assert {tuple(sorted(found)) for found in cycles(targets)} == expected


def test_a_cubin_on_which_nvdisasm_does_not_end_is_refused(tmp_path, monkeypatch):
    program = tmp_path / "nvdisasm"
    program.write_text("#!/bin/sh\nwhile :; do :; done\n")
    program.chmod(0o755)
    monkeypatch.setattr(sass_listing, "_find_nvdisasm", lambda: str(program))
    monkeypatch.setattr(sass_listing, "_MIN_SECONDS", 1)
    with pytest.raises(InvalidInput, match="nvdisasm rejects the cubin: it has not ended after 1 seconds of processor"):
        disassemble(b"none")


def test_the_section_of_a_kernel_has_lines_that_are_like_sections():
    head = '\t.section\t.text.k,"ax",@progbits\n'
    rows = "\t.sectioninfo\t@\"SHI_REGISTERS=26\"\n        /*0000*/                   EXIT ;\n.L_x_0:\n"
    other = '\t.section\t.debug_line,"",@progbits\n        /*0010*/                   NOP ;\n'
    assert [row.split()[0] for row in read_section(head + rows + other, "k")] == ["/*0000*/", ".L_x_0:"]

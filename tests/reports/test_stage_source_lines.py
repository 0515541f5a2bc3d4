"""The lines of each stage's text lead to the lines of the source that they are made from."""

import pytest

from tests.reports.lined_kernel import KERNEL, LINE, SOURCE, write_lined
from tileiras_build.reports.cached_disassembly import ArtifactContents, find_details
from tileiras_build.reports.stage_source_lines import read_lines


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    build = write_lined(tmp_path_factory.mktemp("lined"))
    read = lambda path: (build / path).read_bytes()
    inputs = ArtifactContents(
        "sm_90", read(f"tilebc/{KERNEL}.tilebc"), read(f"sm_90/{KERNEL}.tileas"), read(f"sm_90/{KERNEL}.cubin")
    )
    found = find_details(inputs).texts
    return found | {stage: read(f"sm_90/{KERNEL}.{stage}").decode() for stage in ("tileaa", "tileas", "ll", "ptx")}


STORES = {
    "tilebc": "store_view_tko", "tileaa": "nv_tileaa.tiled_store", "tileas": "nv_tileas.tiled_store",
    "ll": "st.global", "ptx": "st.global", "sass": "STG",
}  # fmt: skip


@pytest.mark.parametrize("stage", STORES)
def test_stores_are_of_the_line_that_stores(texts, stage):
    lines = read_lines(stage, texts[stage], KERNEL)
    stores = [line for line in lines if STORES[stage] in line.text]
    assert stores and {line.places for line in stores} == {((SOURCE, LINE),)}
    assert {place[0] for line in lines for place in line.places} == {SOURCE}


def test_machine_code_is_of_lines_of_ptx(texts):
    ptx = texts["ptx"].split("\n")
    stores = [line for line in read_lines("sass", texts["sass"], KERNEL) if "STG" in line.text]
    assert stores and all("st.global" in ptx[line.ptx - 1] for line in stores)


def test_bytecode_is_shown_without_its_locations(texts):
    lines = read_lines("tilebc", texts["tilebc"], KERNEL)
    assert not [line.text for line in lines if " loc(" in line.text] and any(line.places for line in lines)


def test_another_kernel_s_code_is_not_read(texts):
    assert read_lines("sass", texts["sass"], "other") == []


INNER, OUTER = ("a.py", 3), ("b.py", 7)
INLINED = {
    "tilebc": ['  %0 = exp %1 : tile<f32> loc(callsite("a.py":3:4 at "b.py":7:8))'],
    "tileaa": [
        '#loc0 = #cuda_tile.di_loc<"a.py", 3, 4, #s>', '#loc1 = #cuda_tile.di_loc<"b.py", 7, 8, #s>',
        "#loc2 = #cuda_tile.call_site<#loc0, #loc1>", "%0 = math.exp %1 {loc = #loc2} : f32",
    ],
    "ll": [
        "%v0 = fadd float %a, %b, !dbg !5", '!1 = !DIFile(filename: "a.py", directory: "")',
        '!2 = !DIFile(filename: "b.py", directory: "")', '!3 = distinct !DISubprogram(name: "f", file: !1, line: 1)',
        '!4 = distinct !DISubprogram(name: "g", file: !2, line: 1)',
        "!5 = !DILocation(line: 3, column: 4, scope: !3, inlinedAt: !6)", "!6 = distinct !DILocation(line: 7, column: 8, scope: !4)",
    ],
    "ptx": [
        "	.loc	1 3 4, function_name $L__names+0, inlined_at 2 7 8", "	add.f32 %f1, %f2, %f3;", "}",
        "mov.u32 %r1, %r2;", '	.file	1 "a.py"', '	.file	2 "b.py"',
    ],
    "sass": [
        '	.section	.text.k,"ax",@progbits', '	//## File "a.py", line 3 inlined at "b.py", line 7', '	//## File "b.py", line 7',
        '	//## File ".nv_debug_ptx_txt", line 12', "        /*0000*/                   FADD R1, R2, R3 ;",
    ],
}  # fmt: skip


@pytest.mark.parametrize("stage", INLINED)
def test_inlined_code_is_of_its_line_and_of_its_caller_s(stage):
    lines = read_lines(stage, "\n".join(INLINED[stage]), "k")
    code = [line for line in lines if any(word in line.text for word in ("exp", "fadd", "add.f32", "FADD"))]
    assert [line.places for line in code] == [(INNER, OUTER)]
    assert {line.places for line in lines} <= {(), (INNER, OUTER)}
    assert code[0].ptx == (12 if stage == "sass" else 0)


def test_what_ptx_says_of_lines_ends_with_the_function():
    lines = read_lines("ptx", "\n".join(INLINED["ptx"]), "k")
    assert [line.places for line in lines if line.text.startswith("mov")] == [()]


def test_places_that_name_themselves_are_none():
    text = '#loc0 = di_loc<"k.py", 3, 1>\n#loc1 = callsite<#loc1, #loc0, #loc2>\n#loc2 = callsite<#loc1>\n  "x"() {loc = #loc2} : () -> ()'
    assert read_lines("tileaa", text, "k")[-1].places == (("k.py", 3),)

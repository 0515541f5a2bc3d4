"""targets.py: its rows are what ptxas and LLVM accept, and its look-ups name the valid values."""

import dataclasses
import pickle

import pytest

from tileiras_build.core.errors import InvalidInput
from tileiras_build.pipeline import ll_to_ptx, ptx_to_cubin
from tileiras_build.pipeline.job import Job
from tileiras_build.target.capabilities import CAPABILITIES
from tileiras_build.target.mma_atoms import MMA_ATOMS
from tileiras_build.target.sm_limits import COMMON_SHARED_MEMORY
from tileiras_build.target.targets import FAMILY_TARGETS, TARGETS, Target, find_target, parse_targets

NAMES = list(TARGETS)


def mma_kernel(name, atom, a_signed=True, b_signed=True):
    """A kernel that loads one fragment of each operand, multiplies once, and stores the result."""
    lines = [f"define ptx_kernel void @{name}(ptr addrspace(1) %p, ptr addrspace(1) %q) {{"]
    operands = [
        value
        for count, value in (
            (atom.a_registers, atom.a_value),
            (atom.b_registers, atom.b_value),
            (atom.c_registers, atom.c_value),
        )
        for _ in range(count)
    ]
    for index, value in enumerate(operands):
        lines.append(f"%a{index} = getelementptr {value}, ptr addrspace(1) %p, i32 {index}")
        lines.append(f"%v{index} = load {value}, ptr addrspace(1) %a{index}")
    arguments = [f"{value} %v{index}" for index, value in enumerate(operands)]
    if atom.scale_type:
        arguments += ["i32 5", "i16 0", "i16 0", "i32 7", "i16 0", "i16 0"]
    result = "{" + ", ".join([atom.c_value] * atom.c_registers) + "}"
    lines.append(f"%r = call {result} @{atom.intrinsic_name(a_signed, b_signed)}({', '.join(arguments)})")
    for index in range(atom.c_registers):
        lines.append(f"%e{index} = extractvalue {result} %r, {index}")
        lines.append(f"%g{index} = getelementptr {atom.c_value}, ptr addrspace(1) %q, i32 {index}")
        lines.append(f"store {atom.c_value} %e{index}, ptr addrspace(1) %g{index}")
    return "\n".join([*lines, "ret void", "}"])


@pytest.mark.parametrize("name", NAMES)
def test_every_mma_row_assembles(name):
    target = TARGETS[name]
    wanted = []
    for atom in target.all_mma_atoms:
        signs = [(a, b) for a in (True, False) for b in (True, False)] if atom.a_type == "i8" else [(True, True)]
        wanted += [(atom, *pair) for pair in signs]
    text = "\n".join(mma_kernel(f"k{index}", *case) for index, case in enumerate(wanted))
    job = Job(target, opt_level=1)
    ptx = ll_to_ptx.lower(text, job)
    assert {atom.ptx_name(a, b) for atom, a, b in wanted} <= set(ptx.split())
    _, manifest = ptx_to_cubin.lower(ptx, job)
    assert len(manifest["kernels"]) == len(wanted)


COPIES = {
    "ldmatrix": "%r = call {i32, i32, i32, i32} @{}(ptr addrspace(3) @s)",
    "ldmatrix_trans": "%r = call {i32, i32, i32, i32} @{}(ptr addrspace(3) @s)",
    "stmatrix": "call void @{}(ptr addrspace(3) @s, i32 1, i32 2, i32 3, i32 4)",
    "stmatrix_trans": "call void @{}(ptr addrspace(3) @s, i32 1, i32 2, i32 3, i32 4)",
    "cp_async": "call void @{}(ptr addrspace(3) @s, ptr addrspace(1) %p)",
    "tma_load": "%c = addrspacecast ptr addrspace(3) @s to ptr addrspace(7)\n"
    "call void @{}(ptr addrspace(7) %c, ptr addrspace(3) @s, ptr %m, i32 0, i32 0, i16 0, i64 0, i1 0, i1 0, i32 0)",
    "tma_store": "call void @{}(ptr addrspace(3) @s, ptr %m, i32 0, i32 0, i64 0, i1 0)",
    "bulk_load": "%c = addrspacecast ptr addrspace(3) @s to ptr addrspace(7)\n"
    "call void @{}(ptr addrspace(7) %c, ptr addrspace(3) @s, ptr addrspace(1) %p, i32 16, i16 0, i64 0, i1 0, i1 0)",
    "bulk_store": "call void @{}(ptr addrspace(1) %p, ptr addrspace(3) @s, i32 16, i64 0, i1 0)",
}


@pytest.mark.parametrize("name", NAMES)
def test_every_copy_row_assembles(name):
    target = TARGETS[name]
    text = "@s = internal addrspace(3) global [1024 x i8] undef, align 128\n"
    for atom in target.copy_atoms.values():
        intrinsic = atom.intrinsic.format(count=2 if atom.capability == "tma" else 4, cache="cg", width=16)
        call = COPIES[atom.name].replace("{}", intrinsic)
        text += f"define ptx_kernel void @{atom.name}(ptr addrspace(1) %p, ptr %m) {{\n{call}\nret void\n}}\n"
    job = Job(target, opt_level=1)
    _, manifest = ptx_to_cubin.lower(ll_to_ptx.lower(text, job), job)
    assert set(manifest["kernels"]) == set(target.copy_atoms)


@pytest.mark.parametrize("name", ["sm_80", "sm_89"])
def test_static_shared_memory_beyond_the_common_is_refused(name):
    target = TARGETS[name]
    version = ".".join(map(str, target.ptx_version))
    source = (
        f".version {version}\n.target {target.arch}\n.address_size 64\n.visible .entry k() {{\n"
        ".shared .align 16 .b8 s[SIZE];\n.reg .b32 %r<2>;\nmov.u32 %r0, %tid.x;\nst.shared.u32 [s], %r0;\nret;\n}\n"
    )
    _, manifest = ptx_to_cubin.lower(source.replace("SIZE", str(COMMON_SHARED_MEMORY)), Job(target))
    assert manifest["kernels"]["k"]["resources"]["shared"] == COMMON_SHARED_MEMORY
    with pytest.raises(InvalidInput, match=r"ptxas rejects.*shared"):
        ptx_to_cubin.lower(source.replace("SIZE", str(COMMON_SHARED_MEMORY + 16)), Job(target))


@pytest.mark.parametrize("text", ["90", "sm_90", "90a", "sm_90a", " SM_90A "])
def test_spellings_of_one_target(text):
    assert find_target(text) is TARGETS["sm_90"]


@pytest.mark.parametrize("text", ["91", "sm_101", "80a", "", "ninety", "90f", "100g", "sm_sm_90"])
def test_unknown_target_names_the_valid_values(text):
    with pytest.raises(InvalidInput) as caught:
        find_target(text)
    assert caught.value.id == "unknown-target"
    assert f"sm={text}" in str(caught.value)
    assert all(str(row.number) in caught.value.remedy for row in TARGETS.values())


def test_a_family_has_what_all_its_gpus_have():
    assert list(FAMILY_TARGETS) == ["sm_100f", "sm_103f", "sm_107f", "sm_110f", "sm_120f", "sm_121f"]
    assert find_target("100F") is find_target("sm_100f") is FAMILY_TARGETS["sm_100f"]
    family = FAMILY_TARGETS["sm_100f"]
    assert (family.number, family.generation, family.arch, family.llvm_cpu) == (100, "sm_100", "sm_100f", "sm_100f")
    assert family.members == {100, 103, 107} and family.has("tcgen05") and not family.has("tcgen05_i8")
    common = frozenset.intersection(*(TARGETS[f"sm_{n}"].capabilities for n in family.members))
    assert common - family.capabilities == {"cvt_stochastic", "tcgen05_shift"}
    assert not family.portable and [row.name for row in parse_targets("100f,100")] == ["sm_100f", "sm_100"]
    assert not set(FAMILY_TARGETS) & {row.name for row in parse_targets("all")}


def test_parse_targets():
    assert [row.name for row in parse_targets("100, 90,sm_100a")] == ["sm_100", "sm_90"]
    assert parse_targets("all") == list(TARGETS.values())
    assert len(parse_targets("80,all")) == len(TARGETS)
    for bad in ("", ",", "80,91"):
        with pytest.raises(InvalidInput, match="unknown-target"):
            parse_targets(bad)


@pytest.mark.parametrize(
    "change",
    [
        {"number": 91},
        {"arch": "sm_100a"},
        {"max_shared_memory": 1000},
        {"ptx_version": (8, 0)},
    ],
)
def test_wrong_target_row_cannot_exist(change):
    with pytest.raises((ValueError, KeyError)):
        dataclasses.replace(TARGETS["sm_90"], **change)


@pytest.mark.parametrize("change", [{"k": 8}, {"a_registers": 2}, {"c_value": "double"}, {"capability": "mma_typo"}])
def test_wrong_mma_row_cannot_exist(change):
    with pytest.raises(ValueError):
        dataclasses.replace(MMA_ATOMS[0], **change)


def test_mma_rows_come_best_first():
    def shapes(name, *types):
        return [atom.shape for atom in TARGETS[name].mma_atoms(*types)]

    assert shapes("sm_80", "f16", "f16", "f32") == [(16, 8, 16), (16, 8, 8)]
    assert shapes("sm_80", "f64", "f64", "f64") == [(8, 8, 4)]
    assert shapes("sm_90", "f64", "f64", "f64") == [(16, 8, 16), (8, 8, 4)]
    assert shapes("sm_120", "f64", "f64", "f64") == [(8, 8, 4), (16, 8, 16)]
    assert shapes("sm_80", "f8E4M3FN", "f8E4M3FN", "f32") == []
    assert shapes("sm_89", "f8E4M3FN", "f8E5M2", "f32") == [(16, 8, 32), (16, 8, 16)]
    scaled = TARGETS["sm_120"].mma_atoms("f4E2M1FN", "f4E2M1FN", "f32", "f8E4M3FN")
    assert [atom.scale_block for atom in scaled] == [16]


def test_signs_of_integer_mmas():
    atom = TARGETS["sm_80"].mma_atoms("i8", "i8", "i32")[0]
    assert atom.intrinsic_name(True, True).endswith(".row.col.s8")
    assert atom.intrinsic_name(False, True).endswith(".row.col.u8.s8")
    assert atom.ptx_name(True, False) == "mma.sync.aligned.m16n8k32.row.col.s32.s8.u8.s32"


def test_capabilities():
    assert TARGETS["sm_90"].has("wgmma") and not TARGETS["sm_100"].has("wgmma")
    with pytest.raises(KeyError):
        TARGETS["sm_90"].has("warp_drive")
    known = {row.number for row in TARGETS.values()}
    assert all(targets and targets <= known for targets in CAPABILITIES.values())


def test_targets_travel_between_processes():
    row = TARGETS["sm_120"]
    assert row.all_mma_atoms and row.copy_atoms and row.capabilities  # fill the derived tables first
    copy = pickle.loads(pickle.dumps(row))
    assert isinstance(copy, Target) and copy == row and copy.copy_atoms == row.copy_atoms
    assert len(pickle.dumps(row)) < 1000

"""Intrinsics that libNVVM lacks, and the inline assembly that replaces them.

libNVVM for Blackwell and later accepts LLVM's intrinsics with few exceptions. For older GPUs, with the IR of LLVM 7, it
accepts few: every intrinsic of ``dialects/nvvm`` has its replacement here.
"""

from __future__ import annotations

from ..mma_atoms import MMA_ATOMS, MmaAtom

# ---- all GPUs ------------------------------------------------------------------------------------
RENAMED = {"@llvm.rint.": "@llvm.roundeven."}  # equal, as PTX has no dynamic rounding mode
SIGN_BIT = "@llvm.fabs."  # implemented by clearing the sign bit
APPROXIMATE = {
    f"@llvm.{name}.f32": f'asm "{mnemonic}.approx.f32 $0, $1;", "=f,f"'
    for name, mnemonic in (("exp2", "ex2"), ("sin", "sin"), ("cos", "cos"), ("tanh", "tanh"))
}

# ---- the IR of LLVM 7 ----------------------------------------------------------------------------
TO_BFLOAT = 'asm "cvt.rn.bf16.f32 $0, $1;", "=h,f"'
CACHE_HINT = "@llvm.lifetime."  # its operands differ in LLVM 7; it may be omitted
MEMORY = "~{memory}"  # the clobber
# Type -> constraint.
CONSTRAINT_LETTERS = {"float": "f", "double": "d", "i32": "r", "i64": "l", "i16": "h", "i1": "b", "half": "h", "<2 x half>": "r",
           "ptr addrspace(1)": "l", "ptr addrspace(3)": "r"}  # fmt: skip


def predicate(index: int) -> tuple[str, str]:
    """The name of a predicate, and the instruction that sets it if a 32-bit operand is not 0."""
    name = f"nvvm_p{index}"
    return name, f".reg .pred {name}; setp.ne.u32 {name}, ${index}, 0; "


# Intrinsic -> the instruction, for the IR of LLVM 7; operands follow the results in the order of the call.
INSTRUCTIONS = {
    "llvm.nvvm.barrier.cta.sync.aligned.all": "bar.sync $0;",
    "llvm.nvvm.bar.warp.sync": "bar.warp.sync $0;",
    "llvm.nvvm.cp.async.commit.group": "cp.async.commit_group;",
    "llvm.nvvm.cp.async.wait.group": "cp.async.wait_group $0;",
    **{
        f"llvm.nvvm.shfl.sync.{mode}.{type}": f"shfl.sync.{mode}.b32 $0, $2, $3, $4, $1;"
        for mode in ("idx", "bfly", "up", "down")
        for type in ("i32", "f32")
    },
    "llvm.nvvm.ex2.approx.f32": "ex2.approx.f32 $0, $1;",
    "llvm.nvvm.ex2.approx.ftz.f32": "ex2.approx.ftz.f32 $0, $1;",
    "llvm.nvvm.rsqrt.approx.f": "rsqrt.approx.f32 $0, $1;",
    "llvm.nvvm.saturate.f": "cvt.sat.f32.f32 $0, $1;",
    "llvm.nvvm.fma.rm.f": "fma.rm.f32 $0, $1, $2, $3;",
    "llvm.nvvm.fabs.f32": "abs.f32 $0, $1;",
    "llvm.maxnum.f32": "max.f32 $0, $1, $2;",
    "llvm.minnum.f32": "min.f32 $0, $1, $2;",
    "llvm.copysign.f32": "copysign.f32 $0, $2, $1;",
    "llvm.sqrt.f32": "sqrt.rn.f32 $0, $1;",
    "llvm.fma.f32": "fma.rn.f32 $0, $1, $2, $3;",
    **{
        f"llvm.{sign}{which}.i{bits}": f"{which}.{sign}{bits} $0, $1, $2;"
        for sign in "su"
        for which in ("max", "min")
        for bits in (32, 64)
    },
    "llvm.abs.i16": "abs.s16 $0, $1;",
    "llvm.abs.i32": "abs.s32 $0, $1;",
    "llvm.abs.i64": "abs.s64 $0, $1;",
}
# Instructions that all threads of a warp execute, or that order memory.
EFFECTS = ("bar.", "shfl.", "cp.async", "mma.", "ldmatrix.")
CONSTANTS = ("cp.async.wait_group",)  # its operands are immediates


def _mma_intrinsics() -> dict[str, str]:
    """The mma.sync intrinsics of mma_atoms.py as instructions."""
    rows = {}
    for atom in MMA_ATOMS:
        for signs in ((a, b) for a in (True, False) for b in (True, False)):
            rows[atom.intrinsic_name(*signs)] = _mma_call(atom, atom.ptx_name(*signs))
    return rows


def _mma_call(atom: MmaAtom, mnemonic: str) -> str:
    sizes = (atom.c_registers, atom.a_registers, atom.b_registers, atom.c_registers)
    groups, start = [], 0
    for size in sizes:
        groups.append("{" + ", ".join(f"${index}" for index in range(start, start + size)) + "}")
        start += size
    return f"{mnemonic} {', '.join(groups)};"


INSTRUCTIONS |= _mma_intrinsics()
INSTRUCTIONS |= {
    f"llvm.nvvm.ldmatrix.sync.aligned.m8n8.x{count}{kind}.b16.p3":
    f"ldmatrix.sync.aligned.m8n8.x{count}{kind}.shared.b16 {{{', '.join(f'${index}' for index in range(count))}}}, [${count}];"
    for count in (1, 2, 4) for kind in ("", ".trans")
}  # fmt: skip
INSTRUCTIONS |= {
    f"llvm.nvvm.cp.async.{cache}.shared.global.{size}.s": f"cp.async.{cache}.shared.global [$0], [$1], {size}, $2;"
    for cache, size in (("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16))
}

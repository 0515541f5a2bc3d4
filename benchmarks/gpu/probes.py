"""PTX of small kernels that test the support of a driver and a GPU, each an image of its own.

Those that number 32 threads write a thread's number by way of what they try. ``clusters_*`` write the grid's extent, shifted by 8
bits, and the CTA's rank in its cluster of two. ``read_all`` reads memory and keeps nothing: its result is stored where it is
all ones and the number of bytes is 0, which never is.
"""

from __future__ import annotations

from tileiras_build.target.sm_limits import COMMON_SHARED_MEMORY
from tileiras_build.target.targets import Target

_STATIC_SHARED = """\
.visible .entry static_shared(.param .u64 out) {
 .shared .align 16 .b8 buffer[SIZE];
 .reg .u32 %r<4>; .reg .u64 %d<4>;
 ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4; mov.u64 %d2, buffer; add.u64 %d2, %d2, %d1;
 st.shared.u32 [%d2+PLACE], %r0; bar.sync 0; ld.shared.u32 %r1, [%d2+PLACE]; add.u64 %d0, %d0, %d1;
 st.global.u32 [%d0], %r1; ret; }
"""
_HEAP = """\
.extern .func (.param .b64 found) malloc (.param .b64 size);
.extern .func free (.param .b64 place);
.visible .entry heap(.param .u64 out) {
 .reg .u32 %r<4>; .reg .u64 %d<4>;
 ld.param.u64 %d0, [out]; mov.u32 %r0, %tid.x; mul.wide.u32 %d1, %r0, 4;
 { .param .b64 size; .param .b64 found;
   st.param.b64 [size], 64; call (found), malloc, (size); ld.param.b64 %d2, [found]; }
 st.u32 [%d2], %r0; ld.u32 %r1, [%d2]; add.u64 %d0, %d0, %d1; st.global.u32 [%d0], %r1;
 { .param .b64 place; st.param.b64 [place], %d2; call free, (place); } ret; }
"""
_READ_ALL = """\
.visible .entry read_all(.param .u64 from, .param .u64 bytes) {
 .reg .u32 %r<12>; .reg .u64 %d<8>; .reg .pred %p<3>;
 ld.param.u64 %d0, [from]; ld.param.u64 %d1, [bytes]; mov.u32 %r0, %tid.x; mov.u32 %r1, %ctaid.x; mov.u32 %r2, %ntid.x;
 mov.u32 %r3, %nctaid.x; mad.lo.u32 %r4, %r1, %r2, %r0; mul.wide.u32 %d2, %r4, 16; mul.lo.u32 %r5, %r2, %r3;
 mul.wide.u32 %d3, %r5, 16; mov.u32 %r6, 0;
LOOP: setp.ge.u64 %p0, %d2, %d1; @%p0 bra DONE; add.u64 %d4, %d0, %d2;
 ld.global.v4.u32 {%r7, %r8, %r9, %r10}, [%d4]; xor.b32 %r6, %r6, %r7; xor.b32 %r6, %r6, %r8; xor.b32 %r6, %r6, %r9;
 xor.b32 %r6, %r6, %r10; add.u64 %d2, %d2, %d3; bra LOOP;
DONE: setp.eq.u32 %p1, %r6, 0xffffffff; setp.eq.and.u64 %p2, %d1, 0, %p1; @%p2 st.global.u32 [%d0], %r6; ret; }
"""
_CLUSTERS = """\
.visible .entry NAME(.param .u64 out) .reqntid 128 .reqnctapercluster 2, 1, 1 DIRECTIVE {
 .reg .u32 %r<6>; .reg .u64 %d<3>;
 ld.param.u64 %d0, [out]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %nctaid.x; mov.u32 %r2, %cluster_ctarank;
 mul.wide.u32 %d1, %r0, 4; add.u64 %d0, %d0, %d1; shl.b32 %r3, %r1, 8; or.b32 %r3, %r3, %r2;
 st.global.u32 [%d0], %r3; ret; }
"""
_DIRECTIVES = {"clusters_by_directive": ".blocksareclusters", "clusters_by_grid": ""}
READS = "read_all"
# How many clusters of two the entry is launched with, and threads: what a launcher may try. A grid of what is declared
# .blocksareclusters counts clusters (PTX ISA, "Cluster Dimension Directives").
_LAUNCHES = ((3, 128), (4, 128), (4, 1))
_NEEDED = ("clusters_by_directive", 3, 128)


def texts(target: Target) -> dict[str, str]:
    """Entry -> PTX module. Static shared memory is as large as ptxas takes it."""
    size = target.max_shared_memory if target.has("tma") else COMMON_SHARED_MEMORY
    static = _STATIC_SHARED.replace("SIZE", str(size)).replace("PLACE", str(size - 128))
    bodies = {"static_shared": static, "heap": _HEAP, READS: _READ_ALL}
    if target.has("cluster"):
        bodies |= {name: _CLUSTERS.replace("NAME", name).replace("DIRECTIVE", one) for name, one in _DIRECTIVES.items()}
    version = ".".join(map(str, target.ptx_version))
    return {
        name: f".version {version}\n.target {target.arch}\n.address_size 64\n{body}" for name, body in bodies.items()
    }


def launches(target: Target) -> list[dict]:
    """Every launch of a probe: its entry, grid, threads, what must come out, and whether our kernels need that."""
    probes = [{"entry": "static_shared", "needed": False}, {"entry": "heap", "needed": True}]
    found = [{**one, "kind": "values", "grid": 1, "threads": 32} for one in probes]
    clusters = [(entry, *launch) for entry in _DIRECTIVES for launch in _LAUNCHES] if target.has("cluster") else []
    return found + [
        {"entry": entry, "kind": "clusters", "grid": grid, "threads": threads, "needed": (entry, grid, threads) == _NEEDED,
         "ctas": 2 * grid if _DIRECTIVES[entry] else grid}
        for entry, grid, threads in clusters
    ]  # fmt: skip


def cases(rows: list[dict]) -> list[tuple[str, str]]:
    """Kernels that are looked at before the others: one with tensor maps, one with clusters, one image of tileiras."""
    tests = {
        "check": lambda row: row["launch"]["tensor_maps"] and row["launch"]["cluster"] == [1, 1, 1],
        "check ": lambda row: row["launch"]["cluster"] != [1, 1, 1],
        "tileiras": lambda row: "tileiras" in row["images"],
    }
    found = {what: next((row["name"] for row in rows if test(row)), None) for what, test in tests.items()}
    return [(name, what.strip()) for what, name in found.items() if name]

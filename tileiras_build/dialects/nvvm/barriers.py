"""What orders threads and memory beyond a warp: mbarriers, clusters, fences, registers of agents, dependent launches.

Addresses of mbarriers are pointers to shared memory where an intrinsic takes them, else their 32 bits. The operations
``nvvm.mbarrier.*`` without ``.shared`` have the forms that kernels use; MLIR's others stand in ``ops_thread``.
Source: PTX ISA 9.0, section 9.7.13 (barriers, fences, mbarrier), and mapa, setmaxnreg, griddepcontrol by their names.
"""

from __future__ import annotations

from xdsl.ir import Operation

from .rows import ALL, NONE, Assembly, Intrinsic, instruction, number, word

# ---- mbarriers -----------------------------------------------------------------------------------


def _initialize(op: Operation) -> str:
    return f"mbarrier.init.shared::cta.b64 [$0], {number(op, 'count')};"


def _arrive(op: Operation) -> str:
    return f"@$0 mbarrier.arrive.shared::{word(op, 'space')}.b64 _, [$1];"


MBarrierInitOp = instruction(
    "mbarrier.init",
    "address",
    "",
    "a new mbarrier whose phases wait for `count` arrivals",
    Assembly(_initialize),
)
MBarrierExpectOp = instruction(
    "mbarrier.arrive.expect_tx",
    "address bytes",
    "",
    "arrive, and let the phase wait for as many bytes",
    Assembly("mbarrier.arrive.expect_tx.shared::cta.b64 _, [$0], $1;"),
)
MBarrierArriveOp = instruction(
    "mbarrier.arrive",
    "predicate address",
    "",
    "arrive where the predicate holds; `space` is cta, or cluster for the mbarrier of another CTA",
    Assembly(_arrive),
)
MBarrierTryWaitOp = instruction(
    "mbarrier.try_wait",
    "address parity",
    "complete",
    "whether the phase of this parity is complete, perhaps after a while; acquires for the CTA",
    Intrinsic("mbarrier.try.wait.parity.scope.cta.space.cta", ALL),
)


def _mapped(op: Operation) -> str:
    return f"mapa.shared::cluster.u32 $0, $1, {'0' if op.rank is None else '$2'};"


MapaOp = instruction(
    "mapa",
    "address rank?",
    "mapped",
    "the place of a shared address in the CTA of a rank; without one in the first CTA",
    Assembly(_mapped, NONE),
)

# ---- clusters ------------------------------------------------------------------------------------


def _aligned(name: str) -> Intrinsic:
    def spelled(op: Operation) -> str:
        return f"{name}.aligned" if "aligned" in op.attributes else name

    return Intrinsic(spelled, ALL, convergent=True)


ClusterRankOp = instruction(
    "read.ptx.sreg.cluster.ctarank",
    "",
    "res",
    "the CTA's number in its cluster",
    Intrinsic("read.ptx.sreg.cluster.ctarank"),
)
ClusterArriveRelaxedOp = instruction(
    "cluster.arrive.relaxed",
    "",
    "",
    "come to the barrier of the cluster, releasing nothing; `aligned`: all threads of the warp do",
    _aligned("barrier.cluster.arrive.relaxed"),
)
ClusterWaitOp = instruction(
    "cluster.wait",
    "",
    "",
    "wait until all threads of the cluster have come; `aligned`: all threads of the warp do",
    _aligned("barrier.cluster.wait"),
)

# ---- fences --------------------------------------------------------------------------------------


def _proxy_fence(op: Operation) -> str:
    return f"fence.proxy.async{'.shared::cta' if 'shared' in op.attributes else ''};"


FenceMBarrierInitOp = instruction(
    "fence.mbarrier.init",
    "",
    "",
    "new mbarriers are seen by the cluster",
    Intrinsic("fence.mbarrier_init.release.cluster", ALL),
)
FenceProxyAsyncOp = instruction(
    "fence.proxy.async",
    "",
    "",
    "order ordinary accesses before copies: of all memory, or of `shared` memory",
    Assembly(_proxy_fence),
)
MemoryClobberOp = instruction(
    "memory_clobber",
    "",
    "",
    "no instruction: LLVM moves no access of memory across it",
    Assembly(""),
)

# ---- execution -----------------------------------------------------------------------------------


def _registers(op: Operation) -> str:
    return f"setmaxnreg.{word(op, 'action')}.sync.aligned.u32"


SetMaxRegisterOp = instruction(
    "setmaxregister",
    "",
    "",
    "take (`action` inc) or give up (dec) registers, to have `count` of them",
    Intrinsic(_registers, ALL, convergent=True, arguments=lambda op: [number(op, "count")]),
)
GridDependencyWaitOp = instruction(
    "griddepcontrol.wait",
    "",
    "",
    "wait until the grids before this one are done, and see what they wrote",
    Intrinsic("griddepcontrol.wait", ALL),
)
GridDependencyLaunchOp = instruction(
    "griddepcontrol.launch.dependents",
    "",
    "",
    "let the grids that depend on this one start",
    Intrinsic("griddepcontrol.launch.dependents", ALL),
)

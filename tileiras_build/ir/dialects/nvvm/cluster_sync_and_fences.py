"""Synchronization beyond a warp: mbarriers, clusters, fences, setmaxnreg, dependent launches.

MLIR's operations on mbarriers are in ``ops_thread``.
Source: PTX ISA 9.0, section 9.7.13 (barriers, fences, mbarrier), and mapa, setmaxnreg, griddepcontrol by their names.
"""

from __future__ import annotations

from ..op_definition import TableOp
from .intrinsic_or_inline_asm import ALL, CLUSTER, NONE, Assembly, Intrinsic, define_instruction, int_attr, keyword_attr

# ---- mbarriers -----------------------------------------------------------------------------------


def _arrive(op: TableOp) -> str:
    space = "cluster" if op.address.type.addr_space.data == CLUSTER else "cta"
    order = ".release.cluster" if "releases" in op.attributes else ""
    instruction = f"mbarrier.arrive{order}.shared::{space}.b64 _, "
    return f"{instruction}[$0];" if op.predicate is None else f"@$0 {instruction}[$1];"


MBarrierArriveOp = define_instruction(
    "mbarrier.arrive",
    "predicate? address",
    "",
    "arrive, where the predicate holds; at an mbarrier of another CTA by its shared::cluster address; `releases` to the cluster",
    Assembly(_arrive),
)
MBarrierTryWaitClusterOp = define_instruction(
    "mbarrier.try_wait.cluster",
    "address state",
    "done",
    "whether the phase of a state is complete, acquire from the cluster",
    Assembly("mbarrier.try_wait.acquire.cluster.shared::cta.b64 $0, [$1], $2;"),
)


def _mapped(op: TableOp) -> str:
    return f"mapa.shared::cluster.u32 $0, $1, {'0' if op.rank is None else '$2'};"


MapaOp = define_instruction(
    "mapa",
    "address rank?",
    "mapped",
    "the shared::cluster address of a shared address in the CTA of a rank; by default of rank 0",
    Assembly(_mapped, NONE),
)

# ---- clusters ------------------------------------------------------------------------------------


def _aligned(name: str) -> Intrinsic:
    def spelled(op: TableOp) -> str:
        return f"{name}.aligned" if "aligned" in op.attributes else name

    return Intrinsic(spelled, ALL, convergent=True)


ClusterRankOp = define_instruction(
    "read.ptx.sreg.cluster.ctarank",
    "",
    "res",
    "the CTA's rank in its cluster",
    Intrinsic("read.ptx.sreg.cluster.ctarank"),
)
ClusterArriveRelaxedOp = define_instruction(
    "cluster.arrive.relaxed",
    "",
    "",
    "arrive at the cluster barrier, relaxed; `aligned`: all threads of the warp do",
    _aligned("barrier.cluster.arrive.relaxed"),
)
ClusterArriveOp = define_instruction(
    "cluster.arrive",
    "",
    "",
    "arrive at the cluster barrier, release; `aligned`: all threads of the warp do",
    _aligned("barrier.cluster.arrive"),
)
ClusterWaitOp = define_instruction(
    "cluster.wait",
    "",
    "",
    "wait at the cluster barrier; `aligned`: all threads of the warp do",
    _aligned("barrier.cluster.wait"),
)

# ---- fences --------------------------------------------------------------------------------------


def _proxy_fence(op: TableOp) -> str:
    return f"fence.proxy.async{'.shared::cta' if 'shared' in op.attributes else ''};"


def _memory_fence(op: TableOp) -> str:
    return f"fence.{keyword_attr(op, 'semantics')}.{keyword_attr(op, 'scope')};"


FenceOp = define_instruction(
    "fence",
    "",
    "",
    "order this thread's accesses before it and after it; `semantics` and `scope` are PTX's",
    Assembly(_memory_fence),
)
FenceMBarrierInitOp = define_instruction(
    "fence.mbarrier.init",
    "",
    "",
    "make initialized mbarriers visible to the cluster",
    Intrinsic("fence.mbarrier_init.release.cluster", ALL),
)
FenceProxyAsyncOp = define_instruction(
    "fence.proxy.async",
    "",
    "",
    "order generic accesses before the async proxy: of all memory, or of `shared` memory",
    Assembly(_proxy_fence),
)
MemoryClobberOp = define_instruction(
    "memory_clobber",
    "",
    "",
    "no instruction: LLVM moves no access of memory across it",
    Assembly(""),
)
HereOp = define_instruction(
    "here",
    "value",
    "result",
    "no instruction: the same value, which LLVM computes before what comes next",
    Assembly("", tied_operands=1),
)

# ---- execution -----------------------------------------------------------------------------------


def _setmaxnreg(op: TableOp) -> str:
    return f"setmaxnreg.{keyword_attr(op, 'action')}.sync.aligned.u32"


SetMaxRegisterOp = define_instruction(
    "setmaxregister",
    "",
    "",
    "increase (`action` inc) or decrease (dec) the registers per thread to `count`",
    Intrinsic(_setmaxnreg, ALL, convergent=True, arguments=lambda op: [int_attr(op, "count")]),
)
GridDependencyWaitOp = define_instruction(
    "griddepcontrol.wait",
    "",
    "",
    "wait for the grids that this one depends on, and their writes",
    Intrinsic("griddepcontrol.wait", ALL),
)
GridDependencyLaunchOp = define_instruction(
    "griddepcontrol.launch.dependents",
    "",
    "",
    "let the grids that depend on this one start",
    Intrinsic("griddepcontrol.launch.dependents", ALL),
)

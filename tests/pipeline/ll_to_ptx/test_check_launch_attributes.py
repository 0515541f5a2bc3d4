"""ll_to_ptx/check_launch_attributes.py: attributes become directives, or one sentence says why not."""

import pytest

from tileiras_build.core.errors import InvalidInput, TileirasError, Unsupported
from tileiras_build.pipeline import ll_to_ptx
from tileiras_build.pipeline.job import Job
from tileiras_build.pipeline.ptx_to_cubin import lower as assemble
from tileiras_build.target.targets import TARGETS


def kernel(attributes: str, tail: str = "") -> str:
    body = "  store i32 1, ptr addrspace(1) %p\n  ret void\n"
    return f"define ptx_kernel void @k(ptr addrspace(1) %p) {attributes} {{\n{body}}}\n{tail}"


@pytest.mark.seed("codegen-overview", "emission-directives", "handoff-survival")
@pytest.mark.parametrize(
    "attributes, directives",
    [
        ('"nvvm.reqntid"="128"', [".reqntid 128"]),
        ('"nvvm.reqntid"="32,2,1"', [".reqntid 32, 2, 1"]),
        ('"nvvm.maxntid"="256" "nvvm.minctasm"="2"', [".maxntid 256", ".minnctapersm 2"]),
        ('"nvvm.reqntid"="64" "nvvm.maxnreg"="40"', [".reqntid 64", ".maxnreg 40"]),
        ('"nvvm.cluster_dim"="2,1,1"', [".explicitcluster", ".reqnctapercluster 2, 1, 1"]),
        ('"nvvm.cluster_dim"="0,0,0"', [".explicitcluster"]),
        ('"nvvm.maxclusterrank"="8"', [".maxclusterrank 8"]),
        ('"nvvm.reqntid"="128" "nvvm.cluster_dim"="2" "nvvm.blocksareclusters"',
         [".reqntid 128", ".reqnctapercluster 2", ".blocksareclusters"]),
    ],
)  # fmt: skip
def test_directives(attributes, directives):
    job = Job(TARGETS["sm_90"])
    ptx = ll_to_ptx.lower(kernel(attributes), job)
    head = ptx[ptx.index(".entry") : ptx.index("{")]
    assert [line for line in head.splitlines() if line.startswith(".") and not line.startswith(".entry")] == directives
    assert list(assemble(ptx, job)[1]["kernels"]) == ["k"], "ptxas takes them together"


@pytest.mark.seed("target-and-debug-info", "consumer-validators")
@pytest.mark.parametrize("name", [name for name, target in TARGETS.items() if not target.has("cluster")])
@pytest.mark.parametrize(
    "attribute, directive",
    [('"nvvm.cluster_dim"="2"', ".reqnctapercluster"), ('"nvvm.maxclusterrank"="4"', ".maxclusterrank")],
)
def test_clusters_need_their_gpu(name, attribute, directive):
    with pytest.raises(Unsupported, match=f"kernel k uses {directive}, which {name} does not have") as caught:
        ll_to_ptx.lower(kernel(attribute), Job(TARGETS[name]))
    assert caught.value.location.line == 1


@pytest.mark.parametrize(
    "attributes, message",
    [
        ('"nvvm.reqntid"="abc"', "nvvm.reqntid is 'abc', not positive integers"),
        ('"nvvm.reqntid"="0"', "nvvm.reqntid is '0', not positive integers"),
        ('"nvvm.reqntid"="1,2,3,4"', "nvvm.reqntid takes at most 3 values, not '1,2,3,4'"),
        ('"nvvm.maxnreg"=""', "nvvm.maxnreg takes at most 1 values, not ''"),
        ('"nvvm.maxnreg"="x"', "nvvm.maxnreg is 'x'"),
        ('"nvvm.reqntid"="64" "nvvm.maxntid"="128"', "nvvm.reqntid and nvvm.maxntid exclude each other"),
        ('"nvvm.cluster_dim"="2" "nvvm.maxclusterrank"="4"', "nvvm.cluster_dim and nvvm.maxclusterrank exclude"),
        ('"nvvm.blocksareclusters"', "nvvm.blocksareclusters needs nvvm.reqntid and nvvm.cluster_dim"),
    ],
)
def test_what_llvm_would_exit_on(attributes, message):
    with pytest.raises(TileirasError) as caught:
        ll_to_ptx.lower(kernel(attributes), Job(TARGETS["sm_90"]))
    assert caught.value.id == "launch-attribute" and message in caught.value.message


def test_attribute_groups_are_read():
    text = kernel("#0", 'attributes #0 = { "nvvm.maxnreg"="x" }\n')
    with pytest.raises(InvalidInput, match="nvvm.maxnreg is 'x'"):
        ll_to_ptx.lower(text, Job(TARGETS["sm_90"]))
    assert ".maxnreg 32" in ll_to_ptx.lower(text.replace('"x"', '"32"'), Job(TARGETS["sm_90"]))

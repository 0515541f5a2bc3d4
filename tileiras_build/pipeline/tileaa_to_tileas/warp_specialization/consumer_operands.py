"""How a product of the threads that compute finds the operands that TMA has brought to shared memory."""

from __future__ import annotations

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Operation, SSAValue

from ....ir.casting import given, row, tile_type
from ....ir.dialects.nv_tileas.ops import COUNTERPARTS, LocalLoadOp
from ....ir.dialects.op_definition import TableOperation
from ...analysis.view_chains import rounds_to_tf32
from ..layout_assignment.view_chain_layouts import forwarded, fragment_of, with_layout
from ..rewriter import constant_i32, insert_before
from .pipeline_buffers import Fetch, Ring, stage_operands

CreateTokenOp = COUNTERPARTS["nv_tileaa.create_mem_token"]


def operands_of(ring: Ring, stage: SSAValue) -> tuple[list[SSAValue], list[SSAValue | None], dict[str, Attribute]]:
    """What a product reads, the stages of what lies in shared memory, and how it lies there."""
    product = ring.product
    operands, kept = [product.lhs, product.rhs], stage_operands(ring)
    stages: list[SSAValue | None] = [None, None]
    if ring.resident is not None:
        operands[0] = given(ring.resident.fetch.buffer)
        stages[0] = insert_before(constant_i32(0), product)
    for fetch in ring.fetches:
        if fetch.index == 0 and product.scattered_rows:
            operands[0] = read_fragment(fetch, stage, product)
            del kept["lhs_placement"]
            continue
        operands[fetch.index], stages[fetch.index] = fetch.buffer, stage
    return operands, stages, kept


def read_fragment(fetch: Fetch, stage: SSAValue, product: TableOperation) -> SSAValue:
    """An operand in registers: read from the stage in the fragment that the product wants."""
    layout = fragment_of(fetch.load, fetch.chain)
    type = TensorType(fetch.element, fetch.load.value.type.get_shape())
    current = insert_before(LocalLoadOp.make([fetch.buffer, stage], [with_layout(type, layout)]), product)
    for link in fetch.chain:
        if link.name == "nv_tileas.convert_layout" or rounds_to_tf32(link):
            continue
        layout = forwarded(row(link), layout)
        type = TensorType(tile_type(current).element_type, tile_type(link.results[0]).get_shape())
        if link.name == "nv_tileas.fp_to_fp":
            type = tile_type(link.results[0])
        current = insert_before(row(link).make([current], [with_layout(type, layout)], dict(link.attributes)), product)
    product.operands[fetch.index] = current
    return current


def drop_fetch(fetch: Fetch) -> None:
    drop_load(fetch.load, fetch.chain)


def drop_load(load: TableOperation, chain: list[Operation]) -> None:
    """A load and what only it fed are gone; what its token ordered follows what it followed."""
    for link in reversed(chain):
        link.detach()
        link.erase()
    if load.result_token is not None and list(load.result_token.uses):
        token = load.token
        if token is None:
            token = insert_before(CreateTokenOp.make([], [load.result_token.type]), load)
        load.result_token.replace_all_uses_with(token)
    load.detach()
    load.erase()

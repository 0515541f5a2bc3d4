"""Types of scheduled tile IR: buffers, pipelines, tensor maps, tensor memory."""

from __future__ import annotations

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition

from ..cute.shared_layout_attr import SharedLayoutAttr

MBARRIER_BYTES = 8


@irdl_attr_definition
class BufferType(ParametrizedAttribute, TypeAttribute):
    """A ring of equal tiles in shared memory: ``!nv_tileas.buffer<f16, #builtin.int<3>, #cute.shared<…>>``.

    Element type, number of stages, placement of one stage.
    """

    name = "nv_tileas.buffer"
    element_type: Attribute
    stages: IntAttr
    placement: SharedLayoutAttr

    @property
    def stage_bytes(self) -> int:
        """Bytes from one stage to the next, in whole rows of all banks."""
        return -(-self.placement.data.size_bytes // 128) * 128

    @property
    def size_bytes(self) -> int:
        return self.stage_bytes * self.stages.data


@irdl_attr_definition
class PipelineType(ParametrizedAttribute, TypeAttribute):
    """A ring of stages with a full and an empty mbarrier each: ``!nv_tileas.pipeline<#builtin.int<4>>``."""

    name = "nv_tileas.pipeline"
    stages: IntAttr

    @property
    def size_bytes(self) -> int:
        """Shared memory of the mbarriers."""
        return 2 * MBARRIER_BYTES * self.stages.data


@irdl_attr_definition
class TmaDescType(ParametrizedAttribute, TypeAttribute):
    """A tensor map, a parameter of the kernel: ``!nv_tileas.tma_desc``."""

    name = "nv_tileas.tma_desc"


@irdl_attr_definition
class TmemType(ParametrizedAttribute, TypeAttribute):
    """Columns of tensor memory, in all 128 lanes: ``!nv_tileas.tmem<#builtin.int<128>>``."""

    name = "nv_tileas.tmem"
    columns: IntAttr

"""The types of CUTLASS pipelines."""

from __future__ import annotations

from xdsl.dialects.builtin import IntAttr
from xdsl.ir import Attribute, ParametrizedAttribute, TypeAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException


@irdl_attr_definition
class PipelineType(ParametrizedAttribute, TypeAttribute):
    """``!cutlass.pipeline<3>``: barriers of that many stages in shared memory, a full and an empty one each."""

    name = "cutlass.pipeline"
    stages: IntAttr

    def verify(self) -> None:
        if self.stages.data < 1:
            raise VerifyException("cutlass.pipeline.init: invalid numStages")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        with parser.in_angle_brackets():
            return [IntAttr(parser.parse_integer())]

    def print_parameters(self, printer: Printer) -> None:
        printer.print_string(f"<{self.stages.data}>")


@irdl_attr_definition
class StateType(ParametrizedAttribute, TypeAttribute):
    """``!cutlass.pipeline.state``: phase, index and count of one side of a pipeline."""

    name = "cutlass.pipeline.state"


TYPES = (PipelineType, StateType)

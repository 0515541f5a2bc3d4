"""The launch specification of a kernel, before its function is converted."""

from __future__ import annotations

from math import prod

from xdsl.dialects.builtin import ArrayAttr, IntAttr
from xdsl.ir import Attribute, ParametrizedAttribute
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

_CLUSTER_EXTENTS = (1, 2, 4, 8)
_MAX_CLUSTER = 16  # blocks, with the opt-in of CUDA's cudaFuncAttributeNonPortableClusterSizeAllowed


@irdl_attr_definition
class KernelSpecAttr(ParametrizedAttribute):
    """``#nv_tileaa.kernel_spec<numWarps=4, clusterDim=[2, 1, 1], numCtas=1, maxRegisters=128>``.

    ``clusterDim`` is in thread blocks; ``maxRegisters`` per thread, 0 (not printed) = no limit.
    """

    name = "nv_tileaa.kernel_spec"

    num_warps: IntAttr
    cluster: ArrayAttr[IntAttr]
    num_ctas: IntAttr
    max_registers: IntAttr

    @staticmethod
    def of(
        num_warps: int = 4, cluster: tuple[int, int, int] = (1, 1, 1), num_ctas: int = 1, max_registers: int = 0
    ) -> KernelSpecAttr:
        """A specification from plain integers."""
        extents = ArrayAttr([IntAttr(extent) for extent in cluster])
        return KernelSpecAttr(IntAttr(num_warps), extents, IntAttr(num_ctas), IntAttr(max_registers))

    @property
    def cluster_dim(self) -> tuple[int, int, int]:
        """Thread blocks of a cluster in x, y and z."""
        x, y, z = self.cluster.data
        return x.data, y.data, z.data

    def verify(self) -> None:
        if self.num_warps.data < 1 or self.num_ctas.data < 1:
            raise VerifyException("a kernel needs at least one warp and one CTA")
        extents = [extent.data for extent in self.cluster.data]
        if len(extents) != 3 or any(extent not in _CLUSTER_EXTENTS for extent in extents):
            raise VerifyException(f"clusterDim {extents} must have three extents out of {list(_CLUSTER_EXTENTS)}")
        if prod(extents) > _MAX_CLUSTER:
            raise VerifyException(f"a cluster of {prod(extents)} blocks exceeds {_MAX_CLUSTER}")

    @classmethod
    def parse_parameters(cls, parser: AttrParser) -> list[Attribute]:
        counts = {"numWarps": 4, "numCtas": 1, "maxRegisters": 0}
        cluster = [1, 1, 1]

        def entry() -> None:
            key = parser.parse_identifier()
            if key not in counts and key != "clusterDim":
                parser.raise_error(f"a kernel specification has no field {key}")
            parser.parse_punctuation("=")
            if key in counts:
                counts[key] = parser.parse_integer()
            else:
                cluster[:] = parser.parse_comma_separated_list(parser.Delimiter.SQUARE, parser.parse_integer)

        parser.parse_comma_separated_list(parser.Delimiter.ANGLE, entry)
        extents = ArrayAttr([IntAttr(extent) for extent in cluster])
        return [IntAttr(counts["numWarps"]), extents, IntAttr(counts["numCtas"]), IntAttr(counts["maxRegisters"])]

    def print_parameters(self, printer: Printer) -> None:
        extents = ", ".join(map(str, self.cluster_dim))
        limit = f", maxRegisters={self.max_registers.data}" if self.max_registers.data else ""
        printer.print_string(
            f"<numWarps={self.num_warps.data}, clusterDim=[{extents}], numCtas={self.num_ctas.data}{limit}>"
        )

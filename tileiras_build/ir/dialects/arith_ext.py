"""The ``arith`` dialect on scalars and vectors: xDSL's operations and ``arith.remf``, which it lacks.

Tiles have classes of their own for the same names (``tileiras_build.ir.dialects.arith``).
"""

from __future__ import annotations

from xdsl.dialects.arith import Arith as XDSL_ARITH
from xdsl.dialects.arith import FloatingPointLikeBinaryOperation
from xdsl.ir import Dialect
from xdsl.irdl import irdl_op_definition, traits_def
from xdsl.traits import Pure


@irdl_op_definition
class RemfOp(FloatingPointLikeBinaryOperation):
    """Remainder with the sign of the dividend, as C's fmod."""

    name = "arith.remf"
    traits = traits_def(Pure())


Arith = Dialect("arith", [*XDSL_ARITH.operations, RemfOp], list(XDSL_ARITH.attributes))

"""The public cuda_tile dialect (CUDA Tile IR 13.1 to 13.5) for xDSL: all its names are this package's."""

from xdsl.ir import Dialect

from . import op_base
from .attrs import *
from .element_types import *
from .enums import *
from .location import *
from .ops_atomic import *
from .ops_control import *
from .ops_conversion import *
from .ops_float import *
from .ops_integer import *
from .ops_load_store import *
from .ops_make_view import *
from .ops_matrix import *
from .ops_module import *
from .ops_multimem import *
from .ops_print_assert_grid_dependency import *
from .ops_reduce import *
from .ops_shape import *
from .types import *
from .view_types import *

OPERATIONS: tuple[type[op_base.TileOperation], ...] = tuple(op_base.OPERATIONS)
ARITHMETIC_OPS = (*FLOAT_OPS, *INTEGER_OPS, *MATRIX_OPS)
TYPES = (
    TokenType, PointerType, TileType, TensorViewType, PartitionViewType, StridedViewType, GatherScatterViewType,
    FloatNV8E5M3FNUType,
)  # fmt: skip

CudaTile = Dialect("cuda_tile", [*OPERATIONS], [*TYPES, *ENUM_ATTRS, *ATTRS, *DEBUG_ATTRS])

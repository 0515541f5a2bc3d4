"""The public cuda_tile dialect (CUDA Tile IR 13.1 to 13.4) for xDSL."""

from xdsl.ir import Dialect

from tileiras_build.dialects.cuda_tile.attrs import *  # noqa: F403
from tileiras_build.dialects.cuda_tile.attrs import ATTRS
from tileiras_build.dialects.cuda_tile.enums import *  # noqa: F403
from tileiras_build.dialects.cuda_tile.enums import ENUM_ATTRS
from tileiras_build.dialects.cuda_tile.location import *  # noqa: F403
from tileiras_build.dialects.cuda_tile.location import DEBUG_ATTRS
from tileiras_build.dialects.cuda_tile.ops_arithmetic import *  # noqa: F403
from tileiras_build.dialects.cuda_tile.ops_arithmetic import ARITHMETIC_OPS
from tileiras_build.dialects.cuda_tile.ops_control import *  # noqa: F403
from tileiras_build.dialects.cuda_tile.ops_control import CONTROL_OPS
from tileiras_build.dialects.cuda_tile.ops_memory import *  # noqa: F403
from tileiras_build.dialects.cuda_tile.ops_memory import MEMORY_OPS
from tileiras_build.dialects.cuda_tile.ops_shape import *  # noqa: F403
from tileiras_build.dialects.cuda_tile.ops_shape import SHAPE_OPS
from tileiras_build.dialects.cuda_tile.types import *  # noqa: F403
from tileiras_build.dialects.cuda_tile.types import TYPES

OPERATIONS = (*CONTROL_OPS, *ARITHMETIC_OPS, *SHAPE_OPS, *MEMORY_OPS)

CudaTile = Dialect("cuda_tile", list(OPERATIONS), [*TYPES, *ENUM_ATTRS, *ATTRS, *DEBUG_ATTRS])

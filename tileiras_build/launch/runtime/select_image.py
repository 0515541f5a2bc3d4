"""Select the image of a kernel for a GPU.

CUDA C++ Programming Guide, "Compute Capabilities" and PTX ISA 9.0, section 11.1.2 (``.target``): a cubin runs on GPUs
of its major version with the same or a higher minor one, PTX on its own GPU and later ones; arch-specific code (``sm_90a``)
only on its own GPU, family-specific code (``sm_100f``) on its own and later ones of its family. Embedded GPUs share cubins with no others. An image must not need more shared memory than a block may
have ("Technical Specifications per Compute Capability"): 163 KB on sm_80, 99 KB on sm_86, 89 and 120.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NoReturn

from ...core.errors import Unsupported
from ...target.targets import TARGETS
from .library_manifest import CUBIN, PTX, Image

if TYPE_CHECKING:
    from ...manifest.launch_manifest import Launch


def runs_on(image: Image, number: int) -> bool:
    """Whether an image runs on the GPU with compute capability ``number`` (90 for 9.0)."""
    return _can_load(image, number) and _fits_shared_memory(image, number)


def _can_load(image: Image, number: int) -> bool:
    made_for = image.gpu
    if image.kind == PTX and made_for.portable:
        return made_for.number <= number
    return made_for.runs_on(number)


def _fits_shared_memory(image: Image, number: int) -> bool:
    return fits_shared_memory(image.launch, number)


def fits_shared_memory(launch: Launch, number: int) -> bool:
    """Whether the shared memory fits a block; on unknown GPUs the driver decides."""
    target = TARGETS.get(f"sm_{number}")
    return target is None or launch.shared_memory.dynamic <= target.max_shared_memory


def by_preference(images: Iterable[Image]) -> list[Image]:
    """The images in order of preference: cubins before PTX, then the newest target, a GPU's own code before its family's."""
    return sorted(images, key=lambda image: (image.kind != CUBIN, -image.gpu.number, image.gpu.is_family))


def select_image(images: Iterable[Image], number: int) -> Image | None:
    """The best image for a GPU; None if none runs on it."""
    return next((image for image in by_preference(images) if runs_on(image, number)), None)


def require_image(entry: str, images: Sequence[Image], number: int) -> Image:
    """``select_image``, or Unsupported[no-image] with the GPUs that the kernel was built for."""
    found = select_image(images, number)
    if found is not None:
        return found
    too_large = next((image for image in by_preference(images) if _can_load(image, number)), None)
    if too_large is not None:
        _refuse_shared_memory(entry, too_large, number)
    built = ", ".join(image.target if image.kind == CUBIN else f"PTX of {image.target}" for image in images)
    known = f"sm_{number}" in TARGETS
    remedy = f"rebuild with sm={number}" if known else "rebuild with ptx=80, which the driver compiles"
    raise Unsupported("no-image", f"no image of kernel {entry} for sm_{number} (built for {built})", remedy=remedy)


def _refuse_shared_memory(entry: str, image: Image, number: int) -> NoReturn:
    most = TARGETS[f"sm_{number}"].max_shared_memory
    needs = f"needs {image.shared_memory} bytes of shared memory (built for {image.target})"
    message = f"kernel {entry} {needs}; sm_{number} allows {most} per block"
    raise Unsupported("no-image", message, remedy=f"rebuild with sm={number}")

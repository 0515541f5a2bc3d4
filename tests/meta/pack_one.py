"""What the steps of a package call, for a trace of one kernel."""

from tileiras_build.launch.packages.fatbin import make_fatbin
from tileiras_build.launch.packages.fatbin_inputs import read_images
from tileiras_build.launch.packages.package_library import KernelFiles, pack_library


def make_parts(images: tuple) -> bytes:
    """As the step that makes a fat binary."""
    return make_fatbin("kernel", tuple(part for part, _ in read_images(images)))


def pack(fatbin: str, images: tuple) -> dict[str, bytes]:
    """As the step that packs a library."""
    return pack_library("kernels", [KernelFiles("kernel", fatbin, images)], embed=True)

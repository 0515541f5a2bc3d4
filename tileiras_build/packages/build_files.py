"""How CMake and pkg-config find a package's launcher (``cmake_config.cmake`` and ``package.pc`` beside this file)."""

from __future__ import annotations

from pathlib import Path

from ..runtime.library_manifest import LibraryManifest
from .c_source import fill

_FOLDER = Path(__file__).parent


def render_cmake(manifest: LibraryManifest, *, embed: bool) -> str:
    """``<name>-config.cmake``."""
    sources = " ".join(f'"${{{manifest.name}_ROOT}}/{path}"' for path in _sources(manifest.name, embed))
    return fill((_FOLDER / "cmake_config.cmake").read_text(), manifest, cmake_sources=sources)


def render_pc(manifest: LibraryManifest, *, embed: bool) -> str:
    """``<name>.pc``."""
    sources = " ".join(f"${{prefix}}/{path}" for path in _sources(manifest.name, embed))
    return fill((_FOLDER / "package.pc").read_text(), manifest, pc_sources=sources)


def _sources(name: str, embed: bool) -> list[str]:
    return [f"src/{name}.c"] + ([f"src/{name}_image.c"] if embed else [])

"""The launch manifest embedded in PTX as a comment line of JSON, so that assembly depends on the .ptx file only."""

from __future__ import annotations

import json

from ..core.errors import InternalError

MANIFEST_MARK = "// tileiras.manifest: "


def manifest_comment(manifest: dict) -> str:
    """The PTX comment line (without newline) with a manifest, in ASCII."""
    return MANIFEST_MARK + json.dumps(manifest, separators=(",", ":"))


def manifest_of_ptx(ptx: str) -> dict | None:
    """The manifest embedded in a .ptx; None if there is none."""
    for line in ptx[: ptx.find(".visible") if ".visible" in ptx else None].splitlines():
        if line.startswith(MANIFEST_MARK):
            return parse_manifest(line.removeprefix(MANIFEST_MARK))
    return None


def parse_manifest(note: str) -> dict:
    """The manifest in a JSON text; raises InternalError[manifest] if it is invalid."""
    try:
        manifest = json.loads(note)
    except ValueError as error:
        raise InternalError("manifest", f"the launch manifest is not JSON: {error}") from error
    if not isinstance(manifest, dict):
        raise InternalError("manifest", "the launch manifest is not a JSON object")
    return manifest

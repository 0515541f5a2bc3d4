"""The launch manifest that PTX carries: one comment line of JSON, so that assembling stays a function of the .ptx alone."""

from __future__ import annotations

import json

from ..core.errors import InternalError

MANIFEST_MARK = "// tileiras.manifest: "


def manifest_comment(manifest: dict) -> str:
    """The PTX comment line (without line end) that carries a manifest; pure ASCII."""
    return MANIFEST_MARK + json.dumps(manifest, separators=(",", ":"))


def manifest_of_ptx(ptx: str) -> dict | None:
    """The manifest that a .ptx carries; None where it has none."""
    for line in ptx[: ptx.find(".visible") if ".visible" in ptx else None].splitlines():
        if line.startswith(MANIFEST_MARK):
            return parse_manifest(line.removeprefix(MANIFEST_MARK))
    return None


def parse_manifest(note: str) -> dict:
    """The JSON of a manifest; raises InternalError[manifest] where it is none."""
    try:
        manifest = json.loads(note)
    except ValueError as error:
        raise InternalError("manifest", f"the launch manifest is not JSON: {error}") from error
    if not isinstance(manifest, dict):
        raise InternalError("manifest", "the launch manifest is not a JSON object")
    return manifest

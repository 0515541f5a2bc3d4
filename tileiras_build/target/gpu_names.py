"""GPU_NAMES: GPUs of NVIDIA, whose names options take in place of their target.

Source: NVIDIA, "CUDA GPU Compute Capability" (developer.nvidia.com/cuda-gpus).
"""

from __future__ import annotations

_MAKERS = ("nvidia", "geforce", "quadro", "jetson", "tesla")

GPU_NAMES: dict[int, tuple[str, ...]] = {
    80: ("a100", "a30", "a800"),
    86: ("a40", "a10", "a16", "a2", "rtxa6000", "rtxa5000", "rtxa4000", "rtxa2000", "rtx3090ti", "rtx3090", "rtx3080ti",
         "rtx3080", "rtx3070ti", "rtx3070", "rtx3060ti", "rtx3060", "rtx3050"),
    87: ("agxorin", "orinnx", "orinnano", "orin"),
    89: ("l4", "l40", "l40s", "rtx6000ada", "rtx5000ada", "rtx4500ada", "rtx4000ada", "rtx2000ada", "rtx4090", "rtx4080super",
         "rtx4080", "rtx4070tisuper", "rtx4070ti", "rtx4070super", "rtx4070", "rtx4060ti", "rtx4060", "rtx4050"),
    90: ("h100", "h200", "h800", "h20", "gh200", "h100sxm", "h100pcie", "h100nvl", "h200nvl"),
    100: ("b200", "gb200", "b100"),
    103: ("b300", "gb300"),
    110: ("thor", "t5000", "t4000"),
    120: ("rtxpro6000", "rtxpro5000", "rtxpro4500", "rtxpro4000", "rtxpro2000", "rtx5090", "rtx5080", "rtx5070ti", "rtx5070",
          "rtx5060ti", "rtx5060", "rtx5050"),
    121: ("gb10", "dgxspark"),
}  # fmt: skip


def plain_name(text: str) -> str:
    """A GPU's name as GPU_NAMES has it: "NVIDIA GeForce RTX 5090", "rtx-5090" and "RTX_5090" are "rtx5090"."""
    name = "".join(character for character in text.lower() if character.isalnum())
    for maker in _MAKERS:
        name = name.removeprefix(maker)
    return name

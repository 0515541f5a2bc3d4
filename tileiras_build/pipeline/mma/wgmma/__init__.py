"""``wgmma.mma_async``: a warpgroup multiplies tiles in shared memory (PTX ISA 9.0, section 9.7.15)."""

"""Matrix multiply-accumulate: mma.sync and FMA, wgmma, tcgen05."""

"""Matrix products: fragments of a warp, warpgroups, tensor memory."""

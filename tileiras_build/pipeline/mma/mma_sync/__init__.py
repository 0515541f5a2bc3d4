"""``mma.sync``: a warp multiplies fragments in registers (PTX ISA 9.0, section 9.7.14)."""

"""``tcgen05.mma``: one thread multiplies tiles in shared memory, and accumulates in tensor memory (PTX ISA 9.0, section 9.7.16)."""

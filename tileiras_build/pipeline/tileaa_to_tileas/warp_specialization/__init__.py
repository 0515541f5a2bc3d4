"""The partitions of ``specialize_warps.py``: producer, MMA issuer, consumer and epilogue warps."""

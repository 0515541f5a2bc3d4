"""The partitions that ``specialize_warps.py`` makes: producer, MMA issuer, consumer and epilogue warps."""

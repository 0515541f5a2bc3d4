"""The roles of warps that ``specialize_warps.py`` creates: producer, MMA issuer, consumer, epilogue; and their pipelines."""

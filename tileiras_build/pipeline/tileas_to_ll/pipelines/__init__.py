"""Warp partitions and what synchronizes them: mbarrier pipelines, asynchronous copies, tensor maps, ping-pong barriers."""

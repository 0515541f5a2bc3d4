"""Warp partitions and their synchronization: mbarrier pipelines, asynchronous copies, tensor maps, ping-pong barriers."""

// Index queries: one special register each, a cast to index, and a range where the bound is known.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- thread_id
// seed: nvgpu-gpu-to-nvvm concept-index index-thread-id
gpu.module @m {
  gpu.func @k() kernel {
    %x = gpu.thread_id x
    %y = gpu.thread_id y
    %z = gpu.thread_id z
    gpu.return
  }
}
// ==>


// ---- block_id
// seed: nvgpu-gpu-to-nvvm concept-index index-block-id
gpu.module @m {
  gpu.func @k() kernel {
    %x = gpu.block_id x
    %y = gpu.block_id y
    %z = gpu.block_id z
    gpu.return
  }
}
// ==>


// ---- block_dim
// seed: nvgpu-gpu-to-nvvm concept-index index-block-dim
gpu.module @m {
  gpu.func @k() kernel {
    %x = gpu.block_dim x
    %y = gpu.block_dim y
    %z = gpu.block_dim z
    gpu.return
  }
}
// ==>


// ---- grid_dim
// seed: nvgpu-gpu-to-nvvm concept-index index-grid-dim
gpu.module @m {
  gpu.func @k() kernel {
    %x = gpu.grid_dim x
    %y = gpu.grid_dim y
    %z = gpu.grid_dim z
    gpu.return
  }
}
// ==>


// ---- cluster_id
// seed: nvgpu-gpu-to-nvvm concept-index index-cluster-id
gpu.module @m {
  gpu.func @k() kernel {
    %x = gpu.cluster_id x
    %y = gpu.cluster_id y
    %z = gpu.cluster_id z
    gpu.return
  }
}
// ==>


// ---- cluster_dim
// seed: nvgpu-gpu-to-nvvm concept-index index-cluster-dim
gpu.module @m {
  gpu.func @k() kernel {
    %x = gpu.cluster_dim x
    %y = gpu.cluster_dim y
    %z = gpu.cluster_dim z
    gpu.return
  }
}
// ==>


// ---- cluster_block_id
// seed: nvgpu-gpu-to-nvvm concept-index index-cluster-block-id
gpu.module @m {
  gpu.func @k() kernel {
    %x = gpu.cluster_block_id x
    %y = gpu.cluster_block_id y
    %z = gpu.cluster_block_id z
    gpu.return
  }
}
// ==>


// ---- subgroup_size
// seed: nvgpu-gpu-to-nvvm concept-index index-subgroup-size
gpu.module @m {
  gpu.func @k() kernel {
    %s = gpu.subgroup_size : index
    gpu.return
  }
}
// ==>


// ---- lane_id
// seed: nvgpu-gpu-to-nvvm concept-index index-lane-id
gpu.module @m {
  gpu.func @k() kernel {
    %l = gpu.lane_id
    gpu.return
  }
}
// ==>


// ---- known_launch_sizes_bound_the_registers
// seed: nvgpu-gpu-to-nvvm index-thread-id index-block-dim index-block-id index-grid-dim index-cluster-block-id
gpu.module @m {
  gpu.func @k() kernel attributes {known_block_size = array<i32: 128, 2, 1>, known_grid_size = array<i32: 16, 1, 1>, known_cluster_size = array<i32: 2, 1, 1>} {
    %a = gpu.thread_id y
    %b = gpu.block_dim y
    %c = gpu.block_id x
    %d = gpu.grid_dim x
    %e = gpu.cluster_block_id x
    %f = gpu.cluster_dim x
    gpu.return
  }
}
// ==>


// ---- an_upper_bound_of_the_query_itself
// seed: nvgpu-gpu-to-nvvm index-thread-id index-block-dim
gpu.module @m {
  gpu.func @k() kernel {
    %a = gpu.thread_id x upper_bound 64
    %b = gpu.block_dim x upper_bound 64
    %c = gpu.lane_id upper_bound 16
    gpu.return
  }
}
// ==>


// ---- the_type_may_be_written
// seed: nvgpu-gpu-to-nvvm index-thread-id
gpu.module @m {
  gpu.func @k() kernel {
    %a = gpu.thread_id x : index
    gpu.return
  }
}
// ==>



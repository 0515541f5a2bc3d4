// Index queries: one special register each, a cast to index, and a range where the bound is known.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- thread_id
// seed: lowering-overview role-gpu
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
gpu.module @m {
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
    %0 = nvvm.read.ptx.sreg.tid.x : i32
    %x = arith.index_cast %0 : i32 to index
    %1 = nvvm.read.ptx.sreg.tid.y : i32
    %y = arith.index_cast %1 : i32 to index
    %2 = nvvm.read.ptx.sreg.tid.z : i32
    %z = arith.index_cast %2 : i32 to index
    llvm.return
  }
}

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
gpu.module @m {
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
    %0 = nvvm.read.ptx.sreg.ctaid.x : i32
    %x = arith.index_cast %0 : i32 to index
    %1 = nvvm.read.ptx.sreg.ctaid.y : i32
    %y = arith.index_cast %1 : i32 to index
    %2 = nvvm.read.ptx.sreg.ctaid.z : i32
    %z = arith.index_cast %2 : i32 to index
    llvm.return
  }
}

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
gpu.module @m {
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
    %0 = nvvm.read.ptx.sreg.ntid.x : i32
    %x = arith.index_cast %0 : i32 to index
    %1 = nvvm.read.ptx.sreg.ntid.y : i32
    %y = arith.index_cast %1 : i32 to index
    %2 = nvvm.read.ptx.sreg.ntid.z : i32
    %z = arith.index_cast %2 : i32 to index
    llvm.return
  }
}

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
gpu.module @m {
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
    %0 = nvvm.read.ptx.sreg.nctaid.x : i32
    %x = arith.index_cast %0 : i32 to index
    %1 = nvvm.read.ptx.sreg.nctaid.y : i32
    %y = arith.index_cast %1 : i32 to index
    %2 = nvvm.read.ptx.sreg.nctaid.z : i32
    %z = arith.index_cast %2 : i32 to index
    llvm.return
  }
}

// ---- cluster_id
// seed: lowering-overview role-gpu
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
gpu.module @m {
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
    %0 = nvvm.read.ptx.sreg.clusterid.x : i32
    %x = arith.index_cast %0 : i32 to index
    %1 = nvvm.read.ptx.sreg.clusterid.y : i32
    %y = arith.index_cast %1 : i32 to index
    %2 = nvvm.read.ptx.sreg.clusterid.z : i32
    %z = arith.index_cast %2 : i32 to index
    llvm.return
  }
}

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
gpu.module @m {
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
    %0 = nvvm.read.ptx.sreg.nclusterid.x : i32
    %x = arith.index_cast %0 : i32 to index
    %1 = nvvm.read.ptx.sreg.nclusterid.y : i32
    %y = arith.index_cast %1 : i32 to index
    %2 = nvvm.read.ptx.sreg.nclusterid.z : i32
    %z = arith.index_cast %2 : i32 to index
    llvm.return
  }
}

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
gpu.module @m {
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
    %0 = nvvm.read.ptx.sreg.cluster.ctaid.x : i32
    %x = arith.index_cast %0 : i32 to index
    %1 = nvvm.read.ptx.sreg.cluster.ctaid.y : i32
    %y = arith.index_cast %1 : i32 to index
    %2 = nvvm.read.ptx.sreg.cluster.ctaid.z : i32
    %z = arith.index_cast %2 : i32 to index
    llvm.return
  }
}

// ---- subgroup_size
// seed: nvgpu-gpu-to-nvvm concept-index index-subgroup-size
gpu.module @m {
  gpu.func @k() kernel {
    %s = gpu.subgroup_size : index
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
    %0 = nvvm.read.ptx.sreg.warpsize range <i32, 32, 33> : i32
    %s = arith.index_cast %0 : i32 to index
    llvm.return
  }
}

// ---- lane_id
// seed: nvgpu-gpu-to-nvvm concept-index index-lane-id
gpu.module @m {
  gpu.func @k() kernel {
    %l = gpu.lane_id
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
    %0 = nvvm.read.ptx.sreg.laneid range <i32, 0, 32> : i32
    %l = arith.index_cast %0 : i32 to index
    llvm.return
  }
}

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
gpu.module @m {
  llvm.func @k() attributes {nvvm.reqntid = array<i32: 128, 2, 1>, nvvm.cluster_dim = array<i32: 2, 1, 1>, gpu.kernel, nvvm.kernel} {
    %0 = nvvm.read.ptx.sreg.tid.y range <i32, 0, 2> : i32
    %a = arith.index_cast %0 : i32 to index
    %1 = nvvm.read.ptx.sreg.ntid.y range <i32, 2, 3> : i32
    %b = arith.index_cast %1 : i32 to index
    %2 = nvvm.read.ptx.sreg.ctaid.x range <i32, 0, 16> : i32
    %c = arith.index_cast %2 : i32 to index
    %3 = nvvm.read.ptx.sreg.nctaid.x range <i32, 16, 17> : i32
    %d = arith.index_cast %3 : i32 to index
    %4 = nvvm.read.ptx.sreg.cluster.ctaid.x range <i32, 0, 2> : i32
    %e = arith.index_cast %4 : i32 to index
    %5 = nvvm.read.ptx.sreg.nclusterid.x : i32
    %f = arith.index_cast %5 : i32 to index
    llvm.return
  }
}

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
gpu.module @m {
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
    %0 = nvvm.read.ptx.sreg.tid.x range <i32, 0, 64> : i32
    %a = arith.index_cast %0 : i32 to index
    %1 = nvvm.read.ptx.sreg.ntid.x range <i32, 1, 65> : i32
    %b = arith.index_cast %1 : i32 to index
    %2 = nvvm.read.ptx.sreg.laneid range <i32, 0, 32> : i32
    %c = arith.index_cast %2 : i32 to index
    llvm.return
  }
}

// ---- the_type_may_be_written
// seed: nvgpu-gpu-to-nvvm index-thread-id
gpu.module @m {
  gpu.func @k() kernel {
    %a = gpu.thread_id x : index
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k() attributes {gpu.kernel, nvvm.kernel} {
    %0 = nvvm.read.ptx.sreg.tid.x : i32
    %a = arith.index_cast %0 : i32 to index
    llvm.return
  }
}

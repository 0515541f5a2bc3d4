// Shuffles and reductions that the hardware has no instruction for.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- shuffle_of_a_wide_value
// seed: nvgpu-gpu-to-nvvm shuffle
gpu.module @m {
  gpu.func @k(%v: i64, %o: i32) kernel {
    %r, %ok = gpu.shuffle xor %v, %o, %o : i64
    gpu.return
  }
}
// ==>
// error[shuffle-type]: 'gpu.shuffle' op moves i32 and f32 only, but got 'i64'; split it into i32 values

// ---- reduce_by_an_operation_for_floats
// seed: nvgpu-gpu-to-nvvm subgroup-reduce
gpu.module @m {
  gpu.func @k(%v: i32) kernel {
    %r = gpu.subgroup_reduce maxnumf %v : (i32) -> i32
    gpu.return
  }
}
// ==>
// error[reduce-kind]: 'gpu.subgroup_reduce' op cannot reduce 'i32' by maxnumf

// ---- reduce_over_more_than_a_warp
// seed: nvgpu-gpu-to-nvvm subgroup-reduce
gpu.module @m {
  gpu.func @k(%v: i32) kernel {
    %r = gpu.subgroup_reduce add %v cluster(size = 32, stride = 2) : (i32) -> i32
    gpu.return
  }
}
// ==>
// error[reduce-cluster]: 'gpu.subgroup_reduce' op has clusters of 32 lanes with stride 2, a warp has 32

// ---- clusters_of_three
// seed: nvgpu-gpu-to-nvvm subgroup-reduce
gpu.module @m {
  gpu.func @k(%v: i32) kernel {
    %r = gpu.subgroup_reduce add %v cluster(size = 3) : (i32) -> i32
    gpu.return
  }
}
// ==>
// clusters_of_three: error[ir-invalid]: the module does not verify: cluster_size 3 must be a power of two

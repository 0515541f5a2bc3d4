// Shuffles and reductions over the lanes of a warp.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- shuffle_xor
// seed: lowering-overview role-gpu
// seed: nvgpu-gpu-to-nvvm shuffle
gpu.module @m {
  gpu.func @k(%v: f32, %o: i32, %w: i32) kernel {
    %r, %ok = gpu.shuffle xor %v, %o, %w : f32
    %flag = llvm.zext %ok : i1 to i32
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: f32, %o: i32, %w: i32) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(-1 : i32) : i32
    %1 = llvm.mlir.constant(32 : i32) : i32
    %2 = llvm.sub %1, %w : i32
    %3 = llvm.lshr %0, %2 : i32
    %4 = llvm.mlir.constant(1 : i32) : i32
    %5 = llvm.sub %w, %4 : i32
    %6 = nvvm.shfl.sync bfly %3, %v, %o, %5 {return_value_and_is_valid} : f32 -> !llvm.struct<(f32, i1)>
    %r = llvm.extractvalue %6[0] : !llvm.struct<(f32, i1)>
    %ok = llvm.extractvalue %6[1] : !llvm.struct<(f32, i1)>
    %flag = llvm.zext %ok : i1 to i32
    llvm.return
  }
}

// ---- shuffle_up
// seed: nvgpu-gpu-to-nvvm shuffle
gpu.module @m {
  gpu.func @k(%v: f32, %o: i32, %w: i32) kernel {
    %r, %ok = gpu.shuffle up %v, %o, %w : f32
    %flag = llvm.zext %ok : i1 to i32
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: f32, %o: i32, %w: i32) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(-1 : i32) : i32
    %1 = llvm.mlir.constant(32 : i32) : i32
    %2 = llvm.sub %1, %w : i32
    %3 = llvm.lshr %0, %2 : i32
    %4 = nvvm.shfl.sync up %3, %v, %o, %2 {return_value_and_is_valid} : f32 -> !llvm.struct<(f32, i1)>
    %r = llvm.extractvalue %4[0] : !llvm.struct<(f32, i1)>
    %ok = llvm.extractvalue %4[1] : !llvm.struct<(f32, i1)>
    %flag = llvm.zext %ok : i1 to i32
    llvm.return
  }
}

// ---- shuffle_down
// seed: nvgpu-gpu-to-nvvm shuffle
gpu.module @m {
  gpu.func @k(%v: f32, %o: i32, %w: i32) kernel {
    %r, %ok = gpu.shuffle down %v, %o, %w : f32
    %flag = llvm.zext %ok : i1 to i32
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: f32, %o: i32, %w: i32) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(-1 : i32) : i32
    %1 = llvm.mlir.constant(32 : i32) : i32
    %2 = llvm.sub %1, %w : i32
    %3 = llvm.lshr %0, %2 : i32
    %4 = llvm.mlir.constant(1 : i32) : i32
    %5 = llvm.sub %w, %4 : i32
    %6 = nvvm.shfl.sync down %3, %v, %o, %5 {return_value_and_is_valid} : f32 -> !llvm.struct<(f32, i1)>
    %r = llvm.extractvalue %6[0] : !llvm.struct<(f32, i1)>
    %ok = llvm.extractvalue %6[1] : !llvm.struct<(f32, i1)>
    %flag = llvm.zext %ok : i1 to i32
    llvm.return
  }
}

// ---- shuffle_idx
// seed: nvgpu-gpu-to-nvvm shuffle
gpu.module @m {
  gpu.func @k(%v: f32, %o: i32, %w: i32) kernel {
    %r, %ok = gpu.shuffle idx %v, %o, %w : f32
    %flag = llvm.zext %ok : i1 to i32
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: f32, %o: i32, %w: i32) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(-1 : i32) : i32
    %1 = llvm.mlir.constant(32 : i32) : i32
    %2 = llvm.sub %1, %w : i32
    %3 = llvm.lshr %0, %2 : i32
    %4 = llvm.mlir.constant(1 : i32) : i32
    %5 = llvm.sub %w, %4 : i32
    %6 = nvvm.shfl.sync idx %3, %v, %o, %5 {return_value_and_is_valid} : f32 -> !llvm.struct<(f32, i1)>
    %r = llvm.extractvalue %6[0] : !llvm.struct<(f32, i1)>
    %ok = llvm.extractvalue %6[1] : !llvm.struct<(f32, i1)>
    %flag = llvm.zext %ok : i1 to i32
    llvm.return
  }
}

// ---- a_whole_warp_whose_flags_nobody_asks_for
// seed: nvgpu-gpu-to-nvvm shuffle
gpu.module @m {
  gpu.func @k(%v: i32, %o: i32) kernel {
    %w = llvm.mlir.constant(32 : i32) : i32
    %a, %a_ok = gpu.shuffle idx %v, %o, %w : i32
    %b, %b_ok = gpu.shuffle up %a, %o, %w : i32
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: i32, %o: i32) attributes {gpu.kernel, nvvm.kernel} {
    %w = llvm.mlir.constant(32 : i32) : i32
    %0 = llvm.mlir.constant(-1 : i32) : i32
    %1 = llvm.mlir.constant(31 : i32) : i32
    %a = nvvm.shfl.sync idx %0, %v, %o, %1 : i32 -> i32
    %2 = llvm.mlir.constant(-1 : i32) : i32
    %3 = llvm.mlir.constant(0 : i32) : i32
    %b = nvvm.shfl.sync up %2, %a, %o, %3 : i32 -> i32
    llvm.return
  }
}

// ---- reduce_add_of_integers
// seed: lowering-overview role-gpu
// seed: nvgpu-gpu-to-nvvm subgroup-reduce
gpu.module @m {
  gpu.func @k(%v: i32) kernel {
    %r = gpu.subgroup_reduce add %v uniform : (i32) -> i32
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: i32) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(-1 : i32) : i32
    %r = nvvm.redux.sync add %v, %0 : i32 -> i32
    llvm.return
  }
}

// ---- reduce_and_of_integers
// seed: nvgpu-gpu-to-nvvm subgroup-reduce
gpu.module @m {
  gpu.func @k(%v: i32) kernel {
    %r = gpu.subgroup_reduce and %v uniform : (i32) -> i32
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: i32) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(-1 : i32) : i32
    %r = nvvm.redux.sync and %v, %0 : i32 -> i32
    llvm.return
  }
}

// ---- reduce_or_of_integers
// seed: nvgpu-gpu-to-nvvm subgroup-reduce
gpu.module @m {
  gpu.func @k(%v: i32) kernel {
    %r = gpu.subgroup_reduce or %v uniform : (i32) -> i32
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: i32) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(-1 : i32) : i32
    %r = nvvm.redux.sync or %v, %0 : i32 -> i32
    llvm.return
  }
}

// ---- reduce_xor_of_integers
// seed: nvgpu-gpu-to-nvvm subgroup-reduce
gpu.module @m {
  gpu.func @k(%v: i32) kernel {
    %r = gpu.subgroup_reduce xor %v uniform : (i32) -> i32
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: i32) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(-1 : i32) : i32
    %r = nvvm.redux.sync xor %v, %0 : i32 -> i32
    llvm.return
  }
}

// ---- reduce_minsi_of_integers
// seed: nvgpu-gpu-to-nvvm subgroup-reduce
gpu.module @m {
  gpu.func @k(%v: i32) kernel {
    %r = gpu.subgroup_reduce minsi %v uniform : (i32) -> i32
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: i32) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(-1 : i32) : i32
    %r = nvvm.redux.sync min %v, %0 : i32 -> i32
    llvm.return
  }
}

// ---- reduce_maxsi_of_integers
// seed: nvgpu-gpu-to-nvvm subgroup-reduce
gpu.module @m {
  gpu.func @k(%v: i32) kernel {
    %r = gpu.subgroup_reduce maxsi %v uniform : (i32) -> i32
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: i32) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(-1 : i32) : i32
    %r = nvvm.redux.sync max %v, %0 : i32 -> i32
    llvm.return
  }
}

// ---- reduce_minui_of_integers
// seed: nvgpu-gpu-to-nvvm subgroup-reduce
gpu.module @m {
  gpu.func @k(%v: i32) kernel {
    %r = gpu.subgroup_reduce minui %v uniform : (i32) -> i32
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: i32) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(-1 : i32) : i32
    %r = nvvm.redux.sync umin %v, %0 : i32 -> i32
    llvm.return
  }
}

// ---- reduce_maxui_of_integers
// seed: nvgpu-gpu-to-nvvm subgroup-reduce
gpu.module @m {
  gpu.func @k(%v: i32) kernel {
    %r = gpu.subgroup_reduce maxui %v uniform : (i32) -> i32
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: i32) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(-1 : i32) : i32
    %r = nvvm.redux.sync umax %v, %0 : i32 -> i32
    llvm.return
  }
}

// ---- reduce_mul_of_integers
// seed: nvgpu-gpu-to-nvvm subgroup-reduce
gpu.module @m {
  gpu.func @k(%v: i32) kernel {
    %r = gpu.subgroup_reduce mul %v : (i32) -> i32
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: i32) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(-1 : i32) : i32
    %1 = llvm.mlir.constant(31 : i32) : i32
    %2 = llvm.mlir.constant(1 : i32) : i32
    %3 = nvvm.shfl.sync bfly %0, %v, %2, %1 : i32 -> i32
    %4 = llvm.mul %v, %3 : i32
    %5 = llvm.mlir.constant(2 : i32) : i32
    %6 = nvvm.shfl.sync bfly %0, %4, %5, %1 : i32 -> i32
    %7 = llvm.mul %4, %6 : i32
    %8 = llvm.mlir.constant(4 : i32) : i32
    %9 = nvvm.shfl.sync bfly %0, %7, %8, %1 : i32 -> i32
    %10 = llvm.mul %7, %9 : i32
    %11 = llvm.mlir.constant(8 : i32) : i32
    %12 = nvvm.shfl.sync bfly %0, %10, %11, %1 : i32 -> i32
    %13 = llvm.mul %10, %12 : i32
    %14 = llvm.mlir.constant(16 : i32) : i32
    %15 = nvvm.shfl.sync bfly %0, %13, %14, %1 : i32 -> i32
    %r = llvm.mul %13, %15 : i32
    llvm.return
  }
}

// ---- reduce_add_of_floats
// seed: nvgpu-gpu-to-nvvm subgroup-reduce
gpu.module @m {
  gpu.func @k(%v: f32) kernel {
    %r = gpu.subgroup_reduce add %v : (f32) -> f32
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: f32) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(-1 : i32) : i32
    %1 = llvm.mlir.constant(31 : i32) : i32
    %2 = llvm.mlir.constant(1 : i32) : i32
    %3 = nvvm.shfl.sync bfly %0, %v, %2, %1 : f32 -> f32
    %4 = llvm.fadd %v, %3 : f32
    %5 = llvm.mlir.constant(2 : i32) : i32
    %6 = nvvm.shfl.sync bfly %0, %4, %5, %1 : f32 -> f32
    %7 = llvm.fadd %4, %6 : f32
    %8 = llvm.mlir.constant(4 : i32) : i32
    %9 = nvvm.shfl.sync bfly %0, %7, %8, %1 : f32 -> f32
    %10 = llvm.fadd %7, %9 : f32
    %11 = llvm.mlir.constant(8 : i32) : i32
    %12 = nvvm.shfl.sync bfly %0, %10, %11, %1 : f32 -> f32
    %13 = llvm.fadd %10, %12 : f32
    %14 = llvm.mlir.constant(16 : i32) : i32
    %15 = nvvm.shfl.sync bfly %0, %13, %14, %1 : f32 -> f32
    %r = llvm.fadd %13, %15 : f32
    llvm.return
  }
}

// ---- reduce_in_clusters_of_lanes
// seed: nvgpu-gpu-to-nvvm subgroup-reduce
gpu.module @m {
  gpu.func @k(%v: f32) kernel {
    %r = gpu.subgroup_reduce maxnumf %v cluster(size = 4, stride = 2) : (f32) -> f32
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: f32) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(-1 : i32) : i32
    %1 = llvm.mlir.constant(31 : i32) : i32
    %2 = llvm.mlir.constant(2 : i32) : i32
    %3 = nvvm.shfl.sync bfly %0, %v, %2, %1 : f32 -> f32
    %4 = nvvm.intr.maxnum %v, %3 : f32
    %5 = llvm.mlir.constant(4 : i32) : i32
    %6 = nvvm.shfl.sync bfly %0, %4, %5, %1 : f32 -> f32
    %r = nvvm.intr.maxnum %4, %6 : f32
    llvm.return
  }
}

// Shuffles and reductions over the lanes of a warp.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- shuffle_xor
gpu.module @m {
  gpu.func @k(%v: f32, %o: i32, %w: i32) kernel {
    %r, %ok = gpu.shuffle xor %v, %o, %w : f32
    gpu.return
  }
}
// ==>


// ---- shuffle_up
gpu.module @m {
  gpu.func @k(%v: f32, %o: i32, %w: i32) kernel {
    %r, %ok = gpu.shuffle up %v, %o, %w : f32
    gpu.return
  }
}
// ==>


// ---- shuffle_down
gpu.module @m {
  gpu.func @k(%v: f32, %o: i32, %w: i32) kernel {
    %r, %ok = gpu.shuffle down %v, %o, %w : f32
    gpu.return
  }
}
// ==>


// ---- shuffle_idx
gpu.module @m {
  gpu.func @k(%v: f32, %o: i32, %w: i32) kernel {
    %r, %ok = gpu.shuffle idx %v, %o, %w : f32
    gpu.return
  }
}
// ==>


// ---- reduce_add_of_integers
gpu.module @m {
  gpu.func @k(%v: i32) kernel {
    %r = gpu.subgroup_reduce add %v uniform : (i32) -> i32
    gpu.return
  }
}
// ==>


// ---- reduce_and_of_integers
gpu.module @m {
  gpu.func @k(%v: i32) kernel {
    %r = gpu.subgroup_reduce and %v uniform : (i32) -> i32
    gpu.return
  }
}
// ==>


// ---- reduce_or_of_integers
gpu.module @m {
  gpu.func @k(%v: i32) kernel {
    %r = gpu.subgroup_reduce or %v uniform : (i32) -> i32
    gpu.return
  }
}
// ==>


// ---- reduce_xor_of_integers
gpu.module @m {
  gpu.func @k(%v: i32) kernel {
    %r = gpu.subgroup_reduce xor %v uniform : (i32) -> i32
    gpu.return
  }
}
// ==>


// ---- reduce_minsi_of_integers
gpu.module @m {
  gpu.func @k(%v: i32) kernel {
    %r = gpu.subgroup_reduce minsi %v uniform : (i32) -> i32
    gpu.return
  }
}
// ==>


// ---- reduce_maxsi_of_integers
gpu.module @m {
  gpu.func @k(%v: i32) kernel {
    %r = gpu.subgroup_reduce maxsi %v uniform : (i32) -> i32
    gpu.return
  }
}
// ==>


// ---- reduce_minui_of_integers
gpu.module @m {
  gpu.func @k(%v: i32) kernel {
    %r = gpu.subgroup_reduce minui %v uniform : (i32) -> i32
    gpu.return
  }
}
// ==>


// ---- reduce_maxui_of_integers
gpu.module @m {
  gpu.func @k(%v: i32) kernel {
    %r = gpu.subgroup_reduce maxui %v uniform : (i32) -> i32
    gpu.return
  }
}
// ==>


// ---- reduce_mul_of_integers
gpu.module @m {
  gpu.func @k(%v: i32) kernel {
    %r = gpu.subgroup_reduce mul %v : (i32) -> i32
    gpu.return
  }
}
// ==>


// ---- reduce_add_of_floats
gpu.module @m {
  gpu.func @k(%v: f32) kernel {
    %r = gpu.subgroup_reduce add %v : (f32) -> f32
    gpu.return
  }
}
// ==>


// ---- reduce_in_clusters_of_lanes
gpu.module @m {
  gpu.func @k(%v: f32) kernel {
    %r = gpu.subgroup_reduce maxnumf %v cluster(size = 4, stride = 2) : (f32) -> f32
    gpu.return
  }
}
// ==>



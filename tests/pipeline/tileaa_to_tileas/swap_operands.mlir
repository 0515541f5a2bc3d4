// A matmul whose right operand no warpgroup reads as it lies becomes the transpose of the matmul of the transposes.
// run: tileas-swap-operands sm_90

// ---- tf32_stored_by_rows
!m = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!va = !nv_tileaa.tiled_view<partition, !m, tile = [128, 32], dim_map = [0, 1], steps = [128, 32], sparse = -1, padding = zero>
!vb = !nv_tileaa.tiled_view<partition, !m, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %m: i32, %n: i32, %s: i32, %end: i32):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f32>
  %stride = nv_tileas.assume %s {predicate = #cuda_tile.div_by<4>} : i32
  %mem = nv_tileas.make_memref %base sizes(%m, %n) strides(%stride) : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !m
  %a = nv_tileas.block_tile %mem : (!m) -> !va
  %b = nv_tileas.block_tile %mem : (!m) -> !vb
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %acc = nv_tileas.splat %none : (f32) -> tensor<128x64xf32>
  %sum = nv_tileas.for %zero, %end, %one initial(%acc) : (i32, i32, i32, tensor<128x64xf32>) -> tensor<128x64xf32> {
  ^bb1(%k: i32, %c: tensor<128x64xf32>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %k) {mem_semantic = "weak"} : (!va, i32, i32) -> (tensor<128x32xf32>, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %b coords(%k, %zero) {mem_semantic = "weak"} : (!vb, i32, i32) -> (tensor<32x64xf32>, !nv_tileaa.mem_token)
    %xr = nv_tileas.fp_to_fp %x {rounding_mode = "nearest_even"} : (tensor<128x32xf32>) -> tensor<128x32xtf32>
    %yr = nv_tileas.fp_to_fp %y {rounding_mode = "nearest_even"} : (tensor<32x64xf32>) -> tensor<32x64xtf32>
    %d = nv_tileas.dot %xr, %yr, %c : (tensor<128x32xtf32>, tensor<32x64xtf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
    nv_tileas.continue %d : (tensor<128x64xf32>) -> ()
  }
  %double = nv_tileas.addf %sum, %sum : (tensor<128x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 32], dim_map = [0, 1], steps = [128, 32], sparse = -1, padding = zero>
!view1 = !nv_tileaa.tiled_view<partition, !memref0, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
nv_tileaa.func @k attributes {schedule = {swap_operands = true}} {
^bb0(%p: !nv_tileaa.ptr<f32>, %m: i32, %n: i32, %s: i32, %end: i32):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f32>
  %stride = nv_tileas.assume %s {predicate = #cuda_tile.div_by<4>} : i32
  %mem = nv_tileas.make_memref %base sizes(%m, %n) strides(%stride) : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !memref0
  %a = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %b = nv_tileas.block_tile %mem : (!memref0) -> !view1
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %acc = nv_tileas.splat %none : (f32) -> tensor<128x64xf32>
  %0 = nv_tileas.permute %acc {permutation = array<i32: 1, 0>} : (tensor<128x64xf32>) -> tensor<64x128xf32>
  %sum = nv_tileas.for %zero, %end, %one initial(%0) : (i32, i32, i32, tensor<64x128xf32>) -> tensor<64x128xf32> {
  ^bb0(%k: i32, %c: tensor<64x128xf32>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %k) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<128x32xf32>, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %b coords(%k, %zero) {mem_semantic = "weak"} : (!view1, i32, i32) -> (tensor<32x64xf32>, !nv_tileaa.mem_token)
    %xr = nv_tileas.fp_to_fp %x {rounding_mode = "nearest_even"} : (tensor<128x32xf32>) -> tensor<128x32xtf32>
    %yr = nv_tileas.fp_to_fp %y {rounding_mode = "nearest_even"} : (tensor<32x64xf32>) -> tensor<32x64xtf32>
    %1 = nv_tileas.permute %yr {permutation = array<i32: 1, 0>} : (tensor<32x64xtf32>) -> tensor<64x32xtf32>
    %2 = nv_tileas.permute %xr {permutation = array<i32: 1, 0>} : (tensor<128x32xtf32>) -> tensor<32x128xtf32>
    %d = nv_tileas.dot %1, %2, %c : (tensor<64x32xtf32>, tensor<32x128xtf32>, tensor<64x128xf32>) -> tensor<64x128xf32>
    nv_tileas.continue %d : (tensor<64x128xf32>) -> ()
  }
  %3 = nv_tileas.permute %sum {permutation = array<i32: 1, 0>} : (tensor<64x128xf32>) -> tensor<128x64xf32>
  %double = nv_tileas.addf %3, %3 : tensor<128x64xf32>
  nv_tileaa.return
}

// ---- a_sum_that_is_scaled_each_time_stays
!m = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!va = !nv_tileaa.tiled_view<partition, !m, tile = [128, 32], dim_map = [0, 1], steps = [128, 32], sparse = -1, padding = zero>
!vb = !nv_tileaa.tiled_view<partition, !m, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %m: i32, %n: i32, %s: i32, %end: i32):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f32>
  %stride = nv_tileas.assume %s {predicate = #cuda_tile.div_by<4>} : i32
  %mem = nv_tileas.make_memref %base sizes(%m, %n) strides(%stride) : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !m
  %a = nv_tileas.block_tile %mem : (!m) -> !va
  %b = nv_tileas.block_tile %mem : (!m) -> !vb
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %acc = nv_tileas.splat %none : (f32) -> tensor<128x64xf32>
  %sum = nv_tileas.for %zero, %end, %one initial(%acc) : (i32, i32, i32, tensor<128x64xf32>) -> tensor<128x64xf32> {
  ^bb1(%k: i32, %c: tensor<128x64xf32>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %k) {mem_semantic = "weak"} : (!va, i32, i32) -> (tensor<128x32xf32>, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %b coords(%k, %zero) {mem_semantic = "weak"} : (!vb, i32, i32) -> (tensor<32x64xf32>, !nv_tileaa.mem_token)
    %xr = nv_tileas.fp_to_fp %x {rounding_mode = "nearest_even"} : (tensor<128x32xf32>) -> tensor<128x32xtf32>
    %yr = nv_tileas.fp_to_fp %y {rounding_mode = "nearest_even"} : (tensor<32x64xf32>) -> tensor<32x64xtf32>
    %d = nv_tileas.dot %xr, %yr, %c : (tensor<128x32xtf32>, tensor<32x64xtf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
    %scaled = nv_tileas.addf %d, %d : (tensor<128x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
    nv_tileas.continue %scaled : (tensor<128x64xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 32], dim_map = [0, 1], steps = [128, 32], sparse = -1, padding = zero>
!view1 = !nv_tileaa.tiled_view<partition, !memref0, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %m: i32, %n: i32, %s: i32, %end: i32):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f32>
  %stride = nv_tileas.assume %s {predicate = #cuda_tile.div_by<4>} : i32
  %mem = nv_tileas.make_memref %base sizes(%m, %n) strides(%stride) : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !memref0
  %a = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %b = nv_tileas.block_tile %mem : (!memref0) -> !view1
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %acc = nv_tileas.splat %none : (f32) -> tensor<128x64xf32>
  %sum = nv_tileas.for %zero, %end, %one initial(%acc) : (i32, i32, i32, tensor<128x64xf32>) -> tensor<128x64xf32> {
  ^bb0(%k: i32, %c: tensor<128x64xf32>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %k) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<128x32xf32>, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %b coords(%k, %zero) {mem_semantic = "weak"} : (!view1, i32, i32) -> (tensor<32x64xf32>, !nv_tileaa.mem_token)
    %xr = nv_tileas.fp_to_fp %x {rounding_mode = "nearest_even"} : (tensor<128x32xf32>) -> tensor<128x32xtf32>
    %yr = nv_tileas.fp_to_fp %y {rounding_mode = "nearest_even"} : (tensor<32x64xf32>) -> tensor<32x64xtf32>
    %d = nv_tileas.dot %xr, %yr, %c : (tensor<128x32xtf32>, tensor<32x64xtf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
    %scaled = nv_tileas.addf %d, %d : tensor<128x64xf32>
    nv_tileas.continue %scaled : (tensor<128x64xf32>) -> ()
  }
  nv_tileaa.return
}

// ---- fp8_stored_by_rows
!m = !nv_tileaa.memref<f8E4M3FN, [?, ?], [?, 1]>
!va = !nv_tileaa.tiled_view<partition, !m, tile = [128, 32], dim_map = [0, 1], steps = [128, 32], sparse = -1, padding = zero>
!vb = !nv_tileaa.tiled_view<partition, !m, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f8E4M3FN>, %m: i32, %n: i32, %s: i32, %end: i32):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f8E4M3FN>
  %stride = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %mem = nv_tileas.make_memref %base sizes(%m, %n) strides(%stride) : (!nv_tileaa.ptr<f8E4M3FN>, i32, i32, i32) -> !m
  %a = nv_tileas.block_tile %mem : (!m) -> !va
  %b = nv_tileas.block_tile %mem : (!m) -> !vb
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %acc = nv_tileas.splat %none : (f32) -> tensor<128x64xf32>
  %sum = nv_tileas.for %zero, %end, %one initial(%acc) : (i32, i32, i32, tensor<128x64xf32>) -> tensor<128x64xf32> {
  ^bb1(%k: i32, %c: tensor<128x64xf32>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %k) {mem_semantic = "weak"} : (!va, i32, i32) -> (tensor<128x32xf8E4M3FN>, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %b coords(%k, %zero) {mem_semantic = "weak"} : (!vb, i32, i32) -> (tensor<32x64xf8E4M3FN>, !nv_tileaa.mem_token)
    %d = nv_tileas.dot %x, %y, %c : (tensor<128x32xf8E4M3FN>, tensor<32x64xf8E4M3FN>, tensor<128x64xf32>) -> tensor<128x64xf32>
    nv_tileas.continue %d : (tensor<128x64xf32>) -> ()
  }
  %double = nv_tileas.addf %sum, %sum : (tensor<128x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f8E4M3FN, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 32], dim_map = [0, 1], steps = [128, 32], sparse = -1, padding = zero>
!view1 = !nv_tileaa.tiled_view<partition, !memref0, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
nv_tileaa.func @k attributes {schedule = {swap_operands = true}} {
^bb0(%p: !nv_tileaa.ptr<f8E4M3FN>, %m: i32, %n: i32, %s: i32, %end: i32):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f8E4M3FN>
  %stride = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %mem = nv_tileas.make_memref %base sizes(%m, %n) strides(%stride) : (!nv_tileaa.ptr<f8E4M3FN>, i32, i32, i32) -> !memref0
  %a = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %b = nv_tileas.block_tile %mem : (!memref0) -> !view1
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %acc = nv_tileas.splat %none : (f32) -> tensor<128x64xf32>
  %0 = nv_tileas.permute %acc {permutation = array<i32: 1, 0>} : (tensor<128x64xf32>) -> tensor<64x128xf32>
  %sum = nv_tileas.for %zero, %end, %one initial(%0) : (i32, i32, i32, tensor<64x128xf32>) -> tensor<64x128xf32> {
  ^bb0(%k: i32, %c: tensor<64x128xf32>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %k) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<128x32xf8E4M3FN>, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %b coords(%k, %zero) {mem_semantic = "weak"} : (!view1, i32, i32) -> (tensor<32x64xf8E4M3FN>, !nv_tileaa.mem_token)
    %1 = nv_tileas.permute %y {permutation = array<i32: 1, 0>} : (tensor<32x64xf8E4M3FN>) -> tensor<64x32xf8E4M3FN>
    %2 = nv_tileas.permute %x {permutation = array<i32: 1, 0>} : (tensor<128x32xf8E4M3FN>) -> tensor<32x128xf8E4M3FN>
    %d = nv_tileas.dot %1, %2, %c : (tensor<64x32xf8E4M3FN>, tensor<32x128xf8E4M3FN>, tensor<64x128xf32>) -> tensor<64x128xf32>
    nv_tileas.continue %d : (tensor<64x128xf32>) -> ()
  }
  %3 = nv_tileas.permute %sum {permutation = array<i32: 1, 0>} : (tensor<64x128xf32>) -> tensor<128x64xf32>
  %double = nv_tileas.addf %3, %3 : tensor<128x64xf32>
  nv_tileaa.return
}

// Scales of which each iteration reads a part of a sector are loaded for a few iterations.
// run: tileas-group-scale-loads sm_100

// ---- a_sector_of_each_line
!ms = !nv_tileaa.memref<f8E8M0FNU, [?, ?], [?, 1]>
!vs = !nv_tileaa.tiled_view<partition, !ms, tile = [128, 4], dim_map = [0, 1], steps = [128, 4], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p0: !nv_tileaa.ptr<f8E8M0FNU>, %n: i32, %k0: i32, %s0: i32, %a: tensor<128x128xf8E4M3FN>, %b: tensor<128x128xf8E4M3FN>, %c: tensor<128x128xf32>, %trips: i32):
  %p = nv_tileas.assume %p0 {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f8E8M0FNU>
  %k = nv_tileas.assume %k0 {predicate = #cuda_tile.div_by<16>} : i32
  %s = nv_tileas.assume %s0 {predicate = #cuda_tile.div_by<16>} : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = nv_tileas.make_memref %p sizes(%n, %k) strides(%s) : (!nv_tileaa.ptr<f8E8M0FNU>, i32, i32, i32) -> !ms
  %v = nv_tileas.block_tile %r : (!ms) -> !vs
  %sum = nv_tileas.for %zero, %trips, %one initial(%c) : (i32, i32, i32, tensor<128x128xf32>) -> tensor<128x128xf32> {
  ^bb1(%i: i32, %acc: tensor<128x128xf32>):
    %x, %t0 = nv_tileas.tiled_load %v coords(%zero, %i) {mem_semantic = "weak"} : (!vs, i32, i32) -> (tensor<128x4xf8E8M0FNU>, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %v coords(%one, %i) {mem_semantic = "weak"} : (!vs, i32, i32) -> (tensor<128x4xf8E8M0FNU>, !nv_tileaa.mem_token)
    %z = nv_tileas.permute %y {permutation = array<i32: 1, 0>} : (tensor<128x4xf8E8M0FNU>) -> tensor<4x128xf8E8M0FNU>
    %d = nv_tileas.dot %a, %b, %acc lhs_scale(%x) rhs_scale(%z) {mma = "tcgen05_mxf8f6f4_k32_f8E4M3FN_f8E4M3FN_f32_ue8m0", tmem_columns = 176 : i32} : (tensor<128x128xf8E4M3FN>, tensor<128x128xf8E4M3FN>, tensor<128x128xf32>, tensor<128x4xf8E8M0FNU>, tensor<4x128xf8E8M0FNU>) -> tensor<128x128xf32>
    nv_tileas.continue %d : (tensor<128x128xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f8E8M0FNU, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 4], dim_map = [0, 1], steps = [128, 4], sparse = -1, padding = zero>
!view1 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 32], dim_map = [0, 1], steps = [128, 32], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p0: !nv_tileaa.ptr<f8E8M0FNU>, %n: i32, %k0: i32, %s0: i32, %a: tensor<128x128xf8E4M3FN>, %b: tensor<128x128xf8E4M3FN>, %c: tensor<128x128xf32>, %trips: i32):
  %p = nv_tileas.assume %p0 {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f8E8M0FNU>
  %k = nv_tileas.assume %k0 {predicate = #cuda_tile.div_by<16>} : i32
  %s = nv_tileas.assume %s0 {predicate = #cuda_tile.div_by<16>} : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = nv_tileas.make_memref %p sizes(%n, %k) strides(%s) : (!nv_tileaa.ptr<f8E8M0FNU>, i32, i32, i32) -> !memref0
  %v = nv_tileas.block_tile %r : (!memref0) -> !view0
  %0 = nv_tileas.block_tile %r : (!memref0) -> !view1
  %1 = nv_tileas.block_tile %r : (!memref0) -> !view1
  %sum = nv_tileas.for %zero, %trips, %one initial(%c) : (i32, i32, i32, tensor<128x128xf32>) -> tensor<128x128xf32> {
  ^bb0(%i: i32, %acc: tensor<128x128xf32>):
    %2 = arith.constant 3 : i32
    %3 = arith.shrui %i, %2 : i32
    %4, %t0 = nv_tileas.tiled_load %1 coords(%zero, %3) {mem_semantic = "weak", steps = 8 : i32} : (!view1, i32, i32) -> (tensor<128x32xf8E8M0FNU>, !nv_tileaa.mem_token)
    %5 = arith.constant 3 : i32
    %6 = arith.shrui %i, %5 : i32
    %7, %t1 = nv_tileas.tiled_load %0 coords(%one, %6) {mem_semantic = "weak", steps = 8 : i32} : (!view1, i32, i32) -> (tensor<128x32xf8E8M0FNU>, !nv_tileaa.mem_token)
    %8 = nv_tileas.permute %7 {permutation = array<i32: 1, 0>} : (tensor<128x32xf8E8M0FNU>) -> tensor<32x128xf8E8M0FNU>
    %d = nv_tileas.dot %a, %b, %acc lhs_scale(%4) rhs_scale(%8) {mma = "tcgen05_mxf8f6f4_k32_f8E4M3FN_f8E4M3FN_f32_ue8m0", tmem_columns = 256 : i32, scale_steps = 8 : i32} : (tensor<128x128xf8E4M3FN>, tensor<128x128xf8E4M3FN>, tensor<128x128xf32>, tensor<128x32xf8E8M0FNU>, tensor<32x128xf8E8M0FNU>) -> tensor<128x128xf32>
    nv_tileas.continue %d : (tensor<128x128xf32>) -> ()
  }
  nv_tileaa.return
}

// ---- lines_that_end_inside_a_vector
!ms = !nv_tileaa.memref<f8E8M0FNU, [?, ?], [?, 1]>
!vs = !nv_tileaa.tiled_view<partition, !ms, tile = [128, 4], dim_map = [0, 1], steps = [128, 4], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p0: !nv_tileaa.ptr<f8E8M0FNU>, %n: i32, %k0: i32, %s0: i32, %a: tensor<128x128xf8E4M3FN>, %b: tensor<128x128xf8E4M3FN>, %c: tensor<128x128xf32>, %trips: i32):
  %p = nv_tileas.assume %p0 {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f8E8M0FNU>
  %k = nv_tileas.assume %k0 {predicate = #cuda_tile.div_by<4>} : i32
  %s = nv_tileas.assume %s0 {predicate = #cuda_tile.div_by<16>} : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = nv_tileas.make_memref %p sizes(%n, %k) strides(%s) : (!nv_tileaa.ptr<f8E8M0FNU>, i32, i32, i32) -> !ms
  %v = nv_tileas.block_tile %r : (!ms) -> !vs
  %sum = nv_tileas.for %zero, %trips, %one initial(%c) : (i32, i32, i32, tensor<128x128xf32>) -> tensor<128x128xf32> {
  ^bb1(%i: i32, %acc: tensor<128x128xf32>):
    %x, %t0 = nv_tileas.tiled_load %v coords(%zero, %i) {mem_semantic = "weak"} : (!vs, i32, i32) -> (tensor<128x4xf8E8M0FNU>, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %v coords(%one, %i) {mem_semantic = "weak"} : (!vs, i32, i32) -> (tensor<128x4xf8E8M0FNU>, !nv_tileaa.mem_token)
    %z = nv_tileas.permute %y {permutation = array<i32: 1, 0>} : (tensor<128x4xf8E8M0FNU>) -> tensor<4x128xf8E8M0FNU>
    %d = nv_tileas.dot %a, %b, %acc lhs_scale(%x) rhs_scale(%z) {mma = "tcgen05_mxf8f6f4_k32_f8E4M3FN_f8E4M3FN_f32_ue8m0", tmem_columns = 176 : i32} : (tensor<128x128xf8E4M3FN>, tensor<128x128xf8E4M3FN>, tensor<128x128xf32>, tensor<128x4xf8E8M0FNU>, tensor<4x128xf8E8M0FNU>) -> tensor<128x128xf32>
    nv_tileas.continue %d : (tensor<128x128xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f8E8M0FNU, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 4], dim_map = [0, 1], steps = [128, 4], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p0: !nv_tileaa.ptr<f8E8M0FNU>, %n: i32, %k0: i32, %s0: i32, %a: tensor<128x128xf8E4M3FN>, %b: tensor<128x128xf8E4M3FN>, %c: tensor<128x128xf32>, %trips: i32):
  %p = nv_tileas.assume %p0 {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f8E8M0FNU>
  %k = nv_tileas.assume %k0 {predicate = #cuda_tile.div_by<4>} : i32
  %s = nv_tileas.assume %s0 {predicate = #cuda_tile.div_by<16>} : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = nv_tileas.make_memref %p sizes(%n, %k) strides(%s) : (!nv_tileaa.ptr<f8E8M0FNU>, i32, i32, i32) -> !memref0
  %v = nv_tileas.block_tile %r : (!memref0) -> !view0
  %sum = nv_tileas.for %zero, %trips, %one initial(%c) : (i32, i32, i32, tensor<128x128xf32>) -> tensor<128x128xf32> {
  ^bb0(%i: i32, %acc: tensor<128x128xf32>):
    %x, %t0 = nv_tileas.tiled_load %v coords(%zero, %i) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<128x4xf8E8M0FNU>, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %v coords(%one, %i) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<128x4xf8E8M0FNU>, !nv_tileaa.mem_token)
    %z = nv_tileas.permute %y {permutation = array<i32: 1, 0>} : (tensor<128x4xf8E8M0FNU>) -> tensor<4x128xf8E8M0FNU>
    %d = nv_tileas.dot %a, %b, %acc lhs_scale(%x) rhs_scale(%z) {mma = "tcgen05_mxf8f6f4_k32_f8E4M3FN_f8E4M3FN_f32_ue8m0", tmem_columns = 176 : i32} : (tensor<128x128xf8E4M3FN>, tensor<128x128xf8E4M3FN>, tensor<128x128xf32>, tensor<128x4xf8E8M0FNU>, tensor<4x128xf8E8M0FNU>) -> tensor<128x128xf32>
    nv_tileas.continue %d : (tensor<128x128xf32>) -> ()
  }
  nv_tileaa.return
}

// Batches of two matrices are multiplied in two iterations, where an asynchronous instruction multiplies matrices.
// run: tileas-loop-over-batches sm_90

// ---- a_matrix_in_each_iteration
!m = !nv_tileaa.memref<f16, [?, ?, ?], [?, ?, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [2, 64, 64], dim_map = [0, 1, 2], steps = [2, 64, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32, %s: i32):
  %zero = arith.constant 0 : i32
  %none = arith.constant 0.000000e+00 : f16
  %zeros = nv_tileas.splat %none : (f16) -> tensor<2x64x64xf16>
  %r = nv_tileas.make_memref %p sizes(%n, %n, %n) strides(%s, %s) : (!nv_tileaa.ptr<f16>, i32, i32, i32, i32, i32) -> !m
  %a = nv_tileas.block_tile %r : (!m) -> !v
  %x, %l = nv_tileas.tiled_load %a coords(%n, %zero, %zero) {mem_semantic = "weak"} : (!v, i32, i32, i32) -> (tensor<2x64x64xf16>, !nv_tileaa.mem_token)
  %d = nv_tileas.dot %x, %x, %zeros : (tensor<2x64x64xf16>, tensor<2x64x64xf16>, tensor<2x64x64xf16>) -> tensor<2x64x64xf16>
  %t = nv_tileas.tiled_store %a, %d coords(%zero, %zero, %zero) {mem_semantic = "weak"} : (!v, tensor<2x64x64xf16>, i32, i32, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?, ?], [?, ?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [2, 64, 64], dim_map = [0, 1, 2], steps = [2, 64, 64], sparse = -1, padding = zero>
!view1 = !nv_tileaa.tiled_view<strided, !memref0, tile = [1, 64, 64], dim_map = [0, 1, 2], steps = [1, 64, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32, %s: i32):
  %zero = arith.constant 0 : i32
  %none = arith.constant 0.000000e+00 : f16
  %r = nv_tileas.make_memref %p sizes(%n, %n, %n) strides(%s, %s) : (!nv_tileaa.ptr<f16>, i32, i32, i32, i32, i32) -> !memref0
  %a = nv_tileas.block_tile %r : (!memref0) -> !view0
  %0 = arith.constant 2 : i32
  %1 = arith.constant 1 : i32
  nv_tileas.for %zero, %0, %1 : (i32, i32, i32) -> () {
  ^bb0(%2: i32):
    %zeros = nv_tileas.splat %none : (f16) -> tensor<1x64x64xf16>
    %3, %4, %5 = nv_tileas.get_tile_count %a : (!view0) -> (i32, i32, i32)
    %6 = arith.minui %n, %3 : i32
    %7 = arith.muli %6, %0 : i32
    %8 = arith.addi %7, %2 : i32
    %9 = nv_tileas.block_tile %r : (!memref0) -> !view1
    %x, %l = nv_tileas.tiled_load %9 coords(%8, %zero, %zero) {mem_semantic = "weak", index_checks = array<i32: 1, 2, 2>} : (!view1, i32, i32, i32) -> (tensor<1x64x64xf16>, !nv_tileaa.mem_token)
    %d = nv_tileas.dot %x, %x, %zeros : tensor<1x64x64xf16>
    %10 = arith.minui %zero, %3 : i32
    %11 = arith.muli %10, %0 : i32
    %12 = arith.addi %11, %2 : i32
    %t = nv_tileas.tiled_store %9, %d coords(%12, %zero, %zero) {mem_semantic = "weak", index_checks = array<i32: 1, 2, 2>} : (!view1, tensor<1x64x64xf16>, i32, i32, i32) -> !nv_tileaa.mem_token
    nv_tileas.continue
  }
  nv_tileaa.return
}

// ---- few_rows_stay_together
!m = !nv_tileaa.memref<f16, [?, ?, ?], [?, ?, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [2, 16, 16], dim_map = [0, 1, 2], steps = [2, 16, 16], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%a: tensor<2x16x16xf16>, %p: !nv_tileaa.ptr<f16>, %n: i32, %s: i32):
  %zero = arith.constant 0 : i32
  %r = nv_tileas.make_memref %p sizes(%n, %n, %n) strides(%s, %s) : (!nv_tileaa.ptr<f16>, i32, i32, i32, i32, i32) -> !m
  %v = nv_tileas.block_tile %r : (!m) -> !v
  %d = nv_tileas.dot %a, %a, %a : (tensor<2x16x16xf16>, tensor<2x16x16xf16>, tensor<2x16x16xf16>) -> tensor<2x16x16xf16>
  %t = nv_tileas.tiled_store %v, %d coords(%zero, %zero, %zero) {mem_semantic = "weak"} : (!v, tensor<2x16x16xf16>, i32, i32, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?, ?], [?, ?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [2, 16, 16], dim_map = [0, 1, 2], steps = [2, 16, 16], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%a: tensor<2x16x16xf16>, %p: !nv_tileaa.ptr<f16>, %n: i32, %s: i32):
  %zero = arith.constant 0 : i32
  %r = nv_tileas.make_memref %p sizes(%n, %n, %n) strides(%s, %s) : (!nv_tileaa.ptr<f16>, i32, i32, i32, i32, i32) -> !memref0
  %v = nv_tileas.block_tile %r : (!memref0) -> !view0
  %d = nv_tileas.dot %a, %a, %a : tensor<2x16x16xf16>
  %t = nv_tileas.tiled_store %v, %d coords(%zero, %zero, %zero) {mem_semantic = "weak"} : (!view0, tensor<2x16x16xf16>, i32, i32, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

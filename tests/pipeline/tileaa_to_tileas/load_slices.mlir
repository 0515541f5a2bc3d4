// A tile that a loop reads by slices is loaded by slices.
// run: tileas-load-slices sm_90

// ---- halves_of_rows
!m = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %mem = nv_tileas.make_memref %p sizes(%n, %n) strides(%n) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !m
  %a = nv_tileas.block_tile %mem : (!m) -> !v
  nv_tileas.for %zero, %n, %one initial() : (i32, i32, i32) -> () {
  ^bb1(%i: i32):
    %x, %t0 = nv_tileas.tiled_load %a coords(%i, %n) {mem_semantic = "weak", index_checks = array<i32: 1, 2>} : (!v, i32, i32) -> (tensor<64x64xf16>, !nv_tileaa.mem_token)
    %y = nv_tileas.extract_slice %x indices(%zero, %zero) : (tensor<64x64xf16>, i32, i32) -> tensor<64x32xf16>
    %z = nv_tileas.extract_slice %x indices(%zero, %one) : (tensor<64x64xf16>, i32, i32) -> tensor<64x32xf16>
    %w = nv_tileas.addf %y, %z {rounding_mode = "nearest_even"} : tensor<64x32xf16>
    nv_tileas.continue : () -> ()
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = zero>
!view1 = !nv_tileaa.tiled_view<strided, !memref0, tile = [64, 32], dim_map = [0, 1], steps = [64, 32], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %mem = nv_tileas.make_memref %p sizes(%n, %n) strides(%n) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %a = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %0 = nv_tileas.block_tile %mem : (!memref0) -> !view1
  nv_tileas.for %zero, %n, %one : (i32, i32, i32) -> () {
  ^bb0(%i: i32):
    %1, %2 = nv_tileas.get_tile_count %a : (!view0) -> (i32, i32)
    %3 = arith.minui %n, %2 : i32
    %4 = arith.constant 2 : i32
    %5 = arith.muli %3, %4 : i32
    %6 = arith.constant 0 : i32
    %7 = arith.addi %5, %6 : i32
    %x, %t0 = nv_tileas.tiled_load %0 coords(%i, %7) {mem_semantic = "weak", index_checks = array<i32: 1, 1>} : (!view1, i32, i32) -> (tensor<64x32xf16>, !nv_tileaa.mem_token)
    %8, %9 = nv_tileas.get_tile_count %a : (!view0) -> (i32, i32)
    %10 = arith.minui %n, %9 : i32
    %11 = arith.constant 2 : i32
    %12 = arith.muli %10, %11 : i32
    %13 = arith.constant 1 : i32
    %14 = arith.addi %12, %13 : i32
    %x_1, %t0_1 = nv_tileas.tiled_load %0 coords(%i, %14) {mem_semantic = "weak", index_checks = array<i32: 1, 1>} : (!view1, i32, i32) -> (tensor<64x32xf16>, !nv_tileaa.mem_token)
    %w = nv_tileas.addf %x, %x_1 {rounding_mode = "nearest_even"} : tensor<64x32xf16>
    nv_tileas.continue
  }
  nv_tileaa.return
}

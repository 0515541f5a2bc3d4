// Sums that are more than the registers of a CTA are computed part after part.
// run: tileas-loop-over-tile-slices sm_90

// ---- rows_in_two_iterations
!m = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!o = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!va = !nv_tileaa.tiled_view<partition, !m, tile = [256, 32], dim_map = [0, 1], steps = [256, 32], sparse = -1, padding = zero>
!vb = !nv_tileaa.tiled_view<partition, !m, tile = [32, 256], dim_map = [0, 1], steps = [32, 256], sparse = -1, padding = zero>
!vo = !nv_tileaa.tiled_view<partition, !o, tile = [256, 256], dim_map = [0, 1], steps = [256, 256], sparse = -1, padding = none>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %q: !nv_tileaa.ptr<f32>, %m: i32, %n: i32, %s: i32, %end: i32):
  %mem = nv_tileas.make_memref %p sizes(%m, %n) strides(%s) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !m
  %out = nv_tileas.make_memref %q sizes(%m, %n) strides(%s) : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !o
  %a = nv_tileas.block_tile %mem : (!m) -> !va
  %b = nv_tileas.block_tile %mem : (!m) -> !vb
  %c = nv_tileas.block_tile %out : (!o) -> !vo
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %nought = arith.constant 0.000000e+00 : f32
  %start = nv_tileas.splat %nought : (f32) -> tensor<256x256xf32>
  %sum = nv_tileas.for %zero, %end, %one initial(%start) : (i32, i32, i32, tensor<256x256xf32>) -> tensor<256x256xf32> {
  ^bb1(%k: i32, %t: tensor<256x256xf32>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %k) {mem_semantic = "weak"} : (!va, i32, i32) -> (tensor<256x32xf16>, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %b coords(%k, %zero) {mem_semantic = "weak"} : (!vb, i32, i32) -> (tensor<32x256xf16>, !nv_tileaa.mem_token)
    %d = nv_tileas.dot %x, %y, %t : (tensor<256x32xf16>, tensor<32x256xf16>, tensor<256x256xf32>) -> tensor<256x256xf32>
    nv_tileas.continue %d : (tensor<256x256xf32>) -> ()
  }
  %done = nv_tileas.tiled_store %c, %sum coords(%zero, %zero) {mem_semantic = "weak"} : (!vo, tensor<256x256xf32>, i32, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!memref1 = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [256, 32], dim_map = [0, 1], steps = [256, 32], sparse = -1, padding = zero>
!view1 = !nv_tileaa.tiled_view<partition, !memref0, tile = [32, 256], dim_map = [0, 1], steps = [32, 256], sparse = -1, padding = zero>
!view2 = !nv_tileaa.tiled_view<partition, !memref1, tile = [256, 256], dim_map = [0, 1], steps = [256, 256], sparse = -1, padding = none>
!view3 = !nv_tileaa.tiled_view<strided, !memref0, tile = [128, 32], dim_map = [0, 1], steps = [128, 32], sparse = -1, padding = zero>
!view4 = !nv_tileaa.tiled_view<strided, !memref1, tile = [128, 256], dim_map = [0, 1], steps = [128, 256], sparse = -1, padding = none>
nv_tileaa.func @k attributes {schedule = {tile_slices = 2 : i32}} {
^bb0(%p: !nv_tileaa.ptr<f16>, %q: !nv_tileaa.ptr<f32>, %m: i32, %n: i32, %s: i32, %end: i32):
  %mem = nv_tileas.make_memref %p sizes(%m, %n) strides(%s) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %out = nv_tileas.make_memref %q sizes(%m, %n) strides(%s) : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !memref1
  %a = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %b = nv_tileas.block_tile %mem : (!memref0) -> !view1
  %c = nv_tileas.block_tile %out : (!memref1) -> !view2
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %nought = arith.constant 0.000000e+00 : f32
  %0 = arith.constant 2 : i32
  nv_tileas.for %zero, %0, %one : (i32, i32, i32) -> () {
  ^bb0(%1: i32):
    %start = nv_tileas.splat %nought : (f32) -> tensor<128x256xf32>
    %sum = nv_tileas.for %zero, %end, %one initial(%start) : (i32, i32, i32, tensor<128x256xf32>) -> tensor<128x256xf32> {
    ^bb0(%k: i32, %t: tensor<128x256xf32>):
      %2, %3 = nv_tileas.get_tile_count %a : (!view0) -> (i32, i32)
      %4 = arith.minui %zero, %2 : i32
      %5 = arith.muli %4, %0 : i32
      %6 = arith.addi %5, %1 : i32
      %7 = nv_tileas.block_tile %mem : (!memref0) -> !view3
      %x, %t0 = nv_tileas.tiled_load %7 coords(%6, %k) {mem_semantic = "weak", index_checks = array<i32: 1, 2>} : (!view3, i32, i32) -> (tensor<128x32xf16>, !nv_tileaa.mem_token)
      %y, %t1 = nv_tileas.tiled_load %b coords(%k, %zero) {mem_semantic = "weak"} : (!view1, i32, i32) -> (tensor<32x256xf16>, !nv_tileaa.mem_token)
      %d = nv_tileas.dot %x, %y, %t : (tensor<128x32xf16>, tensor<32x256xf16>, tensor<128x256xf32>) -> tensor<128x256xf32>
      nv_tileas.continue %d : (tensor<128x256xf32>) -> ()
    }
    %8, %9 = nv_tileas.get_tile_count %c : (!view2) -> (i32, i32)
    %10 = arith.minui %zero, %8 : i32
    %11 = arith.muli %10, %0 : i32
    %12 = arith.addi %11, %1 : i32
    %13 = nv_tileas.block_tile %out : (!memref1) -> !view4
    %done = nv_tileas.tiled_store %13, %sum coords(%12, %zero) {mem_semantic = "weak", index_checks = array<i32: 1, 2>} : (!view4, tensor<128x256xf32>, i32, i32) -> !nv_tileaa.mem_token
    nv_tileas.continue
  }
  nv_tileaa.return
}

// ---- what_is_printed_once_is_not_repeated
!m = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!o = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!va = !nv_tileaa.tiled_view<partition, !m, tile = [256, 32], dim_map = [0, 1], steps = [256, 32], sparse = -1, padding = zero>
!vb = !nv_tileaa.tiled_view<partition, !m, tile = [32, 256], dim_map = [0, 1], steps = [32, 256], sparse = -1, padding = zero>
!vo = !nv_tileaa.tiled_view<partition, !o, tile = [256, 256], dim_map = [0, 1], steps = [256, 256], sparse = -1, padding = none>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %q: !nv_tileaa.ptr<f32>, %m: i32, %n: i32, %s: i32, %end: i32):
  %mem = nv_tileas.make_memref %p sizes(%m, %n) strides(%s) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !m
  %out = nv_tileas.make_memref %q sizes(%m, %n) strides(%s) : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !o
  %a = nv_tileas.block_tile %mem : (!m) -> !va
  %b = nv_tileas.block_tile %mem : (!m) -> !vb
  %c = nv_tileas.block_tile %out : (!o) -> !vo
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %nought = arith.constant 0.000000e+00 : f32
  %start = nv_tileas.splat %nought : (f32) -> tensor<256x256xf32>
  %said = nv_tileas.print values(%m) {format = "%d"} : (i32) -> !nv_tileaa.mem_token
  %sum = nv_tileas.for %zero, %end, %one initial(%start) : (i32, i32, i32, tensor<256x256xf32>) -> tensor<256x256xf32> {
  ^bb1(%k: i32, %t: tensor<256x256xf32>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %k) {mem_semantic = "weak"} : (!va, i32, i32) -> (tensor<256x32xf16>, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %b coords(%k, %zero) {mem_semantic = "weak"} : (!vb, i32, i32) -> (tensor<32x256xf16>, !nv_tileaa.mem_token)
    %d = nv_tileas.dot %x, %y, %t : (tensor<256x32xf16>, tensor<32x256xf16>, tensor<256x256xf32>) -> tensor<256x256xf32>
    nv_tileas.continue %d : (tensor<256x256xf32>) -> ()
  }
  %done = nv_tileas.tiled_store %c, %sum coords(%zero, %zero) {mem_semantic = "weak"} : (!vo, tensor<256x256xf32>, i32, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!memref1 = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [256, 32], dim_map = [0, 1], steps = [256, 32], sparse = -1, padding = zero>
!view1 = !nv_tileaa.tiled_view<partition, !memref0, tile = [32, 256], dim_map = [0, 1], steps = [32, 256], sparse = -1, padding = zero>
!view2 = !nv_tileaa.tiled_view<partition, !memref1, tile = [256, 256], dim_map = [0, 1], steps = [256, 256], sparse = -1, padding = none>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %q: !nv_tileaa.ptr<f32>, %m: i32, %n: i32, %s: i32, %end: i32):
  %mem = nv_tileas.make_memref %p sizes(%m, %n) strides(%s) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %out = nv_tileas.make_memref %q sizes(%m, %n) strides(%s) : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !memref1
  %a = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %b = nv_tileas.block_tile %mem : (!memref0) -> !view1
  %c = nv_tileas.block_tile %out : (!memref1) -> !view2
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %nought = arith.constant 0.000000e+00 : f32
  %start = nv_tileas.splat %nought : (f32) -> tensor<256x256xf32>
  %said = nv_tileas.print values(%m) {format = "%d"} : (i32) -> !nv_tileaa.mem_token
  %sum = nv_tileas.for %zero, %end, %one initial(%start) : (i32, i32, i32, tensor<256x256xf32>) -> tensor<256x256xf32> {
  ^bb0(%k: i32, %t: tensor<256x256xf32>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %k) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<256x32xf16>, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %b coords(%k, %zero) {mem_semantic = "weak"} : (!view1, i32, i32) -> (tensor<32x256xf16>, !nv_tileaa.mem_token)
    %d = nv_tileas.dot %x, %y, %t : (tensor<256x32xf16>, tensor<32x256xf16>, tensor<256x256xf32>) -> tensor<256x256xf32>
    nv_tileas.continue %d : (tensor<256x256xf32>) -> ()
  }
  %done = nv_tileas.tiled_store %c, %sum coords(%zero, %zero) {mem_semantic = "weak"} : (!view2, tensor<256x256xf32>, i32, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

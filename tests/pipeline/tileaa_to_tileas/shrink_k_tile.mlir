// A loop whose tiles do not fit twice in shared memory takes more and shorter steps.
// run: tileas-shrink-k-tile sm_80

// ---- half_the_depth_in_twice_the_steps
!m = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!va = !nv_tileaa.tiled_view<partition, !m, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = zero>
!vb = !nv_tileaa.tiled_view<partition, !m, tile = [128, 256], dim_map = [0, 1], steps = [128, 256], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %m: i32, %n: i32, %s: i32, %first: i32, %end: i32, %acc: tensor<128x256xf32>):
  %mem = nv_tileas.make_memref %p sizes(%m, %n) strides(%s) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !m
  %a = nv_tileas.block_tile %mem : (!m) -> !va
  %b = nv_tileas.block_tile %mem : (!m) -> !vb
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %sum = nv_tileas.for %first, %end, %one initial(%acc) : (i32, i32, i32, tensor<128x256xf32>) -> tensor<128x256xf32> {
  ^bb1(%k: i32, %c: tensor<128x256xf32>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %k) {mem_semantic = "weak"} : (!va, i32, i32) -> (tensor<128x128xf16>, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %b coords(%k, %zero) {mem_semantic = "weak"} : (!vb, i32, i32) -> (tensor<128x256xf16>, !nv_tileaa.mem_token)
    %d = nv_tileas.dot %x, %y, %c : (tensor<128x128xf16>, tensor<128x256xf16>, tensor<128x256xf32>) -> tensor<128x256xf32>
    nv_tileas.continue %d : (tensor<128x256xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = zero>
!view1 = !nv_tileaa.tiled_view<strided, !memref0, tile = [128, 64], dim_map = [0, 1], steps = [128, 64], sparse = -1, padding = zero>
!view2 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 256], dim_map = [0, 1], steps = [128, 256], sparse = -1, padding = zero>
!view3 = !nv_tileaa.tiled_view<strided, !memref0, tile = [64, 256], dim_map = [0, 1], steps = [64, 256], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %m: i32, %n: i32, %s: i32, %first: i32, %end: i32, %acc: tensor<128x256xf32>):
  %mem = nv_tileas.make_memref %p sizes(%m, %n) strides(%s) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %a = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %0 = nv_tileas.block_tile %mem : (!memref0) -> !view1
  %b = nv_tileas.block_tile %mem : (!memref0) -> !view2
  %1 = nv_tileas.block_tile %mem : (!memref0) -> !view3
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %2 = arith.constant 2 : i32
  %3 = arith.muli %first, %2 : i32
  %4 = arith.constant 2 : i32
  %5 = arith.muli %end, %4 : i32
  %sum = nv_tileas.for %3, %5, %one initial(%acc) : (i32, i32, i32, tensor<128x256xf32>) -> tensor<128x256xf32> {
  ^bb0(%k: i32, %c: tensor<128x256xf32>):
    %x, %t0 = nv_tileas.tiled_load %0 coords(%zero, %k) {mem_semantic = "weak", index_checks = array<i32: 2, 2>} : (!view1, i32, i32) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %1 coords(%k, %zero) {mem_semantic = "weak", index_checks = array<i32: 2, 2>} : (!view3, i32, i32) -> (tensor<64x256xf16>, !nv_tileaa.mem_token)
    %d = nv_tileas.dot %x, %y, %c : (tensor<128x64xf16>, tensor<64x256xf16>, tensor<128x256xf32>) -> tensor<128x256xf32>
    nv_tileas.continue %d : (tensor<128x256xf32>) -> ()
  }
  nv_tileaa.return
}

// ---- a_loop_with_other_steps_stays
!m = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!va = !nv_tileaa.tiled_view<partition, !m, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = zero>
!vb = !nv_tileaa.tiled_view<partition, !m, tile = [128, 256], dim_map = [0, 1], steps = [128, 256], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %m: i32, %n: i32, %s: i32, %first: i32, %end: i32, %acc: tensor<128x256xf32>):
  %mem = nv_tileas.make_memref %p sizes(%m, %n) strides(%s) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !m
  %a = nv_tileas.block_tile %mem : (!m) -> !va
  %b = nv_tileas.block_tile %mem : (!m) -> !vb
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %sum = nv_tileas.for %first, %end, %end initial(%acc) : (i32, i32, i32, tensor<128x256xf32>) -> tensor<128x256xf32> {
  ^bb1(%k: i32, %c: tensor<128x256xf32>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %k) {mem_semantic = "weak"} : (!va, i32, i32) -> (tensor<128x128xf16>, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %b coords(%k, %zero) {mem_semantic = "weak"} : (!vb, i32, i32) -> (tensor<128x256xf16>, !nv_tileaa.mem_token)
    %d = nv_tileas.dot %x, %y, %c : (tensor<128x128xf16>, tensor<128x256xf16>, tensor<128x256xf32>) -> tensor<128x256xf32>
    nv_tileas.continue %d : (tensor<128x256xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = zero>
!view1 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 256], dim_map = [0, 1], steps = [128, 256], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %m: i32, %n: i32, %s: i32, %first: i32, %end: i32, %acc: tensor<128x256xf32>):
  %mem = nv_tileas.make_memref %p sizes(%m, %n) strides(%s) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %a = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %b = nv_tileas.block_tile %mem : (!memref0) -> !view1
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %sum = nv_tileas.for %first, %end, %end initial(%acc) : (i32, i32, i32, tensor<128x256xf32>) -> tensor<128x256xf32> {
  ^bb0(%k: i32, %c: tensor<128x256xf32>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %k) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<128x128xf16>, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %b coords(%k, %zero) {mem_semantic = "weak"} : (!view1, i32, i32) -> (tensor<128x256xf16>, !nv_tileaa.mem_token)
    %d = nv_tileas.dot %x, %y, %c : (tensor<128x128xf16>, tensor<128x256xf16>, tensor<128x256xf32>) -> tensor<128x256xf32>
    nv_tileas.continue %d : (tensor<128x256xf32>) -> ()
  }
  nv_tileaa.return
}

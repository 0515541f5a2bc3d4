// Dots of batches of one, and what is computed with their accumulators, have no batch.
// run: tileas-drop-unit-batches sm_90

// ---- carried_and_scaled
!m = !nv_tileaa.memref<f16, [?, ?, ?], [?, ?, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [1, 64, 64], dim_map = [0, 1, 2], steps = [1, 64, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%left: tensor<1x64x64xf16>, %right: tensor<1x64x64xf16>, %bias: tensor<1x64x64xf32>, %p: !nv_tileaa.ptr<f16>, %n: i32, %s: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %zeros = nv_tileas.splat %none : (f32) -> tensor<1x64x64xf32>
  %sum = nv_tileas.for %zero, %n, %one initial(%zeros) : (i32, i32, i32, tensor<1x64x64xf32>) -> tensor<1x64x64xf32> {
  ^bb1(%i: i32, %c: tensor<1x64x64xf32>):
    %scaled = nv_tileas.mulf %c, %bias {rounding_mode = "nearest_even"} : (tensor<1x64x64xf32>, tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
    %d = nv_tileas.dot %left, %right, %scaled : (tensor<1x64x64xf16>, tensor<1x64x64xf16>, tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
    nv_tileas.continue %d : (tensor<1x64x64xf32>) -> ()
  }
  %rounded = nv_tileas.fp_to_fp %sum {rounding_mode = "nearest_even"} : (tensor<1x64x64xf32>) -> tensor<1x64x64xf16>
  %r = nv_tileas.make_memref %p sizes(%n, %n, %n) strides(%s, %s) : (!nv_tileaa.ptr<f16>, i32, i32, i32, i32, i32) -> !m
  %a = nv_tileas.block_tile %r : (!m) -> !v
  %t = nv_tileas.tiled_store %a, %rounded coords(%zero, %zero, %zero) {mem_semantic = "weak"} : (!v, tensor<1x64x64xf16>, i32, i32, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?, ?], [?, ?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [1, 64, 64], dim_map = [0, 1, 2], steps = [1, 64, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%left: tensor<1x64x64xf16>, %right: tensor<1x64x64xf16>, %bias: tensor<1x64x64xf32>, %p: !nv_tileaa.ptr<f16>, %n: i32, %s: i32):
  %0 = nv_tileas.view %right : (tensor<1x64x64xf16>) -> tensor<64x64xf16>
  %1 = nv_tileas.view %left : (tensor<1x64x64xf16>) -> tensor<64x64xf16>
  %2 = nv_tileas.view %bias : (tensor<1x64x64xf32>) -> tensor<64x64xf32>
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %zeros = nv_tileas.splat %none : (f32) -> tensor<64x64xf32>
  %sum = nv_tileas.for %zero, %n, %one initial(%zeros) : (i32, i32, i32, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%i: i32, %c: tensor<64x64xf32>):
    %scaled = nv_tileas.mulf %c, %2 {rounding_mode = "nearest_even"} : tensor<64x64xf32>
    %d = nv_tileas.dot %1, %0, %scaled : (tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nv_tileas.continue %d : (tensor<64x64xf32>) -> ()
  }
  %rounded = nv_tileas.fp_to_fp %sum {rounding_mode = "nearest_even"} : (tensor<64x64xf32>) -> tensor<64x64xf16>
  %r = nv_tileas.make_memref %p sizes(%n, %n, %n) strides(%s, %s) : (!nv_tileaa.ptr<f16>, i32, i32, i32, i32, i32) -> !memref0
  %a = nv_tileas.block_tile %r : (!memref0) -> !view0
  %3 = nv_tileas.view %rounded : (tensor<64x64xf16>) -> tensor<1x64x64xf16>
  %t = nv_tileas.tiled_store %a, %3 coords(%zero, %zero, %zero) {mem_semantic = "weak"} : (!view0, tensor<1x64x64xf16>, i32, i32, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- one_result_is_the_left_operand_of_another_dot
nv_tileaa.func @k {
^bb0(%x: tensor<1x64x64xf16>, %y: tensor<1x64x64xf16>, %c: tensor<1x64x64xf32>):
  %d = nv_tileas.dot %x, %y, %c : (tensor<1x64x64xf16>, tensor<1x64x64xf16>, tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
  %p = nv_tileas.fp_to_fp %d {rounding_mode = "nearest_even"} : (tensor<1x64x64xf32>) -> tensor<1x64x64xf16>
  %e = nv_tileas.dot %p, %y, %c : (tensor<1x64x64xf16>, tensor<1x64x64xf16>, tensor<1x64x64xf32>) -> tensor<1x64x64xf32>
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%x: tensor<1x64x64xf16>, %y: tensor<1x64x64xf16>, %c: tensor<1x64x64xf32>):
  %0 = nv_tileas.view %y : (tensor<1x64x64xf16>) -> tensor<64x64xf16>
  %1 = nv_tileas.view %x : (tensor<1x64x64xf16>) -> tensor<64x64xf16>
  %2 = nv_tileas.view %c : (tensor<1x64x64xf32>) -> tensor<64x64xf32>
  %d = nv_tileas.dot %1, %0, %2 : (tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %p = nv_tileas.fp_to_fp %d {rounding_mode = "nearest_even"} : (tensor<64x64xf32>) -> tensor<64x64xf16>
  %e = nv_tileas.dot %p, %0, %2 : (tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
  nv_tileaa.return
}

// ---- a_batch_of_two_stays
nv_tileaa.func @k {
^bb0(%x: tensor<2x64x64xf16>, %c: tensor<2x64x64xf32>):
  %d = nv_tileas.dot %x, %x, %c : (tensor<2x64x64xf16>, tensor<2x64x64xf16>, tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%x: tensor<2x64x64xf16>, %c: tensor<2x64x64xf32>):
  %d = nv_tileas.dot %x, %x, %c : (tensor<2x64x64xf16>, tensor<2x64x64xf16>, tensor<2x64x64xf32>) -> tensor<2x64x64xf32>
  nv_tileaa.return
}

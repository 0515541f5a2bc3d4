// Loads of fp4 become loads of bytes where a matmul takes them in pairs.
// run: tileas-pack-fp4 sm_120

// ---- both_operands_along_k
!ma = !nv_tileaa.memref<f4E2M1FN, [?, ?], [?, 1]>
!mb = !nv_tileaa.memref<f4E2M1FN, [?, ?], [1, ?]>
!va = !nv_tileaa.tiled_view<partition, !ma, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = zero>
!vb = !nv_tileaa.tiled_view<partition, !mb, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f4E2M1FN>, %n: i32, %k0: i32, %s0: i32, %c: tensor<64x64xf32>, %sa: tensor<64x2xf8E8M0FNU>, %sb: tensor<2x64xf8E8M0FNU>):
  %k = nv_tileas.assume %k0 {predicate = #cuda_tile.div_by<2>} : i32
  %s = nv_tileas.assume %s0 {predicate = #cuda_tile.div_by<16>} : i32
  %zero = arith.constant 0 : i32
  %ra = nv_tileas.make_memref %p sizes(%n, %k) strides(%s) : (!nv_tileaa.ptr<f4E2M1FN>, i32, i32, i32) -> !ma
  %rb = nv_tileas.make_memref %p sizes(%k, %n) strides(%s) : (!nv_tileaa.ptr<f4E2M1FN>, i32, i32, i32) -> !mb
  %a = nv_tileas.block_tile %ra : (!ma) -> !va
  %b = nv_tileas.block_tile %rb : (!mb) -> !vb
  %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %zero) {mem_semantic = "weak"} : (!va, i32, i32) -> (tensor<64x64xf4E2M1FN>, !nv_tileaa.mem_token)
  %y, %t1 = nv_tileas.tiled_load %b coords(%zero, %zero) token(%t0) {mem_semantic = "weak"} : (!vb, i32, i32, !nv_tileaa.mem_token) -> (tensor<64x64xf4E2M1FN>, !nv_tileaa.mem_token)
  %d = nv_tileas.dot %x, %y, %c lhs_scale(%sa) rhs_scale(%sb) : (tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x64xf32>, tensor<64x2xf8E8M0FNU>, tensor<2x64xf8E8M0FNU>) -> tensor<64x64xf32>
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f4E2M1FN, [?, ?], [?, 1]>
!memref1 = !nv_tileaa.memref<i8, [?, ?], [?, 1]>
!memref2 = !nv_tileaa.memref<f4E2M1FN, [?, ?], [1, ?]>
!memref3 = !nv_tileaa.memref<i8, [?, ?], [1, ?]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = zero>
!view1 = !nv_tileaa.tiled_view<partition, !memref1, tile = [64, 32], dim_map = [0, 1], steps = [64, 32], sparse = -1, padding = zero>
!view2 = !nv_tileaa.tiled_view<partition, !memref2, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = zero>
!view3 = !nv_tileaa.tiled_view<partition, !memref3, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f4E2M1FN>, %n: i32, %k0: i32, %s0: i32, %c: tensor<64x64xf32>, %sa: tensor<64x2xf8E8M0FNU>, %sb: tensor<2x64xf8E8M0FNU>):
  %k = nv_tileas.assume %k0 {predicate = #cuda_tile.div_by<2>} : i32
  %s = nv_tileas.assume %s0 {predicate = #cuda_tile.div_by<16>} : i32
  %zero = arith.constant 0 : i32
  %ra = nv_tileas.make_memref %p sizes(%n, %k) strides(%s) : (!nv_tileaa.ptr<f4E2M1FN>, i32, i32, i32) -> !memref0
  %0 = nv_tileas.bitcast %p : (!nv_tileaa.ptr<f4E2M1FN>) -> !nv_tileaa.ptr<i8>
  %1 = arith.constant 1 : i32
  %2 = arith.shrsi %s, %1 : i32
  %3 = nv_tileas.assume %2 {predicate = #cuda_tile.div_by<8>} : i32
  %4 = arith.constant 1 : i32
  %5 = arith.shrsi %k, %4 : i32
  %6 = nv_tileas.make_memref %0 sizes(%n, %5) strides(%3) : (!nv_tileaa.ptr<i8>, i32, i32, i32) -> !memref1
  %rb = nv_tileas.make_memref %p sizes(%k, %n) strides(%s) : (!nv_tileaa.ptr<f4E2M1FN>, i32, i32, i32) -> !memref2
  %7 = nv_tileas.bitcast %p : (!nv_tileaa.ptr<f4E2M1FN>) -> !nv_tileaa.ptr<i8>
  %8 = arith.constant 1 : i32
  %9 = arith.shrsi %k, %8 : i32
  %10 = arith.constant 1 : i32
  %11 = arith.shrsi %s, %10 : i32
  %12 = nv_tileas.assume %11 {predicate = #cuda_tile.div_by<8>} : i32
  %13 = nv_tileas.make_memref %7 sizes(%9, %n) strides(%12) : (!nv_tileaa.ptr<i8>, i32, i32, i32) -> !memref3
  %a = nv_tileas.block_tile %ra : (!memref0) -> !view0
  %14 = nv_tileas.block_tile %6 : (!memref1) -> !view1
  %b = nv_tileas.block_tile %rb : (!memref2) -> !view2
  %15 = nv_tileas.block_tile %13 : (!memref3) -> !view3
  %16, %t0 = nv_tileas.tiled_load %14 coords(%zero, %zero) {mem_semantic = "weak"} : (!view1, i32, i32) -> (tensor<64x32xi8>, !nv_tileaa.mem_token)
  %17, %t1 = nv_tileas.tiled_load %15 coords(%zero, %zero) token(%t0) {mem_semantic = "weak"} : (!view3, i32, i32, !nv_tileaa.mem_token) -> (tensor<32x64xi8>, !nv_tileaa.mem_token)
  %d = nv_tileas.dot %16, %17, %c lhs_scale(%sa) rhs_scale(%sb) {packed} : (tensor<64x32xi8>, tensor<32x64xi8>, tensor<64x64xf32>, tensor<64x2xf8E8M0FNU>, tensor<2x64xf8E8M0FNU>) -> tensor<64x64xf32>
  nv_tileaa.return
}

// ---- a_tensor_that_may_end_within_a_byte_stays
!ma = !nv_tileaa.memref<f4E2M1FN, [?, ?], [?, 1]>
!mb = !nv_tileaa.memref<f4E2M1FN, [?, ?], [1, ?]>
!va = !nv_tileaa.tiled_view<partition, !ma, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = zero>
!vb = !nv_tileaa.tiled_view<partition, !mb, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f4E2M1FN>, %n: i32, %k: i32, %s0: i32, %c: tensor<64x64xf32>, %sa: tensor<64x2xf8E8M0FNU>, %sb: tensor<2x64xf8E8M0FNU>):
  %s = nv_tileas.assume %s0 {predicate = #cuda_tile.div_by<16>} : i32
  %zero = arith.constant 0 : i32
  %ra = nv_tileas.make_memref %p sizes(%n, %k) strides(%s) : (!nv_tileaa.ptr<f4E2M1FN>, i32, i32, i32) -> !ma
  %rb = nv_tileas.make_memref %p sizes(%k, %n) strides(%s) : (!nv_tileaa.ptr<f4E2M1FN>, i32, i32, i32) -> !mb
  %a = nv_tileas.block_tile %ra : (!ma) -> !va
  %b = nv_tileas.block_tile %rb : (!mb) -> !vb
  %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %zero) {mem_semantic = "weak"} : (!va, i32, i32) -> (tensor<64x64xf4E2M1FN>, !nv_tileaa.mem_token)
  %y, %t1 = nv_tileas.tiled_load %b coords(%zero, %zero) {mem_semantic = "weak"} : (!vb, i32, i32) -> (tensor<64x64xf4E2M1FN>, !nv_tileaa.mem_token)
  %d = nv_tileas.dot %x, %y, %c lhs_scale(%sa) rhs_scale(%sb) : (tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x64xf32>, tensor<64x2xf8E8M0FNU>, tensor<2x64xf8E8M0FNU>) -> tensor<64x64xf32>
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f4E2M1FN, [?, ?], [?, 1]>
!memref1 = !nv_tileaa.memref<f4E2M1FN, [?, ?], [1, ?]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = zero>
!view1 = !nv_tileaa.tiled_view<partition, !memref1, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f4E2M1FN>, %n: i32, %k: i32, %s0: i32, %c: tensor<64x64xf32>, %sa: tensor<64x2xf8E8M0FNU>, %sb: tensor<2x64xf8E8M0FNU>):
  %s = nv_tileas.assume %s0 {predicate = #cuda_tile.div_by<16>} : i32
  %zero = arith.constant 0 : i32
  %ra = nv_tileas.make_memref %p sizes(%n, %k) strides(%s) : (!nv_tileaa.ptr<f4E2M1FN>, i32, i32, i32) -> !memref0
  %rb = nv_tileas.make_memref %p sizes(%k, %n) strides(%s) : (!nv_tileaa.ptr<f4E2M1FN>, i32, i32, i32) -> !memref1
  %a = nv_tileas.block_tile %ra : (!memref0) -> !view0
  %b = nv_tileas.block_tile %rb : (!memref1) -> !view1
  %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %zero) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<64x64xf4E2M1FN>, !nv_tileaa.mem_token)
  %y, %t1 = nv_tileas.tiled_load %b coords(%zero, %zero) {mem_semantic = "weak"} : (!view1, i32, i32) -> (tensor<64x64xf4E2M1FN>, !nv_tileaa.mem_token)
  %d = nv_tileas.dot %x, %y, %c lhs_scale(%sa) rhs_scale(%sb) : (tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x64xf32>, tensor<64x2xf8E8M0FNU>, tensor<2x64xf8E8M0FNU>) -> tensor<64x64xf32>
  nv_tileaa.return
}

// ---- elements_unpacked_from_bytes
nv_tileaa.func @k {
^bb0(%a: tensor<64x32xi8>, %b: tensor<64x32xi8>, %c: tensor<64x64xf32>, %sa: tensor<64x4xf8E4M3FN>, %sb: tensor<4x64xf8E4M3FN>):
  %0 = nv_tileas.view %a : (tensor<64x32xi8>) -> tensor<2048xi8>
  %1 = nv_tileas.reinterpret %0 : (tensor<2048xi8>) -> tensor<4096xf4E2M1FN>
  %2 = nv_tileas.view %1 : (tensor<4096xf4E2M1FN>) -> tensor<64x64xf4E2M1FN>
  %3 = nv_tileas.view %b : (tensor<64x32xi8>) -> tensor<2048xi8>
  %4 = nv_tileas.reinterpret %3 : (tensor<2048xi8>) -> tensor<4096xf4E2M1FN>
  %5 = nv_tileas.view %4 : (tensor<4096xf4E2M1FN>) -> tensor<64x64xf4E2M1FN>
  %6 = nv_tileas.permute %5 {permutation = array<i32: 1, 0>} : (tensor<64x64xf4E2M1FN>) -> tensor<64x64xf4E2M1FN>
  %d = nv_tileas.dot %2, %6, %c lhs_scale(%sa) rhs_scale(%sb) : (tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x64xf32>, tensor<64x4xf8E4M3FN>, tensor<4x64xf8E4M3FN>) -> tensor<64x64xf32>
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%a: tensor<64x32xi8>, %b: tensor<64x32xi8>, %c: tensor<64x64xf32>, %sa: tensor<64x4xf8E4M3FN>, %sb: tensor<4x64xf8E4M3FN>):
  %0 = nv_tileas.permute %b {permutation = array<i32: 1, 0>} : (tensor<64x32xi8>) -> tensor<32x64xi8>
  %d = nv_tileas.dot %a, %0, %c lhs_scale(%sa) rhs_scale(%sb) {packed} : (tensor<64x32xi8>, tensor<32x64xi8>, tensor<64x64xf32>, tensor<64x4xf8E4M3FN>, tensor<4x64xf8E4M3FN>) -> tensor<64x64xf32>
  nv_tileaa.return
}

// ---- bytes_of_neighbors_along_n_stay_apart
nv_tileaa.func @k {
^bb0(%a: tensor<64x32xi8>, %b: tensor<64x32xi8>, %c: tensor<64x64xf32>, %sa: tensor<64x4xf8E4M3FN>, %sb: tensor<4x64xf8E4M3FN>):
  %0 = nv_tileas.view %a : (tensor<64x32xi8>) -> tensor<2048xi8>
  %1 = nv_tileas.reinterpret %0 : (tensor<2048xi8>) -> tensor<4096xf4E2M1FN>
  %2 = nv_tileas.view %1 : (tensor<4096xf4E2M1FN>) -> tensor<64x64xf4E2M1FN>
  %3 = nv_tileas.view %b : (tensor<64x32xi8>) -> tensor<2048xi8>
  %4 = nv_tileas.reinterpret %3 : (tensor<2048xi8>) -> tensor<4096xf4E2M1FN>
  %5 = nv_tileas.view %4 : (tensor<4096xf4E2M1FN>) -> tensor<64x64xf4E2M1FN>
  %d = nv_tileas.dot %2, %5, %c lhs_scale(%sa) rhs_scale(%sb) : (tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x64xf32>, tensor<64x4xf8E4M3FN>, tensor<4x64xf8E4M3FN>) -> tensor<64x64xf32>
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%a: tensor<64x32xi8>, %b: tensor<64x32xi8>, %c: tensor<64x64xf32>, %sa: tensor<64x4xf8E4M3FN>, %sb: tensor<4x64xf8E4M3FN>):
  %0 = nv_tileas.view %a : (tensor<64x32xi8>) -> tensor<2048xi8>
  %1 = nv_tileas.reinterpret %0 : (tensor<2048xi8>) -> tensor<4096xf4E2M1FN>
  %2 = nv_tileas.view %1 : (tensor<4096xf4E2M1FN>) -> tensor<64x64xf4E2M1FN>
  %3 = nv_tileas.view %b : (tensor<64x32xi8>) -> tensor<2048xi8>
  %4 = nv_tileas.reinterpret %3 : (tensor<2048xi8>) -> tensor<4096xf4E2M1FN>
  %5 = nv_tileas.view %4 : (tensor<4096xf4E2M1FN>) -> tensor<64x64xf4E2M1FN>
  %d = nv_tileas.dot %2, %5, %c lhs_scale(%sa) rhs_scale(%sb) : (tensor<64x64xf4E2M1FN>, tensor<64x64xf4E2M1FN>, tensor<64x64xf32>, tensor<64x4xf8E4M3FN>, tensor<4x64xf8E4M3FN>) -> tensor<64x64xf32>
  nv_tileaa.return
}

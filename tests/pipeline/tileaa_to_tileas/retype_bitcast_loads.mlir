// Tiles that are bitcast after their load are loaded as the other type.
// run: tileas-retype-bitcast-loads sm_90

// ---- behind_a_view
!m = !nv_tileaa.memref<i16, [?, ?], [?, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [64, 32], dim_map = [0, 1], steps = [64, 32], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<i16>, %n: i32, %s: i32, %at: i32):
  %r = nv_tileas.make_memref %p sizes(%n, %n) strides(%s) : (!nv_tileaa.ptr<i16>, i32, i32, i32) -> !m
  %a = nv_tileas.block_tile %r : (!m) -> !v
  %x, %t0 = nv_tileas.tiled_load %a coords(%at, %at) {mem_semantic = "weak"} : (!v, i32, i32) -> (tensor<64x32xi16>, !nv_tileaa.mem_token)
  %y = nv_tileas.permute %x {permutation = array<i32: 1, 0>} : (tensor<64x32xi16>) -> tensor<32x64xi16>
  %z = nv_tileas.bitcast %y : (tensor<32x64xi16>) -> tensor<32x64xbf16>
  %w = nv_tileas.addf %z, %z {rounding_mode = "nearest_even"} : (tensor<32x64xbf16>, tensor<32x64xbf16>) -> tensor<32x64xbf16>
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<bf16, [?, ?], [?, 1]>
!memref1 = !nv_tileaa.memref<i16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [64, 32], dim_map = [0, 1], steps = [64, 32], sparse = -1, padding = zero>
!view1 = !nv_tileaa.tiled_view<partition, !memref1, tile = [64, 32], dim_map = [0, 1], steps = [64, 32], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<i16>, %n: i32, %s: i32, %at: i32):
  %0 = nv_tileas.bitcast %p : (!nv_tileaa.ptr<i16>) -> !nv_tileaa.ptr<bf16>
  %1 = nv_tileas.make_memref %0 sizes(%n, %n) strides(%s) : (!nv_tileaa.ptr<bf16>, i32, i32, i32) -> !memref0
  %r = nv_tileas.make_memref %p sizes(%n, %n) strides(%s) : (!nv_tileaa.ptr<i16>, i32, i32, i32) -> !memref1
  %2 = nv_tileas.block_tile %1 : (!memref0) -> !view0
  %a = nv_tileas.block_tile %r : (!memref1) -> !view1
  %x, %t0 = nv_tileas.tiled_load %2 coords(%at, %at) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<64x32xbf16>, !nv_tileaa.mem_token)
  %y = nv_tileas.permute %x {permutation = array<i32: 1, 0>} : (tensor<64x32xbf16>) -> tensor<32x64xbf16>
  %w = nv_tileas.addf %y, %y {rounding_mode = "nearest_even"} : tensor<32x64xbf16>
  nv_tileaa.return
}

// ---- also_read_as_it_is
!m = !nv_tileaa.memref<i16, [?, ?], [?, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [64, 32], dim_map = [0, 1], steps = [64, 32], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<i16>, %n: i32, %s: i32, %at: i32):
  %r = nv_tileas.make_memref %p sizes(%n, %n) strides(%s) : (!nv_tileaa.ptr<i16>, i32, i32, i32) -> !m
  %a = nv_tileas.block_tile %r : (!m) -> !v
  %x, %t0 = nv_tileas.tiled_load %a coords(%at, %at) {mem_semantic = "weak"} : (!v, i32, i32) -> (tensor<64x32xi16>, !nv_tileaa.mem_token)
  %z = nv_tileas.bitcast %x : (tensor<64x32xi16>) -> tensor<64x32xbf16>
  %w = arith.addi %x, %x : (tensor<64x32xi16>, tensor<64x32xi16>) -> tensor<64x32xi16>
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<i16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [64, 32], dim_map = [0, 1], steps = [64, 32], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<i16>, %n: i32, %s: i32, %at: i32):
  %r = nv_tileas.make_memref %p sizes(%n, %n) strides(%s) : (!nv_tileaa.ptr<i16>, i32, i32, i32) -> !memref0
  %a = nv_tileas.block_tile %r : (!memref0) -> !view0
  %x, %t0 = nv_tileas.tiled_load %a coords(%at, %at) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<64x32xi16>, !nv_tileaa.mem_token)
  %z = nv_tileas.bitcast %x : (tensor<64x32xi16>) -> tensor<64x32xbf16>
  %w = arith.addi %x, %x : tensor<64x32xi16>
  nv_tileaa.return
}

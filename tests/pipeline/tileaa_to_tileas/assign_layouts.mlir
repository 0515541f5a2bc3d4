// Every tile gets a layout: accesses want the coalesced one, matmuls their fragments; what fits neither is converted,
// or computed again where that is cheap.
// run: tileas-assign-layouts cse sm_90

// ---- known_divisors_make_wide_accesses
!m = !nv_tileaa.memref<f32, [?], [1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [1024], dim_map = [0], steps = [1024], sparse = -1, padding = none>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %n: i32, %i: i32):
  %q = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f32>
  %s = nv_tileas.assume %n {predicate = #cuda_tile.div_by<4>} : i32
  %m = nv_tileas.make_memref %q sizes(%s) : (!nv_tileaa.ptr<f32>, i32) -> !m
  %v = nv_tileas.block_tile %m : (!m) -> !v
  %x, %t = nv_tileas.tiled_load %v coords(%i) {mem_semantic = "weak"} : (!v, i32) -> (tensor<1024xf32>, !nv_tileaa.mem_token)
  %y = nv_tileas.addf %x, %x {rounding_mode = "nearest_even"} : tensor<1024xf32>
  %u = nv_tileas.tiled_store %v, %y coords(%i) {mem_semantic = "weak"} : (!v, tensor<1024xf32>, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f32, [?], [1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [1024], dim_map = [0], steps = [1024], sparse = -1, padding = none>
#layout0 = #cute.layout<(1024), (32,4,(4,2)):(4,128,(1,512))>
!tile_1024xf32 = tensor<1024xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%p: !nv_tileaa.ptr<f32>, %n: i32, %i: i32):
  %q = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f32>
  %s = nv_tileas.assume %n {predicate = #cuda_tile.div_by<4>} : i32
  %m = nv_tileas.make_memref %q sizes(%s) : (!nv_tileaa.ptr<f32>, i32) -> !memref0
  %v = nv_tileas.block_tile %m : (!memref0) -> !view0
  %x, %t = nv_tileas.tiled_load %v coords(%i) {mem_semantic = "weak", vector = 4 : i32, in_bounds = array<i1: false>} : (!view0, i32) -> (!tile_1024xf32, !nv_tileaa.mem_token)
  %y = nv_tileas.addf %x, %x {rounding_mode = "nearest_even"} : !tile_1024xf32
  %u = nv_tileas.tiled_store %v, %y coords(%i) {mem_semantic = "weak", vector = 4 : i32, in_bounds = array<i1: false>} : (!view0, !tile_1024xf32, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- the_widest_accesses_want_twice_as_much
// run: tileas-assign-layouts cse sm_100
!m = !nv_tileaa.memref<f32, [?], [1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [1024], dim_map = [0], steps = [1024], sparse = -1, padding = none>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %n: i32, %i: i32):
  %q = nv_tileas.assume %p {predicate = #cuda_tile.div_by<32>} : !nv_tileaa.ptr<f32>
  %s = nv_tileas.assume %n {predicate = #cuda_tile.div_by<8>} : i32
  %m = nv_tileas.make_memref %q sizes(%s) : (!nv_tileaa.ptr<f32>, i32) -> !m
  %v = nv_tileas.block_tile %m : (!m) -> !v
  %x, %t = nv_tileas.tiled_load %v coords(%i) {mem_semantic = "weak"} : (!v, i32) -> (tensor<1024xf32>, !nv_tileaa.mem_token)
  %y = nv_tileas.addf %x, %x {rounding_mode = "nearest_even"} : tensor<1024xf32>
  %u = nv_tileas.tiled_store %v, %y coords(%i) {mem_semantic = "weak"} : (!v, tensor<1024xf32>, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f32, [?], [1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [1024], dim_map = [0], steps = [1024], sparse = -1, padding = none>
#layout0 = #cute.layout<(1024), (32,4,8):(8,256,1)>
!tile_1024xf32 = tensor<1024xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%p: !nv_tileaa.ptr<f32>, %n: i32, %i: i32):
  %q = nv_tileas.assume %p {predicate = #cuda_tile.div_by<32>} : !nv_tileaa.ptr<f32>
  %s = nv_tileas.assume %n {predicate = #cuda_tile.div_by<8>} : i32
  %m = nv_tileas.make_memref %q sizes(%s) : (!nv_tileaa.ptr<f32>, i32) -> !memref0
  %v = nv_tileas.block_tile %m : (!memref0) -> !view0
  %x, %t = nv_tileas.tiled_load %v coords(%i) {mem_semantic = "weak", vector = 8 : i32, in_bounds = array<i1: false>} : (!view0, i32) -> (!tile_1024xf32, !nv_tileaa.mem_token)
  %y = nv_tileas.addf %x, %x {rounding_mode = "nearest_even"} : !tile_1024xf32
  %u = nv_tileas.tiled_store %v, %y coords(%i) {mem_semantic = "weak", vector = 8 : i32, in_bounds = array<i1: false>} : (!view0, !tile_1024xf32, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- without_them_elements_move_alone
!m = !nv_tileaa.memref<f32, [?], [1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [1024], dim_map = [0], steps = [1024], sparse = -1, padding = none>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %n: i32, %i: i32):
  %m = nv_tileas.make_memref %p sizes(%n) : (!nv_tileaa.ptr<f32>, i32) -> !m
  %v = nv_tileas.block_tile %m : (!m) -> !v
  %x, %t = nv_tileas.tiled_load %v coords(%i) {mem_semantic = "weak"} : (!v, i32) -> (tensor<1024xf32>, !nv_tileaa.mem_token)
  %u = nv_tileas.tiled_store %v, %x coords(%i) {mem_semantic = "weak"} : (!v, tensor<1024xf32>, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f32, [?], [1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [1024], dim_map = [0], steps = [1024], sparse = -1, padding = none>
#layout0 = #cute.layout<(1024), (32,4,8):(1,32,128)>
!tile_1024xf32 = tensor<1024xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%p: !nv_tileaa.ptr<f32>, %n: i32, %i: i32):
  %m = nv_tileas.make_memref %p sizes(%n) : (!nv_tileaa.ptr<f32>, i32) -> !memref0
  %v = nv_tileas.block_tile %m : (!memref0) -> !view0
  %x, %t = nv_tileas.tiled_load %v coords(%i) {mem_semantic = "weak", vector = 1 : i32, in_bounds = array<i1: false>} : (!view0, i32) -> (!tile_1024xf32, !nv_tileaa.mem_token)
  %u = nv_tileas.tiled_store %v, %x coords(%i) {mem_semantic = "weak", vector = 1 : i32, in_bounds = array<i1: false>} : (!view0, !tile_1024xf32, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- extents_that_tiles_divide_are_in_bounds
!m = !nv_tileaa.memref<f16, [256, ?], [?, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32, %s: i32, %i: i32):
  %q = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %o = nv_tileas.assume %n {predicate = #cuda_tile.div_by<64>} : i32
  %r = nv_tileas.assume %s {predicate = #cuda_tile.div_by<8>} : i32
  %m = nv_tileas.make_memref %q sizes(%o) strides(%r) : (!nv_tileaa.ptr<f16>, i32, i32) -> !m
  %v = nv_tileas.block_tile %m : (!m) -> !v
  %x, %t = nv_tileas.tiled_load %v coords(%i, %i) {mem_semantic = "weak"} : (!v, i32, i32) -> (tensor<32x64xf16>, !nv_tileaa.mem_token)
  %u = nv_tileas.tiled_store %v, %x coords(%i, %i) {mem_semantic = "weak"} : (!v, tensor<32x64xf16>, i32, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [256, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
#layout0 = #cute.layout<(32,64), (32,4,(8,2)):(8,256,(1,1024))>
!tile_32x64xf16 = tensor<32x64xf16, #layout0>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32, %s: i32, %i: i32):
  %q = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %o = nv_tileas.assume %n {predicate = #cuda_tile.div_by<64>} : i32
  %r = nv_tileas.assume %s {predicate = #cuda_tile.div_by<8>} : i32
  %m = nv_tileas.make_memref %q sizes(%o) strides(%r) : (!nv_tileaa.ptr<f16>, i32, i32) -> !memref0
  %v = nv_tileas.block_tile %m : (!memref0) -> !view0
  %x, %t = nv_tileas.tiled_load %v coords(%i, %i) {mem_semantic = "weak", vector = 8 : i32, in_bounds = array<i1: true, true>} : (!view0, i32, i32) -> (!tile_32x64xf16, !nv_tileaa.mem_token)
  %u = nv_tileas.tiled_store %v, %x coords(%i, %i) {mem_semantic = "weak", vector = 8 : i32, in_bounds = array<i1: true, true>} : (!view0, !tile_32x64xf16, i32, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- pointers_are_as_wide_as_their_runs_and_masks_allow
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %n: i32, %i: i32):
  %q = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f32>
  %s = nv_tileas.assume %n {predicate = #cuda_tile.div_by<2>} : i32
  %c = arith.constant 512 : i32
  %o = arith.muli %i, %c : i32
  %r = nv_tileas.make_range : tensor<512xi32>
  %b = nv_tileas.splat %o : (i32) -> tensor<512xi32>
  %x = arith.addi %b, %r : tensor<512xi32>
  %l = nv_tileas.splat %s : (i32) -> tensor<512xi32>
  %m = arith.cmpi %x, %l {predicate = "slt"} : (tensor<512xi32>, tensor<512xi32>) -> tensor<512xi1>
  %a = nv_tileas.splat %q : (!nv_tileaa.ptr<f32>) -> tensor<512x!nv_tileaa.ptr<f32>>
  %d = nv_tileas.addptr %a, %x : (tensor<512x!nv_tileaa.ptr<f32>>, tensor<512xi32>) -> tensor<512x!nv_tileaa.ptr<f32>>
  %v, %t = nv_tileas.load %d mask(%m) {mem_semantic = "weak"} : (tensor<512x!nv_tileaa.ptr<f32>>, tensor<512xi1>) -> (tensor<512xf32>, !nv_tileaa.mem_token)
  %u = nv_tileas.store %d, %v {mem_semantic = "weak"} : (tensor<512x!nv_tileaa.ptr<f32>>, tensor<512xf32>) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(512), (32,2,(2,4)):(2,64,(1,128))>
!tile_512xi32 = tensor<512xi32, #layout0>
!tile_512xi1 = tensor<512xi1, #layout0>
!tile_512xnv_tileaa_ptr_f32 = tensor<512x!nv_tileaa.ptr<f32>, #layout0>
!tile_512xf32 = tensor<512xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 2 : i32} {
^bb0(%p: !nv_tileaa.ptr<f32>, %n: i32, %i: i32):
  %q = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f32>
  %s = nv_tileas.assume %n {predicate = #cuda_tile.div_by<2>} : i32
  %c = arith.constant 512 : i32
  %o = arith.muli %i, %c : i32
  %0 = nv_tileas.splat %o : (i32) -> !tile_512xi32
  %1 = nv_tileas.make_range : !tile_512xi32
  %x = arith.addi %0, %1 : !tile_512xi32
  %2 = nv_tileas.splat %s : (i32) -> !tile_512xi32
  %m = arith.cmpi %x, %2 {predicate = "slt"} : (!tile_512xi32, !tile_512xi32) -> !tile_512xi1
  %a = nv_tileas.splat %q : (!nv_tileaa.ptr<f32>) -> !tile_512xnv_tileaa_ptr_f32
  %d = nv_tileas.addptr %a, %x : (!tile_512xnv_tileaa_ptr_f32, !tile_512xi32) -> !tile_512xnv_tileaa_ptr_f32
  %v, %t = nv_tileas.load %d mask(%m) {mem_semantic = "weak", vector = 2 : i32} : (!tile_512xnv_tileaa_ptr_f32, !tile_512xi1) -> (!tile_512xf32, !nv_tileaa.mem_token)
  %u = nv_tileas.store %d, %v {mem_semantic = "weak", vector = 4 : i32} : (!tile_512xnv_tileaa_ptr_f32, !tile_512xf32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- a_matmul_asks_for_its_fragments
// run: tileas-assign-layouts sm_90
nv_tileaa.func @k {
^bb0(%z: f32, %g: f16):
  %a = nv_tileas.splat %g : (f16) -> tensor<64x32xf16>
  %b = nv_tileas.splat %g : (f16) -> tensor<32x64xf16>
  %c = nv_tileas.splat %z : (f32) -> tensor<64x64xf32>
  %x = nv_tileas.exp2 %a : tensor<64x32xf16>
  %y = nv_tileas.exp2 %b : tensor<32x64xf16>
  %r = nv_tileas.dot %x, %y, %c : (tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %s = nv_tileas.exp2 %r : tensor<64x64xf32>
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(64,32), (32,4,(8,2)):(8,256,(1,1024))>
!tile_64x32xf16 = tensor<64x32xf16, #layout0>
#layout1 = #cute.layout<(32,64), (32,4,(8,2)):(8,256,(1,1024))>
!tile_32x64xf16 = tensor<32x64xf16, #layout1>
#layout2 = #cute.layout<(64,64), (32,4,(4,8)):(4,128,(1,512))>
!tile_64x64xf32 = tensor<64x64xf32, #layout2>
#layout3 = #cute.layout<(64,32), ((4,8),(2,2),(2,2,4,2)):((2,32),(512,0),(1,256,8,1024))>
!tile_64x32xf16_v1 = tensor<64x32xf16, #layout3>
#layout4 = #cute.layout<(32,64), ((4,8),(2,2),(2,2,4,2)):((128,1),(0,8),(64,512,16,1024))>
!tile_32x64xf16_v1 = tensor<32x64xf16, #layout4>
#layout5 = #cute.layout<(64,64), ((4,8),(2,2),(2,2,4,2)):((2,64),(1024,8),(1,512,16,2048))>
!tile_64x64xf32_v1 = tensor<64x64xf32, #layout5>
nv_tileaa.func @k attributes {num_warps = 4 : i32, schedule = {mma = ["mma_sync"]}} {
^bb0(%z: f32, %g: f16):
  %a = nv_tileas.splat %g : (f16) -> !tile_64x32xf16
  %b = nv_tileas.splat %g : (f16) -> !tile_32x64xf16
  %c = nv_tileas.splat %z : (f32) -> !tile_64x64xf32
  %x = nv_tileas.exp2 %a : !tile_64x32xf16
  %y = nv_tileas.exp2 %b : !tile_32x64xf16
  %0 = nv_tileas.convert_layout %x : (!tile_64x32xf16) -> !tile_64x32xf16_v1
  %1 = nv_tileas.convert_layout %y : (!tile_32x64xf16) -> !tile_32x64xf16_v1
  %2 = nv_tileas.splat %z : (f32) -> !tile_64x64xf32_v1
  %r = nv_tileas.dot %0, %1, %2 {mma = "mma_m16n8k16_f16_f16_f32", warps = array<i32: 2, 2, 1>} : (!tile_64x32xf16_v1, !tile_32x64xf16_v1, !tile_64x64xf32_v1) -> !tile_64x64xf32_v1
  %s = nv_tileas.exp2 %r : !tile_64x64xf32_v1
  nv_tileaa.return
}

// ---- accumulators_keep_their_fragment_around_a_loop
nv_tileaa.func @k {
^bb0(%z: f32, %g: f16, %n: i32):
  %a = nv_tileas.splat %g : (f16) -> tensor<64x32xf16>
  %b = nv_tileas.splat %g : (f16) -> tensor<32x64xf16>
  %c = nv_tileas.splat %z : (f32) -> tensor<64x64xf32>
  %x = nv_tileas.exp2 %a : tensor<64x32xf16>
  %y = nv_tileas.exp2 %b : tensor<32x64xf16>
  %r = nv_tileas.for %n, %n, %n initial(%c) : (i32, i32, i32, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb1(%i: i32, %d: tensor<64x64xf32>):
    %e = nv_tileas.dot %x, %y, %d : (tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nv_tileas.continue %e : (tensor<64x64xf32>) -> ()
  }
  %s = nv_tileas.exp2 %r : tensor<64x64xf32>
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(64,32), (32,4,(8,2)):(8,256,(1,1024))>
!tile_64x32xf16 = tensor<64x32xf16, #layout0>
#layout1 = #cute.layout<(32,64), (32,4,(8,2)):(8,256,(1,1024))>
!tile_32x64xf16 = tensor<32x64xf16, #layout1>
#layout2 = #cute.layout<(64,32), ((4,8),(2,2),(2,2,4,2)):((2,32),(512,0),(1,256,8,1024))>
!tile_64x32xf16_v1 = tensor<64x32xf16, #layout2>
#layout3 = #cute.layout<(32,64), ((4,8),(2,2),(2,2,4,2)):((128,1),(0,8),(64,512,16,1024))>
!tile_32x64xf16_v1 = tensor<32x64xf16, #layout3>
#layout4 = #cute.layout<(64,64), ((4,8),(2,2),(2,2,4,2)):((2,64),(1024,8),(1,512,16,2048))>
!tile_64x64xf32 = tensor<64x64xf32, #layout4>
nv_tileaa.func @k attributes {num_warps = 4 : i32, schedule = {mma = ["mma_sync"]}} {
^bb0(%z: f32, %g: f16, %n: i32):
  %a = nv_tileas.splat %g : (f16) -> !tile_64x32xf16
  %b = nv_tileas.splat %g : (f16) -> !tile_32x64xf16
  %x = nv_tileas.exp2 %a : !tile_64x32xf16
  %0 = nv_tileas.convert_layout %x : (!tile_64x32xf16) -> !tile_64x32xf16_v1
  %y = nv_tileas.exp2 %b : !tile_32x64xf16
  %1 = nv_tileas.convert_layout %y : (!tile_32x64xf16) -> !tile_32x64xf16_v1
  %2 = nv_tileas.splat %z : (f32) -> !tile_64x64xf32
  %r = nv_tileas.for %n, %n, %n initial(%2) : (i32, i32, i32, !tile_64x64xf32) -> !tile_64x64xf32 {
  ^bb0(%i: i32, %d: !tile_64x64xf32):
    %e = nv_tileas.dot %0, %1, %d {mma = "mma_m16n8k16_f16_f16_f32", warps = array<i32: 2, 2, 1>} : (!tile_64x32xf16_v1, !tile_32x64xf16_v1, !tile_64x64xf32) -> !tile_64x64xf32
    nv_tileas.continue %e : (!tile_64x64xf32) -> ()
  }
  nv_tileaa.return
}

// ---- a_row_is_reduced_and_spread_again
!m = !nv_tileaa.memref<f32, [64, 64], [64, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = none>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %i: i32):
  %m = nv_tileas.make_memref %p : (!nv_tileaa.ptr<f32>) -> !m
  %v = nv_tileas.block_tile %m : (!m) -> !v
  %x, %t = nv_tileas.tiled_load %v coords(%i, %i) {mem_semantic = "weak"} : (!v, i32, i32) -> (tensor<64x64xf32>, !nv_tileaa.mem_token)
  %r = nv_tileas.reduce %x attributes {axis = 1 : i32} : (tensor<64x64xf32>) -> tensor<64xf32> {
  ^bb1(%a: f32, %b: f32):
    %c = nv_tileas.addf %a, %b {rounding_mode = "nearest_even"} : f32
    nv_tileas.yield %c : (f32) -> ()
  }
  %w = nv_tileas.view %r : (tensor<64xf32>) -> tensor<64x1xf32>
  %s = nv_tileas.broadcast %w : (tensor<64x1xf32>) -> tensor<64x64xf32>
  %y = nv_tileas.divf %x, %s {rounding_mode = "nearest_even"} : tensor<64x64xf32>
  %u = nv_tileas.tiled_store %v, %y coords(%i, %i) {mem_semantic = "weak"} : (!v, tensor<64x64xf32>, i32, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f32, [64, 64], [64, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = none>
#layout0 = #cute.layout<(64,64), (32,2,64):(1,32,64)>
!tile_64x64xf32 = tensor<64x64xf32, #layout0>
#layout1 = #cute.layout<(64), (32,2,64):(0,0,1)>
!tile_64xf32 = tensor<64xf32, #layout1>
#layout2 = #cute.layout<(64,1), (32,2,64):(0,0,1)>
!tile_64x1xf32 = tensor<64x1xf32, #layout2>
nv_tileaa.func @k attributes {num_warps = 2 : i32} {
^bb0(%p: !nv_tileaa.ptr<f32>, %i: i32):
  %m = nv_tileas.make_memref %p : (!nv_tileaa.ptr<f32>) -> !memref0
  %v = nv_tileas.block_tile %m : (!memref0) -> !view0
  %x, %t = nv_tileas.tiled_load %v coords(%i, %i) {mem_semantic = "weak", vector = 1 : i32, in_bounds = array<i1: true, true>} : (!view0, i32, i32) -> (!tile_64x64xf32, !nv_tileaa.mem_token)
  %r = nv_tileas.reduce %x attributes {axis = 1 : i32} : (!tile_64x64xf32) -> !tile_64xf32 {
  ^bb0(%a: f32, %b: f32):
    %c = nv_tileas.addf %a, %b {rounding_mode = "nearest_even"} : f32
    nv_tileas.yield %c : (f32) -> ()
  }
  %w = nv_tileas.view %r : (!tile_64xf32) -> !tile_64x1xf32
  %s = nv_tileas.broadcast %w : (!tile_64x1xf32) -> !tile_64x64xf32
  %y = nv_tileas.divf %x, %s {rounding_mode = "nearest_even"} : !tile_64x64xf32
  %u = nv_tileas.tiled_store %v, %y coords(%i, %i) {mem_semantic = "weak", vector = 1 : i32, in_bounds = array<i1: true, true>} : (!view0, !tile_64x64xf32, i32, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- a_transposed_tile_is_converted
!m = !nv_tileaa.memref<f32, [64, 64], [64, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = none>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %i: i32):
  %q = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f32>
  %m = nv_tileas.make_memref %q : (!nv_tileaa.ptr<f32>) -> !m
  %v = nv_tileas.block_tile %m : (!m) -> !v
  %x, %t = nv_tileas.tiled_load %v coords(%i, %i) {mem_semantic = "weak"} : (!v, i32, i32) -> (tensor<64x64xf32>, !nv_tileaa.mem_token)
  %y = nv_tileas.permute %x {permutation = array<i32: 1, 0>} : (tensor<64x64xf32>) -> tensor<64x64xf32>
  %u = nv_tileas.tiled_store %v, %y coords(%i, %i) {mem_semantic = "weak"} : (!v, tensor<64x64xf32>, i32, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f32, [64, 64], [64, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = none>
#layout0 = #cute.layout<(64,64), (32,4,(4,8)):(4,128,(1,512))>
!tile_64x64xf32 = tensor<64x64xf32, #layout0>
#layout1 = #cute.layout<(64,64), ((16,2),4,(4,8)):((256,1),2,(64,8))>
!tile_64x64xf32_v1 = tensor<64x64xf32, #layout1>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%p: !nv_tileaa.ptr<f32>, %i: i32):
  %q = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f32>
  %m = nv_tileas.make_memref %q : (!nv_tileaa.ptr<f32>) -> !memref0
  %v = nv_tileas.block_tile %m : (!memref0) -> !view0
  %x, %t = nv_tileas.tiled_load %v coords(%i, %i) {mem_semantic = "weak", vector = 4 : i32, in_bounds = array<i1: true, true>} : (!view0, i32, i32) -> (!tile_64x64xf32, !nv_tileaa.mem_token)
  %0 = nv_tileas.convert_layout %x : (!tile_64x64xf32) -> !tile_64x64xf32_v1
  %y = nv_tileas.permute %0 {permutation = array<i32: 1, 0>} : (!tile_64x64xf32_v1) -> !tile_64x64xf32
  %u = nv_tileas.tiled_store %v, %y coords(%i, %i) {mem_semantic = "weak", vector = 4 : i32, in_bounds = array<i1: true, true>} : (!view0, !tile_64x64xf32, i32, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- a_range_is_computed_again_where_it_is_needed_in_another_layout
!m = !nv_tileaa.memref<i32, [64, 64], [64, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = none>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<i32>, %i: i32):
  %m = nv_tileas.make_memref %p : (!nv_tileaa.ptr<i32>) -> !m
  %v = nv_tileas.block_tile %m : (!m) -> !v
  %r = nv_tileas.make_range : tensor<64xi32>
  %a = nv_tileas.view %r : (tensor<64xi32>) -> tensor<64x1xi32>
  %b = nv_tileas.broadcast %a : (tensor<64x1xi32>) -> tensor<64x64xi32>
  %c = nv_tileas.view %r : (tensor<64xi32>) -> tensor<1x64xi32>
  %d = nv_tileas.broadcast %c : (tensor<1x64xi32>) -> tensor<64x64xi32>
  %e = arith.addi %b, %d : tensor<64x64xi32>
  %u = nv_tileas.tiled_store %v, %e coords(%i, %i) {mem_semantic = "weak"} : (!v, tensor<64x64xi32>, i32, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<i32, [64, 64], [64, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = none>
#layout0 = #cute.layout<(64), (32,(2,2),32):(0,(0,1),2)>
!tile_64xi32 = tensor<64xi32, #layout0>
#layout1 = #cute.layout<(64,1), (32,(2,2),32):(0,(0,1),2)>
!tile_64x1xi32 = tensor<64x1xi32, #layout1>
#layout2 = #cute.layout<(64,64), (32,4,32):(1,32,128)>
!tile_64x64xi32 = tensor<64x64xi32, #layout2>
#layout3 = #cute.layout<(64), (32,(2,2),1):(1,(32,0),0)>
!tile_64xi32_v1 = tensor<64xi32, #layout3>
#layout4 = #cute.layout<(1,64), (32,(2,2),1):(1,(32,0),0)>
!tile_1x64xi32 = tensor<1x64xi32, #layout4>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%p: !nv_tileaa.ptr<i32>, %i: i32):
  %m = nv_tileas.make_memref %p : (!nv_tileaa.ptr<i32>) -> !memref0
  %v = nv_tileas.block_tile %m : (!memref0) -> !view0
  %r = nv_tileas.make_range : !tile_64xi32
  %a = nv_tileas.view %r : (!tile_64xi32) -> !tile_64x1xi32
  %b = nv_tileas.broadcast %a : (!tile_64x1xi32) -> !tile_64x64xi32
  %0 = nv_tileas.make_range : !tile_64xi32_v1
  %c = nv_tileas.view %0 : (!tile_64xi32_v1) -> !tile_1x64xi32
  %d = nv_tileas.broadcast %c : (!tile_1x64xi32) -> !tile_64x64xi32
  %e = arith.addi %b, %d : !tile_64x64xi32
  %u = nv_tileas.tiled_store %v, %e coords(%i, %i) {mem_semantic = "weak", vector = 1 : i32, in_bounds = array<i1: true, true>} : (!view0, !tile_64x64xi32, i32, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- a_value_made_again_in_one_loop_is_not_used_in_the_next
nv_tileaa.func @k {
^bb0(%z: f32, %g: f16, %n: i32):
  %a = nv_tileas.splat %g : (f16) -> tensor<64x32xf16>
  %b = nv_tileas.splat %g : (f16) -> tensor<32x64xf16>
  %x = nv_tileas.exp2 %a : tensor<64x32xf16>
  %y = nv_tileas.exp2 %b : tensor<32x64xf16>
  %c = nv_tileas.splat %z : (f32) -> tensor<64x64xf32>
  nv_tileas.for %n, %n, %n : (i32, i32, i32) -> () {
  ^bb1(%i: i32):
    %e = nv_tileas.dot %x, %y, %c : (tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %q = nv_tileas.print values(%e) {format = "%f"} : (tensor<64x64xf32>) -> !nv_tileaa.mem_token
    nv_tileas.continue
  }
  nv_tileas.for %n, %n, %n : (i32, i32, i32) -> () {
  ^bb2(%j: i32):
    %f = nv_tileas.dot %x, %y, %c : (tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    %r = nv_tileas.print values(%f) {format = "%f"} : (tensor<64x64xf32>) -> !nv_tileaa.mem_token
    nv_tileas.continue
  }
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(64,32), (32,4,(8,2)):(8,256,(1,1024))>
!tile_64x32xf16 = tensor<64x32xf16, #layout0>
#layout1 = #cute.layout<(32,64), (32,4,(8,2)):(8,256,(1,1024))>
!tile_32x64xf16 = tensor<32x64xf16, #layout1>
#layout2 = #cute.layout<(64,32), ((4,8),(2,2),(2,2,4,2)):((2,32),(512,0),(1,256,8,1024))>
!tile_64x32xf16_v1 = tensor<64x32xf16, #layout2>
#layout3 = #cute.layout<(32,64), ((4,8),(2,2),(2,2,4,2)):((128,1),(0,8),(64,512,16,1024))>
!tile_32x64xf16_v1 = tensor<32x64xf16, #layout3>
#layout4 = #cute.layout<(64,64), ((4,8),(2,2),(2,2,4,2)):((2,64),(1024,8),(1,512,16,2048))>
!tile_64x64xf32 = tensor<64x64xf32, #layout4>
nv_tileaa.func @k attributes {num_warps = 4 : i32, schedule = {mma = ["mma_sync", "mma_sync"]}} {
^bb0(%z: f32, %g: f16, %n: i32):
  %a = nv_tileas.splat %g : (f16) -> !tile_64x32xf16
  %b = nv_tileas.splat %g : (f16) -> !tile_32x64xf16
  %x = nv_tileas.exp2 %a : !tile_64x32xf16
  %0 = nv_tileas.convert_layout %x : (!tile_64x32xf16) -> !tile_64x32xf16_v1
  %y = nv_tileas.exp2 %b : !tile_32x64xf16
  %1 = nv_tileas.convert_layout %y : (!tile_32x64xf16) -> !tile_32x64xf16_v1
  nv_tileas.for %n, %n, %n : (i32, i32, i32) -> () {
  ^bb0(%i: i32):
    %2 = nv_tileas.splat %z : (f32) -> !tile_64x64xf32
    %e = nv_tileas.dot %0, %1, %2 {mma = "mma_m16n8k16_f16_f16_f32", warps = array<i32: 2, 2, 1>} : (!tile_64x32xf16_v1, !tile_32x64xf16_v1, !tile_64x64xf32) -> !tile_64x64xf32
    %q = nv_tileas.print values(%e) {format = "%f"} : (!tile_64x64xf32) -> !nv_tileaa.mem_token
    nv_tileas.continue
  }
  nv_tileas.for %n, %n, %n : (i32, i32, i32) -> () {
  ^bb0(%j: i32):
    %3 = nv_tileas.splat %z : (f32) -> !tile_64x64xf32
    %f = nv_tileas.dot %0, %1, %3 {mma = "mma_m16n8k16_f16_f16_f32", warps = array<i32: 2, 2, 1>} : (!tile_64x32xf16_v1, !tile_32x64xf16_v1, !tile_64x64xf32) -> !tile_64x64xf32
    %r = nv_tileas.print values(%f) {format = "%f"} : (!tile_64x64xf32) -> !nv_tileaa.mem_token
    nv_tileas.continue
  }
  nv_tileaa.return
}

// ---- a_print_takes_small_tiles_whole
nv_tileaa.func @k {
^bb0(%n: i32):
  %x = nv_tileas.make_range : tensor<8xi32>
  %y = nv_tileas.view %x : (tensor<8xi32>) -> tensor<4x2xi32>
  %t = nv_tileas.print values(%x, %n, %y) {format = "%d %d %d"} : (tensor<8xi32>, i32, tensor<4x2xi32>) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(8), (32,1,8):(0,0,1)>
!tile_8xi32 = tensor<8xi32, #layout0>
#layout1 = #cute.layout<(4,2), (32,1,8):(0,0,1)>
!tile_4x2xi32 = tensor<4x2xi32, #layout1>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%n: i32):
  %0 = nv_tileas.make_range : !tile_8xi32
  %1 = nv_tileas.view %0 : (!tile_8xi32) -> !tile_4x2xi32
  %t = nv_tileas.print values(%0, %n, %1) {format = "%d %d %d"} : (!tile_8xi32, i32, !tile_4x2xi32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- a_column_that_a_dot_has_too_is_converted_to_the_layout_of_a_loaded_tile
!m = !nv_tileaa.memref<f32, [64, 64], [64, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = none>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %g: f16, %z: f32, %i: i32):
  %a = nv_tileas.splat %g : (f16) -> tensor<64x16xf16>
  %b = nv_tileas.splat %g : (f16) -> tensor<16x64xf16>
  %c = nv_tileas.splat %z : (f32) -> tensor<64x64xf32>
  %q = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f32>
  %m = nv_tileas.make_memref %q sizes() strides() : (!nv_tileaa.ptr<f32>) -> !m
  %v = nv_tileas.block_tile %m : (!m) -> !v
  %d = nv_tileas.dot %a, %b, %c : (tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %r = nv_tileas.reduce %d attributes {axis = 1 : i32} : (tensor<64x64xf32>) -> tensor<64xf32> {
  ^bb1(%e: f32, %f: f32):
    %h = nv_tileas.addf %e, %f : (f32, f32) -> f32
    nv_tileas.yield %h : (f32) -> ()
  }
  %w = nv_tileas.view %r : (tensor<64xf32>) -> tensor<64x1xf32>
  %s = nv_tileas.broadcast %w : (tensor<64x1xf32>) -> tensor<64x64xf32>
  %x, %t = nv_tileas.tiled_load %v coords(%i, %i) {mem_semantic = "weak"} : (!v, i32, i32) -> (tensor<64x64xf32>, !nv_tileaa.mem_token)
  %y = nv_tileas.divf %x, %s {rounding_mode = "nearest_even"} : tensor<64x64xf32>
  %u = nv_tileas.tiled_store %v, %y coords(%i, %i) {mem_semantic = "weak"} : (!v, tensor<64x64xf32>, i32, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f32, [64, 64], [64, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = none>
#layout0 = #cute.layout<(64,16), ((4,8),(2,2),(2,2,2,2)):((2,16),(256,0),(1,128,8,512))>
!tile_64x16xf16 = tensor<64x16xf16, #layout0>
#layout1 = #cute.layout<(16,64), ((4,8),(2,2),(2,2,4)):((128,1),(0,8),(64,512,16))>
!tile_16x64xf16 = tensor<16x64xf16, #layout1>
#layout2 = #cute.layout<(64,64), ((4,8),(2,2),(2,2,4,2)):((2,64),(1024,8),(1,512,16,2048))>
!tile_64x64xf32 = tensor<64x64xf32, #layout2>
#layout3 = #cute.layout<(64), ((4,8),(2,2),(2,2)):((0,1),(16,0),(8,32))>
!tile_64xf32 = tensor<64xf32, #layout3>
#layout4 = #cute.layout<(64,1), ((4,8),(2,2),(2,2)):((0,1),(16,0),(8,32))>
!tile_64x1xf32 = tensor<64x1xf32, #layout4>
#layout5 = #cute.layout<(64,1), ((16,2),4,8):((0,1),2,8)>
!tile_64x1xf32_v1 = tensor<64x1xf32, #layout5>
#layout6 = #cute.layout<(64,64), (32,4,(4,8)):(4,128,(1,512))>
!tile_64x64xf32_v1 = tensor<64x64xf32, #layout6>
nv_tileaa.func @k attributes {num_warps = 4 : i32, schedule = {mma = ["mma_sync"]}} {
^bb0(%p: !nv_tileaa.ptr<f32>, %g: f16, %z: f32, %i: i32):
  %q = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f32>
  %m = nv_tileas.make_memref %q : (!nv_tileaa.ptr<f32>) -> !memref0
  %v = nv_tileas.block_tile %m : (!memref0) -> !view0
  %0 = nv_tileas.splat %g : (f16) -> !tile_64x16xf16
  %1 = nv_tileas.splat %g : (f16) -> !tile_16x64xf16
  %2 = nv_tileas.splat %z : (f32) -> !tile_64x64xf32
  %d = nv_tileas.dot %0, %1, %2 {mma = "mma_m16n8k16_f16_f16_f32", warps = array<i32: 2, 2, 1>} : (!tile_64x16xf16, !tile_16x64xf16, !tile_64x64xf32) -> !tile_64x64xf32
  %r = nv_tileas.reduce %d attributes {axis = 1 : i32} : (!tile_64x64xf32) -> !tile_64xf32 {
  ^bb0(%e: f32, %f: f32):
    %h = nv_tileas.addf %e, %f : f32
    nv_tileas.yield %h : (f32) -> ()
  }
  %w = nv_tileas.view %r : (!tile_64xf32) -> !tile_64x1xf32
  %3 = nv_tileas.convert_layout %w : (!tile_64x1xf32) -> !tile_64x1xf32_v1
  %s = nv_tileas.broadcast %3 : (!tile_64x1xf32_v1) -> !tile_64x64xf32_v1
  %x, %t = nv_tileas.tiled_load %v coords(%i, %i) {mem_semantic = "weak", vector = 4 : i32, in_bounds = array<i1: true, true>} : (!view0, i32, i32) -> (!tile_64x64xf32_v1, !nv_tileaa.mem_token)
  %y = nv_tileas.divf %x, %s {rounding_mode = "nearest_even"} : !tile_64x64xf32_v1
  %u = nv_tileas.tiled_store %v, %y coords(%i, %i) {mem_semantic = "weak", vector = 4 : i32, in_bounds = array<i1: true, true>} : (!view0, !tile_64x64xf32_v1, i32, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

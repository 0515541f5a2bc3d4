// Copies and reductions of memory take the instructions that the target has.
// run: tileas-select-memory-atoms sm_80

// ---- halves_of_a_fragment_are_read_as_matrices
// seed: lowering-overview atom-witnesses
!ring = !nv_tileas.buffer<f16, #builtin.int<1>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>
!tile = tensor<16x16xf16, #cute.layout<(16,16), ((4,8),1,(2,2,2)):((2,16),0,(1,128,8))>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%stage: i32, %ring: !ring):
  %x = nv_tileas.local_load %ring, %stage : (!ring, i32) -> !tile
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(16,16), ((4,8),1,(2,2,2)):((2,16),0,(1,128,8))>
!tile_16x16xf16 = tensor<16x16xf16, #layout0>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%stage: i32, %ring: !nv_tileas.buffer<f16, #builtin.int<1>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>):
  %x = nv_tileas.local_load %ring, %stage {copy_atom = "ldmatrix"} : (!nv_tileas.buffer<f16, #builtin.int<1>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, i32) -> !tile_16x16xf16
  nv_tileaa.return
}

// ---- floats_that_a_thread_has_in_a_row_are_read_as_they_lie
// seed: lowering-overview atom-witnesses
!ring = !nv_tileas.buffer<f32, #builtin.int<2>, #cute.shared<32, (8,32):(32,1)>>
!tile = tensor<8x32xf32, #cute.layout<(8,32), (32,1,(4,2)):(4,0,(1,128))>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%stage: i32, %ring: !ring):
  %x = nv_tileas.local_load %ring, %stage : (!ring, i32) -> !tile
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(8,32), (32,1,(4,2)):(4,0,(1,128))>
!tile_8x32xf32 = tensor<8x32xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%stage: i32, %ring: !nv_tileas.buffer<f32, #builtin.int<2>, #cute.shared<32, (8,32):(32,1)>>):
  %x = nv_tileas.local_load %ring, %stage {copy_atom = "ld.shared"} : (!nv_tileas.buffer<f32, #builtin.int<2>, #cute.shared<32, (8,32):(32,1)>>, i32) -> !tile_8x32xf32
  nv_tileaa.return
}

// ---- an_addition_that_the_gpu_has_no_instruction_for
// seed: lowering-overview atom-witnesses
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%p: !nv_tileaa.ptr<bf16>, %x: bf16, %q: !nv_tileaa.ptr<f32>, %y: f32):
  %old, %t = nv_tileas.atomic_rmw %p, %x {mem_semantic = "relaxed", mem_scope = "device", mode = "addf"} : (!nv_tileaa.ptr<bf16>, bf16) -> (bf16, !nv_tileaa.mem_token)
  %other, %u = nv_tileas.atomic_rmw %q, %y {mem_semantic = "relaxed", mem_scope = "device", mode = "addf"} : (!nv_tileaa.ptr<f32>, f32) -> (f32, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%p: !nv_tileaa.ptr<bf16>, %x: bf16, %q: !nv_tileaa.ptr<f32>, %y: f32):
  %old, %t = nv_tileas.atomic_rmw %p, %x {mem_semantic = "relaxed", mem_scope = "device", mode = "addf", reduce_atom = "atom.cas"} : (!nv_tileaa.ptr<bf16>, bf16) -> (bf16, !nv_tileaa.mem_token)
  %other, %u = nv_tileas.atomic_rmw %q, %y {mem_semantic = "relaxed", mem_scope = "device", mode = "addf", reduce_atom = "atom"} : (!nv_tileaa.ptr<f32>, f32) -> (f32, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- an_addition_that_the_gpu_has
// run: tileas-select-memory-atoms sm_90
// seed: lowering-overview atom-witnesses
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%p: !nv_tileaa.ptr<bf16>, %x: bf16):
  %old, %t = nv_tileas.atomic_rmw %p, %x {mem_semantic = "relaxed", mem_scope = "device", mode = "addf"} : (!nv_tileaa.ptr<bf16>, bf16) -> (bf16, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%p: !nv_tileaa.ptr<bf16>, %x: bf16):
  %old, %t = nv_tileas.atomic_rmw %p, %x {mem_semantic = "relaxed", mem_scope = "device", mode = "addf", reduce_atom = "atom"} : (!nv_tileaa.ptr<bf16>, bf16) -> (bf16, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- what_one_block_reads_passes_through_and_what_all_read_stays
!m = !nv_tileaa.memref<f32, [?], [1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [128], dim_map = [0], steps = [128], sparse = -1, padding = none>
!tile = tensor<128xf32, #cute.layout<(128), (32,1,4):(4,0,1)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%p: !nv_tileaa.ptr<f32>, %q: !nv_tileaa.ptr<f32>, %n: i32):
  %b = nv_tileas.get_program_id {axis = 0 : i32} : i32
  %z = arith.constant 0 : i32
  %m = nv_tileas.make_memref %p sizes(%n) : (!nv_tileaa.ptr<f32>, i32) -> !m
  %v = nv_tileas.block_tile %m : (!m) -> !v
  %x, %t = nv_tileas.tiled_load %v coords(%b) {mem_semantic = "weak", vector = 4 : i32} : (!v, i32) -> (!tile, !nv_tileaa.mem_token)
  %k = nv_tileas.make_memref %q sizes(%n) : (!nv_tileaa.ptr<f32>, i32) -> !m
  %w = nv_tileas.block_tile %k : (!m) -> !v
  %y, %u = nv_tileas.tiled_load %w coords(%z) {mem_semantic = "weak", vector = 4 : i32} : (!v, i32) -> (!tile, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f32, [?], [1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128], dim_map = [0], steps = [128], sparse = -1, padding = none>
#layout0 = #cute.layout<(128), (32,1,4):(4,0,1)>
!tile_128xf32 = tensor<128xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%p: !nv_tileaa.ptr<f32>, %q: !nv_tileaa.ptr<f32>, %n: i32):
  %b = nv_tileas.get_program_id {axis = 0 : i32} : i32
  %z = arith.constant 0 : i32
  %m = nv_tileas.make_memref %p sizes(%n) : (!nv_tileaa.ptr<f32>, i32) -> !memref0
  %v = nv_tileas.block_tile %m : (!memref0) -> !view0
  %x, %t = nv_tileas.tiled_load %v coords(%b) {mem_semantic = "weak", vector = 4 : i32, cache = "L1::no_allocate"} : (!view0, i32) -> (!tile_128xf32, !nv_tileaa.mem_token)
  %k = nv_tileas.make_memref %q sizes(%n) : (!nv_tileaa.ptr<f32>, i32) -> !memref0
  %w = nv_tileas.block_tile %k : (!memref0) -> !view0
  %y, %u = nv_tileas.tiled_load %w coords(%z) {mem_semantic = "weak", vector = 4 : i32, cache = "L1::evict_last"} : (!view0, i32) -> (!tile_128xf32, !nv_tileaa.mem_token)
  nv_tileaa.return
}

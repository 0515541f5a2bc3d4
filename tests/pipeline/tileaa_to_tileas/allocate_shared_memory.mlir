// Where operations exchange data between threads, and which of them must wait for another's readers first.
// run: tileas-allocate-shared-memory sm_90

// ---- neighbors_alternate_between_two_regions
!a = tensor<64x64xf32, #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>>
!b = tensor<64x64xf32, #cute.layout<(64,64), (32,4,(2,16)):(64,16,(2048,1))>>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%x: !a):
  %1 = nv_tileas.convert_layout %x : (!a) -> !b
  %2 = nv_tileas.exp2 %1 : !b
  %3 = nv_tileas.convert_layout %2 : (!b) -> !a
  %4 = nv_tileas.exp2 %3 : !a
  %5 = nv_tileas.convert_layout %4 : (!a) -> !b
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>
!tile_64x64xf32 = tensor<64x64xf32, #layout0>
#layout1 = #cute.layout<(64,64), (32,4,(2,16)):(64,16,(2048,1))>
!tile_64x64xf32_v1 = tensor<64x64xf32, #layout1>
nv_tileaa.func @k attributes {num_warps = 4 : i32, shared_bytes = 32768 : i32} {
^bb0(%x: !tile_64x64xf32):
  %0 = nv_tileas.convert_layout %x {scratch_bytes = 16384 : i32, scratch_offset = 0 : i32} : (!tile_64x64xf32) -> !tile_64x64xf32_v1
  %1 = nv_tileas.exp2 %0 : !tile_64x64xf32_v1
  %2 = nv_tileas.convert_layout %1 {scratch_bytes = 16384 : i32, scratch_offset = 16384 : i32} : (!tile_64x64xf32_v1) -> !tile_64x64xf32
  %3 = nv_tileas.exp2 %2 : !tile_64x64xf32
  %4 = nv_tileas.convert_layout %3 {scratch_bytes = 16384 : i32, scratch_offset = 0 : i32} : (!tile_64x64xf32) -> !tile_64x64xf32_v1
  nv_tileaa.return
}

// ---- neighbors_share_a_region_where_another_would_cost_a_cta
!a = tensor<64x64xf32, #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>>
!b = tensor<64x64xf32, #cute.layout<(64,64), (32,4,(2,16)):(64,16,(2048,1))>>
nv_tileaa.func @k attributes {num_warps = 4 : i32, schedule = {occupancy = 8 : i32}} {
^bb0(%x: !a):
  %1 = nv_tileas.convert_layout %x : (!a) -> !b
  %2 = nv_tileas.exp2 %1 : !b
  %3 = nv_tileas.convert_layout %2 : (!b) -> !a
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>
!tile_64x64xf32 = tensor<64x64xf32, #layout0>
#layout1 = #cute.layout<(64,64), (32,4,(2,16)):(64,16,(2048,1))>
!tile_64x64xf32_v1 = tensor<64x64xf32, #layout1>
nv_tileaa.func @k attributes {num_warps = 4 : i32, schedule = {occupancy = 8 : i32}, shared_bytes = 16384 : i32} {
^bb0(%x: !tile_64x64xf32):
  %0 = nv_tileas.convert_layout %x {scratch_bytes = 16384 : i32, scratch_offset = 0 : i32} : (!tile_64x64xf32) -> !tile_64x64xf32_v1
  %1 = nv_tileas.exp2 %0 : !tile_64x64xf32_v1
  %2 = nv_tileas.convert_layout %1 {scratch_bytes = 16384 : i32, scratch_offset = 0 : i32, sync_before} : (!tile_64x64xf32_v1) -> !tile_64x64xf32
  nv_tileaa.return
}

// ---- conversions_that_stand_together_share_their_barriers
!a = tensor<64x64xf32, #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>>
!b = tensor<64x64xf32, #cute.layout<(64,64), (32,4,(2,16)):(64,16,(2048,1))>>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%x: !a, %y: !a):
  %1 = nv_tileas.convert_layout %x : (!a) -> !b
  %2 = nv_tileas.convert_layout %y : (!a) -> !b
  %3 = nv_tileas.addf %1, %2 {rounding_mode = "nearest_even"} : !b
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>
!tile_64x64xf32 = tensor<64x64xf32, #layout0>
#layout1 = #cute.layout<(64,64), (32,4,(2,16)):(64,16,(2048,1))>
!tile_64x64xf32_v1 = tensor<64x64xf32, #layout1>
nv_tileaa.func @k attributes {num_warps = 4 : i32, shared_bytes = 32768 : i32} {
^bb0(%x: !tile_64x64xf32, %y: !tile_64x64xf32):
  %0, %1 = nv_tileas.convert_layout %x, %y {scratch_bytes = 32768 : i32, scratch_offset = 0 : i32} : (!tile_64x64xf32, !tile_64x64xf32) -> (!tile_64x64xf32_v1, !tile_64x64xf32_v1)
  %2 = nv_tileas.addf %0, %1 {rounding_mode = "nearest_even"} : !tile_64x64xf32_v1
  nv_tileaa.return
}

// ---- loads_in_front_of_a_consumer_s_loop_wait_together
!a = tensor<64x64xf32, #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>>
!b = tensor<64x64xf32, #cute.layout<(64,64), (32,4,(2,16)):(64,16,(2048,1))>>
!v = !nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f32, [64, ?], [1, 64]>, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = none>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%v: !v, %w: !v, %z: i32, %n: i32):
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %x, %t = nv_tileas.tiled_load %v coords(%z, %n) {mem_semantic = "weak"} : (!v, i32, i32) -> (!a, !nv_tileaa.mem_token)
    %1 = nv_tileas.convert_layout %x : (!a) -> !b
    %m = arith.addi %n, %n : i32
    %y, %u = nv_tileas.tiled_load %w coords(%z, %m) {mem_semantic = "weak"} : (!v, i32, i32) -> (!a, !nv_tileaa.mem_token)
    %2 = nv_tileas.convert_layout %y : (!a) -> !b
    %r = nv_tileas.for %z, %n, %n initial(%1) : (i32, i32, i32, !b) -> !b {
    ^bb1(%i: i32, %s: !b):
      %3 = nv_tileas.addf %s, %2 {rounding_mode = "nearest_even"} : !b
      nv_tileas.continue %3 : (!b) -> ()
    }
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f32, [64, ?], [1, 64]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = none>
#layout0 = #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>
!tile_64x64xf32 = tensor<64x64xf32, #layout0>
#layout1 = #cute.layout<(64,64), (32,4,(2,16)):(64,16,(2048,1))>
!tile_64x64xf32_v1 = tensor<64x64xf32, #layout1>
nv_tileaa.func @k attributes {num_warps = 4 : i32, shared_bytes = 32768 : i32} {
^bb0(%v: !view0, %w: !view0, %z: i32, %n: i32):
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %x, %t = nv_tileas.tiled_load %v coords(%z, %n) {mem_semantic = "weak"} : (!view0, i32, i32) -> (!tile_64x64xf32, !nv_tileaa.mem_token)
    %m = arith.addi %n, %n : i32
    %y, %u = nv_tileas.tiled_load %w coords(%z, %m) {mem_semantic = "weak"} : (!view0, i32, i32) -> (!tile_64x64xf32, !nv_tileaa.mem_token)
    %0, %1 = nv_tileas.convert_layout %x, %y {scratch_bytes = 32768 : i32, scratch_offset = 0 : i32} : (!tile_64x64xf32, !tile_64x64xf32) -> (!tile_64x64xf32_v1, !tile_64x64xf32_v1)
    %r = nv_tileas.for %z, %n, %n initial(%0) : (i32, i32, i32, !tile_64x64xf32_v1) -> !tile_64x64xf32_v1 {
    ^bb0(%i: i32, %s: !tile_64x64xf32_v1):
      %2 = nv_tileas.addf %s, %1 {rounding_mode = "nearest_even"} : !tile_64x64xf32_v1
      nv_tileas.continue %2 : (!tile_64x64xf32_v1) -> ()
    }
    nv_tileas.yield
  }
  nv_tileaa.return
}

// ---- a_load_stays_behind_the_conversion_that_it_reads_and_behind_an_acquire
!a = tensor<64x64xf32, #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>>
!pa = tensor<64x64x!nv_tileaa.ptr<f32>, #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>>
!pb = tensor<64x64x!nv_tileaa.ptr<f32>, #cute.layout<(64,64), (32,4,(2,16)):(64,16,(2048,1))>>
!b = tensor<64x64xf32, #cute.layout<(64,64), (32,4,(2,16)):(64,16,(2048,1))>>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%p: !pa, %q: !pa):
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %1 = nv_tileas.convert_layout %p : (!pa) -> !pb
    %x, %t = nv_tileas.load %1 {mem_semantic = "weak"} : (!pb) -> (!b, !nv_tileaa.mem_token)
    %y, %u = nv_tileas.load %q {mem_semantic = "acquire", mem_scope = "device"} : (!pa) -> (!a, !nv_tileaa.mem_token)
    %z, %w = nv_tileas.load %q {mem_semantic = "weak"} : (!pa) -> (!a, !nv_tileaa.mem_token)
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>
!tile_64x64xnv_tileaa_ptr_f32 = tensor<64x64x!nv_tileaa.ptr<f32>, #layout0>
#layout1 = #cute.layout<(64,64), (32,4,(2,16)):(64,16,(2048,1))>
!tile_64x64xnv_tileaa_ptr_f32_v1 = tensor<64x64x!nv_tileaa.ptr<f32>, #layout1>
!tile_64x64xf32 = tensor<64x64xf32, #layout1>
!tile_64x64xf32_v1 = tensor<64x64xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 4 : i32, shared_bytes = 32768 : i32} {
^bb0(%p: !tile_64x64xnv_tileaa_ptr_f32, %q: !tile_64x64xnv_tileaa_ptr_f32):
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %0 = nv_tileas.convert_layout %p {scratch_bytes = 32768 : i32, scratch_offset = 0 : i32} : (!tile_64x64xnv_tileaa_ptr_f32) -> !tile_64x64xnv_tileaa_ptr_f32_v1
    %x, %t = nv_tileas.load %0 {mem_semantic = "weak"} : (!tile_64x64xnv_tileaa_ptr_f32_v1) -> (!tile_64x64xf32, !nv_tileaa.mem_token)
    %y, %u = nv_tileas.load %q {mem_semantic = "acquire", mem_scope = "device"} : (!tile_64x64xnv_tileaa_ptr_f32) -> (!tile_64x64xf32_v1, !nv_tileaa.mem_token)
    %z, %w = nv_tileas.load %q {mem_semantic = "weak"} : (!tile_64x64xnv_tileaa_ptr_f32) -> (!tile_64x64xf32_v1, !nv_tileaa.mem_token)
    nv_tileas.yield
  }
  nv_tileaa.return
}

// ---- a_loop_meets_its_last_iteration
!a = tensor<64x64xf32, #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>>
!b = tensor<64x64xf32, #cute.layout<(64,64), (32,4,(2,16)):(64,16,(2048,1))>>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%x: !a, %n: i32):
  %r = nv_tileas.for %n, %n, %n initial(%x) : (i32, i32, i32, !a) -> !a {
  ^bb1(%i: i32, %y: !a):
    %1 = nv_tileas.convert_layout %y : (!a) -> !b
    %2 = nv_tileas.exp2 %1 : !b
    %3 = nv_tileas.exp2 %y : !a
    nv_tileas.continue %3 : (!a) -> ()
  }
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>
!tile_64x64xf32 = tensor<64x64xf32, #layout0>
#layout1 = #cute.layout<(64,64), (32,4,(2,16)):(64,16,(2048,1))>
!tile_64x64xf32_v1 = tensor<64x64xf32, #layout1>
nv_tileaa.func @k attributes {num_warps = 4 : i32, shared_bytes = 16384 : i32} {
^bb0(%x: !tile_64x64xf32, %n: i32):
  %r = nv_tileas.for %n, %n, %n initial(%x) : (i32, i32, i32, !tile_64x64xf32) -> !tile_64x64xf32 {
  ^bb0(%i: i32, %y: !tile_64x64xf32):
    %0 = nv_tileas.convert_layout %y {scratch_bytes = 16384 : i32, scratch_offset = 0 : i32, sync_before} : (!tile_64x64xf32) -> !tile_64x64xf32_v1
    %1 = nv_tileas.exp2 %0 : !tile_64x64xf32_v1
    %2 = nv_tileas.exp2 %y : !tile_64x64xf32
    nv_tileas.continue %2 : (!tile_64x64xf32) -> ()
  }
  nv_tileaa.return
}

// ---- a_barrier_ends_all_reading
!a = tensor<64x64xf32, #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>>
!b = tensor<64x64xf32, #cute.layout<(64,64), (32,4,(2,16)):(64,16,(2048,1))>>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%x: !a, %n: i32):
  %r = nv_tileas.for %n, %n, %n initial(%x) : (i32, i32, i32, !a) -> !a {
  ^bb1(%i: i32, %y: !a):
    nv_tileas.barrier
    %1 = nv_tileas.convert_layout %y : (!a) -> !b
    %2 = nv_tileas.exp2 %1 : !b
    nv_tileas.continue %y : (!a) -> ()
  }
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>
!tile_64x64xf32 = tensor<64x64xf32, #layout0>
#layout1 = #cute.layout<(64,64), (32,4,(2,16)):(64,16,(2048,1))>
!tile_64x64xf32_v1 = tensor<64x64xf32, #layout1>
nv_tileaa.func @k attributes {num_warps = 4 : i32, shared_bytes = 16384 : i32} {
^bb0(%x: !tile_64x64xf32, %n: i32):
  %r = nv_tileas.for %n, %n, %n initial(%x) : (i32, i32, i32, !tile_64x64xf32) -> !tile_64x64xf32 {
  ^bb0(%i: i32, %y: !tile_64x64xf32):
    nv_tileas.barrier
    %0 = nv_tileas.convert_layout %y {scratch_bytes = 16384 : i32, scratch_offset = 0 : i32} : (!tile_64x64xf32) -> !tile_64x64xf32_v1
    %1 = nv_tileas.exp2 %0 : !tile_64x64xf32_v1
    nv_tileas.continue %y : (!tile_64x64xf32) -> ()
  }
  nv_tileaa.return
}

// ---- a_reduction_across_warps_needs_scratch_and_one_within_does_not
!a = tensor<64x64xf32, #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>>
!r = tensor<64xf32, #cute.layout<(64), (32,4,(8,2)):(0,16,(2,0))>>
!c = tensor<64xf32, #cute.layout<(64), (32,4,2):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%x: !a):
  %1 = nv_tileas.reduce %x attributes {axis = 0 : i32} : (!a) -> !c {
  ^bb1(%a: f32, %b: f32):
    %c = nv_tileas.addf %a, %b {rounding_mode = "nearest_even"} : f32
    nv_tileas.yield %c : (f32) -> ()
  }
  %2 = nv_tileas.reduce %x attributes {axis = 1 : i32} : (!a) -> !r {
  ^bb1(%a: f32, %b: f32):
    %c = nv_tileas.addf %a, %b {rounding_mode = "nearest_even"} : f32
    nv_tileas.yield %c : (f32) -> ()
  }
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>
!tile_64x64xf32 = tensor<64x64xf32, #layout0>
#layout1 = #cute.layout<(64), (32,4,2):(1,0,32)>
!tile_64xf32 = tensor<64xf32, #layout1>
#layout2 = #cute.layout<(64), (32,4,(8,2)):(0,16,(2,0))>
!tile_64xf32_v1 = tensor<64xf32, #layout2>
nv_tileaa.func @k attributes {num_warps = 4 : i32, shared_bytes = 1024 : i32} {
^bb0(%x: !tile_64x64xf32):
  %0 = nv_tileas.reduce %x attributes {axis = 0 : i32, scratch_bytes = 1024 : i32, scratch_offset = 0 : i32} : (!tile_64x64xf32) -> !tile_64xf32 {
  ^bb0(%a: f32, %b: f32):
    %c = nv_tileas.addf %a, %b {rounding_mode = "nearest_even"} : f32
    nv_tileas.yield %c : (f32) -> ()
  }
  %1 = nv_tileas.reduce %x attributes {axis = 1 : i32} : (!tile_64x64xf32) -> !tile_64xf32_v1 {
  ^bb0(%a_1: f32, %b_1: f32):
    %c_1 = nv_tileas.addf %a_1, %b_1 {rounding_mode = "nearest_even"} : f32
    nv_tileas.yield %c_1 : (f32) -> ()
  }
  nv_tileaa.return
}

// ---- what_does_not_fit_is_refused
!a = tensor<512x256xf64, #cute.layout<(512,256), (32,4,(32,32)):(1,1024,(32,4096))>>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%x: !a, %i: i32):
  %1 = nv_tileas.extract_slice %x indices(%i, %i) : (!a, i32, i32) -> f64
  nv_tileaa.return
}
// ==>
// error[shared-memory]: the kernel needs 1048576 bytes of shared memory, sm_90 has 232448; of these 1048576 for what threads exchange in extract_slice; use smaller tiles

// ---- the_error_names_what_takes_the_bytes
!a = tensor<64x64xf32, #cute.layout<(64,64), (32,4,(8,4)):(1,1024,(128,32))>>
!b = tensor<64x64xf32, #cute.layout<(64,64), (32,4,(2,16)):(64,16,(2048,1))>>
!stages = !nv_tileas.buffer<tf32, #builtin.int<4>, #cute.shared<32, swizzle<3,2,3> o (512,32):(32,1)>>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%x: !a, %s: i32):
  %p = nv_tileas.alloc_tensor : !stages
  %q = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<3,3,3> o (128,64):(64,1)>>
  %1 = nv_tileas.convert_layout %x : (!a) -> !b
  nv_tileaa.return
}
// ==>
// error[shared-memory]: the kernel needs 294912 bytes of shared memory, sm_90 has 232448; of these 262144 for stages of 512x32 tf32, 32768 for stages of 128x64 f16, 16384 for what threads exchange in convert_layout; use smaller tiles

// ---- what_tma_copies_is_read_before_it_is_overwritten
!memref = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view = !nv_tileaa.tiled_view<partition, !memref, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = none>
!sums = tensor<128x128xf16, #cute.layout<(128,128), ((4,8),8,(2,2,16)):((2,128),2048,(1,1024,8))>>
!rows = tensor<128x128xf16, #cute.layout<(128,128), (32,8,(8,8)):(8,256,(1,2048))>>
nv_tileaa.func @k attributes {num_warps = 8 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %n: i32, %x: f16):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %pitch = nv_tileas.assume %stride {predicate = #cuda_tile.div_by<8>} : i32
  %memref = nv_tileas.make_memref %base sizes(%rows, %columns) strides(%pitch) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref
  %view = nv_tileas.block_tile %memref : (!memref) -> !view
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %desc = nv_tileas.make_tiled_tma_desc %memref {dims = array<i64: 1, 0>, box = array<i64: 64, 128>, swizzle_mode = "128B"} : (!memref) -> !nv_tileas.tma_desc
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %sums = nv_tileas.splat %x : (f16) -> !sums
    nv_tileas.for %i, %n, %i : (i32, i32, i32) -> () {
    ^bb1(%j: i32):
      %u = nv_tileas.async.tiled_tma_store %view, %desc, %sums coords(%i, %i) {placement = #cute.shared<16, swizzle<3,3,3> o (128,(64,2)):(64,(1,8192))>, chunks = 1 : i32, slots = 1 : i32} : (!view, !nv_tileas.tma_desc, !sums, i32, i32) -> !nv_tileaa.mem_token
      nv_tileas.continue
    }
    nv_tileas.async.tma_store_wait {read}
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = none>
#layout0 = #cute.layout<(128,128), ((4,8),8,(2,2,16)):((2,128),2048,(1,1024,8))>
!tile_128x128xf16 = tensor<128x128xf16, #layout0>
nv_tileaa.func @k attributes {num_warps = 8 : i32, shared_bytes = 32768 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %n: i32, %x: f16):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %pitch = nv_tileas.assume %stride {predicate = #cuda_tile.div_by<8>} : i32
  %memref = nv_tileas.make_memref %base sizes(%rows, %columns) strides(%pitch) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %view = nv_tileas.block_tile %memref : (!memref0) -> !view0
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %desc = nv_tileas.make_tiled_tma_desc %memref {dims = array<i64: 1, 0>, box = array<i64: 64, 128>, swizzle_mode = "128B"} : (!memref0) -> !nv_tileas.tma_desc
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %sums = nv_tileas.splat %x : (f16) -> !tile_128x128xf16
    nv_tileas.for %i, %n, %i : (i32, i32, i32) -> () {
    ^bb0(%j: i32):
      nv_tileas.async.tma_store_wait {read}
      %u = nv_tileas.async.tiled_tma_store %view, %desc, %sums coords(%i, %i) {placement = #cute.shared<16, swizzle<3,3,3> o (128,(64,2)):(64,(1,8192))>, chunks = 1 : i32, slots = 1 : i32, scratch_bytes = 32768 : i32, scratch_offset = 0 : i32, sync_before} : (!view0, !nv_tileas.tma_desc, !tile_128x128xf16, i32, i32) -> !nv_tileaa.mem_token
      nv_tileas.continue
    }
    nv_tileas.async.tma_store_wait {read}
    nv_tileas.yield
  }
  nv_tileaa.return
}

// ---- a_barrier_does_not_end_what_tma_reads
!memref = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view = !nv_tileaa.tiled_view<partition, !memref, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = none>
!sums = tensor<128x128xf16, #cute.layout<(128,128), ((4,8),8,(2,2,16)):((2,128),2048,(1,1024,8))>>
!rows = tensor<128x128xf16, #cute.layout<(128,128), (32,8,(8,8)):(8,256,(1,2048))>>
nv_tileaa.func @k attributes {num_warps = 8 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %n: i32, %x: f16):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %pitch = nv_tileas.assume %stride {predicate = #cuda_tile.div_by<8>} : i32
  %memref = nv_tileas.make_memref %base sizes(%rows, %columns) strides(%pitch) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref
  %view = nv_tileas.block_tile %memref : (!memref) -> !view
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %desc = nv_tileas.make_tiled_tma_desc %memref {dims = array<i64: 1, 0>, box = array<i64: 64, 128>, swizzle_mode = "128B"} : (!memref) -> !nv_tileas.tma_desc
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %sums = nv_tileas.splat %x : (f16) -> !sums
    %u = nv_tileas.async.tiled_tma_store %view, %desc, %sums coords(%i, %i) {placement = #cute.shared<16, swizzle<3,3,3> o (128,(64,2)):(64,(1,8192))>, chunks = 1 : i32, slots = 1 : i32} : (!view, !nv_tileas.tma_desc, !sums, i32, i32) -> !nv_tileaa.mem_token
    nv_tileas.barrier
    %r = nv_tileas.convert_layout %sums : (!sums) -> !rows
    nv_tileas.barrier
    %q = nv_tileas.convert_layout %sums {scratch_bytes = 0 : i32} : (!sums) -> !rows
    nv_tileas.async.tma_store_wait {read}
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = none>
#layout0 = #cute.layout<(128,128), ((4,8),8,(2,2,16)):((2,128),2048,(1,1024,8))>
!tile_128x128xf16 = tensor<128x128xf16, #layout0>
#layout1 = #cute.layout<(128,128), (32,8,(8,8)):(8,256,(1,2048))>
!tile_128x128xf16_v1 = tensor<128x128xf16, #layout1>
nv_tileaa.func @k attributes {num_warps = 8 : i32, shared_bytes = 65536 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %n: i32, %x: f16):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %pitch = nv_tileas.assume %stride {predicate = #cuda_tile.div_by<8>} : i32
  %memref = nv_tileas.make_memref %base sizes(%rows, %columns) strides(%pitch) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %view = nv_tileas.block_tile %memref : (!memref0) -> !view0
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %desc = nv_tileas.make_tiled_tma_desc %memref {dims = array<i64: 1, 0>, box = array<i64: 64, 128>, swizzle_mode = "128B"} : (!memref0) -> !nv_tileas.tma_desc
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %sums = nv_tileas.splat %x : (f16) -> !tile_128x128xf16
    %u = nv_tileas.async.tiled_tma_store %view, %desc, %sums coords(%i, %i) {placement = #cute.shared<16, swizzle<3,3,3> o (128,(64,2)):(64,(1,8192))>, chunks = 1 : i32, slots = 1 : i32, scratch_bytes = 32768 : i32, scratch_offset = 0 : i32} : (!view0, !nv_tileas.tma_desc, !tile_128x128xf16, i32, i32) -> !nv_tileaa.mem_token
    nv_tileas.barrier
    %r = nv_tileas.convert_layout %sums {scratch_bytes = 32768 : i32, scratch_offset = 32768 : i32} : (!tile_128x128xf16) -> !tile_128x128xf16_v1
    nv_tileas.barrier
    nv_tileas.async.tma_store_wait {read}
    %q = nv_tileas.convert_layout %sums {scratch_bytes = 32768 : i32, scratch_offset = 0 : i32, sync_before} : (!tile_128x128xf16) -> !tile_128x128xf16_v1
    nv_tileas.async.tma_store_wait {read}
    nv_tileas.yield
  }
  nv_tileaa.return
}

// ---- a_barrier_after_a_wait_does
!memref = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view = !nv_tileaa.tiled_view<partition, !memref, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = none>
!sums = tensor<128x128xf16, #cute.layout<(128,128), ((4,8),8,(2,2,16)):((2,128),2048,(1,1024,8))>>
!rows = tensor<128x128xf16, #cute.layout<(128,128), (32,8,(8,8)):(8,256,(1,2048))>>
nv_tileaa.func @k attributes {num_warps = 8 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %n: i32, %x: f16):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %pitch = nv_tileas.assume %stride {predicate = #cuda_tile.div_by<8>} : i32
  %memref = nv_tileas.make_memref %base sizes(%rows, %columns) strides(%pitch) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref
  %view = nv_tileas.block_tile %memref : (!memref) -> !view
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %desc = nv_tileas.make_tiled_tma_desc %memref {dims = array<i64: 1, 0>, box = array<i64: 64, 128>, swizzle_mode = "128B"} : (!memref) -> !nv_tileas.tma_desc
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %sums = nv_tileas.splat %x : (f16) -> !sums
    %u = nv_tileas.async.tiled_tma_store %view, %desc, %sums coords(%i, %i) {placement = #cute.shared<16, swizzle<3,3,3> o (128,(64,2)):(64,(1,8192))>, chunks = 1 : i32, slots = 1 : i32} : (!view, !nv_tileas.tma_desc, !sums, i32, i32) -> !nv_tileaa.mem_token
    %r = nv_tileas.convert_layout %sums : (!sums) -> !rows
    nv_tileas.async.tma_store_wait
    nv_tileas.barrier
    %v = nv_tileas.async.tiled_tma_store %view, %desc, %sums coords(%i, %i) {placement = #cute.shared<16, swizzle<3,3,3> o (128,(64,2)):(64,(1,8192))>, chunks = 1 : i32, slots = 1 : i32} : (!view, !nv_tileas.tma_desc, !sums, i32, i32) -> !nv_tileaa.mem_token
    nv_tileas.async.tma_store_wait {read}
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 128], dim_map = [0, 1], steps = [128, 128], sparse = -1, padding = none>
#layout0 = #cute.layout<(128,128), ((4,8),8,(2,2,16)):((2,128),2048,(1,1024,8))>
!tile_128x128xf16 = tensor<128x128xf16, #layout0>
#layout1 = #cute.layout<(128,128), (32,8,(8,8)):(8,256,(1,2048))>
!tile_128x128xf16_v1 = tensor<128x128xf16, #layout1>
nv_tileaa.func @k attributes {num_warps = 8 : i32, shared_bytes = 65536 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %n: i32, %x: f16):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %pitch = nv_tileas.assume %stride {predicate = #cuda_tile.div_by<8>} : i32
  %memref = nv_tileas.make_memref %base sizes(%rows, %columns) strides(%pitch) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %view = nv_tileas.block_tile %memref : (!memref0) -> !view0
  %t = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %desc = nv_tileas.make_tiled_tma_desc %memref {dims = array<i64: 1, 0>, box = array<i64: 64, 128>, swizzle_mode = "128B"} : (!memref0) -> !nv_tileas.tma_desc
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %sums = nv_tileas.splat %x : (f16) -> !tile_128x128xf16
    %u = nv_tileas.async.tiled_tma_store %view, %desc, %sums coords(%i, %i) {placement = #cute.shared<16, swizzle<3,3,3> o (128,(64,2)):(64,(1,8192))>, chunks = 1 : i32, slots = 1 : i32, scratch_bytes = 32768 : i32, scratch_offset = 0 : i32} : (!view0, !nv_tileas.tma_desc, !tile_128x128xf16, i32, i32) -> !nv_tileaa.mem_token
    %r = nv_tileas.convert_layout %sums {scratch_bytes = 32768 : i32, scratch_offset = 32768 : i32} : (!tile_128x128xf16) -> !tile_128x128xf16_v1
    nv_tileas.async.tma_store_wait
    nv_tileas.barrier
    %v = nv_tileas.async.tiled_tma_store %view, %desc, %sums coords(%i, %i) {placement = #cute.shared<16, swizzle<3,3,3> o (128,(64,2)):(64,(1,8192))>, chunks = 1 : i32, slots = 1 : i32, scratch_bytes = 32768 : i32, scratch_offset = 0 : i32} : (!view0, !nv_tileas.tma_desc, !tile_128x128xf16, i32, i32) -> !nv_tileaa.mem_token
    nv_tileas.async.tma_store_wait {read}
    nv_tileas.yield
  }
  nv_tileaa.return
}

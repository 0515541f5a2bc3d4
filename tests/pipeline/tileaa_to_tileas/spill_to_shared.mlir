// What waits for a reduction waits in shared memory, so far as another CTA has no registers for it.
// run: tileas-spill-to-shared sm_90

// ---- a_row_across_one_reduction
!row = tensor<32768xf32, #cute.layout<(32768), (32,16,(8,8)):(8,256,(1,4096))>>
!one = tensor<1xf32, #cute.layout<(1), (32,16,1):(0,0,0)>>
nv_tileaa.func @k attributes {num_warps = 16 : i32} {
^bb0(%x: !row):
  %a = math.exp %x : !row
  %s = nv_tileas.reduce %a attributes {axis = 0 : i32} : (!row) -> f32 {
  ^bb1(%p: f32, %q: f32):
    %r = nv_tileas.addf %p, %q : f32
    nv_tileas.yield %r : (f32) -> ()
  }
  %b = nv_tileas.splat %s : (f32) -> !row
  %c = nv_tileas.divf %a, %b : !row
  %d = math.exp %c : !row
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(32768), (32,16,(8,8)):(8,256,(1,4096))>
!tile_32768xf32 = tensor<32768xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 16 : i32, schedule = {occupancy = 2 : i32, spill = true}} {
^bb0(%x: !tile_32768xf32):
  %a = math.exp %x : !tile_32768xf32
  %0 = nv_tileas.spill %a {regs = 44 : i32} : !tile_32768xf32
  %s = nv_tileas.reduce %0 attributes {axis = 0 : i32} : (!tile_32768xf32) -> f32 {
  ^bb0(%p: f32, %q: f32):
    %r = nv_tileas.addf %p, %q : f32
    nv_tileas.yield %r : (f32) -> ()
  }
  %b = nv_tileas.splat %s : (f32) -> !tile_32768xf32
  %1 = nv_tileas.reload %0 : !tile_32768xf32
  %c = nv_tileas.divf %1, %b : !tile_32768xf32
  %d = math.exp %c : !tile_32768xf32
  nv_tileaa.return
}

// ---- a_second_row_in_the_places_of_the_first
!row = tensor<32768xf32, #cute.layout<(32768), (32,16,(8,8)):(8,256,(1,4096))>>
nv_tileaa.func @k attributes {num_warps = 16 : i32} {
^bb0(%x: !row):
  %a = math.exp %x : !row
  %s = nv_tileas.reduce %a attributes {axis = 0 : i32} : (!row) -> f32 {
  ^bb1(%p: f32, %q: f32):
    %r = nv_tileas.addf %p, %q : f32
    nv_tileas.yield %r : (f32) -> ()
  }
  %b = nv_tileas.splat %s : (f32) -> !row
  %c = nv_tileas.subf %a, %b : !row
  %m = nv_tileas.reduce %c attributes {axis = 0 : i32} : (!row) -> f32 {
  ^bb2(%t: f32, %u: f32):
    %v = arith.maxnumf %t, %u : f32
    nv_tileas.yield %v : (f32) -> ()
  }
  %e = nv_tileas.splat %m : (f32) -> !row
  %f = nv_tileas.mulf %c, %e : !row
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(32768), (32,16,(8,8)):(8,256,(1,4096))>
!tile_32768xf32 = tensor<32768xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 16 : i32, schedule = {occupancy = 2 : i32, spill = true}} {
^bb0(%x: !tile_32768xf32):
  %a = math.exp %x : !tile_32768xf32
  %0 = nv_tileas.spill %a {regs = 44 : i32} : !tile_32768xf32
  %s = nv_tileas.reduce %0 attributes {axis = 0 : i32} : (!tile_32768xf32) -> f32 {
  ^bb0(%p: f32, %q: f32):
    %r = nv_tileas.addf %p, %q : f32
    nv_tileas.yield %r : (f32) -> ()
  }
  %b = nv_tileas.splat %s : (f32) -> !tile_32768xf32
  %1 = nv_tileas.reload %0 : !tile_32768xf32
  %c = nv_tileas.subf %1, %b : !tile_32768xf32
  %2 = nv_tileas.spill %c overwrites(%0) {regs = 44 : i32} : !tile_32768xf32
  %m = nv_tileas.reduce %2 attributes {axis = 0 : i32} : (!tile_32768xf32) -> f32 {
  ^bb0(%t: f32, %u: f32):
    %v = arith.maxnumf %t, %u : f32
    nv_tileas.yield %v : (f32) -> ()
  }
  %e = nv_tileas.splat %m : (f32) -> !tile_32768xf32
  %3 = nv_tileas.reload %2 : !tile_32768xf32
  %f = nv_tileas.mulf %3, %e : !tile_32768xf32
  nv_tileaa.return
}

// ---- rows_of_which_two_have_registers_stay
!row = tensor<16384xf32, #cute.layout<(16384), (32,8,(8,8)):(8,256,(1,2048))>>
nv_tileaa.func @k attributes {num_warps = 8 : i32} {
^bb0(%x: !row):
  %a = math.exp %x : !row
  %s = nv_tileas.reduce %a attributes {axis = 0 : i32} : (!row) -> f32 {
  ^bb1(%p: f32, %q: f32):
    %r = nv_tileas.addf %p, %q : f32
    nv_tileas.yield %r : (f32) -> ()
  }
  %b = nv_tileas.splat %s : (f32) -> !row
  %c = nv_tileas.divf %a, %b : !row
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(16384), (32,8,(8,8)):(8,256,(1,2048))>
!tile_16384xf32 = tensor<16384xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 8 : i32} {
^bb0(%x: !tile_16384xf32):
  %a = math.exp %x : !tile_16384xf32
  %s = nv_tileas.reduce %a attributes {axis = 0 : i32} : (!tile_16384xf32) -> f32 {
  ^bb0(%p: f32, %q: f32):
    %r = nv_tileas.addf %p, %q : f32
    nv_tileas.yield %r : (f32) -> ()
  }
  %b = nv_tileas.splat %s : (f32) -> !tile_16384xf32
  %c = nv_tileas.divf %a, %b : !tile_16384xf32
  nv_tileaa.return
}

// ---- what_a_row_is_multiplied_by_is_loaded_late
// run: tileas-spill-to-shared sm_100
!memref = !nv_tileaa.memref<f16, [?], [1]>
!view = !nv_tileaa.tiled_view<partition, !memref, tile = [32768], dim_map = [0], steps = [32768], sparse = -1, padding = none>
!half = tensor<32768xf16, #cute.layout<(32768), (32,16,(8,8)):(8,256,(1,4096))>>
!row = tensor<32768xf32, #cute.layout<(32768), (32,16,(8,8)):(8,256,(1,4096))>>
nv_tileaa.func @k attributes {num_warps = 16 : i32} {
^bb0(%v: !view, %w: !view, %z: i32):
  %x, %t = nv_tileas.tiled_load %v coords(%z) {mem_semantic = "weak", vector = 8 : i32, in_bounds = array<i1: false>} : (!view, i32) -> (!half, !nv_tileaa.mem_token)
  %a = nv_tileas.fp_to_fp %x : (!half) -> !row
  %s = nv_tileas.reduce %a attributes {axis = 0 : i32} : (!row) -> f32 {
  ^bb1(%p: f32, %q: f32):
    %r = nv_tileas.addf %p, %q : f32
    nv_tileas.yield %r : (f32) -> ()
  }
  %b = nv_tileas.splat %s : (f32) -> !row
  %c = nv_tileas.subf %a, %b : !row
  %m = nv_tileas.reduce %c attributes {axis = 0 : i32} : (!row) -> f32 {
  ^bb2(%d: f32, %e: f32):
    %f = nv_tileas.addf %d, %e : f32
    nv_tileas.yield %f : (f32) -> ()
  }
  %n = nv_tileas.splat %m : (f32) -> !row
  %g = nv_tileas.mulf %c, %n : !row
  %y, %u = nv_tileas.tiled_load %w coords(%z) {mem_semantic = "weak", vector = 8 : i32, in_bounds = array<i1: false>} : (!view, i32) -> (!half, !nv_tileaa.mem_token)
  %h = nv_tileas.fp_to_fp %y : (!half) -> !row
  %k = nv_tileas.mulf %g, %h : !row
  %l = nv_tileas.fp_to_fp %k : (!row) -> !half
  %o = nv_tileas.tiled_store %v, %l coords(%z) {mem_semantic = "weak", vector = 8 : i32, in_bounds = array<i1: false>} : (!view, !half, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?], [1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [32768], dim_map = [0], steps = [32768], sparse = -1, padding = none>
#layout0 = #cute.layout<(32768), (32,16,(8,8)):(8,256,(1,4096))>
!tile_32768xf16 = tensor<32768xf16, #layout0>
!tile_32768xf32 = tensor<32768xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 16 : i32, schedule = {occupancy = 2 : i32, spill = true}} {
^bb0(%v: !view0, %w: !view0, %z: i32):
  %x, %t = nv_tileas.tiled_load %v coords(%z) {mem_semantic = "weak", vector = 8 : i32, in_bounds = array<i1: false>} : (!view0, i32) -> (!tile_32768xf16, !nv_tileaa.mem_token)
  %a = nv_tileas.fp_to_fp %x : (!tile_32768xf16) -> !tile_32768xf32
  %s = nv_tileas.reduce %a attributes {axis = 0 : i32} : (!tile_32768xf32) -> f32 {
  ^bb0(%p: f32, %q: f32):
    %r = nv_tileas.addf %p, %q : f32
    nv_tileas.yield %r : (f32) -> ()
  }
  %b = nv_tileas.splat %s : (f32) -> !tile_32768xf32
  %c = nv_tileas.subf %a, %b : !tile_32768xf32
  %0 = nv_tileas.spill %c {regs = 44 : i32} : !tile_32768xf32
  %m = nv_tileas.reduce %0 attributes {axis = 0 : i32} : (!tile_32768xf32) -> f32 {
  ^bb0(%d: f32, %e: f32):
    %f = nv_tileas.addf %d, %e : f32
    nv_tileas.yield %f : (f32) -> ()
  }
  %n = nv_tileas.splat %m : (f32) -> !tile_32768xf32
  %1 = nv_tileas.reload %0 : !tile_32768xf32
  %g = nv_tileas.mulf %1, %n : !tile_32768xf32
  %y, %u = nv_tileas.tiled_load %w coords(%z) {mem_semantic = "weak", vector = 8 : i32, in_bounds = array<i1: false>, lazy} : (!view0, i32) -> (!tile_32768xf16, !nv_tileaa.mem_token)
  %h = nv_tileas.fp_to_fp %y : (!tile_32768xf16) -> !tile_32768xf32
  %k = nv_tileas.mulf %g, %h : !tile_32768xf32
  %l = nv_tileas.fp_to_fp %k : (!tile_32768xf32) -> !tile_32768xf16
  %o = nv_tileas.tiled_store %v, %l coords(%z) {mem_semantic = "weak", vector = 8 : i32, in_bounds = array<i1: false>} : (!view0, !tile_32768xf16, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- a_load_that_a_store_waits_for_is_not_late
// run: tileas-spill-to-shared sm_100
!memref = !nv_tileaa.memref<f16, [?], [1]>
!view = !nv_tileaa.tiled_view<partition, !memref, tile = [32768], dim_map = [0], steps = [32768], sparse = -1, padding = none>
!half = tensor<32768xf16, #cute.layout<(32768), (32,16,(8,8)):(8,256,(1,4096))>>
!row = tensor<32768xf32, #cute.layout<(32768), (32,16,(8,8)):(8,256,(1,4096))>>
nv_tileaa.func @k attributes {num_warps = 16 : i32} {
^bb0(%v: !view, %x: !row, %z: i32):
  %a = math.exp %x : !row
  %s = nv_tileas.reduce %a attributes {axis = 0 : i32} : (!row) -> f32 {
  ^bb1(%p: f32, %q: f32):
    %r = nv_tileas.addf %p, %q : f32
    nv_tileas.yield %r : (f32) -> ()
  }
  %n = nv_tileas.splat %s : (f32) -> !row
  %g = nv_tileas.mulf %a, %n : !row
  %y, %u = nv_tileas.tiled_load %v coords(%z) {mem_semantic = "weak", vector = 8 : i32, in_bounds = array<i1: false>} : (!view, i32) -> (!half, !nv_tileaa.mem_token)
  %h = nv_tileas.fp_to_fp %y : (!half) -> !row
  %k = nv_tileas.mulf %g, %h : !row
  %l = nv_tileas.fp_to_fp %k : (!row) -> !half
  %o = nv_tileas.tiled_store %v, %l coords(%z) token(%u) {mem_semantic = "weak", vector = 8 : i32, in_bounds = array<i1: false>} : (!view, !half, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?], [1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [32768], dim_map = [0], steps = [32768], sparse = -1, padding = none>
#layout0 = #cute.layout<(32768), (32,16,(8,8)):(8,256,(1,4096))>
!tile_32768xf32 = tensor<32768xf32, #layout0>
!tile_32768xf16 = tensor<32768xf16, #layout0>
nv_tileaa.func @k attributes {num_warps = 16 : i32} {
^bb0(%v: !view0, %x: !tile_32768xf32, %z: i32):
  %a = math.exp %x : !tile_32768xf32
  %s = nv_tileas.reduce %a attributes {axis = 0 : i32} : (!tile_32768xf32) -> f32 {
  ^bb0(%p: f32, %q: f32):
    %r = nv_tileas.addf %p, %q : f32
    nv_tileas.yield %r : (f32) -> ()
  }
  %n = nv_tileas.splat %s : (f32) -> !tile_32768xf32
  %g = nv_tileas.mulf %a, %n : !tile_32768xf32
  %y, %u = nv_tileas.tiled_load %v coords(%z) {mem_semantic = "weak", vector = 8 : i32, in_bounds = array<i1: false>} : (!view0, i32) -> (!tile_32768xf16, !nv_tileaa.mem_token)
  %h = nv_tileas.fp_to_fp %y : (!tile_32768xf16) -> !tile_32768xf32
  %k = nv_tileas.mulf %g, %h : !tile_32768xf32
  %l = nv_tileas.fp_to_fp %k : (!tile_32768xf32) -> !tile_32768xf16
  %o = nv_tileas.tiled_store %v, %l coords(%z) token(%u) {mem_semantic = "weak", vector = 8 : i32, in_bounds = array<i1: false>} : (!view0, !tile_32768xf16, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- shares_are_loaded_another_way_inside_the_tensor
// run: tileas-spill-to-shared sm_100
!memref = !nv_tileaa.memref<f16, [?], [1]>
!view = !nv_tileaa.tiled_view<partition, !memref, tile = [32768], dim_map = [0], steps = [32768], sparse = -1, padding = none>
!half = tensor<32768xf16, #cute.layout<(32768), (32,16,(8,8)):(8,256,(1,4096))>>
!row = tensor<32768xf32, #cute.layout<(32768), (32,16,(8,8)):(8,256,(1,4096))>>
nv_tileaa.func @k attributes {num_warps = 16 : i32} {
^bb0(%v: !view, %z: i32):
  %h, %t = nv_tileas.tiled_load %v coords(%z) {mem_semantic = "weak", vector = 8 : i32, in_bounds = array<i1: false>} : (!view, i32) -> (!half, !nv_tileaa.mem_token)
  %x = nv_tileas.fp_to_fp %h : (!half) -> !row
  %a = math.exp %x : !row
  %s = nv_tileas.reduce %a attributes {axis = 0 : i32} : (!row) -> f32 {
  ^bb1(%p: f32, %q: f32):
    %r = nv_tileas.addf %p, %q : f32
    nv_tileas.yield %r : (f32) -> ()
  }
  %b = nv_tileas.splat %s : (f32) -> !row
  %c = nv_tileas.divf %a, %b : !row
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?], [1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [32768], dim_map = [0], steps = [32768], sparse = -1, padding = none>
#layout0 = #cute.layout<(32768), (32,16,(8,8)):(8,256,(1,4096))>
!tile_32768xf16 = tensor<32768xf16, #layout0>
!tile_32768xf32 = tensor<32768xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 16 : i32, schedule = {occupancy = 2 : i32, spill = true}} {
^bb0(%v: !view0, %z: i32):
  %h, %t = nv_tileas.tiled_load %v coords(%z) {mem_semantic = "weak", vector = 8 : i32, in_bounds = array<i1: false>, full_tile_version} : (!view0, i32) -> (!tile_32768xf16, !nv_tileaa.mem_token)
  %x = nv_tileas.fp_to_fp %h : (!tile_32768xf16) -> !tile_32768xf32
  %a = math.exp %x : !tile_32768xf32
  %0 = nv_tileas.spill %a {regs = 44 : i32} : !tile_32768xf32
  %s = nv_tileas.reduce %0 attributes {axis = 0 : i32} : (!tile_32768xf32) -> f32 {
  ^bb0(%p: f32, %q: f32):
    %r = nv_tileas.addf %p, %q : f32
    nv_tileas.yield %r : (f32) -> ()
  }
  %b = nv_tileas.splat %s : (f32) -> !tile_32768xf32
  %1 = nv_tileas.reload %0 : !tile_32768xf32
  %c = nv_tileas.divf %1, %b : !tile_32768xf32
  nv_tileaa.return
}

// ---- a_row_of_each_iteration_as_hinted
!pointers = tensor<32768x!nv_tileaa.ptr<f32>, #cute.layout<(32768), (32,16,(8,8)):(8,256,(1,4096))>>
!row = tensor<32768xf32, #cute.layout<(32768), (32,16,(8,8)):(8,256,(1,4096))>>
nv_tileaa.func @k attributes {num_warps = 16 : i32, optimization_hints = #cuda_tile.optimization_hints<default = {occupancy = 2}>} {
^bb0(%begin: i32, %end: i32, %step: i32, %x: !nv_tileaa.ptr<f32>):
  nv_tileas.for %begin, %end, %step initial() : (i32, i32, i32) -> () {
  ^bb2(%i: i32):
    %w = nv_tileas.splat %x : (!nv_tileaa.ptr<f32>) -> !pointers
    %a = nv_tileas.load %w {mem_semantic = "weak"} : (!pointers) -> !row
    %s = nv_tileas.reduce %a attributes {axis = 0 : i32} : (!row) -> f32 {
    ^bb1(%p: f32, %q: f32):
      %r = nv_tileas.addf %p, %q : f32
      nv_tileas.yield %r : (f32) -> ()
    }
    %b = nv_tileas.splat %s : (f32) -> !row
    %c = nv_tileas.divf %a, %b : !row
    nv_tileas.store %w, %c {mem_semantic = "weak"} : (!pointers, !row) -> ()
    nv_tileas.continue : () -> ()
  }
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(32768), (32,16,(8,8)):(8,256,(1,4096))>
!tile_32768xnv_tileaa_ptr_f32 = tensor<32768x!nv_tileaa.ptr<f32>, #layout0>
!tile_32768xf32 = tensor<32768xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 16 : i32, optimization_hints = #cuda_tile.optimization_hints<default = {occupancy = 2}>, schedule = {occupancy = 2 : i32, spill = true}} {
^bb0(%begin: i32, %end: i32, %step: i32, %x: !nv_tileaa.ptr<f32>):
  nv_tileas.for %begin, %end, %step : (i32, i32, i32) -> () {
  ^bb0(%i: i32):
    %w = nv_tileas.splat %x : (!nv_tileaa.ptr<f32>) -> !tile_32768xnv_tileaa_ptr_f32
    %a = nv_tileas.load %w {mem_semantic = "weak"} : (!tile_32768xnv_tileaa_ptr_f32) -> !tile_32768xf32
    %0 = nv_tileas.spill %a {regs = 44 : i32} : !tile_32768xf32
    %s = nv_tileas.reduce %0 attributes {axis = 0 : i32} : (!tile_32768xf32) -> f32 {
    ^bb0(%p: f32, %q: f32):
      %r = nv_tileas.addf %p, %q : f32
      nv_tileas.yield %r : (f32) -> ()
    }
    %b = nv_tileas.splat %s : (f32) -> !tile_32768xf32
    %1 = nv_tileas.reload %0 : !tile_32768xf32
    %c = nv_tileas.divf %1, %b : !tile_32768xf32
    nv_tileas.store %w, %c {mem_semantic = "weak"} : (!tile_32768xnv_tileaa_ptr_f32, !tile_32768xf32) -> ()
    nv_tileas.continue
  }
  nv_tileaa.return
}

// Loads of memory that does not change while the kernel runs, where a store is before them.
// run: tileas-mark-read-only-loads sm_90

// ---- behind_a_store_and_none_before_it
#all = #cute.layout<(1), (32,1,1):(0,0,0)>
!at = tensor<1x!nv_tileaa.ptr<f32>, #all>
!x = tensor<1xf32, #all>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%in: !at, %out: !at):
  %a, %t = nv_tileas.load %in {mem_semantic = "weak"} : (!at) -> (!x, !nv_tileaa.mem_token)
  %u = nv_tileas.store %out, %a {mem_semantic = "weak"} : (!at, !x) -> !nv_tileaa.mem_token
  %b, %v = nv_tileas.load %in {mem_semantic = "weak"} : (!at) -> (!x, !nv_tileaa.mem_token)
  %c, %w = nv_tileas.load %out {mem_semantic = "weak"} : (!at) -> (!x, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(1), (32,1,1):(0,0,0)>
!tile_1xnv_tileaa_ptr_f32 = tensor<1x!nv_tileaa.ptr<f32>, #layout0>
!tile_1xf32 = tensor<1xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%in: !tile_1xnv_tileaa_ptr_f32, %out: !tile_1xnv_tileaa_ptr_f32):
  %a, %t = nv_tileas.load %in {mem_semantic = "weak"} : (!tile_1xnv_tileaa_ptr_f32) -> (!tile_1xf32, !nv_tileaa.mem_token)
  %u = nv_tileas.store %out, %a {mem_semantic = "weak"} : (!tile_1xnv_tileaa_ptr_f32, !tile_1xf32) -> !nv_tileaa.mem_token
  %b, %v = nv_tileas.load %in {mem_semantic = "weak", read_only} : (!tile_1xnv_tileaa_ptr_f32) -> (!tile_1xf32, !nv_tileaa.mem_token)
  %c, %w = nv_tileas.load %out {mem_semantic = "weak"} : (!tile_1xnv_tileaa_ptr_f32) -> (!tile_1xf32, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- ordered_by_a_token_before_or_after_or_not_weak
#all = #cute.layout<(1), (32,1,1):(0,0,0)>
!at = tensor<1x!nv_tileaa.ptr<f32>, #all>
!x = tensor<1xf32, #all>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%in: !at, %out: !at, %a: !x):
  %u = nv_tileas.store %out, %a {mem_semantic = "weak"} : (!at, !x) -> !nv_tileaa.mem_token
  %b, %v = nv_tileas.load %in token(%u) {mem_semantic = "weak"} : (!at, !nv_tileaa.mem_token) -> (!x, !nv_tileaa.mem_token)
  %c, %w = nv_tileas.load %in {mem_semantic = "weak"} : (!at) -> (!x, !nv_tileaa.mem_token)
  %s = nv_tileas.store %out, %c token(%w) {mem_semantic = "weak"} : (!at, !x, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  %d, %y = nv_tileas.load %in {mem_semantic = "relaxed", mem_scope = "device"} : (!at) -> (!x, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(1), (32,1,1):(0,0,0)>
!tile_1xnv_tileaa_ptr_f32 = tensor<1x!nv_tileaa.ptr<f32>, #layout0>
!tile_1xf32 = tensor<1xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%in: !tile_1xnv_tileaa_ptr_f32, %out: !tile_1xnv_tileaa_ptr_f32, %a: !tile_1xf32):
  %u = nv_tileas.store %out, %a {mem_semantic = "weak"} : (!tile_1xnv_tileaa_ptr_f32, !tile_1xf32) -> !nv_tileaa.mem_token
  %b, %v = nv_tileas.load %in token(%u) {mem_semantic = "weak"} : (!tile_1xnv_tileaa_ptr_f32, !nv_tileaa.mem_token) -> (!tile_1xf32, !nv_tileaa.mem_token)
  %c, %w = nv_tileas.load %in {mem_semantic = "weak"} : (!tile_1xnv_tileaa_ptr_f32) -> (!tile_1xf32, !nv_tileaa.mem_token)
  %s = nv_tileas.store %out, %c token(%w) {mem_semantic = "weak"} : (!tile_1xnv_tileaa_ptr_f32, !tile_1xf32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  %d, %y = nv_tileas.load %in {mem_semantic = "relaxed", mem_scope = "device"} : (!tile_1xnv_tileaa_ptr_f32) -> (!tile_1xf32, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- a_loop_executes_it_after_its_store
#all = #cute.layout<(1), (32,1,1):(0,0,0)>
!at = tensor<1x!nv_tileaa.ptr<f32>, #all>
!x = tensor<1xf32, #all>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%in: !at, %out: !at, %n: i32):
  nv_tileas.for %n, %n, %n : (i32, i32, i32) -> () {
  ^bb1(%i: i32):
    %a, %t = nv_tileas.load %in {mem_semantic = "weak"} : (!at) -> (!x, !nv_tileaa.mem_token)
    %u = nv_tileas.store %out, %a {mem_semantic = "weak"} : (!at, !x) -> !nv_tileaa.mem_token
    nv_tileas.continue
  }
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(1), (32,1,1):(0,0,0)>
!tile_1xnv_tileaa_ptr_f32 = tensor<1x!nv_tileaa.ptr<f32>, #layout0>
!tile_1xf32 = tensor<1xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%in: !tile_1xnv_tileaa_ptr_f32, %out: !tile_1xnv_tileaa_ptr_f32, %n: i32):
  nv_tileas.for %n, %n, %n : (i32, i32, i32) -> () {
  ^bb0(%i: i32):
    %a, %t = nv_tileas.load %in {mem_semantic = "weak", read_only} : (!tile_1xnv_tileaa_ptr_f32) -> (!tile_1xf32, !nv_tileaa.mem_token)
    %u = nv_tileas.store %out, %a {mem_semantic = "weak"} : (!tile_1xnv_tileaa_ptr_f32, !tile_1xf32) -> !nv_tileaa.mem_token
    nv_tileas.continue
  }
  nv_tileaa.return
}

// ---- for_the_next_iteration
#all = #cute.layout<(1), (32,1,1):(0,0,0)>
!at = tensor<1x!nv_tileaa.ptr<f32>, #all>
!x = tensor<1xf32, #all>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%in: !at, %out: !at, %n: i32, %first: !x):
  %r = nv_tileas.for %n, %n, %n initial(%first) : (i32, i32, i32, !x) -> !x {
  ^bb1(%i: i32, %now: !x):
    %a, %t = nv_tileas.load %in {mem_semantic = "weak"} : (!at) -> (!x, !nv_tileaa.mem_token)
    %u = nv_tileas.store %out, %now {mem_semantic = "weak"} : (!at, !x) -> !nv_tileaa.mem_token
    nv_tileas.continue %a : (!x) -> ()
  }
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(1), (32,1,1):(0,0,0)>
!tile_1xnv_tileaa_ptr_f32 = tensor<1x!nv_tileaa.ptr<f32>, #layout0>
!tile_1xf32 = tensor<1xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%in: !tile_1xnv_tileaa_ptr_f32, %out: !tile_1xnv_tileaa_ptr_f32, %n: i32, %first: !tile_1xf32):
  %r = nv_tileas.for %n, %n, %n initial(%first) : (i32, i32, i32, !tile_1xf32) -> !tile_1xf32 {
  ^bb0(%i: i32, %now: !tile_1xf32):
    %a, %t = nv_tileas.load %in {mem_semantic = "weak"} : (!tile_1xnv_tileaa_ptr_f32) -> (!tile_1xf32, !nv_tileaa.mem_token)
    %u = nv_tileas.store %out, %now {mem_semantic = "weak"} : (!tile_1xnv_tileaa_ptr_f32, !tile_1xf32) -> !nv_tileaa.mem_token
    nv_tileas.continue %a : (!tile_1xf32) -> ()
  }
  nv_tileaa.return
}

// ---- more_than_registers_hold
#row = #cute.layout<(8192), (32,1,256):(1,0,32)>
!at = tensor<8192x!nv_tileaa.ptr<f32>, #row>
!x = tensor<8192xf32, #row>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%in: !at, %out: !at, %a: !x):
  %u = nv_tileas.store %out, %a {mem_semantic = "weak"} : (!at, !x) -> !nv_tileaa.mem_token
  %b, %v = nv_tileas.load %in {mem_semantic = "weak"} : (!at) -> (!x, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(8192), (32,1,256):(1,0,32)>
!tile_8192xnv_tileaa_ptr_f32 = tensor<8192x!nv_tileaa.ptr<f32>, #layout0>
!tile_8192xf32 = tensor<8192xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%in: !tile_8192xnv_tileaa_ptr_f32, %out: !tile_8192xnv_tileaa_ptr_f32, %a: !tile_8192xf32):
  %u = nv_tileas.store %out, %a {mem_semantic = "weak"} : (!tile_8192xnv_tileaa_ptr_f32, !tile_8192xf32) -> !nv_tileaa.mem_token
  %b, %v = nv_tileas.load %in {mem_semantic = "weak"} : (!tile_8192xnv_tileaa_ptr_f32) -> (!tile_8192xf32, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- memory_of_another_grid
#all = #cute.layout<(1), (32,1,1):(0,0,0)>
!at = tensor<1x!nv_tileaa.ptr<f32>, #all>
!x = tensor<1xf32, #all>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%in: !at, %out: !at, %a: !x):
  %g = nv_tileas.grid_dependency {action = "wait"} : !nv_tileaa.mem_token
  %u = nv_tileas.store %out, %a {mem_semantic = "weak"} : (!at, !x) -> !nv_tileaa.mem_token
  %b, %v = nv_tileas.load %in {mem_semantic = "weak"} : (!at) -> (!x, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(1), (32,1,1):(0,0,0)>
!tile_1xnv_tileaa_ptr_f32 = tensor<1x!nv_tileaa.ptr<f32>, #layout0>
!tile_1xf32 = tensor<1xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%in: !tile_1xnv_tileaa_ptr_f32, %out: !tile_1xnv_tileaa_ptr_f32, %a: !tile_1xf32):
  %g = nv_tileas.grid_dependency {action = "wait"} : !nv_tileaa.mem_token
  %u = nv_tileas.store %out, %a {mem_semantic = "weak"} : (!tile_1xnv_tileaa_ptr_f32, !tile_1xf32) -> !nv_tileaa.mem_token
  %b, %v = nv_tileas.load %in {mem_semantic = "weak"} : (!tile_1xnv_tileaa_ptr_f32) -> (!tile_1xf32, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- four_registers_beside_a_reduction
#all = #cute.layout<(128), (32,1,4):(4,0,1)>
!at = tensor<128x!nv_tileaa.ptr<f32>, #all>
!x = tensor<128xf32, #all>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%in: !at, %out: !at, %to: !nv_tileaa.ptr<f32>, %a: !x):
  %u = nv_tileas.store %out, %a {mem_semantic = "weak"} : (!at, !x) -> !nv_tileaa.mem_token
  %b, %v = nv_tileas.load %in {mem_semantic = "weak"} : (!at) -> (!x, !nv_tileaa.mem_token)
  %s = nv_tileas.reduce %b attributes {axis = 0 : i32} : (!x) -> f32 {
  ^bb1(%p: f32, %q: f32):
    %r = nv_tileas.addf %p, %q : (f32, f32) -> f32
    nv_tileas.yield %r : (f32) -> ()
  }
  %w = nv_tileas.store %to, %s {mem_semantic = "weak"} : (!nv_tileaa.ptr<f32>, f32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(128), (32,1,4):(4,0,1)>
!tile_128xnv_tileaa_ptr_f32 = tensor<128x!nv_tileaa.ptr<f32>, #layout0>
!tile_128xf32 = tensor<128xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%in: !tile_128xnv_tileaa_ptr_f32, %out: !tile_128xnv_tileaa_ptr_f32, %to: !nv_tileaa.ptr<f32>, %a: !tile_128xf32):
  %u = nv_tileas.store %out, %a {mem_semantic = "weak"} : (!tile_128xnv_tileaa_ptr_f32, !tile_128xf32) -> !nv_tileaa.mem_token
  %b, %v = nv_tileas.load %in {mem_semantic = "weak"} : (!tile_128xnv_tileaa_ptr_f32) -> (!tile_128xf32, !nv_tileaa.mem_token)
  %s = nv_tileas.reduce %b attributes {axis = 0 : i32} : (!tile_128xf32) -> f32 {
  ^bb0(%p: f32, %q: f32):
    %r = nv_tileas.addf %p, %q : f32
    nv_tileas.yield %r : (f32) -> ()
  }
  %w = nv_tileas.store %to, %s {mem_semantic = "weak"} : (!nv_tileaa.ptr<f32>, f32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

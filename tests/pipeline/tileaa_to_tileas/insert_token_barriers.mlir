// A barrier stands between two accesses that a token orders if one of them writes: threads share the tile program's
// memory, and only text orders what one thread does.
// run: tileas-insert-token-barriers sm_90

// ---- load_after_store_waits
nv_tileaa.func @raw {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token):
  %u = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  %y, %w = nv_tileas.load %p token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
nv_tileaa.func @raw {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token):
  %u = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileas.barrier
  %y, %w = nv_tileas.load %p token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- a_load_waits_for_what_another_cta_stores
nv_tileaa.func @raw attributes {num_ctas = 2 : i32, cluster_barriers} {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token):
  %u = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  %y, %w = nv_tileas.load %p token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
nv_tileaa.func @raw attributes {num_ctas = 2 : i32, cluster_barriers} {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token):
  %u = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileas.barrier {cluster}
  %y, %w = nv_tileas.load %p token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- store_after_load_waits
nv_tileaa.func @war {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token):
  %y, %u = nv_tileas.load %p token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  %w = nv_tileas.store %p, %x token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
nv_tileaa.func @war {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token):
  %y, %u = nv_tileas.load %p token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  nv_tileas.barrier
  %w = nv_tileas.store %p, %x token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- store_after_store_waits
nv_tileaa.func @waw {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token):
  %u = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  %w = nv_tileas.store %p, %x token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
nv_tileaa.func @waw {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token):
  %u = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileas.barrier
  %w = nv_tileas.store %p, %x token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- load_after_load_does_not_wait
nv_tileaa.func @rar {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %t: !nv_tileaa.mem_token):
  %x, %u = nv_tileas.load %p token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  %y, %w = nv_tileas.load %p token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
nv_tileaa.func @rar {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %t: !nv_tileaa.mem_token):
  %x, %u = nv_tileas.load %p token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  %y, %w = nv_tileas.load %p token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- accesses_without_a_common_token_do_not_wait
nv_tileaa.func @apart {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token):
  %u = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  %w = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
nv_tileaa.func @apart {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token):
  %u = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  %w = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- joined_tokens_carry_what_all_did
nv_tileaa.func @join {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token):
  %u = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  %j = nv_tileas.join_mem_token %t, %u : !nv_tileaa.mem_token
  %y, %w = nv_tileas.load %p token(%j) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
nv_tileaa.func @join {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token):
  %u = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  %j = nv_tileas.join_mem_token %t, %u : !nv_tileaa.mem_token
  nv_tileas.barrier
  %y, %w = nv_tileas.load %p token(%j) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- one_barrier_serves_all_earlier_accesses
nv_tileaa.func @shared {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token):
  %u = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  %v = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  %y, %w = nv_tileas.load %p token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  %z, %s = nv_tileas.load %p token(%v) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
nv_tileaa.func @shared {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token):
  %u = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  %v = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileas.barrier
  %y, %w = nv_tileas.load %p token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  %z, %s = nv_tileas.load %p token(%v) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- loop_waits_for_its_last_iteration
nv_tileaa.func @loop {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token, %n: i32):
  %r = nv_tileas.for %n, %n, %n initial(%t) : (i32, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token {
  ^bb1(%i: i32, %s: !nv_tileaa.mem_token):
    %y, %u = nv_tileas.load %p token(%s) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
    %w = nv_tileas.store %p, %y token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.continue %w : (!nv_tileaa.mem_token) -> ()
  }
  %z, %v = nv_tileas.load %p token(%r) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
nv_tileaa.func @loop {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token, %n: i32):
  %r = nv_tileas.for %n, %n, %n initial(%t) : (i32, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token {
  ^bb0(%i: i32, %s: !nv_tileaa.mem_token):
    nv_tileas.barrier
    %y, %u = nv_tileas.load %p token(%s) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
    nv_tileas.barrier
    %w = nv_tileas.store %p, %y token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.continue %w : (!nv_tileaa.mem_token) -> ()
  }
  nv_tileas.barrier
  %z, %v = nv_tileas.load %p token(%r) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- either_arm_may_have_stored
nv_tileaa.func @arms {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token, %c: i1):
  %r = nv_tileas.if %c : (i1) -> !nv_tileaa.mem_token {
    %u = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.yield %u : (!nv_tileaa.mem_token) -> ()
  } {
    nv_tileas.yield %t : (!nv_tileaa.mem_token) -> ()
  }
  %z, %v = nv_tileas.load %p token(%r) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
nv_tileaa.func @arms {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token, %c: i1):
  %r = nv_tileas.if %c : (i1) -> !nv_tileaa.mem_token {
    %u = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.yield %u : (!nv_tileaa.mem_token) -> ()
  } {
    nv_tileas.yield %t : (!nv_tileaa.mem_token) -> ()
  }
  nv_tileas.barrier
  %z, %v = nv_tileas.load %p token(%r) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- a_barrier_in_one_arm_is_none_in_the_other
nv_tileaa.func @half {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token, %c: i1):
  %u = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileas.if %c : (i1) -> () {
    %z, %v = nv_tileas.load %p token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
    nv_tileas.yield
  } {
    nv_tileas.yield
  }
  %y, %w = nv_tileas.load %p token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
nv_tileaa.func @half {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token, %c: i1):
  %u = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileas.if %c : (i1) -> () {
    nv_tileas.barrier
    %z, %v = nv_tileas.load %p token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
    nv_tileas.yield
  } {
    nv_tileas.yield
  }
  nv_tileas.barrier
  %y, %w = nv_tileas.load %p token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- release_waits_for_what_came_before
nv_tileaa.func @release {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %q: !nv_tileaa.ptr<i32>, %i: i32, %t: !nv_tileaa.mem_token):
  %x, %u = nv_tileas.load %p token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  %o, %w = nv_tileas.atomic_rmw %q, %i token(%u) {mem_semantic = "release", mem_scope = "device", mode = "add"} : (!nv_tileaa.ptr<i32>, i32, !nv_tileaa.mem_token) -> (i32, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
nv_tileaa.func @release {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %q: !nv_tileaa.ptr<i32>, %i: i32, %t: !nv_tileaa.mem_token):
  %x, %u = nv_tileas.load %p token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  nv_tileas.barrier
  %o, %w = nv_tileas.atomic_rmw %q, %i token(%u) {mem_semantic = "release", mem_scope = "device", mode = "add"} : (!nv_tileaa.ptr<i32>, i32, !nv_tileaa.mem_token) -> (i32, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- others_wait_for_what_one_thread_acquired
nv_tileaa.func @acquire {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %q: !nv_tileaa.ptr<i32>, %i: i32, %t: !nv_tileaa.mem_token):
  %o, %u = nv_tileas.atomic_rmw %q, %i token(%t) {mem_semantic = "acquire", mem_scope = "device", mode = "add"} : (!nv_tileaa.ptr<i32>, i32, !nv_tileaa.mem_token) -> (i32, !nv_tileaa.mem_token)
  %x, %w = nv_tileas.load %p token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
nv_tileaa.func @acquire {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %q: !nv_tileaa.ptr<i32>, %i: i32, %t: !nv_tileaa.mem_token):
  %o, %u = nv_tileas.atomic_rmw %q, %i token(%t) {mem_semantic = "acquire", mem_scope = "device", mode = "add"} : (!nv_tileaa.ptr<i32>, i32, !nv_tileaa.mem_token) -> (i32, !nv_tileaa.mem_token)
  nv_tileas.barrier
  %x, %w = nv_tileas.load %p token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- a_barrier_for_what_came_before_a_loop_is_before_it
nv_tileaa.func @maybe {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token, %n: i32):
  %u = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileas.for %n, %n, %n : (i32, i32, i32) -> () {
  ^bb1(%i: i32):
    %y, %v = nv_tileas.load %p token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
    nv_tileas.continue
  }
  %z, %w = nv_tileas.load %p token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
nv_tileaa.func @maybe {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token, %n: i32):
  %u = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileas.barrier
  nv_tileas.for %n, %n, %n : (i32, i32, i32) -> () {
  ^bb0(%i: i32):
    %y, %v = nv_tileas.load %p token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
    nv_tileas.continue
  }
  %z, %w = nv_tileas.load %p token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- a_loop_that_may_not_run_is_no_barrier
nv_tileaa.func @loop {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token, %n: i32):
  %u = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileas.for %n, %n, %n : (i32, i32, i32) -> () {
  ^bb1(%i: i32):
    %y, %v = nv_tileas.load %p token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
    %w = nv_tileas.store %p, %y token(%v) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.continue
  }
  %z, %r = nv_tileas.load %p token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
nv_tileaa.func @loop {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token, %n: i32):
  %u = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileas.for %n, %n, %n : (i32, i32, i32) -> () {
  ^bb0(%i: i32):
    %y, %v = nv_tileas.load %p token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
    nv_tileas.barrier
    %w = nv_tileas.store %p, %y token(%v) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.continue
  }
  nv_tileas.barrier
  %z, %r = nv_tileas.load %p token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- what_a_barrier_of_the_loop_ends_is_not_carried
nv_tileaa.func @loop {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token, %n: i32):
  %r = nv_tileas.for %n, %n, %n initial(%t) : (i32, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token {
  ^bb1(%i: i32, %s: !nv_tileaa.mem_token):
    %y, %u = nv_tileas.load %p token(%s) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
    %w = nv_tileas.store %p, %y token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    %z, %v = nv_tileas.load %p token(%w) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
    nv_tileas.continue %w : (!nv_tileaa.mem_token) -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @loop {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token, %n: i32):
  %r = nv_tileas.for %n, %n, %n initial(%t) : (i32, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token {
  ^bb0(%i: i32, %s: !nv_tileaa.mem_token):
    %y, %u = nv_tileas.load %p token(%s) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
    nv_tileas.barrier
    %w = nv_tileas.store %p, %y token(%u) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.barrier
    %z, %v = nv_tileas.load %p token(%w) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
    nv_tileas.continue %w : (!nv_tileaa.mem_token) -> ()
  }
  nv_tileaa.return
}

// ---- an_alias_fence_orders_all_memory
nv_tileaa.func @fence {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token):
  %u = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  %f = nv_tileas.fence_alias %t : !nv_tileaa.mem_token
  %z, %w = nv_tileas.load %p token(%f) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
nv_tileaa.func @fence {
^bb0(%p: tensor<64x!nv_tileaa.ptr<f32>>, %x: tensor<64xf32>, %t: !nv_tileaa.mem_token):
  %u = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, tensor<64xf32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileas.barrier
  %f = nv_tileas.fence_alias %t : !nv_tileaa.mem_token
  %z, %w = nv_tileas.load %p token(%f) {mem_semantic = "weak"} : (tensor<64x!nv_tileaa.ptr<f32>>, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}

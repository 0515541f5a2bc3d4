// Loads that repeat earlier ones, behind the same writes, are those; loops of few trips that have such loads are their iterations.
// run: tileas-load-rows-once sm_90

// ---- after_a_reduction
!m = !nv_tileaa.memref<f32, [?], [1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [64], dim_map = [0], steps = [64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %q: !nv_tileaa.ptr<f32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %r = nv_tileas.make_memref %p sizes(%n) strides() : (!nv_tileaa.ptr<f32>, i32) -> !m
  %a = nv_tileas.block_tile %r : (!m) -> !v
  %w = nv_tileas.make_memref %q sizes(%n) strides() : (!nv_tileaa.ptr<f32>, i32) -> !m
  %b = nv_tileas.block_tile %w : (!m) -> !v
  %f = arith.constant 0.0 : f32
  %t = nv_tileas.splat %f : (f32) -> tensor<64xf32>
  %total = nv_tileas.for %zero, %two, %one initial(%t) : (i32, i32, i32, tensor<64xf32>) -> tensor<64xf32> {
  ^bb1(%i: i32, %sum: tensor<64xf32>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%i) {mem_semantic = "weak"} : (!v, i32) -> (tensor<64xf32>, !nv_tileaa.mem_token)
    %y = nv_tileas.addf %sum, %x {rounding_mode = "nearest_even"} : tensor<64xf32>
    nv_tileas.continue %y : (tensor<64xf32>) -> ()
  }
  %s = nv_tileas.reduce %total attributes {axis = 0 : i32} : (tensor<64xf32>) -> f32 {
  ^bb2(%c: f32, %d: f32):
    %e = nv_tileas.addf %c, %d {rounding_mode = "nearest_even"} : f32
    nv_tileas.yield %e : (f32) -> ()
  }
  %u = nv_tileas.splat %s : (f32) -> tensor<64xf32>
  nv_tileas.for %zero, %two, %one initial() : (i32, i32, i32) -> () {
  ^bb3(%j: i32):
    %z, %t1 = nv_tileas.tiled_load %a coords(%j) {mem_semantic = "weak"} : (!v, i32) -> (tensor<64xf32>, !nv_tileaa.mem_token)
    %o = nv_tileas.addf %z, %u {rounding_mode = "nearest_even"} : tensor<64xf32>
    %t2 = nv_tileas.tiled_store %b, %o coords(%j) {mem_semantic = "weak"} : (!v, tensor<64xf32>, i32) -> !nv_tileaa.mem_token
    nv_tileas.continue : () -> ()
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f32, [?], [1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [64], dim_map = [0], steps = [64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %q: !nv_tileaa.ptr<f32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = nv_tileas.make_memref %p sizes(%n) : (!nv_tileaa.ptr<f32>, i32) -> !memref0
  %a = nv_tileas.block_tile %r : (!memref0) -> !view0
  %w = nv_tileas.make_memref %q sizes(%n) : (!nv_tileaa.ptr<f32>, i32) -> !memref0
  %b = nv_tileas.block_tile %w : (!memref0) -> !view0
  %f = arith.constant 0.000000e+00 : f32
  %t = nv_tileas.splat %f : (f32) -> tensor<64xf32>
  %x, %t0 = nv_tileas.tiled_load %a coords(%zero) {mem_semantic = "weak"} : (!view0, i32) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  %y = nv_tileas.addf %t, %x {rounding_mode = "nearest_even"} : tensor<64xf32>
  %x_1, %t0_1 = nv_tileas.tiled_load %a coords(%one) {mem_semantic = "weak"} : (!view0, i32) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  %y_1 = nv_tileas.addf %y, %x_1 {rounding_mode = "nearest_even"} : tensor<64xf32>
  %s = nv_tileas.reduce %y_1 attributes {axis = 0 : i32} : (tensor<64xf32>) -> f32 {
  ^bb0(%c: f32, %d: f32):
    %e = nv_tileas.addf %c, %d {rounding_mode = "nearest_even"} : f32
    nv_tileas.yield %e : (f32) -> ()
  }
  %u = nv_tileas.splat %s : (f32) -> tensor<64xf32>
  %o = nv_tileas.addf %x, %u {rounding_mode = "nearest_even"} : tensor<64xf32>
  %t2 = nv_tileas.tiled_store %b, %o coords(%zero) {mem_semantic = "weak"} : (!view0, tensor<64xf32>, i32) -> !nv_tileaa.mem_token
  %o_1 = nv_tileas.addf %x_1, %u {rounding_mode = "nearest_even"} : tensor<64xf32>
  %t2_1 = nv_tileas.tiled_store %b, %o_1 coords(%one) {mem_semantic = "weak"} : (!view0, tensor<64xf32>, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- in_place
!m = !nv_tileaa.memref<f32, [?], [1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [64], dim_map = [0], steps = [64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = nv_tileas.make_memref %p sizes(%n) strides() : (!nv_tileaa.ptr<f32>, i32) -> !m
  %a = nv_tileas.block_tile %r : (!m) -> !v
  %none = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %last = nv_tileas.for %zero, %n, %one initial(%none) : (i32, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token {
  ^bb1(%i: i32, %before: !nv_tileaa.mem_token):
    %x, %read = nv_tileas.tiled_load %a coords(%i) token(%before) {mem_semantic = "weak"} : (!v, i32, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
    %s = nv_tileas.reduce %x attributes {axis = 0 : i32} : (tensor<64xf32>) -> f32 {
    ^bb2(%c: f32, %d: f32):
      %e = nv_tileas.addf %c, %d {rounding_mode = "nearest_even"} : f32
      nv_tileas.yield %e : (f32) -> ()
    }
    %u = nv_tileas.splat %s : (f32) -> tensor<64xf32>
    %z, %again = nv_tileas.tiled_load %a coords(%i) token(%before) {mem_semantic = "weak"} : (!v, i32, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
    %o = nv_tileas.addf %z, %u {rounding_mode = "nearest_even"} : tensor<64xf32>
    %both = nv_tileas.join_mem_token %read, %again : !nv_tileaa.mem_token
    %written = nv_tileas.tiled_store %a, %o coords(%i) token(%both) {mem_semantic = "weak"} : (!v, tensor<64xf32>, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    %y, %t = nv_tileas.tiled_load %a coords(%i) token(%written) {mem_semantic = "weak"} : (!v, i32, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
    %w = nv_tileas.addf %y, %u {rounding_mode = "nearest_even"} : tensor<64xf32>
    %last_written = nv_tileas.tiled_store %a, %w coords(%i) token(%t) {mem_semantic = "weak"} : (!v, tensor<64xf32>, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.continue %last_written : (!nv_tileaa.mem_token) -> ()
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f32, [?], [1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [64], dim_map = [0], steps = [64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %r = nv_tileas.make_memref %p sizes(%n) : (!nv_tileaa.ptr<f32>, i32) -> !memref0
  %a = nv_tileas.block_tile %r : (!memref0) -> !view0
  %none = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %last = nv_tileas.for %zero, %n, %one initial(%none) : (i32, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token {
  ^bb0(%i: i32, %before: !nv_tileaa.mem_token):
    %x, %read = nv_tileas.tiled_load %a coords(%i) token(%before) {mem_semantic = "weak"} : (!view0, i32, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
    %s = nv_tileas.reduce %x attributes {axis = 0 : i32} : (tensor<64xf32>) -> f32 {
    ^bb0(%c: f32, %d: f32):
      %e = nv_tileas.addf %c, %d {rounding_mode = "nearest_even"} : f32
      nv_tileas.yield %e : (f32) -> ()
    }
    %u = nv_tileas.splat %s : (f32) -> tensor<64xf32>
    %o = nv_tileas.addf %x, %u {rounding_mode = "nearest_even"} : tensor<64xf32>
    %both = nv_tileas.join_mem_token %read, %read : !nv_tileaa.mem_token
    %written = nv_tileas.tiled_store %a, %o coords(%i) token(%both) {mem_semantic = "weak"} : (!view0, tensor<64xf32>, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    %y, %t = nv_tileas.tiled_load %a coords(%i) token(%written) {mem_semantic = "weak"} : (!view0, i32, !nv_tileaa.mem_token) -> (tensor<64xf32>, !nv_tileaa.mem_token)
    %w = nv_tileas.addf %y, %u {rounding_mode = "nearest_even"} : tensor<64xf32>
    %last_written = nv_tileas.tiled_store %a, %w coords(%i) token(%t) {mem_semantic = "weak"} : (!view0, tensor<64xf32>, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.continue %last_written : (!nv_tileaa.mem_token) -> ()
  }
  nv_tileaa.return
}

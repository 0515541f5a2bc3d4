// Views that follow from values outside a loop are made once, before it.
// run: tileas-hoist-views sm_90

// ---- two_loops_over_one_array
!m = !nv_tileaa.memref<f16, [64, 64], [64, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [16, 16], dim_map = [0, 1], steps = [16, 16], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  nv_tileas.for %zero, %n, %one initial() : (i32, i32, i32) -> () {
  ^bb1(%i: i32):
    %mem = nv_tileas.make_memref %p : (!nv_tileaa.ptr<f16>) -> !m
    %a = nv_tileas.block_tile %mem : (!m) -> !v
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %i) {mem_semantic = "weak"} : (!v, i32, i32) -> (tensor<16x16xf16>, !nv_tileaa.mem_token)
    nv_tileas.continue : () -> ()
  }
  nv_tileas.for %zero, %n, %one initial() : (i32, i32, i32) -> () {
  ^bb1(%i: i32):
    %mem = nv_tileas.make_memref %p : (!nv_tileaa.ptr<f16>) -> !m
    %a = nv_tileas.block_tile %mem : (!m) -> !v
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %i) {mem_semantic = "weak"} : (!v, i32, i32) -> (tensor<16x16xf16>, !nv_tileaa.mem_token)
    nv_tileas.continue : () -> ()
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [64, 64], [64, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [16, 16], dim_map = [0, 1], steps = [16, 16], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %mem = nv_tileas.make_memref %p : (!nv_tileaa.ptr<f16>) -> !memref0
  %a = nv_tileas.block_tile %mem : (!memref0) -> !view0
  nv_tileas.for %zero, %n, %one : (i32, i32, i32) -> () {
  ^bb0(%i: i32):
    %x, %t0 = nv_tileas.tiled_load %a coords(%zero, %i) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<16x16xf16>, !nv_tileaa.mem_token)
    nv_tileas.continue
  }
  nv_tileas.for %zero, %n, %one : (i32, i32, i32) -> () {
  ^bb0(%i_1: i32):
    %x_1, %t0_1 = nv_tileas.tiled_load %a coords(%zero, %i_1) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<16x16xf16>, !nv_tileaa.mem_token)
    nv_tileas.continue
  }
  nv_tileaa.return
}

// ---- what_depends_on_the_loop_stays
!m = !nv_tileaa.memref<f16, [64, 64], [64, 1]>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  nv_tileas.for %zero, %n, %one initial() : (i32, i32, i32) -> () {
  ^bb1(%i: i32):
    %q = nv_tileas.addptr %p, %i : (!nv_tileaa.ptr<f16>, i32) -> !nv_tileaa.ptr<f16>
    %mem = nv_tileas.make_memref %q : (!nv_tileaa.ptr<f16>) -> !m
    %d:2 = nv_tileas.get_dim_size %mem : (!m) -> (i32, i32)
    nv_tileas.continue : () -> ()
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [64, 64], [64, 1]>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  nv_tileas.for %zero, %n, %one : (i32, i32, i32) -> () {
  ^bb0(%i: i32):
    %q = nv_tileas.addptr %p, %i : (!nv_tileaa.ptr<f16>, i32) -> !nv_tileaa.ptr<f16>
    %mem = nv_tileas.make_memref %q : (!nv_tileaa.ptr<f16>) -> !memref0
    %d, %d_1 = nv_tileas.get_dim_size %mem : (!memref0) -> (i32, i32)
    nv_tileas.continue
  }
  nv_tileaa.return
}

// ---- one_array_as_another_type
!m = !nv_tileaa.memref<bf16, [64, 64], [64, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [16, 16], dim_map = [0, 1], steps = [16, 16], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<i16>, %i: i32):
  %q = nv_tileas.bitcast %p : (!nv_tileaa.ptr<i16>) -> !nv_tileaa.ptr<bf16>
  %r = nv_tileas.bitcast %p : (!nv_tileaa.ptr<i16>) -> !nv_tileaa.ptr<bf16>
  %m0 = nv_tileas.make_memref %q : (!nv_tileaa.ptr<bf16>) -> !m
  %m1 = nv_tileas.make_memref %r : (!nv_tileaa.ptr<bf16>) -> !m
  %a = nv_tileas.block_tile %m0 : (!m) -> !v
  %b = nv_tileas.block_tile %m1 : (!m) -> !v
  %x, %t0 = nv_tileas.tiled_load %a coords(%i, %i) {mem_semantic = "weak"} : (!v, i32, i32) -> (tensor<16x16xbf16>, !nv_tileaa.mem_token)
  %y, %t1 = nv_tileas.tiled_load %b coords(%i, %i) {mem_semantic = "weak"} : (!v, i32, i32) -> (tensor<16x16xbf16>, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<bf16, [64, 64], [64, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [16, 16], dim_map = [0, 1], steps = [16, 16], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<i16>, %i: i32):
  %q = nv_tileas.bitcast %p : (!nv_tileaa.ptr<i16>) -> !nv_tileaa.ptr<bf16>
  %m0 = nv_tileas.make_memref %q : (!nv_tileaa.ptr<bf16>) -> !memref0
  %a = nv_tileas.block_tile %m0 : (!memref0) -> !view0
  %x, %t0 = nv_tileas.tiled_load %a coords(%i, %i) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<16x16xbf16>, !nv_tileaa.mem_token)
  %y, %t1 = nv_tileas.tiled_load %a coords(%i, %i) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<16x16xbf16>, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- transposed_tiles
nv_tileaa.func @k {
^bb0(%n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %x = nv_tileas.splat %n : (i32) -> tensor<16x8xi32>
  nv_tileas.for %zero, %n, %one initial() : (i32, i32, i32) -> () {
  ^bb1(%i: i32):
    %y = nv_tileas.permute %x {permutation = array<i32: 1, 0>} : (tensor<16x8xi32>) -> tensor<8x16xi32>
    %z = arith.addi %y, %y : tensor<8x16xi32>
    %w = nv_tileas.permute %z {permutation = array<i32: 1, 0>} : (tensor<8x16xi32>) -> tensor<16x8xi32>
    nv_tileas.continue : () -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %x = nv_tileas.splat %n : (i32) -> tensor<16x8xi32>
  %y = nv_tileas.permute %x {permutation = array<i32: 1, 0>} : (tensor<16x8xi32>) -> tensor<8x16xi32>
  nv_tileas.for %zero, %n, %one : (i32, i32, i32) -> () {
  ^bb0(%i: i32):
    %z = arith.addi %y, %y : tensor<8x16xi32>
    %w = nv_tileas.permute %z {permutation = array<i32: 1, 0>} : (tensor<8x16xi32>) -> tensor<16x8xi32>
    nv_tileas.continue
  }
  nv_tileaa.return
}

// ---- transposed_tiles_beside_tensor_memory
// run: tileas-hoist-views sm_100
nv_tileaa.func @k {
^bb0(%n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %x = nv_tileas.splat %n : (i32) -> tensor<16x8xi32>
  nv_tileas.for %zero, %n, %one initial() : (i32, i32, i32) -> () {
  ^bb1(%i: i32):
    %y = nv_tileas.permute %x {permutation = array<i32: 1, 0>} : (tensor<16x8xi32>) -> tensor<8x16xi32>
    nv_tileas.continue : () -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %x = nv_tileas.splat %n : (i32) -> tensor<16x8xi32>
  %y = nv_tileas.permute %x {permutation = array<i32: 1, 0>} : (tensor<16x8xi32>) -> tensor<8x16xi32>
  nv_tileas.for %zero, %n, %one : (i32, i32, i32) -> () {
  ^bb0(%i: i32):
    nv_tileas.continue
  }
  nv_tileaa.return
}

// A loop whose tiles end where their tensor ends is there twice: without checks of indices where all of them are inside.
// run: tileas-hoist-bounds-checks sm_90

// ---- a_row_and_the_loop_s_index
!t2 = tensor<1x64xf32, #cute.layout<(1,64), (32,1,2):(1,0,32)>>
!m = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [1, 64], dim_map = [0, 1], steps = [1, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %rows: i32, %columns: i32, %row: i32, %n: i32):
  %mem = nv_tileas.make_memref %p sizes(%rows, %columns) strides(%columns) : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !m
  %v = nv_tileas.block_tile %mem : (!m) -> !v
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  nv_tileas.for %zero, %n, %one initial() : (i32, i32, i32) -> () {
  ^bb1(%i: i32):
    %x, %t0 = nv_tileas.tiled_load %v coords(%row, %i) {mem_semantic = "weak", vector = 1 : i32, in_bounds = array<i1: true, true>, index_checks = array<i32: 2, 1>} : (!v, i32, i32) -> (!t2, !nv_tileaa.mem_token)
    nv_tileas.continue : () -> ()
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [1, 64], dim_map = [0, 1], steps = [1, 64], sparse = -1, padding = zero>
#layout0 = #cute.layout<(1,64), (32,1,2):(1,0,32)>
!tile_1x64xf32 = tensor<1x64xf32, #layout0>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %rows: i32, %columns: i32, %row: i32, %n: i32):
  %mem = nv_tileas.make_memref %p sizes(%rows, %columns) strides(%columns) : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !memref0
  %v = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %0, %1 = nv_tileas.get_tile_count %v : (!view0) -> (i32, i32)
  %2 = arith.cmpi %row, %0 {predicate = "ult"} : (i32, i32) -> i1
  %3, %4 = nv_tileas.get_tile_count %v : (!view0) -> (i32, i32)
  %5 = arith.cmpi %n, %4 {predicate = "sle"} : (i32, i32) -> i1
  %6 = arith.andi %2, %5 : i1
  nv_tileas.if %6 : (i1) -> () {
    nv_tileas.for %zero, %n, %one : (i32, i32, i32) -> () {
    ^bb0(%i: i32):
      %x, %t0 = nv_tileas.tiled_load %v coords(%row, %i) {mem_semantic = "weak", vector = 1 : i32, in_bounds = array<i1: true, true>, index_checks = array<i32: 0, 0>} : (!view0, i32, i32) -> (!tile_1x64xf32, !nv_tileaa.mem_token)
      nv_tileas.continue
    }
    nv_tileas.yield
  } {
    nv_tileas.for %zero, %n, %one : (i32, i32, i32) -> () {
    ^bb0(%i_1: i32):
      %x_1, %t0_1 = nv_tileas.tiled_load %v coords(%row, %i_1) {mem_semantic = "weak", vector = 1 : i32, in_bounds = array<i1: true, true>, index_checks = array<i32: 2, 1>} : (!view0, i32, i32) -> (!tile_1x64xf32, !nv_tileaa.mem_token)
      nv_tileas.continue
    }
    nv_tileas.yield
  }
  nv_tileaa.return
}

// ---- an_index_that_the_loop_computes_and_one_that_may_be_below_zero
!t = tensor<64xf32, #cute.layout<(64), (32,1,2):(1,0,32)>>
!m = !nv_tileaa.memref<f32, [?], [1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [64], dim_map = [0], steps = [64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %columns: i32, %first: i32, %n: i32):
  %mem = nv_tileas.make_memref %p sizes(%columns) : (!nv_tileaa.ptr<f32>, i32) -> !m
  %v = nv_tileas.block_tile %mem : (!m) -> !v
  %one = arith.constant 1 : i32
  nv_tileas.for %first, %n, %one initial() : (i32, i32, i32) -> () {
  ^bb1(%i: i32):
    %j = arith.addi %i, %one : i32
    %x, %t0 = nv_tileas.tiled_load %v coords(%j) {mem_semantic = "weak", vector = 1 : i32, in_bounds = array<i1: true>, index_checks = array<i32: 1>} : (!v, i32) -> (!t, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %v coords(%i) {mem_semantic = "weak", vector = 1 : i32, in_bounds = array<i1: true>, index_checks = array<i32: 2>} : (!v, i32) -> (!t, !nv_tileaa.mem_token)
    nv_tileas.continue : () -> ()
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f32, [?], [1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [64], dim_map = [0], steps = [64], sparse = -1, padding = zero>
#layout0 = #cute.layout<(64), (32,1,2):(1,0,32)>
!tile_64xf32 = tensor<64xf32, #layout0>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %columns: i32, %first: i32, %n: i32):
  %mem = nv_tileas.make_memref %p sizes(%columns) : (!nv_tileaa.ptr<f32>, i32) -> !memref0
  %v = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %one = arith.constant 1 : i32
  nv_tileas.for %first, %n, %one : (i32, i32, i32) -> () {
  ^bb0(%i: i32):
    %j = arith.addi %i, %one : i32
    %x, %t0 = nv_tileas.tiled_load %v coords(%j) {mem_semantic = "weak", vector = 1 : i32, in_bounds = array<i1: true>, index_checks = array<i32: 1>} : (!view0, i32) -> (!tile_64xf32, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %v coords(%i) {mem_semantic = "weak", vector = 1 : i32, in_bounds = array<i1: true>, index_checks = array<i32: 2>} : (!view0, i32) -> (!tile_64xf32, !nv_tileaa.mem_token)
    nv_tileas.continue
  }
  nv_tileaa.return
}

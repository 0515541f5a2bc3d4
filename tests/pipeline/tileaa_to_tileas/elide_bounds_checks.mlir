// What is asked of each index of a tile: nothing (0), whether it is past the end (1), also whether it is below zero (2).
// run: tileas-elide-bounds-checks sm_90

// ---- rows_by_a_grid_and_columns_by_a_loop
!m = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [16, 64], dim_map = [0, 1], steps = [16, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %r: i32, %c: i32, %first: i32):
  %rows = nv_tileas.assume %r {predicate = #cuda_tile.bounded<0, ?>} : i32
  %columns = nv_tileas.assume %c {predicate = #cuda_tile.bounded<0, ?>} : i32
  %mem = nv_tileas.make_memref %p sizes(%rows, %columns) strides(%columns) : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !m
  %v = nv_tileas.block_tile %mem : (!m) -> !v
  %y = nv_tileas.get_program_id {axis = 1 : i32} : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %down, %across = nv_tileas.get_tile_count %v : (!v) -> (i32, i32)
  nv_tileas.for %zero, %across, %one initial() : (i32, i32, i32) -> () {
  ^bb1(%i: i32):
    %x, %t0 = nv_tileas.tiled_load %v coords(%y, %i) {mem_semantic = "weak"} : (!v, i32, i32) -> (tensor<16x64xf32>, !nv_tileaa.mem_token)
    %t1 = nv_tileas.tiled_store %v, %x coords(%first, %i) {mem_semantic = "weak"} : (!v, tensor<16x64xf32>, i32, i32) -> !nv_tileaa.mem_token
    nv_tileas.continue : () -> ()
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [16, 64], dim_map = [0, 1], steps = [16, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %r: i32, %c: i32, %first: i32):
  %rows = nv_tileas.assume %r {predicate = #cuda_tile.bounded<0, ?>} : i32
  %columns = nv_tileas.assume %c {predicate = #cuda_tile.bounded<0, ?>} : i32
  %mem = nv_tileas.make_memref %p sizes(%rows, %columns) strides(%columns) : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !memref0
  %v = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %y = nv_tileas.get_program_id {axis = 1 : i32} : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %down, %across = nv_tileas.get_tile_count %v : (!view0) -> (i32, i32)
  nv_tileas.for %zero, %across, %one : (i32, i32, i32) -> () {
  ^bb0(%i: i32):
    %x, %t0 = nv_tileas.tiled_load %v coords(%y, %i) {mem_semantic = "weak", index_checks = array<i32: 1, 0>} : (!view0, i32, i32) -> (tensor<16x64xf32>, !nv_tileaa.mem_token)
    %t1 = nv_tileas.tiled_store %v, %x coords(%first, %i) {mem_semantic = "weak", index_checks = array<i32: 2, 0>} : (!view0, tensor<16x64xf32>, i32, i32) -> !nv_tileaa.mem_token
    nv_tileas.continue
  }
  nv_tileaa.return
}

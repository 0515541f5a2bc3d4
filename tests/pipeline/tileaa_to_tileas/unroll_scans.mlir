// Loops of few trips that load single elements and compute with scalars: the loads of all iterations stand behind one another.
// run: tileas-unroll-scans sm_100

// ---- before_the_loop_whose_iterations_load_the_same
!m = !nv_tileaa.memref<i32, [?], [1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [1], dim_map = [0], steps = [1], sparse = -1, padding = none>
!size = tensor<1xi32, #cute.layout<(1), (32,1,1):(0,0,0)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%view: !v, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %all = nv_tileas.for %zero, %n, %one initial(%zero) : (i32, i32, i32, i32) -> i32 {
  ^bb1(%tile: i32, %sum: i32):
    %found = nv_tileas.for %zero, %two, %one initial(%sum) : (i32, i32, i32, i32) -> i32 {
    ^bb2(%i: i32, %x: i32):
      %s, %t = nv_tileas.tiled_load %view coords(%i) {mem_semantic = "weak"} : (!v, i32) -> (!size, !nv_tileaa.mem_token)
      %size = nv_tileas.extract_slice %s indices(%zero) : (!size, i32) -> i32
      %y = arith.addi %x, %size : i32
      nv_tileas.continue %y : (i32) -> ()
    }
    nv_tileas.continue %found : (i32) -> ()
  }
  %said = nv_tileas.print values(%all) {format = "%d"} : (i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<i32, [?], [1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [1], dim_map = [0], steps = [1], sparse = -1, padding = none>
#layout0 = #cute.layout<(1), (32,1,1):(0,0,0)>
!tile_1xi32 = tensor<1xi32, #layout0>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%view: !view0, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %0, %1 = nv_tileas.tiled_load %view coords(%zero) {mem_semantic = "weak"} : (!view0, i32) -> (!tile_1xi32, !nv_tileaa.mem_token)
  %2 = arith.addi %zero, %one : i32
  %3, %4 = nv_tileas.tiled_load %view coords(%2) {mem_semantic = "weak", ends_block} : (!view0, i32) -> (!tile_1xi32, !nv_tileaa.mem_token)
  %all = nv_tileas.for %zero, %n, %one initial(%zero) : i32 {
  ^bb0(%tile: i32, %sum: i32):
    %5 = arith.constant 0 : i32
    %size = nv_tileas.extract_slice %0 indices(%zero) : (!tile_1xi32, i32) -> i32
    %y = arith.addi %sum, %size : i32
    %6 = arith.constant 1 : i32
    %size_1 = nv_tileas.extract_slice %3 indices(%zero) : (!tile_1xi32, i32) -> i32
    %y_1 = arith.addi %y, %size_1 : i32
    nv_tileas.continue %y_1 : (i32) -> ()
  }
  %said = nv_tileas.print values(%all) {format = "%d"} : (i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- at_places_that_the_loop_around_computes
!pointer = !nv_tileaa.ptr<i32>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%sizes: !pointer, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %all = nv_tileas.for %zero, %n, %one initial(%zero) : (i32, i32, i32, i32) -> i32 {
  ^bb1(%tile: i32, %sum: i32):
    %found = nv_tileas.for %zero, %two, %one initial(%sum) : (i32, i32, i32, i32) -> i32 {
    ^bb2(%i: i32, %x: i32):
      %place = arith.addi %i, %tile : i32
      %at = nv_tileas.addptr %sizes, %place : (!pointer, i32) -> !pointer
      %s, %t = nv_tileas.load %at {mem_semantic = "weak"} : (!pointer) -> (i32, !nv_tileaa.mem_token)
      %y = arith.addi %x, %s : i32
      nv_tileas.continue %y : (i32) -> ()
    }
    nv_tileas.continue %found : (i32) -> ()
  }
  %said = nv_tileas.print values(%all) {format = "%d"} : (i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%sizes: !nv_tileaa.ptr<i32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %all = nv_tileas.for %zero, %n, %one initial(%zero) : i32 {
  ^bb0(%tile: i32, %sum: i32):
    %0 = arith.addi %zero, %tile : i32
    %1 = nv_tileas.addptr %sizes, %0 : (!nv_tileaa.ptr<i32>, i32) -> !nv_tileaa.ptr<i32>
    %2, %3 = nv_tileas.load %1 {mem_semantic = "weak"} : (!nv_tileaa.ptr<i32>) -> (i32, !nv_tileaa.mem_token)
    %4 = arith.addi %zero, %one : i32
    %5 = arith.addi %4, %tile : i32
    %6 = nv_tileas.addptr %sizes, %5 : (!nv_tileaa.ptr<i32>, i32) -> !nv_tileaa.ptr<i32>
    %7, %8 = nv_tileas.load %6 {mem_semantic = "weak", ends_block} : (!nv_tileaa.ptr<i32>) -> (i32, !nv_tileaa.mem_token)
    %9 = arith.constant 0 : i32
    %place = arith.addi %9, %tile : i32
    %at = nv_tileas.addptr %sizes, %place : (!nv_tileaa.ptr<i32>, i32) -> !nv_tileaa.ptr<i32>
    %y = arith.addi %sum, %2 : i32
    %10 = arith.constant 1 : i32
    %place_1 = arith.addi %10, %tile : i32
    %at_1 = nv_tileas.addptr %sizes, %place_1 : (!nv_tileaa.ptr<i32>, i32) -> !nv_tileaa.ptr<i32>
    %y_1 = arith.addi %y, %7 : i32
    nv_tileas.continue %y_1 : (i32) -> ()
  }
  %said = nv_tileas.print values(%all) {format = "%d"} : (i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- a_loop_that_writes_stays
!pointer = !nv_tileaa.ptr<i32>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%sizes: !pointer, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %found = nv_tileas.for %zero, %two, %one initial(%zero) : (i32, i32, i32, i32) -> i32 {
  ^bb2(%i: i32, %x: i32):
    %at = nv_tileas.addptr %sizes, %i : (!pointer, i32) -> !pointer
    %s, %t = nv_tileas.load %at {mem_semantic = "weak"} : (!pointer) -> (i32, !nv_tileaa.mem_token)
    %y = arith.addi %x, %s : i32
    %w = nv_tileas.store %at, %y token(%t) {mem_semantic = "weak"} : (!pointer, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.continue %y : (i32) -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%sizes: !nv_tileaa.ptr<i32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %two = arith.constant 2 : i32
  %found = nv_tileas.for %zero, %two, %one initial(%zero) : i32 {
  ^bb0(%i: i32, %x: i32):
    %at = nv_tileas.addptr %sizes, %i : (!nv_tileaa.ptr<i32>, i32) -> !nv_tileaa.ptr<i32>
    %s, %t = nv_tileas.load %at {mem_semantic = "weak"} : (!nv_tileaa.ptr<i32>) -> (i32, !nv_tileaa.mem_token)
    %y = arith.addi %x, %s : i32
    %w = nv_tileas.store %at, %y token(%t) {mem_semantic = "weak"} : (!nv_tileaa.ptr<i32>, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.continue %y : (i32) -> ()
  }
  nv_tileaa.return
}

// Dots in a row that differ in constants, and those that are no loop.
// run: tileaa-reroll-loops sm_100

// ---- every_third_tile_from_the_second_on
nv_tileaa.func @k {
^bb0(%token: !nv_tileaa.mem_token, %x: !nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, %y: tensor<8x8xf16>, %zero: tensor<8x8xf32>):
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %c7 = arith.constant 7 : i32
  %c10 = arith.constant 10 : i32
  %c13 = arith.constant 13 : i32
  %c16 = arith.constant 16 : i32
  %row = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %t0, %k0 = nv_tileaa.tiled_load %x coords(%row, %c1) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d0 = nv_tileaa.dot %t0, %y, %zero : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t1, %k1 = nv_tileaa.tiled_load %x coords(%row, %c4) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d1 = nv_tileaa.dot %t1, %y, %d0 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t2, %k2 = nv_tileaa.tiled_load %x coords(%row, %c7) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d2 = nv_tileaa.dot %t2, %y, %d1 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t3, %k3 = nv_tileaa.tiled_load %x coords(%row, %c10) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d3 = nv_tileaa.dot %t3, %y, %d2 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t4, %k4 = nv_tileaa.tiled_load %x coords(%row, %c13) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d4 = nv_tileaa.dot %t4, %y, %d3 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t5, %k5 = nv_tileaa.tiled_load %x coords(%row, %c16) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d5 = nv_tileaa.dot %t5, %y, %d4 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  nv_tileaa.return %d5 : (tensor<8x8xf32>) -> ()
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>
nv_tileaa.func @k {
^bb0(%token: !nv_tileaa.mem_token, %x: !view0, %y: tensor<8x8xf16>, %zero: tensor<8x8xf32>):
  %c1 = arith.constant 1 : i32
  %c4 = arith.constant 4 : i32
  %c7 = arith.constant 7 : i32
  %c10 = arith.constant 10 : i32
  %c13 = arith.constant 13 : i32
  %c16 = arith.constant 16 : i32
  %row = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %0 = arith.constant 0 : i32
  %1 = arith.constant 6 : i32
  %2 = arith.constant 1 : i32
  %d5 = nv_tileaa.for %0, %1, %2 initial(%zero) : (i32, i32, i32, tensor<8x8xf32>) -> tensor<8x8xf32> {
  ^bb0(%3: i32, %4: tensor<8x8xf32>):
    %5 = arith.constant 3 : i32
    %6 = arith.muli %3, %5 : i32
    %7 = arith.constant 1 : i32
    %8 = arith.addi %6, %7 : i32
    %t0, %k0 = nv_tileaa.tiled_load %x coords(%row, %8) token(%token) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
    %d0 = nv_tileaa.dot %t0, %y, %4 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
    nv_tileaa.continue %d0 : (tensor<8x8xf32>) -> ()
  }
  nv_tileaa.return %d5 : (tensor<8x8xf32>) -> ()
}

// ---- a_step_that_differs
nv_tileaa.func @k {
^bb0(%token: !nv_tileaa.mem_token, %x: !nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, %y: tensor<8x8xf16>, %zero: tensor<8x8xf32>):
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %c6 = arith.constant 6 : i32
  %row = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %t0, %k0 = nv_tileaa.tiled_load %x coords(%row, %c0) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d0 = nv_tileaa.dot %t0, %y, %zero : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t1, %k1 = nv_tileaa.tiled_load %x coords(%row, %c1) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d1 = nv_tileaa.dot %t1, %y, %d0 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t2, %k2 = nv_tileaa.tiled_load %x coords(%row, %c2) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d2 = nv_tileaa.dot %t2, %y, %d1 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t3, %k3 = nv_tileaa.tiled_load %x coords(%row, %c3) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d3 = nv_tileaa.dot %t3, %y, %d2 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t4, %k4 = nv_tileaa.tiled_load %x coords(%row, %c4) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d4 = nv_tileaa.dot %t4, %y, %d3 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t5, %k5 = nv_tileaa.tiled_load %x coords(%row, %c6) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d5 = nv_tileaa.dot %t5, %y, %d4 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  nv_tileaa.return %d5 : (tensor<8x8xf32>) -> ()
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>
nv_tileaa.func @k {
^bb0(%token: !nv_tileaa.mem_token, %x: !view0, %y: tensor<8x8xf16>, %zero: tensor<8x8xf32>):
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %c6 = arith.constant 6 : i32
  %row = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %t0, %k0 = nv_tileaa.tiled_load %x coords(%row, %c0) token(%token) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d0 = nv_tileaa.dot %t0, %y, %zero : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t1, %k1 = nv_tileaa.tiled_load %x coords(%row, %c1) token(%token) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d1 = nv_tileaa.dot %t1, %y, %d0 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t2, %k2 = nv_tileaa.tiled_load %x coords(%row, %c2) token(%token) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d2 = nv_tileaa.dot %t2, %y, %d1 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t3, %k3 = nv_tileaa.tiled_load %x coords(%row, %c3) token(%token) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d3 = nv_tileaa.dot %t3, %y, %d2 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t4, %k4 = nv_tileaa.tiled_load %x coords(%row, %c4) token(%token) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d4 = nv_tileaa.dot %t4, %y, %d3 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t5, %k5 = nv_tileaa.tiled_load %x coords(%row, %c6) token(%token) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d5 = nv_tileaa.dot %t5, %y, %d4 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  nv_tileaa.return %d5 : (tensor<8x8xf32>) -> ()
}

// ---- too_few
nv_tileaa.func @k {
^bb0(%token: !nv_tileaa.mem_token, %x: !nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, %y: tensor<8x8xf16>, %zero: tensor<8x8xf32>):
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %row = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %t0, %k0 = nv_tileaa.tiled_load %x coords(%row, %c0) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d0 = nv_tileaa.dot %t0, %y, %zero : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t1, %k1 = nv_tileaa.tiled_load %x coords(%row, %c1) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d1 = nv_tileaa.dot %t1, %y, %d0 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t2, %k2 = nv_tileaa.tiled_load %x coords(%row, %c2) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d2 = nv_tileaa.dot %t2, %y, %d1 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t3, %k3 = nv_tileaa.tiled_load %x coords(%row, %c3) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d3 = nv_tileaa.dot %t3, %y, %d2 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t4, %k4 = nv_tileaa.tiled_load %x coords(%row, %c4) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d4 = nv_tileaa.dot %t4, %y, %d3 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  nv_tileaa.return %d4 : (tensor<8x8xf32>) -> ()
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>
nv_tileaa.func @k {
^bb0(%token: !nv_tileaa.mem_token, %x: !view0, %y: tensor<8x8xf16>, %zero: tensor<8x8xf32>):
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %row = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %t0, %k0 = nv_tileaa.tiled_load %x coords(%row, %c0) token(%token) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d0 = nv_tileaa.dot %t0, %y, %zero : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t1, %k1 = nv_tileaa.tiled_load %x coords(%row, %c1) token(%token) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d1 = nv_tileaa.dot %t1, %y, %d0 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t2, %k2 = nv_tileaa.tiled_load %x coords(%row, %c2) token(%token) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d2 = nv_tileaa.dot %t2, %y, %d1 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t3, %k3 = nv_tileaa.tiled_load %x coords(%row, %c3) token(%token) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d3 = nv_tileaa.dot %t3, %y, %d2 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t4, %k4 = nv_tileaa.tiled_load %x coords(%row, %c4) token(%token) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d4 = nv_tileaa.dot %t4, %y, %d3 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  nv_tileaa.return %d4 : (tensor<8x8xf32>) -> ()
}

// ---- an_accumulator_within_is_needed
nv_tileaa.func @k {
^bb0(%token: !nv_tileaa.mem_token, %x: !nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, %y: tensor<8x8xf16>, %zero: tensor<8x8xf32>):
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %c5 = arith.constant 5 : i32
  %row = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %t0, %k0 = nv_tileaa.tiled_load %x coords(%row, %c0) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d0 = nv_tileaa.dot %t0, %y, %zero : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t1, %k1 = nv_tileaa.tiled_load %x coords(%row, %c1) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d1 = nv_tileaa.dot %t1, %y, %d0 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t2, %k2 = nv_tileaa.tiled_load %x coords(%row, %c2) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d2 = nv_tileaa.dot %t2, %y, %d1 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t3, %k3 = nv_tileaa.tiled_load %x coords(%row, %c3) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d3 = nv_tileaa.dot %t3, %y, %d2 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t4, %k4 = nv_tileaa.tiled_load %x coords(%row, %c4) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d4 = nv_tileaa.dot %t4, %y, %d3 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t5, %k5 = nv_tileaa.tiled_load %x coords(%row, %c5) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d5 = nv_tileaa.dot %t5, %y, %d4 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %sum = nv_tileaa.addf %d5, %d2 {rounding_mode = "nearest_even"} : tensor<8x8xf32>
  nv_tileaa.return %sum : (tensor<8x8xf32>) -> ()
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>
nv_tileaa.func @k {
^bb0(%token: !nv_tileaa.mem_token, %x: !view0, %y: tensor<8x8xf16>, %zero: tensor<8x8xf32>):
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %c5 = arith.constant 5 : i32
  %row = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %t0, %k0 = nv_tileaa.tiled_load %x coords(%row, %c0) token(%token) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d0 = nv_tileaa.dot %t0, %y, %zero : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t1, %k1 = nv_tileaa.tiled_load %x coords(%row, %c1) token(%token) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d1 = nv_tileaa.dot %t1, %y, %d0 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t2, %k2 = nv_tileaa.tiled_load %x coords(%row, %c2) token(%token) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d2 = nv_tileaa.dot %t2, %y, %d1 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t3, %k3 = nv_tileaa.tiled_load %x coords(%row, %c3) token(%token) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d3 = nv_tileaa.dot %t3, %y, %d2 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t4, %k4 = nv_tileaa.tiled_load %x coords(%row, %c4) token(%token) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d4 = nv_tileaa.dot %t4, %y, %d3 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t5, %k5 = nv_tileaa.tiled_load %x coords(%row, %c5) token(%token) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d5 = nv_tileaa.dot %t5, %y, %d4 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %sum = nv_tileaa.addf %d5, %d2 {rounding_mode = "nearest_even"} : tensor<8x8xf32>
  nv_tileaa.return %sum : (tensor<8x8xf32>) -> ()
}

// ---- the_last_tile_is_needed
nv_tileaa.func @k {
^bb0(%token: !nv_tileaa.mem_token, %x: !nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, %y: tensor<8x8xf16>, %zero: tensor<8x8xf32>):
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %c5 = arith.constant 5 : i32
  %row = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %t0, %k0 = nv_tileaa.tiled_load %x coords(%row, %c0) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d0 = nv_tileaa.dot %t0, %y, %zero : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t1, %k1 = nv_tileaa.tiled_load %x coords(%row, %c1) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d1 = nv_tileaa.dot %t1, %y, %d0 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t2, %k2 = nv_tileaa.tiled_load %x coords(%row, %c2) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d2 = nv_tileaa.dot %t2, %y, %d1 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t3, %k3 = nv_tileaa.tiled_load %x coords(%row, %c3) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d3 = nv_tileaa.dot %t3, %y, %d2 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t4, %k4 = nv_tileaa.tiled_load %x coords(%row, %c4) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d4 = nv_tileaa.dot %t4, %y, %d3 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t5, %k5 = nv_tileaa.tiled_load %x coords(%row, %c5) token(%token) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d5 = nv_tileaa.dot %t5, %y, %d4 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %last = nv_tileaa.dot %y, %t5, %d5 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  nv_tileaa.return %last : (tensor<8x8xf32>) -> ()
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [8, 8], dim_map = [0, 1], steps = [8, 8], sparse = -1, padding = none>
nv_tileaa.func @k {
^bb0(%token: !nv_tileaa.mem_token, %x: !view0, %y: tensor<8x8xf16>, %zero: tensor<8x8xf32>):
  %c0 = arith.constant 0 : i32
  %c1 = arith.constant 1 : i32
  %c2 = arith.constant 2 : i32
  %c3 = arith.constant 3 : i32
  %c4 = arith.constant 4 : i32
  %c5 = arith.constant 5 : i32
  %row = nv_tileaa.get_program_id {axis = 0 : i32} : i32
  %t0, %k0 = nv_tileaa.tiled_load %x coords(%row, %c0) token(%token) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d0 = nv_tileaa.dot %t0, %y, %zero : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t1, %k1 = nv_tileaa.tiled_load %x coords(%row, %c1) token(%token) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d1 = nv_tileaa.dot %t1, %y, %d0 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t2, %k2 = nv_tileaa.tiled_load %x coords(%row, %c2) token(%token) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d2 = nv_tileaa.dot %t2, %y, %d1 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t3, %k3 = nv_tileaa.tiled_load %x coords(%row, %c3) token(%token) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d3 = nv_tileaa.dot %t3, %y, %d2 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t4, %k4 = nv_tileaa.tiled_load %x coords(%row, %c4) token(%token) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d4 = nv_tileaa.dot %t4, %y, %d3 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %t5, %k5 = nv_tileaa.tiled_load %x coords(%row, %c5) token(%token) {mem_semantic = "weak"} : (!view0, i32, i32, !nv_tileaa.mem_token) -> (tensor<8x8xf16>, !nv_tileaa.mem_token)
  %d5 = nv_tileaa.dot %t5, %y, %d4 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  %last = nv_tileaa.dot %y, %t5, %d5 : (tensor<8x8xf16>, tensor<8x8xf16>, tensor<8x8xf32>) -> tensor<8x8xf32>
  nv_tileaa.return %last : (tensor<8x8xf32>) -> ()
}

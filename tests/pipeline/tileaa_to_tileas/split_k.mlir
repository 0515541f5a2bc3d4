// CTAs of a cluster divide the iterations of a loop of dots where a schedule asks, and each has a shard of the result.
// run: tileas-split-k sm_90

// ---- a_loop_and_what_follows_it
!m = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [16, 16], dim_map = [0, 1], steps = [16, 16], sparse = -1, padding = zero>
nv_tileaa.func @k attributes {schedule = {split_k = 2 : i32}} {
^bb0(%p: !nv_tileaa.ptr<f32>, %rows: i32, %columns: i32, %s: i32, %first: i32, %end: i32):
  %mem = nv_tileas.make_memref %p sizes(%rows, %columns) strides(%s) : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !m
  %a = nv_tileas.block_tile %mem : (!m) -> !v
  %i = nv_tileas.get_program_id {axis = 0 : i32} : i32
  %one = arith.constant 1 : i32
  %nought = arith.constant 0.0 : f32
  %zeros = nv_tileas.splat %nought : (f32) -> tensor<16x16xf32>
  %sum = nv_tileas.for %first, %end, %one initial(%zeros) : (i32, i32, i32, tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb1(%k: i32, %c: tensor<16x16xf32>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%i, %k) {mem_semantic = "weak"} : (!v, i32, i32) -> (tensor<16x16xf32>, !nv_tileaa.mem_token)
    %d = nv_tileas.dot %x, %x, %c : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    nv_tileas.continue %d : (tensor<16x16xf32>) -> ()
  }
  %n = nv_tileas.addf %sum, %sum : tensor<16x16xf32>
  %u = nv_tileas.tiled_store %a, %n coords(%i, %one) {mem_semantic = "weak"} : (!v, tensor<16x16xf32>, i32, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [16, 16], dim_map = [0, 1], steps = [16, 16], sparse = -1, padding = zero>
!view1 = !nv_tileaa.tiled_view<strided, !memref0, tile = [16, 8], dim_map = [0, 1], steps = [16, 8], sparse = -1, padding = zero>
nv_tileaa.func @k attributes {schedule = {split_k = 2 : i32}, num_ctas = 2 : i32} {
^bb0(%p: !nv_tileaa.ptr<f32>, %rows: i32, %columns: i32, %s: i32, %first: i32, %end: i32):
  %0 = nv_tileas.get_cta_rank : i32
  %mem = nv_tileas.make_memref %p sizes(%rows, %columns) strides(%s) : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !memref0
  %a = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %i = nv_tileas.get_program_id {axis = 0 : i32} : i32
  %one = arith.constant 1 : i32
  %nought = arith.constant 0.000000e+00 : f32
  %zeros = nv_tileas.splat %nought : (f32) -> tensor<16x16xf32>
  %1 = arith.subi %end, %first : i32
  %2 = arith.constant 1 : i32
  %3 = arith.addi %1, %2 : i32
  %4 = arith.constant 2 : i32
  %5 = arith.divsi %3, %4 : i32
  %6 = arith.muli %0, %5 : i32
  %7 = arith.addi %first, %6 : i32
  %8 = arith.addi %7, %5 : i32
  %9 = arith.cmpi %8, %end {predicate = "slt"} : (i32, i32) -> i1
  %10 = arith.select %9, %8, %end : (i1, i32, i32) -> i32
  %zeros_1 = nv_tileas.splat %nought : (f32) -> tensor<16x16xf32>
  %sum = nv_tileas.for %7, %10, %one initial(%zeros_1) : (i32, i32, i32, tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb0(%k: i32, %c: tensor<16x16xf32>):
    %x, %t0 = nv_tileas.tiled_load %a coords(%i, %k) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<16x16xf32>, !nv_tileaa.mem_token)
    %d = nv_tileas.dot %x, %x, %c : tensor<16x16xf32>
    nv_tileas.continue %d : (tensor<16x16xf32>) -> ()
  }
  %sum_1 = nv_tileas.cluster_reduce %sum {dim = 1 : i32} : (tensor<16x16xf32>) -> tensor<16x8xf32>
  %n = nv_tileas.addf %sum_1, %sum_1 : tensor<16x8xf32>
  %11, %12 = nv_tileas.get_tile_count %a : (!view0) -> (i32, i32)
  %13 = arith.minui %one, %12 : i32
  %14 = arith.constant 2 : i32
  %15 = arith.muli %13, %14 : i32
  %16 = arith.addi %15, %0 : i32
  %17 = nv_tileas.block_tile %mem : (!memref0) -> !view1
  %u = nv_tileas.tiled_store %17, %n coords(%i, %16) {mem_semantic = "weak", index_checks = array<i32: 2, 1>} : (!view1, tensor<16x8xf32>, i32, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- four_parts_of_a_loop_of_known_length
!m = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [16, 16], dim_map = [0, 1], steps = [16, 16], sparse = -1, padding = zero>
nv_tileaa.func @k attributes {schedule = {split_k = 4 : i32}} {
^bb0(%p: !nv_tileaa.ptr<f32>, %rows: i32, %columns: i32, %s: i32, %x: tensor<16x16xf32>):
  %mem = nv_tileas.make_memref %p sizes(%rows, %columns) strides(%s) : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !m
  %a = nv_tileas.block_tile %mem : (!m) -> !v
  %zero = arith.constant 0 : i32
  %ten = arith.constant 10 : i32
  %two = arith.constant 2 : i32
  %nought = arith.constant 0.0 : f32
  %zeros = nv_tileas.splat %nought : (f32) -> tensor<16x16xf32>
  %sum = nv_tileas.for %zero, %ten, %two initial(%zeros) : (i32, i32, i32, tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb1(%k: i32, %c: tensor<16x16xf32>):
    %d = nv_tileas.dot %x, %x, %c : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    nv_tileas.continue %d : (tensor<16x16xf32>) -> ()
  }
  %u = nv_tileas.tiled_store %a, %sum coords(%zero, %zero) {mem_semantic = "weak"} : (!v, tensor<16x16xf32>, i32, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [16, 16], dim_map = [0, 1], steps = [16, 16], sparse = -1, padding = zero>
!view1 = !nv_tileaa.tiled_view<strided, !memref0, tile = [16, 4], dim_map = [0, 1], steps = [16, 4], sparse = -1, padding = zero>
nv_tileaa.func @k attributes {schedule = {split_k = 4 : i32}, num_ctas = 4 : i32} {
^bb0(%p: !nv_tileaa.ptr<f32>, %rows: i32, %columns: i32, %s: i32, %x: tensor<16x16xf32>):
  %0 = nv_tileas.get_cta_rank : i32
  %mem = nv_tileas.make_memref %p sizes(%rows, %columns) strides(%s) : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !memref0
  %a = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %zero = arith.constant 0 : i32
  %ten = arith.constant 10 : i32
  %two = arith.constant 2 : i32
  %nought = arith.constant 0.000000e+00 : f32
  %zeros = nv_tileas.splat %nought : (f32) -> tensor<16x16xf32>
  %1 = arith.constant 4 : i32
  %2 = arith.muli %0, %1 : i32
  %3 = arith.constant 4 : i32
  %4 = arith.addi %2, %3 : i32
  %5 = arith.cmpi %4, %ten {predicate = "slt"} : (i32, i32) -> i1
  %6 = arith.select %5, %4, %ten : (i1, i32, i32) -> i32
  %zeros_1 = nv_tileas.splat %nought : (f32) -> tensor<16x16xf32>
  %sum = nv_tileas.for %2, %6, %two initial(%zeros_1) : (i32, i32, i32, tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb0(%k: i32, %c: tensor<16x16xf32>):
    %d = nv_tileas.dot %x, %x, %c : tensor<16x16xf32>
    nv_tileas.continue %d : (tensor<16x16xf32>) -> ()
  }
  %sum_1 = nv_tileas.cluster_reduce %sum {dim = 1 : i32} : (tensor<16x16xf32>) -> tensor<16x4xf32>
  %7, %8 = nv_tileas.get_tile_count %a : (!view0) -> (i32, i32)
  %9 = arith.minui %zero, %8 : i32
  %10 = arith.constant 4 : i32
  %11 = arith.muli %9, %10 : i32
  %12 = arith.addi %11, %0 : i32
  %13 = nv_tileas.block_tile %mem : (!memref0) -> !view1
  %u = nv_tileas.tiled_store %13, %sum_1 coords(%zero, %12) {mem_semantic = "weak", index_checks = array<i32: 2, 1>} : (!view1, tensor<16x4xf32>, i32, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- an_accumulator_that_is_not_zero_before_the_loop
nv_tileaa.func @k attributes {schedule = {split_k = 2 : i32}} {
^bb0(%x: tensor<16x16xf32>, %first: i32, %end: i32):
  %one = arith.constant 1 : i32
  %sum = nv_tileas.for %first, %end, %one initial(%x) : (i32, i32, i32, tensor<16x16xf32>) -> tensor<16x16xf32> {
  ^bb1(%k: i32, %c: tensor<16x16xf32>):
    %d = nv_tileas.dot %x, %x, %c : (tensor<16x16xf32>, tensor<16x16xf32>, tensor<16x16xf32>) -> tensor<16x16xf32>
    nv_tileas.continue %d : (tensor<16x16xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
// .schedule: error[schedule-refused]: split_k = 2 is refused: an accumulator is not zero before the loop; add to it after the loop

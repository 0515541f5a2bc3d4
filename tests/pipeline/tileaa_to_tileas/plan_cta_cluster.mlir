// Tiles are divided over the CTAs of a cluster where num_cta_in_cga asks and no CTA needs another's part.
// run: tileas-plan-cta-cluster sm_90

// ---- an_elementwise_kernel_takes_its_part_of_each_view
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<sm_90 = {num_cta_in_cga = 2}>} {
^bb0(%p: !nv_tileaa.ptr<f32>, %n: i32):
  %m = nv_tileas.make_memref %p sizes(%n) {} : (!nv_tileaa.ptr<f32>, i32) -> !nv_tileaa.memref<f32, [?], [1]>
  %b = nv_tileas.get_program_id {axis = 0 : i32} : i32
  %v = nv_tileas.block_tile %m : (!nv_tileaa.memref<f32, [?], [1]>) -> !nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f32, [?], [1]>, tile = [64], dim_map = [0], steps = [64], sparse = -1, padding = none>
  %x, %t = nv_tileas.tiled_load %v coords(%b) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f32, [?], [1]>, tile = [64], dim_map = [0], steps = [64], sparse = -1, padding = none>, i32) -> (tensor<64xf32>, !nv_tileaa.mem_token)
  %c = arith.constant dense<2.0> : tensor<64xf32>
  %y = nv_tileas.mulf %x, %c : tensor<64xf32>
  %u = nv_tileas.tiled_store %v, %y coords(%b) {mem_semantic = "weak"} : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f32, [?], [1]>, tile = [64], dim_map = [0], steps = [64], sparse = -1, padding = none>, tensor<64xf32>, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f32, [?], [1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [64], dim_map = [0], steps = [64], sparse = -1, padding = none>
!view1 = !nv_tileaa.tiled_view<strided, !memref0, tile = [32], dim_map = [0], steps = [32], sparse = -1, padding = none>
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<sm_90 = {num_cta_in_cga = 2}>, num_ctas = 2 : i32, schedule = {num_ctas = 2 : i32}} {
^bb0(%p: !nv_tileaa.ptr<f32>, %n: i32):
  %0 = nv_tileas.get_cta_rank : i32
  %m = nv_tileas.make_memref %p sizes(%n) : (!nv_tileaa.ptr<f32>, i32) -> !memref0
  %b = nv_tileas.get_program_id {axis = 0 : i32} : i32
  %v = nv_tileas.block_tile %m : (!memref0) -> !view0
  %1 = nv_tileas.get_tile_count %v : (!view0) -> i32
  %2 = arith.minui %b, %1 : i32
  %3 = arith.constant 2 : i32
  %4 = arith.muli %2, %3 : i32
  %5 = arith.addi %4, %0 : i32
  %6 = nv_tileas.block_tile %m : (!memref0) -> !view1
  %x, %t = nv_tileas.tiled_load %6 coords(%5) {mem_semantic = "weak", index_checks = array<i32: 1>} : (!view1, i32) -> (tensor<32xf32>, !nv_tileaa.mem_token)
  %c = arith.constant dense<2.000000e+00> : tensor<32xf32>
  %y = nv_tileas.mulf %x, %c : tensor<32xf32>
  %u = nv_tileas.tiled_store %6, %y coords(%5) {mem_semantic = "weak", index_checks = array<i32: 1>} : (!view1, tensor<32xf32>, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- a_matmul_by_rows_reads_all_of_the_right_operand
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {num_cta_in_cga = 4}>} {
^bb0(%o: !nv_tileaa.ptr<f32>, %i: !nv_tileaa.ptr<f16>):
  %p = nv_tileas.splat %o : (!nv_tileaa.ptr<f32>) -> tensor<256x64x!nv_tileaa.ptr<f32>>
  %ap = nv_tileas.splat %i : (!nv_tileaa.ptr<f16>) -> tensor<256x16x!nv_tileaa.ptr<f16>>
  %bp = nv_tileas.splat %i : (!nv_tileaa.ptr<f16>) -> tensor<16x64x!nv_tileaa.ptr<f16>>
  %a, %ta = nv_tileas.load %ap {mem_semantic = "weak"} : (tensor<256x16x!nv_tileaa.ptr<f16>>) -> (tensor<256x16xf16>, !nv_tileaa.mem_token)
  %b, %tb = nv_tileas.load %bp {mem_semantic = "weak"} : (tensor<16x64x!nv_tileaa.ptr<f16>>) -> (tensor<16x64xf16>, !nv_tileaa.mem_token)
  %zero = arith.constant 0.0 : f32
  %c = nv_tileas.splat %zero : (f32) -> tensor<256x64xf32>
  %r = nv_tileas.dot %a, %b, %c : (tensor<256x16xf16>, tensor<16x64xf16>, tensor<256x64xf32>) -> tensor<256x64xf32>
  %u = nv_tileas.store %p, %r {mem_semantic = "weak"} : (tensor<256x64x!nv_tileaa.ptr<f32>>, tensor<256x64xf32>) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {num_cta_in_cga = 4}>, num_ctas = 4 : i32, schedule = {num_ctas = 4 : i32}} {
^bb0(%o: !nv_tileaa.ptr<f32>, %i: !nv_tileaa.ptr<f16>):
  %p = nv_tileas.splat %o : (!nv_tileaa.ptr<f32>) -> tensor<64x64x!nv_tileaa.ptr<f32>>
  %ap = nv_tileas.splat %i : (!nv_tileaa.ptr<f16>) -> tensor<64x16x!nv_tileaa.ptr<f16>>
  %bp = nv_tileas.splat %i : (!nv_tileaa.ptr<f16>) -> tensor<16x64x!nv_tileaa.ptr<f16>>
  %a, %ta = nv_tileas.load %ap {mem_semantic = "weak"} : (tensor<64x16x!nv_tileaa.ptr<f16>>) -> (tensor<64x16xf16>, !nv_tileaa.mem_token)
  %b, %tb = nv_tileas.load %bp {mem_semantic = "weak"} : (tensor<16x64x!nv_tileaa.ptr<f16>>) -> (tensor<16x64xf16>, !nv_tileaa.mem_token)
  %zero = arith.constant 0.000000e+00 : f32
  %c = nv_tileas.splat %zero : (f32) -> tensor<64x64xf32>
  %r = nv_tileas.dot %a, %b, %c : (tensor<64x16xf16>, tensor<16x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %u = nv_tileas.store %p, %r {mem_semantic = "weak"} : (tensor<64x64x!nv_tileaa.ptr<f32>>, tensor<64x64xf32>) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- a_range_starts_at_the_part
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {num_cta_in_cga = 2}>} {
^bb0(%p: !nv_tileaa.ptr<i64>):
  %i = nv_tileas.make_range : tensor<32xi64>
  %s = nv_tileas.splat %p : (!nv_tileaa.ptr<i64>) -> tensor<32x!nv_tileaa.ptr<i64>>
  %q = nv_tileas.addptr %s, %i : (tensor<32x!nv_tileaa.ptr<i64>>, tensor<32xi64>) -> tensor<32x!nv_tileaa.ptr<i64>>
  %u = nv_tileas.store %q, %i {mem_semantic = "weak"} : (tensor<32x!nv_tileaa.ptr<i64>>, tensor<32xi64>) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {num_cta_in_cga = 2}>, num_ctas = 2 : i32, schedule = {num_ctas = 2 : i32}} {
^bb0(%p: !nv_tileaa.ptr<i64>):
  %0 = nv_tileas.get_cta_rank : i32
  %i = nv_tileas.make_range : tensor<16xi64>
  %1 = arith.extui %0 : (i32) -> i64
  %2 = arith.constant 16 : i64
  %3 = arith.muli %1, %2 : i64
  %4 = nv_tileas.splat %3 : (i64) -> tensor<16xi64>
  %5 = arith.addi %i, %4 : tensor<16xi64>
  %s = nv_tileas.splat %p : (!nv_tileaa.ptr<i64>) -> tensor<16x!nv_tileaa.ptr<i64>>
  %q = nv_tileas.addptr %s, %5 : (tensor<16x!nv_tileaa.ptr<i64>>, tensor<16xi64>) -> tensor<16x!nv_tileaa.ptr<i64>>
  %u = nv_tileas.store %q, %5 {mem_semantic = "weak"} : (tensor<16x!nv_tileaa.ptr<i64>>, tensor<16xi64>) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- what_a_loop_carries_is_divided_together_and_a_scalar_is_stored_once
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {num_cta_in_cga = 2}>} {
^bb0(%p: !nv_tileaa.ptr<i32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = nv_tileas.make_range : tensor<32xi32>
  %r = nv_tileas.for %zero, %n, %one initial(%i) : (i32, i32, i32, tensor<32xi32>) -> tensor<32xi32> {
  ^bb1(%step: i32, %sum: tensor<32xi32>):
    %next = arith.addi %sum, %i : tensor<32xi32>
    nv_tileas.continue %next : (tensor<32xi32>) -> ()
  }
  %s = nv_tileas.splat %p : (!nv_tileaa.ptr<i32>) -> tensor<32x!nv_tileaa.ptr<i32>>
  %q = nv_tileas.addptr %s, %i : (tensor<32x!nv_tileaa.ptr<i32>>, tensor<32xi32>) -> tensor<32x!nv_tileaa.ptr<i32>>
  %u = nv_tileas.store %q, %r {mem_semantic = "weak"} : (tensor<32x!nv_tileaa.ptr<i32>>, tensor<32xi32>) -> !nv_tileaa.mem_token
  %w = nv_tileas.store %p, %n {mem_semantic = "weak"} : (!nv_tileaa.ptr<i32>, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {num_cta_in_cga = 2}>, num_ctas = 2 : i32, schedule = {num_ctas = 2 : i32}} {
^bb0(%p: !nv_tileaa.ptr<i32>, %n: i32):
  %0 = nv_tileas.get_cta_rank : i32
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %i = nv_tileas.make_range : tensor<16xi32>
  %1 = arith.constant 16 : i32
  %2 = arith.muli %0, %1 : i32
  %3 = nv_tileas.splat %2 : (i32) -> tensor<16xi32>
  %4 = arith.addi %i, %3 : tensor<16xi32>
  %r = nv_tileas.for %zero, %n, %one initial(%4) : (i32, i32, i32, tensor<16xi32>) -> tensor<16xi32> {
  ^bb0(%step: i32, %sum: tensor<16xi32>):
    %next = arith.addi %sum, %4 : tensor<16xi32>
    nv_tileas.continue %next : (tensor<16xi32>) -> ()
  }
  %s = nv_tileas.splat %p : (!nv_tileaa.ptr<i32>) -> tensor<16x!nv_tileaa.ptr<i32>>
  %q = nv_tileas.addptr %s, %4 : (tensor<16x!nv_tileaa.ptr<i32>>, tensor<16xi32>) -> tensor<16x!nv_tileaa.ptr<i32>>
  %u = nv_tileas.store %q, %r {mem_semantic = "weak"} : (tensor<16x!nv_tileaa.ptr<i32>>, tensor<16xi32>) -> !nv_tileaa.mem_token
  %5 = arith.cmpi %0, %zero {predicate = "eq"} : (i32, i32) -> i1
  %w = nv_tileas.if %5 : (i1) -> !nv_tileaa.mem_token {
    %w_1 = nv_tileas.store %p, %n {mem_semantic = "weak"} : (!nv_tileaa.ptr<i32>, i32) -> !nv_tileaa.mem_token
    nv_tileas.yield %w_1 : (!nv_tileaa.mem_token) -> ()
  } {
    %6 = nv_tileas.create_mem_token : !nv_tileaa.mem_token
    nv_tileas.yield %6 : (!nv_tileaa.mem_token) -> ()
  }
  nv_tileaa.return
}

// ---- a_reduction_of_the_only_dimension_leaves_the_kernel_whole
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {num_cta_in_cga = 2}>} {
^bb0(%p: !nv_tileaa.ptr<i32>, %x: tensor<32xi32>):
  %r = nv_tileas.reduce %x attributes {axis = 0 : i32} : (tensor<32xi32>) -> i32 {
  ^bb1(%a: i32, %b: i32):
    %s = arith.addi %a, %b : i32
    nv_tileas.yield %s : (i32) -> ()
  }
  %u = nv_tileas.store %p, %r {mem_semantic = "weak"} : (!nv_tileaa.ptr<i32>, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {num_cta_in_cga = 2}>, num_ctas_declined = "no tile that the kernel writes can be sharded"} {
^bb0(%p: !nv_tileaa.ptr<i32>, %x: tensor<32xi32>):
  %r = nv_tileas.reduce %x attributes {axis = 0 : i32} : (tensor<32xi32>) -> i32 {
  ^bb0(%a: i32, %b: i32):
    %s = arith.addi %a, %b : i32
    nv_tileas.yield %s : (i32) -> ()
  }
  %u = nv_tileas.store %p, %r {mem_semantic = "weak"} : (!nv_tileaa.ptr<i32>, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- a_flag_that_it_waits_for_leaves_the_kernel_whole
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {num_cta_in_cga = 2}>} {
^bb0(%o: !nv_tileaa.ptr<i32>, %n: i32):
  %p = nv_tileas.splat %o : (!nv_tileaa.ptr<i32>) -> tensor<32x!nv_tileaa.ptr<i32>>
  %x = nv_tileas.splat %n : (i32) -> tensor<32xi32>
  %f, %t = nv_tileas.load %o {mem_semantic = "acquire", mem_scope = "device"} : (!nv_tileaa.ptr<i32>) -> (i32, !nv_tileaa.mem_token)
  %u = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<32x!nv_tileaa.ptr<i32>>, tensor<32xi32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {num_cta_in_cga = 2}>, num_ctas_declined = "nv_tileas.load is acquire, not weak"} {
^bb0(%o: !nv_tileaa.ptr<i32>, %n: i32):
  %p = nv_tileas.splat %o : (!nv_tileaa.ptr<i32>) -> tensor<32x!nv_tileaa.ptr<i32>>
  %x = nv_tileas.splat %n : (i32) -> tensor<32xi32>
  %f, %t = nv_tileas.load %o {mem_semantic = "acquire", mem_scope = "device"} : (!nv_tileaa.ptr<i32>) -> (i32, !nv_tileaa.mem_token)
  %u = nv_tileas.store %p, %x token(%t) {mem_semantic = "weak"} : (tensor<32x!nv_tileaa.ptr<i32>>, tensor<32xi32>, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- an_atomic_of_a_tile_block_leaves_the_kernel_whole
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {num_cta_in_cga = 2}>} {
^bb0(%o: !nv_tileaa.ptr<i32>, %n: i32):
  %p = nv_tileas.splat %o : (!nv_tileaa.ptr<i32>) -> tensor<32x!nv_tileaa.ptr<i32>>
  %x = nv_tileas.splat %n : (i32) -> tensor<32xi32>
  %y, %u = nv_tileas.atomic_rmw %p, %x {mode = "add", mem_semantic = "relaxed", mem_scope = "tl_blk"} : (tensor<32x!nv_tileaa.ptr<i32>>, tensor<32xi32>) -> (tensor<32xi32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {num_cta_in_cga = 2}>, num_ctas_declined = "nv_tileas.atomic_rmw has the scope of a tile block, which would be that of a CTA"} {
^bb0(%o: !nv_tileaa.ptr<i32>, %n: i32):
  %p = nv_tileas.splat %o : (!nv_tileaa.ptr<i32>) -> tensor<32x!nv_tileaa.ptr<i32>>
  %x = nv_tileas.splat %n : (i32) -> tensor<32xi32>
  %y, %u = nv_tileas.atomic_rmw %p, %x {mode = "add", mem_semantic = "relaxed", mem_scope = "tl_blk"} : (tensor<32x!nv_tileaa.ptr<i32>>, tensor<32xi32>) -> (tensor<32xi32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- barriers_of_the_cluster_order_flags_that_others_wait_for
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {num_cta_in_cga = 2}>} {
^bb0(%o: !nv_tileaa.ptr<i32>, %n: i32):
  %p = nv_tileas.splat %o : (!nv_tileaa.ptr<i32>) -> tensor<32x!nv_tileaa.ptr<i32>>
  %x = nv_tileas.splat %n : (i32) -> tensor<32xi32>
  %u = nv_tileas.store %p, %x {mem_semantic = "release", mem_scope = "device"} : (tensor<32x!nv_tileaa.ptr<i32>>, tensor<32xi32>) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {num_cta_in_cga = 2}>, cluster_barriers, num_ctas = 2 : i32, schedule = {num_ctas = 2 : i32}} {
^bb0(%o: !nv_tileaa.ptr<i32>, %n: i32):
  %p = nv_tileas.splat %o : (!nv_tileaa.ptr<i32>) -> tensor<16x!nv_tileaa.ptr<i32>>
  %x = nv_tileas.splat %n : (i32) -> tensor<16xi32>
  %u = nv_tileas.store %p, %x {mem_semantic = "release", mem_scope = "device"} : (tensor<16x!nv_tileaa.ptr<i32>>, tensor<16xi32>) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- without_the_hint_nothing_changes
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<sm_100 = {num_cta_in_cga = 2}>} {
^bb0(%p: tensor<32x!nv_tileaa.ptr<i32>>, %x: tensor<32xi32>):
  %u = nv_tileas.store %p, %x {mem_semantic = "weak"} : (tensor<32x!nv_tileaa.ptr<i32>>, tensor<32xi32>) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<sm_100 = {num_cta_in_cga = 2}>} {
^bb0(%p: tensor<32x!nv_tileaa.ptr<i32>>, %x: tensor<32xi32>):
  %u = nv_tileas.store %p, %x {mem_semantic = "weak"} : (tensor<32x!nv_tileaa.ptr<i32>>, tensor<32xi32>) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

// ---- a_target_without_clusters_ignores_the_hint
// run: tileas-plan-cta-cluster sm_89
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {num_cta_in_cga = 2}>} {
^bb0(%p: tensor<32x!nv_tileaa.ptr<i32>>, %x: tensor<32xi32>):
  %u = nv_tileas.store %p, %x {mem_semantic = "weak"} : (tensor<32x!nv_tileaa.ptr<i32>>, tensor<32xi32>) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {num_cta_in_cga = 2}>} {
^bb0(%p: tensor<32x!nv_tileaa.ptr<i32>>, %x: tensor<32xi32>):
  %u = nv_tileas.store %p, %x {mem_semantic = "weak"} : (tensor<32x!nv_tileaa.ptr<i32>>, tensor<32xi32>) -> !nv_tileaa.mem_token
  nv_tileaa.return
}

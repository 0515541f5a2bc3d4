// Chained matmuls: the accumulator of the second, and the left operand of the first, stay where the tensor core finds them.
// run: tileas-select-mma-and-tma sm_100

// ---- scores_whose_sum_is_scaled
!m = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!rows = !nv_tileaa.tiled_view<partition, !m, tile = [128, 64], dim_map = [0, 1], steps = [128, 64], sparse = -1, padding = zero>
!columns = !nv_tileaa.tiled_view<partition, !m, tile = [64, 128], dim_map = [1, 0], steps = [64, 128], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %m: i32, %n: i32, %s: i32, %end: i32):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %stride = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %mem = nv_tileas.make_memref %base sizes(%m, %n) strides(%stride) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !m
  %a = nv_tileas.block_tile %mem : (!m) -> !rows
  %b = nv_tileas.block_tile %mem : (!m) -> !columns
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %nothing = nv_tileas.splat %none : (f32) -> tensor<128x128xf32>
  %start = nv_tileas.splat %none : (f32) -> tensor<128x64xf32>
  %q, %t0 = nv_tileas.tiled_load %a coords(%zero, %zero) {mem_semantic = "weak"} : (!rows, i32, i32) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
  %sum = nv_tileas.for %zero, %end, %one initial(%start) : (i32, i32, i32, tensor<128x64xf32>) -> tensor<128x64xf32> {
  ^bb1(%i: i32, %total: tensor<128x64xf32>):
    %keys, %t1 = nv_tileas.tiled_load %b coords(%zero, %i) {mem_semantic = "weak"} : (!columns, i32, i32) -> (tensor<64x128xf16>, !nv_tileaa.mem_token)
    %scores = nv_tileas.dot %q, %keys, %nothing : (tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    %most = nv_tileas.reduce %scores attributes {axis = 1 : i32} : (tensor<128x128xf32>) -> tensor<128xf32> {
    ^bb2(%x: f32, %y: f32):
      %larger = arith.maxnumf %x, %y : f32
      nv_tileas.yield %larger : (f32) -> ()
    }
    %column = nv_tileas.view %most : (tensor<128xf32>) -> tensor<128x1xf32>
    %factors = nv_tileas.broadcast %column : (tensor<128x1xf32>) -> tensor<128x64xf32>
    %weights = nv_tileas.fp_to_fp %scores {rounding_mode = "nearest_even"} : (tensor<128x128xf32>) -> tensor<128x128xf16>
    %values, %t2 = nv_tileas.tiled_load %a coords(%i, %zero) {mem_semantic = "weak"} : (!rows, i32, i32) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
    %scaled = nv_tileas.mulf %total, %factors {rounding_mode = "nearest_even"} : tensor<128x64xf32>
    %next = nv_tileas.dot %weights, %values, %scaled : (tensor<128x128xf16>, tensor<128x64xf16>, tensor<128x64xf32>) -> tensor<128x64xf32>
    nv_tileas.continue %next : (tensor<128x64xf32>) -> ()
  }
  %double = nv_tileas.addf %sum, %sum : (tensor<128x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 64], dim_map = [0, 1], steps = [128, 64], sparse = -1, padding = zero>
!view1 = !nv_tileaa.tiled_view<partition, !memref0, tile = [64, 128], dim_map = [1, 0], steps = [64, 128], sparse = -1, padding = zero>
nv_tileaa.func @k attributes {schedule = {num_warps = 4 : i32, occupancy = 2 : i32, tmem_accumulators = true}} {
^bb0(%p: !nv_tileaa.ptr<f16>, %m: i32, %n: i32, %s: i32, %end: i32):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %stride = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %mem = nv_tileas.make_memref %base sizes(%m, %n) strides(%stride) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %a = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %b = nv_tileas.block_tile %mem : (!memref0) -> !view1
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %nothing = nv_tileas.splat %none : (f32) -> tensor<128x128xf32>
  %start = nv_tileas.splat %none : (f32) -> tensor<128x64xf32>
  %q, %t0 = nv_tileas.tiled_load %a coords(%zero, %zero) {mem_semantic = "weak", tma} : (!view0, i32, i32) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
  %sum = nv_tileas.for %zero, %end, %one initial(%start) : (i32, i32, i32, tensor<128x64xf32>) -> tensor<128x64xf32> {
  ^bb0(%i: i32, %total: tensor<128x64xf32>):
    %keys, %t1 = nv_tileas.tiled_load %b coords(%zero, %i) {mem_semantic = "weak", tma} : (!view1, i32, i32) -> (tensor<64x128xf16>, !nv_tileaa.mem_token)
    %scores = nv_tileas.dot %q, %keys, %nothing {mma = "tcgen05_k16_f16_f16_f32", stationary} : (tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    %most = nv_tileas.reduce %scores attributes {axis = 1 : i32} : (tensor<128x128xf32>) -> tensor<128xf32> {
    ^bb0(%x: f32, %y: f32):
      %larger = arith.maxnumf %x, %y : f32
      nv_tileas.yield %larger : (f32) -> ()
    }
    %column = nv_tileas.view %most : (tensor<128xf32>) -> tensor<128x1xf32>
    %factors = nv_tileas.broadcast %column : (tensor<128x1xf32>) -> tensor<128x64xf32>
    %weights = nv_tileas.fp_to_fp %scores {rounding_mode = "nearest_even"} : (tensor<128x128xf32>) -> tensor<128x128xf16>
    %values, %t2 = nv_tileas.tiled_load %a coords(%i, %zero) {mem_semantic = "weak", tma} : (!view0, i32, i32) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
    %scaled = nv_tileas.mulf %total, %factors {rounding_mode = "nearest_even"} : tensor<128x64xf32>
    %next = nv_tileas.dot %weights, %values, %scaled {mma = "tcgen05_k16_f16_f16_f32", rescaled} : (tensor<128x128xf16>, tensor<128x64xf16>, tensor<128x64xf32>) -> tensor<128x64xf32>
    nv_tileas.continue %next : (tensor<128x64xf32>) -> ()
  }
  %double = nv_tileas.addf %sum, %sum : tensor<128x64xf32>
  nv_tileaa.return
}

// ---- a_sum_that_is_read_in_the_loop_is_left_alone
!m = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!rows = !nv_tileaa.tiled_view<partition, !m, tile = [128, 64], dim_map = [0, 1], steps = [128, 64], sparse = -1, padding = zero>
!columns = !nv_tileaa.tiled_view<partition, !m, tile = [64, 128], dim_map = [1, 0], steps = [64, 128], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %m: i32, %n: i32, %s: i32, %end: i32):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %stride = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %mem = nv_tileas.make_memref %base sizes(%m, %n) strides(%stride) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !m
  %a = nv_tileas.block_tile %mem : (!m) -> !rows
  %b = nv_tileas.block_tile %mem : (!m) -> !columns
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %nothing = nv_tileas.splat %none : (f32) -> tensor<128x128xf32>
  %start = nv_tileas.splat %none : (f32) -> tensor<128x64xf32>
  %q, %t0 = nv_tileas.tiled_load %a coords(%zero, %zero) {mem_semantic = "weak"} : (!rows, i32, i32) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
  %sum = nv_tileas.for %zero, %end, %one initial(%start) : (i32, i32, i32, tensor<128x64xf32>) -> tensor<128x64xf32> {
  ^bb1(%i: i32, %total: tensor<128x64xf32>):
    %keys, %t1 = nv_tileas.tiled_load %b coords(%zero, %i) {mem_semantic = "weak"} : (!columns, i32, i32) -> (tensor<64x128xf16>, !nv_tileaa.mem_token)
    %scores = nv_tileas.dot %q, %keys, %nothing : (tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    %most = nv_tileas.reduce %scores attributes {axis = 1 : i32} : (tensor<128x128xf32>) -> tensor<128xf32> {
    ^bb2(%x: f32, %y: f32):
      %larger = arith.maxnumf %x, %y : f32
      nv_tileas.yield %larger : (f32) -> ()
    }
    %column = nv_tileas.view %most : (tensor<128xf32>) -> tensor<128x1xf32>
    %factors = nv_tileas.broadcast %column : (tensor<128x1xf32>) -> tensor<128x64xf32>
    %weights = nv_tileas.fp_to_fp %scores {rounding_mode = "nearest_even"} : (tensor<128x128xf32>) -> tensor<128x128xf16>
    %values, %t2 = nv_tileas.tiled_load %a coords(%i, %zero) {mem_semantic = "weak"} : (!rows, i32, i32) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
    %scaled = nv_tileas.mulf %total, %factors {rounding_mode = "nearest_even"} : tensor<128x64xf32>
    %next = nv_tileas.dot %weights, %values, %scaled : (tensor<128x128xf16>, tensor<128x64xf16>, tensor<128x64xf32>) -> tensor<128x64xf32>
    %seen = nv_tileas.addf %next, %next : (tensor<128x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
    nv_tileas.continue %seen : (tensor<128x64xf32>) -> ()
  }
  %double = nv_tileas.addf %sum, %sum : (tensor<128x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 64], dim_map = [0, 1], steps = [128, 64], sparse = -1, padding = zero>
!view1 = !nv_tileaa.tiled_view<partition, !memref0, tile = [64, 128], dim_map = [1, 0], steps = [64, 128], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %m: i32, %n: i32, %s: i32, %end: i32):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %stride = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %mem = nv_tileas.make_memref %base sizes(%m, %n) strides(%stride) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %a = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %b = nv_tileas.block_tile %mem : (!memref0) -> !view1
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %nothing = nv_tileas.splat %none : (f32) -> tensor<128x128xf32>
  %start = nv_tileas.splat %none : (f32) -> tensor<128x64xf32>
  %q, %t0 = nv_tileas.tiled_load %a coords(%zero, %zero) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
  %sum = nv_tileas.for %zero, %end, %one initial(%start) : (i32, i32, i32, tensor<128x64xf32>) -> tensor<128x64xf32> {
  ^bb0(%i: i32, %total: tensor<128x64xf32>):
    %keys, %t1 = nv_tileas.tiled_load %b coords(%zero, %i) {mem_semantic = "weak", tma} : (!view1, i32, i32) -> (tensor<64x128xf16>, !nv_tileaa.mem_token)
    %scores = nv_tileas.dot %q, %keys, %nothing {mma = "tcgen05_k16_f16_f16_f32", tmem_columns = 160 : i32} : (tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    %most = nv_tileas.reduce %scores attributes {axis = 1 : i32} : (tensor<128x128xf32>) -> tensor<128xf32> {
    ^bb0(%x: f32, %y: f32):
      %larger = arith.maxnumf %x, %y : f32
      nv_tileas.yield %larger : (f32) -> ()
    }
    %column = nv_tileas.view %most : (tensor<128xf32>) -> tensor<128x1xf32>
    %factors = nv_tileas.broadcast %column : (tensor<128x1xf32>) -> tensor<128x64xf32>
    %weights = nv_tileas.fp_to_fp %scores {rounding_mode = "nearest_even"} : (tensor<128x128xf32>) -> tensor<128x128xf16>
    %values, %t2 = nv_tileas.tiled_load %a coords(%i, %zero) {mem_semantic = "weak", tma} : (!view0, i32, i32) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
    %scaled = nv_tileas.mulf %total, %factors {rounding_mode = "nearest_even"} : tensor<128x64xf32>
    %next = nv_tileas.dot %weights, %values, %scaled {mma = "tcgen05_k16_f16_f16_f32", tmem_columns = 128 : i32} : (tensor<128x128xf16>, tensor<128x64xf16>, tensor<128x64xf32>) -> tensor<128x64xf32>
    %seen = nv_tileas.addf %next, %next : tensor<128x64xf32>
    nv_tileas.continue %seen : (tensor<128x64xf32>) -> ()
  }
  %double = nv_tileas.addf %sum, %sum : tensor<128x64xf32>
  nv_tileaa.return
}

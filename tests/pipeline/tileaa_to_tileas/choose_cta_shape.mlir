// A warpgroup for each 64 rows of chained matmuls, and two CTAs where registers and shared memory are enough.
// The hint occupancy is obeyed as far as registers reach.
// run: tileas-choose-cta-shape sm_90

// ---- two_ctas_of_two_warpgroups
!m = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!rows = !nv_tileaa.tiled_view<partition, !m, tile = [128, 64], dim_map = [0, 1], steps = [128, 64], sparse = -1, padding = zero>
!columns = !nv_tileaa.tiled_view<partition, !m, tile = [64, 64], dim_map = [1, 0], steps = [64, 64], sparse = -1, padding = zero>
!values = !nv_tileaa.tiled_view<partition, !m, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %m: i32, %n: i32, %s: i32, %end: i32):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %stride = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %mem = nv_tileas.make_memref %base sizes(%m, %n) strides(%stride) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !m
  %a = nv_tileas.block_tile %mem : (!m) -> !rows
  %b = nv_tileas.block_tile %mem : (!m) -> !columns
  %v = nv_tileas.block_tile %mem : (!m) -> !values
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %nothing = nv_tileas.splat %none : (f32) -> tensor<128x64xf32>
  %start = nv_tileas.splat %none : (f32) -> tensor<128x64xf32>
  %q, %t0 = nv_tileas.tiled_load %a coords(%zero, %zero) {mem_semantic = "weak"} : (!rows, i32, i32) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
  %sum = nv_tileas.for %zero, %end, %one initial(%start) : (i32, i32, i32, tensor<128x64xf32>) -> tensor<128x64xf32> {
  ^bb1(%i: i32, %total: tensor<128x64xf32>):
    %keys, %t1 = nv_tileas.tiled_load %b coords(%zero, %i) {mem_semantic = "weak"} : (!columns, i32, i32) -> (tensor<64x64xf16>, !nv_tileaa.mem_token)
    %scores = nv_tileas.dot %q, %keys, %nothing : (tensor<128x64xf16>, tensor<64x64xf16>, tensor<128x64xf32>) -> tensor<128x64xf32>
    %most = nv_tileas.reduce %scores attributes {axis = 1 : i32} : (tensor<128x64xf32>) -> tensor<128xf32> {
    ^bb2(%x: f32, %y: f32):
      %larger = arith.maxnumf %x, %y : f32
      nv_tileas.yield %larger : (f32) -> ()
    }
    %column = nv_tileas.view %most : (tensor<128xf32>) -> tensor<128x1xf32>
    %factors = nv_tileas.broadcast %column : (tensor<128x1xf32>) -> tensor<128x64xf32>
    %weights = nv_tileas.fp_to_fp %scores {rounding_mode = "nearest_even"} : (tensor<128x64xf32>) -> tensor<128x64xf16>
    %values, %t2 = nv_tileas.tiled_load %v coords(%i, %zero) {mem_semantic = "weak"} : (!values, i32, i32) -> (tensor<64x64xf16>, !nv_tileaa.mem_token)
    %scaled = nv_tileas.mulf %total, %factors {rounding_mode = "nearest_even"} : tensor<128x64xf32>
    %next = nv_tileas.dot %weights, %values, %scaled : (tensor<128x64xf16>, tensor<64x64xf16>, tensor<128x64xf32>) -> tensor<128x64xf32>
    nv_tileas.continue %next : (tensor<128x64xf32>) -> ()
  }
  %double = nv_tileas.addf %sum, %sum : (tensor<128x64xf32>, tensor<128x64xf32>) -> tensor<128x64xf32>
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 64], dim_map = [0, 1], steps = [128, 64], sparse = -1, padding = zero>
!view1 = !nv_tileaa.tiled_view<partition, !memref0, tile = [64, 64], dim_map = [1, 0], steps = [64, 64], sparse = -1, padding = zero>
!view2 = !nv_tileaa.tiled_view<partition, !memref0, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = zero>
nv_tileaa.func @k attributes {schedule = {num_warps = 8 : i32, occupancy = 2 : i32, setmaxnreg = true}} {
^bb0(%p: !nv_tileaa.ptr<f16>, %m: i32, %n: i32, %s: i32, %end: i32):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %stride = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %mem = nv_tileas.make_memref %base sizes(%m, %n) strides(%stride) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %a = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %b = nv_tileas.block_tile %mem : (!memref0) -> !view1
  %v = nv_tileas.block_tile %mem : (!memref0) -> !view2
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %nothing = nv_tileas.splat %none : (f32) -> tensor<128x64xf32>
  %start = nv_tileas.splat %none : (f32) -> tensor<128x64xf32>
  %q, %t0 = nv_tileas.tiled_load %a coords(%zero, %zero) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
  %sum = nv_tileas.for %zero, %end, %one initial(%start) : (i32, i32, i32, tensor<128x64xf32>) -> tensor<128x64xf32> {
  ^bb0(%i: i32, %total: tensor<128x64xf32>):
    %keys, %t1 = nv_tileas.tiled_load %b coords(%zero, %i) {mem_semantic = "weak"} : (!view1, i32, i32) -> (tensor<64x64xf16>, !nv_tileaa.mem_token)
    %scores = nv_tileas.dot %q, %keys, %nothing : (tensor<128x64xf16>, tensor<64x64xf16>, tensor<128x64xf32>) -> tensor<128x64xf32>
    %most = nv_tileas.reduce %scores attributes {axis = 1 : i32} : (tensor<128x64xf32>) -> tensor<128xf32> {
    ^bb0(%x: f32, %y: f32):
      %larger = arith.maxnumf %x, %y : f32
      nv_tileas.yield %larger : (f32) -> ()
    }
    %column = nv_tileas.view %most : (tensor<128xf32>) -> tensor<128x1xf32>
    %factors = nv_tileas.broadcast %column : (tensor<128x1xf32>) -> tensor<128x64xf32>
    %weights = nv_tileas.fp_to_fp %scores {rounding_mode = "nearest_even"} : (tensor<128x64xf32>) -> tensor<128x64xf16>
    %values, %t2 = nv_tileas.tiled_load %v coords(%i, %zero) {mem_semantic = "weak"} : (!view2, i32, i32) -> (tensor<64x64xf16>, !nv_tileaa.mem_token)
    %scaled = nv_tileas.mulf %total, %factors {rounding_mode = "nearest_even"} : tensor<128x64xf32>
    %next = nv_tileas.dot %weights, %values, %scaled : (tensor<128x64xf16>, tensor<64x64xf16>, tensor<128x64xf32>) -> tensor<128x64xf32>
    nv_tileas.continue %next : (tensor<128x64xf32>) -> ()
  }
  %double = nv_tileas.addf %sum, %sum : tensor<128x64xf32>
  nv_tileaa.return
}

// ---- one_cta_of_two
!m = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!rows = !nv_tileaa.tiled_view<partition, !m, tile = [128, 64], dim_map = [0, 1], steps = [128, 64], sparse = -1, padding = zero>
!columns = !nv_tileaa.tiled_view<partition, !m, tile = [64, 128], dim_map = [1, 0], steps = [64, 128], sparse = -1, padding = zero>
!values = !nv_tileaa.tiled_view<partition, !m, tile = [128, 64], dim_map = [0, 1], steps = [128, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %m: i32, %n: i32, %s: i32, %end: i32):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %stride = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %mem = nv_tileas.make_memref %base sizes(%m, %n) strides(%stride) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !m
  %a = nv_tileas.block_tile %mem : (!m) -> !rows
  %b = nv_tileas.block_tile %mem : (!m) -> !columns
  %v = nv_tileas.block_tile %mem : (!m) -> !values
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
    %values, %t2 = nv_tileas.tiled_load %v coords(%i, %zero) {mem_semantic = "weak"} : (!values, i32, i32) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
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
nv_tileaa.func @k attributes {schedule = {num_warps = 8 : i32, setmaxnreg = true}} {
^bb0(%p: !nv_tileaa.ptr<f16>, %m: i32, %n: i32, %s: i32, %end: i32):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %stride = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %mem = nv_tileas.make_memref %base sizes(%m, %n) strides(%stride) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %a = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %b = nv_tileas.block_tile %mem : (!memref0) -> !view1
  %v = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %nothing = nv_tileas.splat %none : (f32) -> tensor<128x128xf32>
  %start = nv_tileas.splat %none : (f32) -> tensor<128x64xf32>
  %q, %t0 = nv_tileas.tiled_load %a coords(%zero, %zero) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
  %sum = nv_tileas.for %zero, %end, %one initial(%start) : (i32, i32, i32, tensor<128x64xf32>) -> tensor<128x64xf32> {
  ^bb0(%i: i32, %total: tensor<128x64xf32>):
    %keys, %t1 = nv_tileas.tiled_load %b coords(%zero, %i) {mem_semantic = "weak"} : (!view1, i32, i32) -> (tensor<64x128xf16>, !nv_tileaa.mem_token)
    %scores = nv_tileas.dot %q, %keys, %nothing : (tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    %most = nv_tileas.reduce %scores attributes {axis = 1 : i32} : (tensor<128x128xf32>) -> tensor<128xf32> {
    ^bb0(%x: f32, %y: f32):
      %larger = arith.maxnumf %x, %y : f32
      nv_tileas.yield %larger : (f32) -> ()
    }
    %column = nv_tileas.view %most : (tensor<128xf32>) -> tensor<128x1xf32>
    %factors = nv_tileas.broadcast %column : (tensor<128x1xf32>) -> tensor<128x64xf32>
    %weights = nv_tileas.fp_to_fp %scores {rounding_mode = "nearest_even"} : (tensor<128x128xf32>) -> tensor<128x128xf16>
    %values, %t2 = nv_tileas.tiled_load %v coords(%i, %zero) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<128x64xf16>, !nv_tileaa.mem_token)
    %scaled = nv_tileas.mulf %total, %factors {rounding_mode = "nearest_even"} : tensor<128x64xf32>
    %next = nv_tileas.dot %weights, %values, %scaled : (tensor<128x128xf16>, tensor<128x64xf16>, tensor<128x64xf32>) -> tensor<128x64xf32>
    nv_tileas.continue %next : (tensor<128x64xf32>) -> ()
  }
  %double = nv_tileas.addf %sum, %sum : tensor<128x64xf32>
  nv_tileaa.return
}

// ---- rows_of_half_a_warpgroup_stay
!m = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!rows = !nv_tileaa.tiled_view<partition, !m, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
!columns = !nv_tileaa.tiled_view<partition, !m, tile = [64, 64], dim_map = [1, 0], steps = [64, 64], sparse = -1, padding = zero>
!values = !nv_tileaa.tiled_view<partition, !m, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %m: i32, %n: i32, %s: i32, %end: i32):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %stride = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %mem = nv_tileas.make_memref %base sizes(%m, %n) strides(%stride) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !m
  %a = nv_tileas.block_tile %mem : (!m) -> !rows
  %b = nv_tileas.block_tile %mem : (!m) -> !columns
  %v = nv_tileas.block_tile %mem : (!m) -> !values
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %nothing = nv_tileas.splat %none : (f32) -> tensor<32x64xf32>
  %start = nv_tileas.splat %none : (f32) -> tensor<32x64xf32>
  %q, %t0 = nv_tileas.tiled_load %a coords(%zero, %zero) {mem_semantic = "weak"} : (!rows, i32, i32) -> (tensor<32x64xf16>, !nv_tileaa.mem_token)
  %sum = nv_tileas.for %zero, %end, %one initial(%start) : (i32, i32, i32, tensor<32x64xf32>) -> tensor<32x64xf32> {
  ^bb1(%i: i32, %total: tensor<32x64xf32>):
    %keys, %t1 = nv_tileas.tiled_load %b coords(%zero, %i) {mem_semantic = "weak"} : (!columns, i32, i32) -> (tensor<64x64xf16>, !nv_tileaa.mem_token)
    %scores = nv_tileas.dot %q, %keys, %nothing : (tensor<32x64xf16>, tensor<64x64xf16>, tensor<32x64xf32>) -> tensor<32x64xf32>
    %most = nv_tileas.reduce %scores attributes {axis = 1 : i32} : (tensor<32x64xf32>) -> tensor<32xf32> {
    ^bb2(%x: f32, %y: f32):
      %larger = arith.maxnumf %x, %y : f32
      nv_tileas.yield %larger : (f32) -> ()
    }
    %column = nv_tileas.view %most : (tensor<32xf32>) -> tensor<32x1xf32>
    %factors = nv_tileas.broadcast %column : (tensor<32x1xf32>) -> tensor<32x64xf32>
    %weights = nv_tileas.fp_to_fp %scores {rounding_mode = "nearest_even"} : (tensor<32x64xf32>) -> tensor<32x64xf16>
    %values, %t2 = nv_tileas.tiled_load %v coords(%i, %zero) {mem_semantic = "weak"} : (!values, i32, i32) -> (tensor<64x64xf16>, !nv_tileaa.mem_token)
    %scaled = nv_tileas.mulf %total, %factors {rounding_mode = "nearest_even"} : tensor<32x64xf32>
    %next = nv_tileas.dot %weights, %values, %scaled : (tensor<32x64xf16>, tensor<64x64xf16>, tensor<32x64xf32>) -> tensor<32x64xf32>
    nv_tileas.continue %next : (tensor<32x64xf32>) -> ()
  }
  %double = nv_tileas.addf %sum, %sum : (tensor<32x64xf32>, tensor<32x64xf32>) -> tensor<32x64xf32>
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
!view1 = !nv_tileaa.tiled_view<partition, !memref0, tile = [64, 64], dim_map = [1, 0], steps = [64, 64], sparse = -1, padding = zero>
!view2 = !nv_tileaa.tiled_view<partition, !memref0, tile = [64, 64], dim_map = [0, 1], steps = [64, 64], sparse = -1, padding = zero>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f16>, %m: i32, %n: i32, %s: i32, %end: i32):
  %base = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %stride = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %mem = nv_tileas.make_memref %base sizes(%m, %n) strides(%stride) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %a = nv_tileas.block_tile %mem : (!memref0) -> !view0
  %b = nv_tileas.block_tile %mem : (!memref0) -> !view1
  %v = nv_tileas.block_tile %mem : (!memref0) -> !view2
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %nothing = nv_tileas.splat %none : (f32) -> tensor<32x64xf32>
  %start = nv_tileas.splat %none : (f32) -> tensor<32x64xf32>
  %q, %t0 = nv_tileas.tiled_load %a coords(%zero, %zero) {mem_semantic = "weak"} : (!view0, i32, i32) -> (tensor<32x64xf16>, !nv_tileaa.mem_token)
  %sum = nv_tileas.for %zero, %end, %one initial(%start) : (i32, i32, i32, tensor<32x64xf32>) -> tensor<32x64xf32> {
  ^bb0(%i: i32, %total: tensor<32x64xf32>):
    %keys, %t1 = nv_tileas.tiled_load %b coords(%zero, %i) {mem_semantic = "weak"} : (!view1, i32, i32) -> (tensor<64x64xf16>, !nv_tileaa.mem_token)
    %scores = nv_tileas.dot %q, %keys, %nothing : (tensor<32x64xf16>, tensor<64x64xf16>, tensor<32x64xf32>) -> tensor<32x64xf32>
    %most = nv_tileas.reduce %scores attributes {axis = 1 : i32} : (tensor<32x64xf32>) -> tensor<32xf32> {
    ^bb0(%x: f32, %y: f32):
      %larger = arith.maxnumf %x, %y : f32
      nv_tileas.yield %larger : (f32) -> ()
    }
    %column = nv_tileas.view %most : (tensor<32xf32>) -> tensor<32x1xf32>
    %factors = nv_tileas.broadcast %column : (tensor<32x1xf32>) -> tensor<32x64xf32>
    %weights = nv_tileas.fp_to_fp %scores {rounding_mode = "nearest_even"} : (tensor<32x64xf32>) -> tensor<32x64xf16>
    %values, %t2 = nv_tileas.tiled_load %v coords(%i, %zero) {mem_semantic = "weak"} : (!view2, i32, i32) -> (tensor<64x64xf16>, !nv_tileaa.mem_token)
    %scaled = nv_tileas.mulf %total, %factors {rounding_mode = "nearest_even"} : tensor<32x64xf32>
    %next = nv_tileas.dot %weights, %values, %scaled : (tensor<32x64xf16>, tensor<64x64xf16>, tensor<32x64xf32>) -> tensor<32x64xf32>
    nv_tileas.continue %next : (tensor<32x64xf32>) -> ()
  }
  %double = nv_tileas.addf %sum, %sum : tensor<32x64xf32>
  nv_tileaa.return
}

// ---- two_blocks_fit
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {occupancy = 2}>} {
^bb0(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>, %zeros: tensor<64x64xf32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %sum = nv_tileas.for %zero, %n, %one initial(%zeros) : (i32, i32, i32, tensor<64x64xf32>) -> (tensor<64x64xf32>) {
  ^bb1(%i: i32, %total: tensor<64x64xf32>):
    %more = nv_tileas.dot %a, %b, %total : (tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nv_tileas.continue %more : (tensor<64x64xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {occupancy = 2}>, schedule = {occupancy = 2 : i32}} {
^bb0(%a: tensor<64x64xf16>, %b: tensor<64x64xf16>, %zeros: tensor<64x64xf32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %sum = nv_tileas.for %zero, %n, %one initial(%zeros) : (i32, i32, i32, tensor<64x64xf32>) -> tensor<64x64xf32> {
  ^bb0(%i: i32, %total: tensor<64x64xf32>):
    %more = nv_tileas.dot %a, %b, %total : (tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
    nv_tileas.continue %more : (tensor<64x64xf32>) -> ()
  }
  nv_tileaa.return
}

// ---- four_of_large_sums_do_not
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {occupancy = 4}>} {
^bb0(%a: tensor<128x64xf16>, %b: tensor<64x128xf16>, %zeros: tensor<128x128xf32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %sum = nv_tileas.for %zero, %n, %one initial(%zeros) : (i32, i32, i32, tensor<128x128xf32>) -> (tensor<128x128xf32>) {
  ^bb1(%i: i32, %total: tensor<128x128xf32>):
    %more = nv_tileas.dot %a, %b, %total : (tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    nv_tileas.continue %more : (tensor<128x128xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {occupancy = 4}>, schedule = {occupancy = 1 : i32}} {
^bb0(%a: tensor<128x64xf16>, %b: tensor<64x128xf16>, %zeros: tensor<128x128xf32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %sum = nv_tileas.for %zero, %n, %one initial(%zeros) : (i32, i32, i32, tensor<128x128xf32>) -> tensor<128x128xf32> {
  ^bb0(%i: i32, %total: tensor<128x128xf32>):
    %more = nv_tileas.dot %a, %b, %total : (tensor<128x64xf16>, tensor<64x128xf16>, tensor<128x128xf32>) -> tensor<128x128xf32>
    nv_tileas.continue %more : (tensor<128x128xf32>) -> ()
  }
  nv_tileaa.return
}

// ---- tensor_memory_has_columns_for_two
// run: tileas-choose-cta-shape sm_100
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {occupancy = 8}>} {
^bb0(%a: tensor<128x64xf16>, %b: tensor<64x256xf16>, %zeros: tensor<128x256xf32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %sum = nv_tileas.for %zero, %n, %one initial(%zeros) : (i32, i32, i32, tensor<128x256xf32>) -> (tensor<128x256xf32>) {
  ^bb1(%i: i32, %total: tensor<128x256xf32>):
    %more = nv_tileas.dot %a, %b, %total : (tensor<128x64xf16>, tensor<64x256xf16>, tensor<128x256xf32>) -> tensor<128x256xf32>
    nv_tileas.continue %more : (tensor<128x256xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {occupancy = 8}>, schedule = {occupancy = 2 : i32}} {
^bb0(%a: tensor<128x64xf16>, %b: tensor<64x256xf16>, %zeros: tensor<128x256xf32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %sum = nv_tileas.for %zero, %n, %one initial(%zeros) : (i32, i32, i32, tensor<128x256xf32>) -> tensor<128x256xf32> {
  ^bb0(%i: i32, %total: tensor<128x256xf32>):
    %more = nv_tileas.dot %a, %b, %total : (tensor<128x64xf16>, tensor<64x256xf16>, tensor<128x256xf32>) -> tensor<128x256xf32>
    nv_tileas.continue %more : (tensor<128x256xf32>) -> ()
  }
  nv_tileaa.return
}

// ---- one_restricts_nothing
// run: tileas-choose-cta-shape sm_100
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {occupancy = 1}>} {
^bb0(%a: tensor<128x128xf32>):
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {occupancy = 1}>} {
^bb0(%a: tensor<128x128xf32>):
  nv_tileaa.return
}

// ---- without_matmuls_what_is_asked
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {occupancy = 16}>} {
^bb0(%a: tensor<128x128xf32>):
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {occupancy = 16}>, schedule = {occupancy = 16 : i32}} {
^bb0(%a: tensor<128x128xf32>):
  nv_tileaa.return
}

// ---- a_load_behind_a_reduction_has_registers
!pointers = tensor<8192x!nv_tileaa.ptr<f32>>
!tile = tensor<8192xf32>
nv_tileaa.func @k attributes {} {
^bb0(%x: !pointers, %y: !pointers):
  %row = nv_tileas.load %x {mem_semantic = "weak"} : (!pointers) -> !tile
  %total = nv_tileas.reduce %row attributes {axis = 0 : i32} : (!tile) -> f32 {
  ^bb1(%a: f32, %b: f32):
    %sum = nv_tileas.addf %a, %b : f32
    nv_tileas.yield %sum : (f32) -> ()
  }
  %factors = nv_tileas.load %y {mem_semantic = "weak"} : (!pointers) -> !tile
  %scaled = nv_tileas.mulf %row, %factors {rounding_mode = "nearest_even"} : !tile
  nv_tileas.store %y, %scaled {mem_semantic = "weak"} : (!pointers, !tile) -> ()
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {schedule = {num_warps = 8 : i32, occupancy = 2 : i32}} {
^bb0(%x: tensor<8192x!nv_tileaa.ptr<f32>>, %y: tensor<8192x!nv_tileaa.ptr<f32>>):
  %row = nv_tileas.load %x {mem_semantic = "weak"} : (tensor<8192x!nv_tileaa.ptr<f32>>) -> tensor<8192xf32>
  %total = nv_tileas.reduce %row attributes {axis = 0 : i32} : (tensor<8192xf32>) -> f32 {
  ^bb0(%a: f32, %b: f32):
    %sum = nv_tileas.addf %a, %b : f32
    nv_tileas.yield %sum : (f32) -> ()
  }
  %factors = nv_tileas.load %y {mem_semantic = "weak"} : (tensor<8192x!nv_tileaa.ptr<f32>>) -> tensor<8192xf32>
  %scaled = nv_tileas.mulf %row, %factors {rounding_mode = "nearest_even"} : tensor<8192xf32>
  nv_tileas.store %y, %scaled {mem_semantic = "weak"} : (tensor<8192x!nv_tileaa.ptr<f32>>, tensor<8192xf32>) -> ()
  nv_tileaa.return
}

// ---- a_row_alone_has_what_ptxas_takes
!pointers = tensor<16384x!nv_tileaa.ptr<f32>>
!tile = tensor<16384xf32>
nv_tileaa.func @k attributes {} {
^bb0(%x: !pointers, %y: !pointers):
  %row = nv_tileas.load %x {mem_semantic = "weak"} : (!pointers) -> !tile
  %total = nv_tileas.reduce %row attributes {axis = 0 : i32} : (!tile) -> f32 {
  ^bb1(%a: f32, %b: f32):
    %sum = nv_tileas.addf %a, %b : f32
    nv_tileas.yield %sum : (f32) -> ()
  }
  nv_tileas.store %y, %row {mem_semantic = "weak"} : (!pointers, !tile) -> ()
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%x: tensor<16384x!nv_tileaa.ptr<f32>>, %y: tensor<16384x!nv_tileaa.ptr<f32>>):
  %row = nv_tileas.load %x {mem_semantic = "weak"} : (tensor<16384x!nv_tileaa.ptr<f32>>) -> tensor<16384xf32>
  %total = nv_tileas.reduce %row attributes {axis = 0 : i32} : (tensor<16384xf32>) -> f32 {
  ^bb0(%a: f32, %b: f32):
    %sum = nv_tileas.addf %a, %b : f32
    nv_tileas.yield %sum : (f32) -> ()
  }
  nv_tileas.store %y, %row {mem_semantic = "weak"} : (tensor<16384x!nv_tileaa.ptr<f32>>, tensor<16384xf32>) -> ()
  nv_tileaa.return
}

// ---- registers_for_a_row_in_one_of_four
!pointers = tensor<32768x!nv_tileaa.ptr<f32>>
!tile = tensor<32768xf32>
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {occupancy = 4}>} {
^bb0(%x: !pointers, %y: !pointers, %begin: i32, %end: i32, %step: i32):
  nv_tileas.for %begin, %end, %step initial() : (i32, i32, i32) -> () {
  ^bb2(%i: i32):
    %row = nv_tileas.load %x {mem_semantic = "weak"} : (!pointers) -> !tile
    %total = nv_tileas.reduce %row attributes {axis = 0 : i32} : (!tile) -> f32 {
    ^bb1(%a: f32, %b: f32):
      %sum = nv_tileas.addf %a, %b : f32
      nv_tileas.yield %sum : (f32) -> ()
    }
    nv_tileas.store %y, %row {mem_semantic = "weak"} : (!pointers, !tile) -> ()
    nv_tileas.continue : () -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {optimization_hints = #cuda_tile.optimization_hints<default = {occupancy = 4}>, schedule = {occupancy = 1 : i32}} {
^bb0(%x: tensor<32768x!nv_tileaa.ptr<f32>>, %y: tensor<32768x!nv_tileaa.ptr<f32>>, %begin: i32, %end: i32, %step: i32):
  nv_tileas.for %begin, %end, %step : (i32, i32, i32) -> () {
  ^bb0(%i: i32):
    %row = nv_tileas.load %x {mem_semantic = "weak"} : (tensor<32768x!nv_tileaa.ptr<f32>>) -> tensor<32768xf32>
    %total = nv_tileas.reduce %row attributes {axis = 0 : i32} : (tensor<32768xf32>) -> f32 {
    ^bb0(%a: f32, %b: f32):
      %sum = nv_tileas.addf %a, %b : f32
      nv_tileas.yield %sum : (f32) -> ()
    }
    nv_tileas.store %y, %row {mem_semantic = "weak"} : (tensor<32768x!nv_tileaa.ptr<f32>>, tensor<32768xf32>) -> ()
    nv_tileas.continue
  }
  nv_tileaa.return
}

// ---- one_warpgroup_where_two_do_not_divide_a_result
nv_tileaa.func @k {
^bb0(%end: i32, %x: f16):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %start = nv_tileas.splat %none : (f32) -> tensor<64x8xf32>
  %total = nv_tileas.for %zero, %end, %one initial(%start) : (i32, i32, i32, tensor<64x8xf32>) -> tensor<64x8xf32> {
  ^bb1(%i: i32, %sum: tensor<64x8xf32>):
    %large = nv_tileas.splat %x : (f16) -> tensor<128x128xf16>
    %a = nv_tileas.splat %x : (f16) -> tensor<64x128xf16>
    %b = nv_tileas.splat %x : (f16) -> tensor<128x8xf16>
    %next = nv_tileas.dot %a, %b, %sum : (tensor<64x128xf16>, tensor<128x8xf16>, tensor<64x8xf32>) -> tensor<64x8xf32>
    nv_tileas.continue %next : (tensor<64x8xf32>) -> ()
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {schedule = {num_warps = 4 : i32}} {
^bb0(%end: i32, %x: f16):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f32
  %start = nv_tileas.splat %none : (f32) -> tensor<64x8xf32>
  %total = nv_tileas.for %zero, %end, %one initial(%start) : (i32, i32, i32, tensor<64x8xf32>) -> tensor<64x8xf32> {
  ^bb0(%i: i32, %sum: tensor<64x8xf32>):
    %large = nv_tileas.splat %x : (f16) -> tensor<128x128xf16>
    %a = nv_tileas.splat %x : (f16) -> tensor<64x128xf16>
    %b = nv_tileas.splat %x : (f16) -> tensor<128x8xf16>
    %next = nv_tileas.dot %a, %b, %sum : (tensor<64x128xf16>, tensor<128x8xf16>, tensor<64x8xf32>) -> tensor<64x8xf32>
    nv_tileas.continue %next : (tensor<64x8xf32>) -> ()
  }
  nv_tileaa.return
}

// ---- four_elements_a_thread_where_accesses_are_narrow
!tile = tensor<256xi32>
!pointers = tensor<256x!nv_tileaa.ptr<f32>>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %s: i32):
  %stride = nv_tileas.splat %s : (i32) -> !tile
  %range = nv_tileas.make_range : !tile
  %places = arith.muli %range, %stride : !tile
  %base = nv_tileas.splat %p : (!nv_tileaa.ptr<f32>) -> !pointers
  %all = nv_tileas.addptr %base, %places : (!pointers, !tile) -> !pointers
  %x, %t = nv_tileas.load %all {mem_semantic = "weak"} : (!pointers) -> (tensor<256xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {schedule = {num_warps = 2 : i32}} {
^bb0(%p: !nv_tileaa.ptr<f32>, %s: i32):
  %stride = nv_tileas.splat %s : (i32) -> tensor<256xi32>
  %range = nv_tileas.make_range : tensor<256xi32>
  %places = arith.muli %range, %stride : tensor<256xi32>
  %base = nv_tileas.splat %p : (!nv_tileaa.ptr<f32>) -> tensor<256x!nv_tileaa.ptr<f32>>
  %all = nv_tileas.addptr %base, %places : (tensor<256x!nv_tileaa.ptr<f32>>, tensor<256xi32>) -> tensor<256x!nv_tileaa.ptr<f32>>
  %x, %t = nv_tileas.load %all {mem_semantic = "weak"} : (tensor<256x!nv_tileaa.ptr<f32>>) -> (tensor<256xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- vectors_of_one_warp
!tile = tensor<256xi32>
!pointers = tensor<256x!nv_tileaa.ptr<f32>>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>):
  %aligned = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f32>
  %range = nv_tileas.make_range : !tile
  %base = nv_tileas.splat %aligned : (!nv_tileaa.ptr<f32>) -> !pointers
  %all = nv_tileas.addptr %base, %range : (!pointers, !tile) -> !pointers
  %x, %t = nv_tileas.load %all {mem_semantic = "weak"} : (!pointers) -> (tensor<256xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>):
  %aligned = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f32>
  %range = nv_tileas.make_range : tensor<256xi32>
  %base = nv_tileas.splat %aligned : (!nv_tileaa.ptr<f32>) -> tensor<256x!nv_tileaa.ptr<f32>>
  %all = nv_tileas.addptr %base, %range : (tensor<256x!nv_tileaa.ptr<f32>>, tensor<256xi32>) -> tensor<256x!nv_tileaa.ptr<f32>>
  %x, %t = nv_tileas.load %all {mem_semantic = "weak"} : (tensor<256x!nv_tileaa.ptr<f32>>) -> (tensor<256xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- sixteen_narrow_loads_a_thread_not_sixty_four
!tile = tensor<4096xi32>
!pointers = tensor<4096x!nv_tileaa.ptr<f32>>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %s: i32):
  %stride = nv_tileas.splat %s : (i32) -> !tile
  %range = nv_tileas.make_range : !tile
  %places = arith.muli %range, %stride : !tile
  %base = nv_tileas.splat %p : (!nv_tileaa.ptr<f32>) -> !pointers
  %all = nv_tileas.addptr %base, %places : (!pointers, !tile) -> !pointers
  %x, %t = nv_tileas.load %all {mem_semantic = "weak"} : (!pointers) -> (tensor<4096xf32>, !nv_tileaa.mem_token)
  %y, %u = nv_tileas.load %all {mem_semantic = "weak"} : (!pointers) -> (tensor<4096xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {schedule = {num_warps = 16 : i32}} {
^bb0(%p: !nv_tileaa.ptr<f32>, %s: i32):
  %stride = nv_tileas.splat %s : (i32) -> tensor<4096xi32>
  %range = nv_tileas.make_range : tensor<4096xi32>
  %places = arith.muli %range, %stride : tensor<4096xi32>
  %base = nv_tileas.splat %p : (!nv_tileaa.ptr<f32>) -> tensor<4096x!nv_tileaa.ptr<f32>>
  %all = nv_tileas.addptr %base, %places : (tensor<4096x!nv_tileaa.ptr<f32>>, tensor<4096xi32>) -> tensor<4096x!nv_tileaa.ptr<f32>>
  %x, %t = nv_tileas.load %all {mem_semantic = "weak"} : (tensor<4096x!nv_tileaa.ptr<f32>>) -> (tensor<4096xf32>, !nv_tileaa.mem_token)
  %y, %u = nv_tileas.load %all {mem_semantic = "weak"} : (tensor<4096x!nv_tileaa.ptr<f32>>) -> (tensor<4096xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- thirty_two_narrow_loads_stay
!tile = tensor<2048xi32>
!pointers = tensor<2048x!nv_tileaa.ptr<f32>>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %s: i32):
  %stride = nv_tileas.splat %s : (i32) -> !tile
  %range = nv_tileas.make_range : !tile
  %places = arith.muli %range, %stride : !tile
  %base = nv_tileas.splat %p : (!nv_tileaa.ptr<f32>) -> !pointers
  %all = nv_tileas.addptr %base, %places : (!pointers, !tile) -> !pointers
  %x, %t = nv_tileas.load %all {mem_semantic = "weak"} : (!pointers) -> (tensor<2048xf32>, !nv_tileaa.mem_token)
  %y, %u = nv_tileas.load %all {mem_semantic = "weak"} : (!pointers) -> (tensor<2048xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %s: i32):
  %stride = nv_tileas.splat %s : (i32) -> tensor<2048xi32>
  %range = nv_tileas.make_range : tensor<2048xi32>
  %places = arith.muli %range, %stride : tensor<2048xi32>
  %base = nv_tileas.splat %p : (!nv_tileaa.ptr<f32>) -> tensor<2048x!nv_tileaa.ptr<f32>>
  %all = nv_tileas.addptr %base, %places : (tensor<2048x!nv_tileaa.ptr<f32>>, tensor<2048xi32>) -> tensor<2048x!nv_tileaa.ptr<f32>>
  %x, %t = nv_tileas.load %all {mem_semantic = "weak"} : (tensor<2048x!nv_tileaa.ptr<f32>>) -> (tensor<2048xf32>, !nv_tileaa.mem_token)
  %y, %u = nv_tileas.load %all {mem_semantic = "weak"} : (tensor<2048x!nv_tileaa.ptr<f32>>) -> (tensor<2048xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}

// ---- sixteen_where_dram_is_fast
// run: tileas-choose-cta-shape sm_100
!tile = tensor<2048xi32>
!pointers = tensor<2048x!nv_tileaa.ptr<f32>>
nv_tileaa.func @k {
^bb0(%p: !nv_tileaa.ptr<f32>, %s: i32):
  %stride = nv_tileas.splat %s : (i32) -> !tile
  %range = nv_tileas.make_range : !tile
  %places = arith.muli %range, %stride : !tile
  %base = nv_tileas.splat %p : (!nv_tileaa.ptr<f32>) -> !pointers
  %all = nv_tileas.addptr %base, %places : (!pointers, !tile) -> !pointers
  %x, %t = nv_tileas.load %all {mem_semantic = "weak"} : (!pointers) -> (tensor<2048xf32>, !nv_tileaa.mem_token)
  %y, %u = nv_tileas.load %all {mem_semantic = "weak"} : (!pointers) -> (tensor<2048xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {schedule = {num_warps = 8 : i32}} {
^bb0(%p: !nv_tileaa.ptr<f32>, %s: i32):
  %stride = nv_tileas.splat %s : (i32) -> tensor<2048xi32>
  %range = nv_tileas.make_range : tensor<2048xi32>
  %places = arith.muli %range, %stride : tensor<2048xi32>
  %base = nv_tileas.splat %p : (!nv_tileaa.ptr<f32>) -> tensor<2048x!nv_tileaa.ptr<f32>>
  %all = nv_tileas.addptr %base, %places : (tensor<2048x!nv_tileaa.ptr<f32>>, tensor<2048xi32>) -> tensor<2048x!nv_tileaa.ptr<f32>>
  %x, %t = nv_tileas.load %all {mem_semantic = "weak"} : (tensor<2048x!nv_tileaa.ptr<f32>>) -> (tensor<2048xf32>, !nv_tileaa.mem_token)
  %y, %u = nv_tileas.load %all {mem_semantic = "weak"} : (tensor<2048x!nv_tileaa.ptr<f32>>) -> (tensor<2048xf32>, !nv_tileaa.mem_token)
  nv_tileaa.return
}

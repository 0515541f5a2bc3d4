// What fetches tiles, what issues matmuls of them in tensor memory, and what computes: partitions with rings between them.
// run: tileas-specialize-warps sm_100

// ---- a_loop_over_tiles_has_a_partition_that_issues
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!memref1 = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!view1 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 32], dim_map = [0, 1], steps = [128, 32], sparse = -1, padding = zero>
!view2 = !nv_tileaa.tiled_view<partition, !memref0, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
!view3 = !nv_tileaa.tiled_view<partition, !memref1, tile = [128, 64], dim_map = [0, 1], steps = [128, 64], sparse = -1, padding = none>
#layout0 = #cute.layout<(128,64), (32,4,64):(64,2048,1)>
!tile_128x64xf32 = tensor<128x64xf32, #layout0>
#layout1 = #cute.layout<(128,32), (32,4,(8,4)):(8,256,(1,1024))>
!tile_128x32xf16 = tensor<128x32xf16, #layout1>
#layout2 = #cute.layout<(32,64), (32,4,(8,2)):(8,256,(1,1024))>
!tile_32x64xf16 = tensor<32x64xf16, #layout2>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %q: !nv_tileaa.ptr<f16>, %r: !nv_tileaa.ptr<f32>, %n: i32, %s: i32, %steps: i32):
  %p16 = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %q16 = nv_tileas.assume %q {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %s16 = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %token = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %nothing = arith.constant 0.000000e+00 : f32
  %a = nv_tileas.make_memref %p16 sizes(%n, %n) strides(%s16) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %b = nv_tileas.make_memref %q16 sizes(%n, %n) strides(%s16) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %c = nv_tileas.make_memref %r sizes(%n, %n) strides(%s16) : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !memref1
  %left = nv_tileas.block_tile %a : (!memref0) -> !view1
  %right = nv_tileas.block_tile %b : (!memref0) -> !view2
  %out = nv_tileas.block_tile %c : (!memref1) -> !view3
  nv_tileas.for %zero, %n, %one : (i32, i32, i32) -> () {
  ^bb1(%row: i32):
    %zeros = nv_tileas.splat %nothing : (f32) -> !tile_128x64xf32
    %sum = nv_tileas.for %zero, %steps, %one initial(%zeros) : (i32, i32, i32, !tile_128x64xf32) -> !tile_128x64xf32 {
    ^bb2(%k: i32, %acc: !tile_128x64xf32):
      %x, %t0 = nv_tileas.tiled_load %left coords(%row, %k) token(%token) {mem_semantic = "weak", tma, has_boundary_tile, vector = 8 : i32, in_bounds = array<i1: false, false>} : (!view1, i32, i32, !nv_tileaa.mem_token) -> (!tile_128x32xf16, !nv_tileaa.mem_token)
      %y, %t1 = nv_tileas.tiled_load %right coords(%k, %zero) token(%token) {mem_semantic = "weak", tma, has_boundary_tile, vector = 8 : i32, in_bounds = array<i1: false, false>} : (!view2, i32, i32, !nv_tileaa.mem_token) -> (!tile_32x64xf16, !nv_tileaa.mem_token)
      %more = nv_tileas.dot %x, %y, %acc {tmem_columns = 64 : i32, mma = "tcgen05_k16_f16_f16_f32"} : (!tile_128x32xf16, !tile_32x64xf16, !tile_128x64xf32) -> !tile_128x64xf32
      nv_tileas.continue %more : (!tile_128x64xf32) -> ()
    }
    %t2 = nv_tileas.tiled_store %out, %sum coords(%row, %zero) token(%token) {mem_semantic = "weak", has_boundary_tile, vector = 4 : i32, in_bounds = array<i1: false, false>} : (!view3, !tile_128x64xf32, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.continue
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!memref1 = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 32], dim_map = [0, 1], steps = [128, 32], sparse = -1, padding = zero>
!view1 = !nv_tileaa.tiled_view<partition, !memref0, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
!view2 = !nv_tileaa.tiled_view<partition, !memref1, tile = [128, 64], dim_map = [0, 1], steps = [128, 64], sparse = -1, padding = none>
#layout0 = #cute.layout<(128,64), (32,4,64):(64,2048,1)>
!tile_128x64xf32 = tensor<128x64xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 4 : i32, producer_warps = 2 : i32, schedule = {mma_warp = true, num_stages = 9 : i32, accumulator_buffers = 2 : i32}, ctas_of_stages = 2 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %q: !nv_tileaa.ptr<f16>, %r: !nv_tileaa.ptr<f32>, %n: i32, %s: i32, %steps: i32):
  %p16 = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %q16 = nv_tileas.assume %q {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %s16 = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %token = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %nothing = arith.constant 0.000000e+00 : f32
  %a = nv_tileas.make_memref %p16 sizes(%n, %n) strides(%s16) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %b = nv_tileas.make_memref %q16 sizes(%n, %n) strides(%s16) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %c = nv_tileas.make_memref %r sizes(%n, %n) strides(%s16) : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !memref1
  %left = nv_tileas.block_tile %a : (!memref0) -> !view0
  %right = nv_tileas.block_tile %b : (!memref0) -> !view1
  %out = nv_tileas.block_tile %c : (!memref1) -> !view2
  %0 = nv_tileas.make_tiled_tma_desc %a {dims = array<i64: 1, 0>, box = array<i64: 32, 128>, swizzle_mode = "64B"} : (!memref0) -> !nv_tileas.tma_desc
  %1 = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<9>, #cute.shared<16, swizzle<2,3,3> o (128,32):(32,1)>>
  %2 = nv_tileas.make_tiled_tma_desc %b {dims = array<i64: 1, 0>, box = array<i64: 64, 32>, swizzle_mode = "128B"} : (!memref0) -> !nv_tileas.tma_desc
  %3 = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<9>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>
  %4 = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 12288 : i32} : !nv_tileas.pipeline<#builtin.int<9>>
  %5 = nv_tileas.create_tmem : !nv_tileas.tmem<#builtin.int<128>>
  %6 = nv_tileas.alloc_tmem %5 {column = 0 : i32} : !nv_tileas.tmem<#builtin.int<128>>
  %7 = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 0 : i32} : !nv_tileas.pipeline<#builtin.int<2>>
  nv_tileas.agent_switch {
    %8 = arith.constant 0 : i32
    %9 = nv_tileas.for %zero, %n, %one initial(%8) : i32 {
    ^bb0(%10: i32, %11: i32):
      %12 = nv_tileas.for %zero, %steps, %one initial(%11) : i32 {
      ^bb0(%13: i32, %14: i32):
        nv_tileas.async.pipeline.producer_acquire %4, %14 : (!nv_tileas.pipeline<#builtin.int<9>>, i32) -> ()
        nv_tileas.async.tiled_tma_load %left, %0, %1, %4, %14 coords(%10, %13) : (!view0, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<9>, #cute.shared<16, swizzle<2,3,3> o (128,32):(32,1)>>, !nv_tileas.pipeline<#builtin.int<9>>, i32) -> ()
        nv_tileas.async.tiled_tma_load %right, %2, %3, %4, %14 coords(%13, %zero) : (!view1, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<9>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>, !nv_tileas.pipeline<#builtin.int<9>>, i32) -> ()
        %15 = nv_tileas.async.pipeline.advance %4, %14 : (!nv_tileas.pipeline<#builtin.int<9>>, i32) -> i32
        nv_tileas.continue %15 : (i32) -> ()
      }
      nv_tileas.continue %12 : (i32) -> ()
    }
    nv_tileas.async.pipeline.producer_tail %4, %9 : (!nv_tileas.pipeline<#builtin.int<9>>, i32) -> ()
    nv_tileas.yield
  } {
    %16 = arith.constant 0 : i32
    %17 = arith.constant 0 : i32
    %18, %19 = nv_tileas.for %zero, %n, %one initial(%16, %17) : (i32, i32, i32, i32, i32) -> (i32, i32) {
    ^bb0(%20: i32, %21: i32, %22: i32):
      nv_tileas.async.umma_acquire %7, %22 : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
      %23 = arith.constant 1 : i32
      %24 = arith.shrui %22, %23 : i32
      %25 = nv_tileas.for %zero, %steps, %one initial(%21) : i32 {
      ^bb0(%26: i32, %27: i32):
        nv_tileas.async.pipeline.consumer_wait %4, %27 : (!nv_tileas.pipeline<#builtin.int<9>>, i32) -> ()
        %28 = arith.constant 1 : i32
        %29 = arith.shrui %27, %28 : i32
        %30 = arith.cmpi %26, %zero {predicate = "ne"} : (i32, i32) -> i1
        nv_tileas.async.umma %1, %3, %6, %30 lhs_stage(%29) rhs_stage(%29) pipeline(%4) token(%27) acc_stage(%24) {mma = "tcgen05_k16_f16_f16_f32", lhs_placement = #cute.shared<16, swizzle<2,3,3> o (128,32):(32,1)>, rhs_placement = #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>, shape = array<i64: 128, 64, 32>} : (!nv_tileas.buffer<f16, #builtin.int<9>, #cute.shared<16, swizzle<2,3,3> o (128,32):(32,1)>>, !nv_tileas.buffer<f16, #builtin.int<9>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>, !nv_tileas.tmem<#builtin.int<128>>, i1, i32, i32, !nv_tileas.pipeline<#builtin.int<9>>, i32, i32) -> ()
        %31 = nv_tileas.async.pipeline.advance %4, %27 : (!nv_tileas.pipeline<#builtin.int<9>>, i32) -> i32
        nv_tileas.continue %31 : (i32) -> ()
      }
      nv_tileas.async.umma_commit %7 token(%22) : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
      %32 = nv_tileas.async.pipeline.advance %7, %22 : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> i32
      nv_tileas.continue %25, %32 : (i32, i32) -> ()
    }
    nv_tileas.yield
  } {
    %33 = arith.constant 0 : i32
    %34 = nv_tileas.for %zero, %n, %one initial(%33) : i32 {
    ^bb0(%row: i32, %35: i32):
      %zeros = nv_tileas.splat %nothing : (f32) -> !tile_128x64xf32
      nv_tileas.async.pipeline.consumer_wait %7, %35 : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
      %36 = arith.constant 1 : i32
      %37 = arith.shrui %35, %36 : i32
      %38 = arith.cmpi %zero, %steps {predicate = "sge"} : (i32, i32) -> i1
      nv_tileas.tmem_store %zeros, %6 enabled(%38) stage(%37) {accumulator} : (!tile_128x64xf32, !nv_tileas.tmem<#builtin.int<128>>, i1, i32) -> ()
      %sum = nv_tileas.tmem_load %6 stage(%37) : (!nv_tileas.tmem<#builtin.int<128>>, i32) -> !tile_128x64xf32
      nv_tileas.async.pipeline.consumer_release %7, %35 : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
      %39 = nv_tileas.async.pipeline.advance %7, %35 : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> i32
      %t2 = nv_tileas.tiled_store %out, %sum coords(%row, %zero) token(%token) {mem_semantic = "weak", has_boundary_tile, vector = 4 : i32, in_bounds = array<i1: false, false>} : (!view2, !tile_128x64xf32, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
      nv_tileas.continue %39 : (i32) -> ()
    }
    nv_tileas.yield
  }
  nv_tileaa.return
}

// ---- one_tile_is_issued_by_a_warp_that_computes
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!memref1 = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!view1 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 32], dim_map = [0, 1], steps = [128, 32], sparse = -1, padding = zero>
!view2 = !nv_tileaa.tiled_view<partition, !memref0, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
!view3 = !nv_tileaa.tiled_view<partition, !memref1, tile = [128, 64], dim_map = [0, 1], steps = [128, 64], sparse = -1, padding = none>
#layout0 = #cute.layout<(128,64), (32,4,64):(64,2048,1)>
!tile_128x64xf32 = tensor<128x64xf32, #layout0>
#layout1 = #cute.layout<(128,32), (32,4,(8,4)):(8,256,(1,1024))>
!tile_128x32xf16 = tensor<128x32xf16, #layout1>
#layout2 = #cute.layout<(32,64), (32,4,(8,2)):(8,256,(1,1024))>
!tile_32x64xf16 = tensor<32x64xf16, #layout2>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %q: !nv_tileaa.ptr<f16>, %r: !nv_tileaa.ptr<f32>, %n: i32, %s: i32, %steps: i32):
  %p16 = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %q16 = nv_tileas.assume %q {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %s16 = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %token = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %nothing = arith.constant 0.000000e+00 : f32
  %a = nv_tileas.make_memref %p16 sizes(%n, %n) strides(%s16) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %b = nv_tileas.make_memref %q16 sizes(%n, %n) strides(%s16) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %c = nv_tileas.make_memref %r sizes(%n, %n) strides(%s16) : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !memref1
  %left = nv_tileas.block_tile %a : (!memref0) -> !view1
  %right = nv_tileas.block_tile %b : (!memref0) -> !view2
  %out = nv_tileas.block_tile %c : (!memref1) -> !view3
  %zeros = nv_tileas.splat %nothing : (f32) -> !tile_128x64xf32
  %sum = nv_tileas.for %zero, %steps, %one initial(%zeros) : (i32, i32, i32, !tile_128x64xf32) -> !tile_128x64xf32 {
  ^bb2(%k: i32, %acc: !tile_128x64xf32):
    %x, %t0 = nv_tileas.tiled_load %left coords(%one, %k) token(%token) {mem_semantic = "weak", tma, has_boundary_tile, vector = 8 : i32, in_bounds = array<i1: false, false>} : (!view1, i32, i32, !nv_tileaa.mem_token) -> (!tile_128x32xf16, !nv_tileaa.mem_token)
    %y, %t1 = nv_tileas.tiled_load %right coords(%k, %zero) token(%token) {mem_semantic = "weak", tma, has_boundary_tile, vector = 8 : i32, in_bounds = array<i1: false, false>} : (!view2, i32, i32, !nv_tileaa.mem_token) -> (!tile_32x64xf16, !nv_tileaa.mem_token)
    %more = nv_tileas.dot %x, %y, %acc {tmem_columns = 64 : i32, mma = "tcgen05_k16_f16_f16_f32"} : (!tile_128x32xf16, !tile_32x64xf16, !tile_128x64xf32) -> !tile_128x64xf32
    nv_tileas.continue %more : (!tile_128x64xf32) -> ()
  }
  %t2 = nv_tileas.tiled_store %out, %sum coords(%one, %zero) token(%token) {mem_semantic = "weak", has_boundary_tile, vector = 4 : i32, in_bounds = array<i1: false, false>} : (!view3, !tile_128x64xf32, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!memref1 = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 32], dim_map = [0, 1], steps = [128, 32], sparse = -1, padding = zero>
!view1 = !nv_tileaa.tiled_view<partition, !memref0, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
!view2 = !nv_tileaa.tiled_view<partition, !memref1, tile = [128, 64], dim_map = [0, 1], steps = [128, 64], sparse = -1, padding = none>
#layout0 = #cute.layout<(128,64), (32,4,64):(64,2048,1)>
!tile_128x64xf32 = tensor<128x64xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 4 : i32, producer_warps = 1 : i32, schedule = {num_stages = 9 : i32, accumulator_buffers = 1 : i32}, ctas_of_stages = 2 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %q: !nv_tileaa.ptr<f16>, %r: !nv_tileaa.ptr<f32>, %n: i32, %s: i32, %steps: i32):
  %p16 = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %q16 = nv_tileas.assume %q {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %s16 = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %token = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %nothing = arith.constant 0.000000e+00 : f32
  %a = nv_tileas.make_memref %p16 sizes(%n, %n) strides(%s16) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %b = nv_tileas.make_memref %q16 sizes(%n, %n) strides(%s16) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %c = nv_tileas.make_memref %r sizes(%n, %n) strides(%s16) : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !memref1
  %left = nv_tileas.block_tile %a : (!memref0) -> !view0
  %right = nv_tileas.block_tile %b : (!memref0) -> !view1
  %out = nv_tileas.block_tile %c : (!memref1) -> !view2
  %0 = nv_tileas.make_tiled_tma_desc %a {dims = array<i64: 1, 0>, box = array<i64: 32, 128>, swizzle_mode = "64B"} : (!memref0) -> !nv_tileas.tma_desc
  %1 = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<9>, #cute.shared<16, swizzle<2,3,3> o (128,32):(32,1)>>
  %2 = nv_tileas.make_tiled_tma_desc %b {dims = array<i64: 1, 0>, box = array<i64: 64, 32>, swizzle_mode = "128B"} : (!memref0) -> !nv_tileas.tma_desc
  %3 = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<9>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>
  %4 = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 12288 : i32} : !nv_tileas.pipeline<#builtin.int<9>>
  %5 = nv_tileas.create_tmem : !nv_tileas.tmem<#builtin.int<64>>
  %6 = nv_tileas.alloc_tmem %5 {column = 0 : i32} : !nv_tileas.tmem<#builtin.int<64>>
  %7 = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  nv_tileas.agent_switch {
    %8 = arith.constant 0 : i32
    %9 = nv_tileas.for %zero, %steps, %one initial(%8) : i32 {
    ^bb0(%10: i32, %11: i32):
      nv_tileas.async.pipeline.producer_acquire %4, %11 : (!nv_tileas.pipeline<#builtin.int<9>>, i32) -> ()
      nv_tileas.async.tiled_tma_load %left, %0, %1, %4, %11 coords(%one, %10) : (!view0, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<9>, #cute.shared<16, swizzle<2,3,3> o (128,32):(32,1)>>, !nv_tileas.pipeline<#builtin.int<9>>, i32) -> ()
      nv_tileas.async.tiled_tma_load %right, %2, %3, %4, %11 coords(%10, %zero) : (!view1, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<9>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>, !nv_tileas.pipeline<#builtin.int<9>>, i32) -> ()
      %12 = nv_tileas.async.pipeline.advance %4, %11 : (!nv_tileas.pipeline<#builtin.int<9>>, i32) -> i32
      nv_tileas.continue %12 : (i32) -> ()
    }
    nv_tileas.async.pipeline.producer_tail %4, %9 : (!nv_tileas.pipeline<#builtin.int<9>>, i32) -> ()
    nv_tileas.yield
  } {
    %13 = arith.constant 0 : i32
    %14 = arith.constant 0 : i32
    %zeros = nv_tileas.splat %nothing : (f32) -> !tile_128x64xf32
    %15 = arith.cmpi %zero, %steps {predicate = "sge"} : (i32, i32) -> i1
    nv_tileas.tmem_store %zeros, %6 enabled(%15) {accumulator} : (!tile_128x64xf32, !nv_tileas.tmem<#builtin.int<64>>, i1) -> ()
    %16 = nv_tileas.for %zero, %steps, %one initial(%13) : i32 {
    ^bb0(%k: i32, %17: i32):
      nv_tileas.async.pipeline.consumer_wait %4, %17 : (!nv_tileas.pipeline<#builtin.int<9>>, i32) -> ()
      %18 = arith.constant 1 : i32
      %19 = arith.shrui %17, %18 : i32
      %20 = arith.cmpi %k, %zero {predicate = "ne"} : (i32, i32) -> i1
      nv_tileas.async.umma %1, %3, %6, %20 lhs_stage(%19) rhs_stage(%19) pipeline(%4) token(%17) {mma = "tcgen05_k16_f16_f16_f32", lhs_placement = #cute.shared<16, swizzle<2,3,3> o (128,32):(32,1)>, rhs_placement = #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>, shape = array<i64: 128, 64, 32>} : (!nv_tileas.buffer<f16, #builtin.int<9>, #cute.shared<16, swizzle<2,3,3> o (128,32):(32,1)>>, !nv_tileas.buffer<f16, #builtin.int<9>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>, !nv_tileas.tmem<#builtin.int<64>>, i1, i32, i32, !nv_tileas.pipeline<#builtin.int<9>>, i32) -> ()
      %21 = nv_tileas.async.pipeline.advance %4, %17 : (!nv_tileas.pipeline<#builtin.int<9>>, i32) -> i32
      nv_tileas.continue %21 : (i32) -> ()
    }
    nv_tileas.async.umma_commit %7 : (!nv_tileas.pipeline<#builtin.int<1>>) -> ()
    nv_tileas.async.pipeline.consumer_wait %7, %14 : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
    %sum = nv_tileas.tmem_load %6 : (!nv_tileas.tmem<#builtin.int<64>>) -> !tile_128x64xf32
    %22 = nv_tileas.async.pipeline.advance %7, %14 : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
    %t2 = nv_tileas.tiled_store %out, %sum coords(%one, %zero) token(%token) {mem_semantic = "weak", has_boundary_tile, vector = 4 : i32, in_bounds = array<i1: false, false>} : (!view2, !tile_128x64xf32, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.yield
  }
  nv_tileaa.return
}

// ---- sums_that_start_from_a_tile_are_written_by_the_warps_that_compute
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!memref1 = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!view1 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 32], dim_map = [0, 1], steps = [128, 32], sparse = -1, padding = zero>
!view2 = !nv_tileaa.tiled_view<partition, !memref0, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
!view3 = !nv_tileaa.tiled_view<partition, !memref1, tile = [128, 64], dim_map = [0, 1], steps = [128, 64], sparse = -1, padding = none>
#layout0 = #cute.layout<(128,64), (32,4,64):(64,2048,1)>
!tile_128x64xf32 = tensor<128x64xf32, #layout0>
#layout1 = #cute.layout<(128,32), (32,4,(8,4)):(8,256,(1,1024))>
!tile_128x32xf16 = tensor<128x32xf16, #layout1>
#layout2 = #cute.layout<(32,64), (32,4,(8,2)):(8,256,(1,1024))>
!tile_32x64xf16 = tensor<32x64xf16, #layout2>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %q: !nv_tileaa.ptr<f16>, %r: !nv_tileaa.ptr<f32>, %n: i32, %s: i32, %steps: i32):
  %p16 = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %q16 = nv_tileas.assume %q {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %s16 = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %token = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %nothing = arith.constant 0.000000e+00 : f32
  %a = nv_tileas.make_memref %p16 sizes(%n, %n) strides(%s16) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %b = nv_tileas.make_memref %q16 sizes(%n, %n) strides(%s16) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %c = nv_tileas.make_memref %r sizes(%n, %n) strides(%s16) : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !memref1
  %left = nv_tileas.block_tile %a : (!memref0) -> !view1
  %right = nv_tileas.block_tile %b : (!memref0) -> !view2
  %out = nv_tileas.block_tile %c : (!memref1) -> !view3
  nv_tileas.for %zero, %n, %one : (i32, i32, i32) -> () {
  ^bb1(%row: i32):
    %old, %t3 = nv_tileas.tiled_load %out coords(%row, %zero) token(%token) {mem_semantic = "weak", has_boundary_tile, vector = 4 : i32, in_bounds = array<i1: false, false>} : (!view3, i32, i32, !nv_tileaa.mem_token) -> (!tile_128x64xf32, !nv_tileaa.mem_token)
    %sum = nv_tileas.for %zero, %steps, %one initial(%old) : (i32, i32, i32, !tile_128x64xf32) -> !tile_128x64xf32 {
    ^bb2(%k: i32, %acc: !tile_128x64xf32):
      %x, %t0 = nv_tileas.tiled_load %left coords(%row, %k) token(%token) {mem_semantic = "weak", tma, has_boundary_tile, vector = 8 : i32, in_bounds = array<i1: false, false>} : (!view1, i32, i32, !nv_tileaa.mem_token) -> (!tile_128x32xf16, !nv_tileaa.mem_token)
      %y, %t1 = nv_tileas.tiled_load %right coords(%k, %zero) token(%token) {mem_semantic = "weak", tma, has_boundary_tile, vector = 8 : i32, in_bounds = array<i1: false, false>} : (!view2, i32, i32, !nv_tileaa.mem_token) -> (!tile_32x64xf16, !nv_tileaa.mem_token)
      %more = nv_tileas.dot %x, %y, %acc {tmem_columns = 64 : i32, mma = "tcgen05_k16_f16_f16_f32"} : (!tile_128x32xf16, !tile_32x64xf16, !tile_128x64xf32) -> !tile_128x64xf32
      nv_tileas.continue %more : (!tile_128x64xf32) -> ()
    }
    %t2 = nv_tileas.tiled_store %out, %sum coords(%row, %zero) token(%token) {mem_semantic = "weak", has_boundary_tile, vector = 4 : i32, in_bounds = array<i1: false, false>} : (!view3, !tile_128x64xf32, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.continue
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!memref1 = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 32], dim_map = [0, 1], steps = [128, 32], sparse = -1, padding = zero>
!view1 = !nv_tileaa.tiled_view<partition, !memref0, tile = [32, 64], dim_map = [0, 1], steps = [32, 64], sparse = -1, padding = zero>
!view2 = !nv_tileaa.tiled_view<partition, !memref1, tile = [128, 64], dim_map = [0, 1], steps = [128, 64], sparse = -1, padding = none>
#layout0 = #cute.layout<(128,64), (32,4,64):(64,2048,1)>
!tile_128x64xf32 = tensor<128x64xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 4 : i32, producer_warps = 1 : i32, schedule = {num_stages = 9 : i32, accumulator_buffers = 1 : i32}, ctas_of_stages = 2 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %q: !nv_tileaa.ptr<f16>, %r: !nv_tileaa.ptr<f32>, %n: i32, %s: i32, %steps: i32):
  %p16 = nv_tileas.assume %p {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %q16 = nv_tileas.assume %q {predicate = #cuda_tile.div_by<16>} : !nv_tileaa.ptr<f16>
  %s16 = nv_tileas.assume %s {predicate = #cuda_tile.div_by<16>} : i32
  %token = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %one = arith.constant 1 : i32
  %zero = arith.constant 0 : i32
  %nothing = arith.constant 0.000000e+00 : f32
  %a = nv_tileas.make_memref %p16 sizes(%n, %n) strides(%s16) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %b = nv_tileas.make_memref %q16 sizes(%n, %n) strides(%s16) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref0
  %c = nv_tileas.make_memref %r sizes(%n, %n) strides(%s16) : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !memref1
  %left = nv_tileas.block_tile %a : (!memref0) -> !view0
  %right = nv_tileas.block_tile %b : (!memref0) -> !view1
  %out = nv_tileas.block_tile %c : (!memref1) -> !view2
  %0 = nv_tileas.make_tiled_tma_desc %a {dims = array<i64: 1, 0>, box = array<i64: 32, 128>, swizzle_mode = "64B"} : (!memref0) -> !nv_tileas.tma_desc
  %1 = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<9>, #cute.shared<16, swizzle<2,3,3> o (128,32):(32,1)>>
  %2 = nv_tileas.make_tiled_tma_desc %b {dims = array<i64: 1, 0>, box = array<i64: 64, 32>, swizzle_mode = "128B"} : (!memref0) -> !nv_tileas.tma_desc
  %3 = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<9>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>
  %4 = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 12288 : i32} : !nv_tileas.pipeline<#builtin.int<9>>
  %5 = nv_tileas.create_tmem : !nv_tileas.tmem<#builtin.int<64>>
  %6 = nv_tileas.alloc_tmem %5 {column = 0 : i32} : !nv_tileas.tmem<#builtin.int<64>>
  %7 = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  nv_tileas.agent_switch {
    %8 = arith.constant 0 : i32
    %9 = nv_tileas.for %zero, %n, %one initial(%8) : i32 {
    ^bb0(%10: i32, %11: i32):
      %12 = nv_tileas.for %zero, %steps, %one initial(%11) : i32 {
      ^bb0(%13: i32, %14: i32):
        nv_tileas.async.pipeline.producer_acquire %4, %14 : (!nv_tileas.pipeline<#builtin.int<9>>, i32) -> ()
        nv_tileas.async.tiled_tma_load %left, %0, %1, %4, %14 coords(%10, %13) : (!view0, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<9>, #cute.shared<16, swizzle<2,3,3> o (128,32):(32,1)>>, !nv_tileas.pipeline<#builtin.int<9>>, i32) -> ()
        nv_tileas.async.tiled_tma_load %right, %2, %3, %4, %14 coords(%13, %zero) : (!view1, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<9>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>, !nv_tileas.pipeline<#builtin.int<9>>, i32) -> ()
        %15 = nv_tileas.async.pipeline.advance %4, %14 : (!nv_tileas.pipeline<#builtin.int<9>>, i32) -> i32
        nv_tileas.continue %15 : (i32) -> ()
      }
      nv_tileas.continue %12 : (i32) -> ()
    }
    nv_tileas.async.pipeline.producer_tail %4, %9 : (!nv_tileas.pipeline<#builtin.int<9>>, i32) -> ()
    nv_tileas.yield
  } {
    %16 = arith.constant 0 : i32
    %17 = arith.constant 0 : i32
    %18, %19 = nv_tileas.for %zero, %n, %one initial(%16, %17) : (i32, i32, i32, i32, i32) -> (i32, i32) {
    ^bb0(%row: i32, %20: i32, %21: i32):
      %old, %t3 = nv_tileas.tiled_load %out coords(%row, %zero) token(%token) {mem_semantic = "weak", has_boundary_tile, vector = 4 : i32, in_bounds = array<i1: false, false>} : (!view2, i32, i32, !nv_tileaa.mem_token) -> (!tile_128x64xf32, !nv_tileaa.mem_token)
      nv_tileas.tmem_store %old, %6 {accumulator} : (!tile_128x64xf32, !nv_tileas.tmem<#builtin.int<64>>) -> ()
      nv_tileas.barrier
      %22 = nv_tileas.for %zero, %steps, %one initial(%20) : i32 {
      ^bb0(%k: i32, %23: i32):
        nv_tileas.async.pipeline.consumer_wait %4, %23 : (!nv_tileas.pipeline<#builtin.int<9>>, i32) -> ()
        %24 = arith.constant 1 : i32
        %25 = arith.shrui %23, %24 : i32
        %26 = arith.constant true
        nv_tileas.async.umma %1, %3, %6, %26 lhs_stage(%25) rhs_stage(%25) pipeline(%4) token(%23) {mma = "tcgen05_k16_f16_f16_f32", lhs_placement = #cute.shared<16, swizzle<2,3,3> o (128,32):(32,1)>, rhs_placement = #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>, shape = array<i64: 128, 64, 32>} : (!nv_tileas.buffer<f16, #builtin.int<9>, #cute.shared<16, swizzle<2,3,3> o (128,32):(32,1)>>, !nv_tileas.buffer<f16, #builtin.int<9>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>, !nv_tileas.tmem<#builtin.int<64>>, i1, i32, i32, !nv_tileas.pipeline<#builtin.int<9>>, i32) -> ()
        %27 = nv_tileas.async.pipeline.advance %4, %23 : (!nv_tileas.pipeline<#builtin.int<9>>, i32) -> i32
        nv_tileas.continue %27 : (i32) -> ()
      }
      nv_tileas.async.umma_commit %7 : (!nv_tileas.pipeline<#builtin.int<1>>) -> ()
      nv_tileas.async.pipeline.consumer_wait %7, %21 : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %sum = nv_tileas.tmem_load %6 : (!nv_tileas.tmem<#builtin.int<64>>) -> !tile_128x64xf32
      %28 = nv_tileas.async.pipeline.advance %7, %21 : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      nv_tileas.barrier
      %t2 = nv_tileas.tiled_store %out, %sum coords(%row, %zero) token(%token) {mem_semantic = "weak", has_boundary_tile, vector = 4 : i32, in_bounds = array<i1: false, false>} : (!view2, !tile_128x64xf32, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
      nv_tileas.continue %22, %28 : (i32, i32) -> ()
    }
    nv_tileas.yield
  }
  nv_tileaa.return
}

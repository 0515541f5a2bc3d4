// Two matmuls whose results threads add in each iteration: a warp of its own issues them, behind what all warps arrive at.
// run: tileas-split-mma-issue sm_100

// ---- a_warp_issues_what_threads_read
nv_tileaa.func @k attributes {num_warps = 4 : i32, producer_warps = 1 : i32} {
^bb0(%zeros: tensor<128x16xf32>, %n: i32, %desc: !nv_tileas.tma_desc, %rows: !nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [128, 16], dim_map = [0, 1], steps = [128, 16], sparse = -1, padding = zero>, %columns: !nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [16, 16], dim_map = [0, 1], steps = [16, 16], sparse = -1, padding = zero>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %left = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (128,16):(16,1)>>
  %right = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>
  %ring = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 4608 : i32} : !nv_tileas.pipeline<#builtin.int<2>>
  %ready = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %product_ready = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %memory = nv_tileas.create_tmem : !nv_tileas.tmem<#builtin.int<32>>
  %sum = nv_tileas.alloc_tmem %memory {column = 0 : i32} : (!nv_tileas.tmem<#builtin.int<32>>) -> !nv_tileas.tmem<#builtin.int<16>>
  %product = nv_tileas.alloc_tmem %memory {column = 16 : i32} : (!nv_tileas.tmem<#builtin.int<32>>) -> !nv_tileas.tmem<#builtin.int<16>>
  nv_tileas.agent_switch {
    nv_tileas.async.tiled_tma_load %rows, %desc, %left, %ring, %zero coords(%zero, %zero) : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [128, 16], dim_map = [0, 1], steps = [128, 16], sparse = -1, padding = zero>, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (128,16):(16,1)>>, !nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
    nv_tileas.async.tiled_tma_load %columns, %desc, %right, %ring, %zero coords(%zero, %zero) : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [16, 16], dim_map = [0, 1], steps = [16, 16], sparse = -1, padding = zero>, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
    nv_tileas.yield
  } {
    %result, %t, %u = nv_tileas.for %zero, %n, %one initial(%zeros, %zero, %zero) : (i32, i32, i32, tensor<128x16xf32>, i32, i32) -> (tensor<128x16xf32>, i32, i32) {
    ^bb1(%i: i32, %total: tensor<128x16xf32>, %k: i32, %s: i32):
      nv_tileas.async.pipeline.consumer_wait %ring, %k : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
      %stage = arith.shrui %k, %one : i32
      nv_tileas.barrier
      %fresh = arith.constant 0 : i1
      nv_tileas.async.umma %left, %right, %sum, %fresh lhs_stage(%stage) rhs_stage(%stage) ready(%ready) {mma = "tcgen05_k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, shape = array<i64: 128, 16, 16>} : (!nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (128,16):(16,1)>>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.tmem<#builtin.int<16>>, i1, i32, i32, !nv_tileas.pipeline<#builtin.int<1>>) -> ()
      nv_tileas.async.umma %left, %right, %product, %fresh lhs_stage(%stage) rhs_stage(%stage) pipeline(%ring) token(%k) ready(%product_ready) {mma = "tcgen05_k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, shape = array<i64: 128, 16, 16>} : (!nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (128,16):(16,1)>>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.tmem<#builtin.int<16>>, i1, i32, i32, !nv_tileas.pipeline<#builtin.int<2>>, i32, !nv_tileas.pipeline<#builtin.int<1>>) -> ()
      nv_tileas.async.pipeline.consumer_wait %ready, %s : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %snext = nv_tileas.async.pipeline.advance %ready, %s : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      %part = nv_tileas.tmem_load %sum : (!nv_tileas.tmem<#builtin.int<16>>) -> tensor<128x16xf32>
      nv_tileas.async.pipeline.consumer_wait %product_ready, %s : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %other = nv_tileas.tmem_load %product : (!nv_tileas.tmem<#builtin.int<16>>) -> tensor<128x16xf32>
      %both = nv_tileas.addf %part, %other {rounding_mode = "nearest_even"} : tensor<128x16xf32>
      %more = nv_tileas.addf %total, %both {rounding_mode = "nearest_even"} : tensor<128x16xf32>
      %knext = nv_tileas.async.pipeline.advance %ring, %k : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> i32
      nv_tileas.continue %more, %knext, %snext : (tensor<128x16xf32>, i32, i32) -> ()
    }
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [128, 16], dim_map = [0, 1], steps = [128, 16], sparse = -1, padding = zero>
!view1 = !nv_tileaa.tiled_view<partition, !memref0, tile = [16, 16], dim_map = [0, 1], steps = [16, 16], sparse = -1, padding = zero>
nv_tileaa.func @k attributes {num_warps = 4 : i32, producer_warps = 2 : i32, schedule = {mma_warp = true}} {
^bb0(%zeros: tensor<128x16xf32>, %n: i32, %desc: !nv_tileas.tma_desc, %rows: !view0, %columns: !view1):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %left = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (128,16):(16,1)>>
  %right = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>
  %ring = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 4608 : i32} : !nv_tileas.pipeline<#builtin.int<2>>
  %ready = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %product_ready = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %memory = nv_tileas.create_tmem : !nv_tileas.tmem<#builtin.int<32>>
  %sum = nv_tileas.alloc_tmem %memory {column = 0 : i32} : (!nv_tileas.tmem<#builtin.int<32>>) -> !nv_tileas.tmem<#builtin.int<16>>
  %product = nv_tileas.alloc_tmem %memory {column = 16 : i32} : (!nv_tileas.tmem<#builtin.int<32>>) -> !nv_tileas.tmem<#builtin.int<16>>
  %0 = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32, producers = 4 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  nv_tileas.agent_switch {
    nv_tileas.async.tiled_tma_load %rows, %desc, %left, %ring, %zero coords(%zero, %zero) : (!view0, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (128,16):(16,1)>>, !nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
    nv_tileas.async.tiled_tma_load %columns, %desc, %right, %ring, %zero coords(%zero, %zero) : (!view1, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
    nv_tileas.yield
  } {
    %1 = arith.constant 0 : i32
    %2, %3 = nv_tileas.for %zero, %n, %one initial(%zero, %1) : (i32, i32, i32, i32, i32) -> (i32, i32) {
    ^bb0(%4: i32, %5: i32, %6: i32):
      nv_tileas.async.pipeline.consumer_wait %ring, %5 : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
      %7 = arith.shrui %5, %one : i32
      nv_tileas.async.pipeline.consumer_wait %0, %6 : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %8 = nv_tileas.async.pipeline.advance %0, %6 : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      %9 = arith.constant false
      nv_tileas.async.umma %left, %right, %sum, %9 lhs_stage(%7) rhs_stage(%7) ready(%ready) {mma = "tcgen05_k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, shape = array<i64: 128, 16, 16>, recomputed} : (!nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (128,16):(16,1)>>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.tmem<#builtin.int<16>>, i1, i32, i32, !nv_tileas.pipeline<#builtin.int<1>>) -> ()
      nv_tileas.async.umma %left, %right, %product, %9 lhs_stage(%7) rhs_stage(%7) pipeline(%ring) token(%5) ready(%product_ready) {mma = "tcgen05_k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, shape = array<i64: 128, 16, 16>, recomputed} : (!nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (128,16):(16,1)>>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.tmem<#builtin.int<16>>, i1, i32, i32, !nv_tileas.pipeline<#builtin.int<2>>, i32, !nv_tileas.pipeline<#builtin.int<1>>) -> ()
      %10 = nv_tileas.async.pipeline.advance %ring, %5 : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> i32
      nv_tileas.continue %10, %8 : (i32, i32) -> ()
    }
    nv_tileas.yield
  } {
    %11 = arith.constant 0 : i32
    %result, %t, %u, %12 = nv_tileas.for %zero, %n, %one initial(%zeros, %zero, %zero, %11) : (i32, i32, i32, tensor<128x16xf32>, i32, i32, i32) -> (tensor<128x16xf32>, i32, i32, i32) {
    ^bb0(%i: i32, %total: tensor<128x16xf32>, %k: i32, %s: i32, %13: i32):
      nv_tileas.async.pipeline.producer_commit %0, %13 {ordered} : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %14 = nv_tileas.async.pipeline.advance %0, %13 : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      nv_tileas.async.pipeline.consumer_wait %ready, %s : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %snext = nv_tileas.async.pipeline.advance %ready, %s : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      %part = nv_tileas.tmem_load %sum : (!nv_tileas.tmem<#builtin.int<16>>) -> tensor<128x16xf32>
      nv_tileas.async.pipeline.consumer_wait %product_ready, %s : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %other = nv_tileas.tmem_load %product : (!nv_tileas.tmem<#builtin.int<16>>) -> tensor<128x16xf32>
      %both = nv_tileas.addf %part, %other {rounding_mode = "nearest_even"} : tensor<128x16xf32>
      %more = nv_tileas.addf %total, %both {rounding_mode = "nearest_even"} : tensor<128x16xf32>
      %knext = nv_tileas.async.pipeline.advance %ring, %k : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> i32
      nv_tileas.continue %more, %knext, %snext, %14 : (tensor<128x16xf32>, i32, i32, i32) -> ()
    }
    nv_tileas.yield
  }
  nv_tileaa.return
}

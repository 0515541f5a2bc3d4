// A matmul that makes the left operand of another: the other one runs beside the next iteration's first.
// run: tileas-rotate-mma-loop sm_90

// ---- the_sum_is_one_iteration_behind
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%q: tensor<64x16xf16>, %zeros: tensor<64x16xf32>, %half: tensor<64x16xf32>, %n: i32, %desc: !nv_tileas.tma_desc, %view: !nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [16, 16], dim_map = [0, 1], steps = [16, 16], sparse = -1, padding = zero>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %keys = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>
  %values = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>
  %pk = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 512 : i32} : !nv_tileas.pipeline<#builtin.int<2>>
  %pv = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 512 : i32} : !nv_tileas.pipeline<#builtin.int<2>>
  nv_tileas.agent_switch {
    nv_tileas.async.tiled_tma_load %view, %desc, %keys, %pk, %zero coords(%zero, %zero) : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [16, 16], dim_map = [0, 1], steps = [16, 16], sparse = -1, padding = zero>, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
    nv_tileas.async.tiled_tma_load %view, %desc, %values, %pv, %zero coords(%zero, %zero) : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [16, 16], dim_map = [0, 1], steps = [16, 16], sparse = -1, padding = zero>, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
    nv_tileas.yield
  } {
    %sum, %tk, %tv = nv_tileas.for %zero, %n, %one initial(%zeros, %zero, %zero) : (i32, i32, i32, tensor<64x16xf32>, i32, i32) -> (tensor<64x16xf32>, i32, i32) {
    ^bb1(%i: i32, %total: tensor<64x16xf32>, %k: i32, %v: i32):
      nv_tileas.async.pipeline.consumer_wait %pk, %k : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
      %kstage = arith.shrui %k, %one : i32
      %scores = nv_tileas.async.dot %q, %keys, %zeros rhs_stage(%kstage) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, pending = 0 : i32} : (tensor<64x16xf16>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, tensor<64x16xf32>, i32) -> tensor<64x16xf32>
      %knext = nv_tileas.async.pipeline.advance %pk, %k : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> i32
      nv_tileas.async.pipeline.consumer_release %pk, %k : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
      %left = nv_tileas.fp_to_fp %scores {rounding_mode = "nearest_even"} : (tensor<64x16xf32>) -> tensor<64x16xf16>
      %less = nv_tileas.mulf %total, %half {rounding_mode = "nearest_even"} : tensor<64x16xf32>
      nv_tileas.async.pipeline.consumer_wait %pv, %v : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
      %vstage = arith.shrui %v, %one : i32
      %more = nv_tileas.async.dot %left, %values, %less rhs_stage(%vstage) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, pending = 0 : i32} : (tensor<64x16xf16>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, tensor<64x16xf32>, i32) -> tensor<64x16xf32>
      %vnext = nv_tileas.async.pipeline.advance %pv, %v : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> i32
      nv_tileas.async.pipeline.consumer_release %pv, %v : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
      nv_tileas.continue %more, %knext, %vnext : (tensor<64x16xf32>, i32, i32) -> ()
    }
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [16, 16], dim_map = [0, 1], steps = [16, 16], sparse = -1, padding = zero>
nv_tileaa.func @k attributes {num_warps = 4 : i32, schedule = {rotate = true}} {
^bb0(%q: tensor<64x16xf16>, %zeros: tensor<64x16xf32>, %half: tensor<64x16xf32>, %n: i32, %desc: !nv_tileas.tma_desc, %view: !view0):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %keys = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>
  %values = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>
  %pk = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 512 : i32} : !nv_tileas.pipeline<#builtin.int<2>>
  %pv = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 512 : i32} : !nv_tileas.pipeline<#builtin.int<2>>
  nv_tileas.agent_switch {
    nv_tileas.async.tiled_tma_load %view, %desc, %keys, %pk, %zero coords(%zero, %zero) : (!view0, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
    nv_tileas.async.tiled_tma_load %view, %desc, %values, %pv, %zero coords(%zero, %zero) : (!view0, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
    nv_tileas.yield
  } {
    %0 = arith.cmpi %zero, %n {predicate = "slt"} : (i32, i32) -> i1
    %sum, %tk, %tv = nv_tileas.if %0 : (i1) -> (tensor<64x16xf32>, i32, i32) {
      nv_tileas.async.pipeline.consumer_wait %pk, %zero : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
      %kstage = arith.shrui %zero, %one : i32
      %scores = nv_tileas.async.dot %q, %keys, %zeros rhs_stage(%kstage) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, pending = 0 : i32} : (tensor<64x16xf16>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, tensor<64x16xf32>, i32) -> tensor<64x16xf32>
      %knext = nv_tileas.async.pipeline.advance %pk, %zero : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> i32
      nv_tileas.async.pipeline.consumer_release %pk, %zero : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
      %left = nv_tileas.fp_to_fp %scores {rounding_mode = "nearest_even"} : (tensor<64x16xf32>) -> tensor<64x16xf16>
      %vstage = arith.shrui %zero, %one : i32
      %vnext = nv_tileas.async.pipeline.advance %pv, %zero : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> i32
      %1 = arith.addi %zero, %one : i32
      %2, %3, %4, %5, %6, %7 = nv_tileas.for %1, %n, %one initial(%knext, %vnext, %zeros, %zero, %left, %vstage) : (i32, i32, i32, i32, i32, tensor<64x16xf32>, i32, tensor<64x16xf16>, i32) -> (i32, i32, tensor<64x16xf32>, i32, tensor<64x16xf16>, i32) {
      ^bb0(%8: i32, %9: i32, %10: i32, %11: tensor<64x16xf32>, %12: i32, %13: tensor<64x16xf16>, %14: i32):
        nv_tileas.async.pipeline.consumer_wait %pk, %9 : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
        %kstage_1 = arith.shrui %9, %one : i32
        %scores_1 = nv_tileas.async.dot %q, %keys, %zeros rhs_stage(%kstage_1) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>} : (tensor<64x16xf16>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, tensor<64x16xf32>, i32) -> tensor<64x16xf32>
        %less = nv_tileas.mulf %11, %half {rounding_mode = "nearest_even"} : tensor<64x16xf32>
        nv_tileas.async.pipeline.consumer_wait %pv, %12 : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
        %more = nv_tileas.async.dot %13, %values, %less rhs_stage(%14) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>} : (tensor<64x16xf16>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, tensor<64x16xf32>, i32) -> tensor<64x16xf32>
        %15 = nv_tileas.async.dot_wait %scores_1 {pending = 1 : i32} : tensor<64x16xf32>
        %knext_1 = nv_tileas.async.pipeline.advance %pk, %9 : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> i32
        nv_tileas.async.pipeline.consumer_release %pk, %9 : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
        %left_1 = nv_tileas.fp_to_fp %15 {rounding_mode = "nearest_even"} : (tensor<64x16xf32>) -> tensor<64x16xf16>
        %vstage_1 = arith.shrui %10, %one : i32
        %vnext_1 = nv_tileas.async.pipeline.advance %pv, %10 : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> i32
        %16 = nv_tileas.async.dot_wait %more {pending = 0 : i32} : tensor<64x16xf32>
        nv_tileas.async.pipeline.consumer_release %pv, %12 : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
        nv_tileas.continue %knext_1, %vnext_1, %16, %10, %left_1, %vstage_1 : (i32, i32, tensor<64x16xf32>, i32, tensor<64x16xf16>, i32) -> ()
      }
      %less_1 = nv_tileas.mulf %4, %half {rounding_mode = "nearest_even"} : tensor<64x16xf32>
      nv_tileas.async.pipeline.consumer_wait %pv, %5 : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
      %more_1 = nv_tileas.async.dot %6, %values, %less_1 rhs_stage(%7) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, pending = 0 : i32} : (tensor<64x16xf16>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, tensor<64x16xf32>, i32) -> tensor<64x16xf32>
      nv_tileas.async.pipeline.consumer_release %pv, %5 : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
      nv_tileas.yield %more_1, %2, %3 : (tensor<64x16xf32>, i32, i32) -> ()
    } {
      nv_tileas.yield %zeros, %zero, %zero : (tensor<64x16xf32>, i32, i32) -> ()
    }
    nv_tileas.yield
  }
  nv_tileaa.return
}

// ---- one_stage_is_not_enough
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%q: tensor<64x16xf16>, %zeros: tensor<64x16xf32>, %n: i32, %desc: !nv_tileas.tma_desc, %view: !nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [16, 16], dim_map = [0, 1], steps = [16, 16], sparse = -1, padding = zero>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %keys = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<1>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>
  %values = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<1>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>
  %pk = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 512 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %pv = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 512 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  nv_tileas.agent_switch {
    nv_tileas.async.tiled_tma_load %view, %desc, %keys, %pk, %zero coords(%zero, %zero) : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [16, 16], dim_map = [0, 1], steps = [16, 16], sparse = -1, padding = zero>, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<1>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
    nv_tileas.async.tiled_tma_load %view, %desc, %values, %pv, %zero coords(%zero, %zero) : (!nv_tileaa.tiled_view<partition, !nv_tileaa.memref<f16, [?, ?], [?, 1]>, tile = [16, 16], dim_map = [0, 1], steps = [16, 16], sparse = -1, padding = zero>, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<1>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
    nv_tileas.yield
  } {
    %sum, %tk, %tv = nv_tileas.for %zero, %n, %one initial(%zeros, %zero, %zero) : (i32, i32, i32, tensor<64x16xf32>, i32, i32) -> (tensor<64x16xf32>, i32, i32) {
    ^bb1(%i: i32, %total: tensor<64x16xf32>, %k: i32, %v: i32):
      nv_tileas.async.pipeline.consumer_wait %pk, %k : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %scores = nv_tileas.async.dot %q, %keys, %zeros rhs_stage(%zero) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, pending = 0 : i32} : (tensor<64x16xf16>, !nv_tileas.buffer<f16, #builtin.int<1>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, tensor<64x16xf32>, i32) -> tensor<64x16xf32>
      %knext = nv_tileas.async.pipeline.advance %pk, %k : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      nv_tileas.async.pipeline.consumer_release %pk, %k : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %left = nv_tileas.fp_to_fp %scores {rounding_mode = "nearest_even"} : (tensor<64x16xf32>) -> tensor<64x16xf16>
      nv_tileas.async.pipeline.consumer_wait %pv, %v : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %more = nv_tileas.async.dot %left, %values, %total rhs_stage(%zero) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, pending = 0 : i32} : (tensor<64x16xf16>, !nv_tileas.buffer<f16, #builtin.int<1>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, tensor<64x16xf32>, i32) -> tensor<64x16xf32>
      %vnext = nv_tileas.async.pipeline.advance %pv, %v : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      nv_tileas.async.pipeline.consumer_release %pv, %v : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      nv_tileas.continue %more, %knext, %vnext : (tensor<64x16xf32>, i32, i32) -> ()
    }
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [16, 16], dim_map = [0, 1], steps = [16, 16], sparse = -1, padding = zero>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%q: tensor<64x16xf16>, %zeros: tensor<64x16xf32>, %n: i32, %desc: !nv_tileas.tma_desc, %view: !view0):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %keys = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<1>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>
  %values = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<1>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>
  %pk = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 512 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %pv = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 512 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  nv_tileas.agent_switch {
    nv_tileas.async.tiled_tma_load %view, %desc, %keys, %pk, %zero coords(%zero, %zero) : (!view0, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<1>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
    nv_tileas.async.tiled_tma_load %view, %desc, %values, %pv, %zero coords(%zero, %zero) : (!view0, !nv_tileas.tma_desc, i32, i32, !nv_tileas.buffer<f16, #builtin.int<1>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
    nv_tileas.yield
  } {
    %sum, %tk, %tv = nv_tileas.for %zero, %n, %one initial(%zeros, %zero, %zero) : (i32, i32, i32, tensor<64x16xf32>, i32, i32) -> (tensor<64x16xf32>, i32, i32) {
    ^bb0(%i: i32, %total: tensor<64x16xf32>, %k: i32, %v: i32):
      nv_tileas.async.pipeline.consumer_wait %pk, %k : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %scores = nv_tileas.async.dot %q, %keys, %zeros rhs_stage(%zero) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, pending = 0 : i32} : (tensor<64x16xf16>, !nv_tileas.buffer<f16, #builtin.int<1>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, tensor<64x16xf32>, i32) -> tensor<64x16xf32>
      %knext = nv_tileas.async.pipeline.advance %pk, %k : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      nv_tileas.async.pipeline.consumer_release %pk, %k : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %left = nv_tileas.fp_to_fp %scores {rounding_mode = "nearest_even"} : (tensor<64x16xf32>) -> tensor<64x16xf16>
      nv_tileas.async.pipeline.consumer_wait %pv, %v : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %more = nv_tileas.async.dot %left, %values, %total rhs_stage(%zero) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, pending = 0 : i32} : (tensor<64x16xf16>, !nv_tileas.buffer<f16, #builtin.int<1>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, tensor<64x16xf32>, i32) -> tensor<64x16xf32>
      %vnext = nv_tileas.async.pipeline.advance %pv, %v : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      nv_tileas.async.pipeline.consumer_release %pv, %v : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      nv_tileas.continue %more, %knext, %vnext : (tensor<64x16xf32>, i32, i32) -> ()
    }
    nv_tileas.yield
  }
  nv_tileaa.return
}

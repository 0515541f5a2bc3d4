// Warpgroups issue their matmuls one after the other.
// run: tileas-ping-pong-warpgroups sm_90

// ---- matmuls_that_are_in_flight_together
nv_tileaa.func @k attributes {num_warps = 8 : i32} {
^bb0(%q: tensor<128x16xf16>, %p: tensor<128x16xf16>, %zeros: tensor<128x16xf32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %keys = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %sum = nv_tileas.for %zero, %n, %one initial(%zeros) : (i32, i32, i32, tensor<128x16xf32>) -> (tensor<128x16xf32>) {
    ^bb1(%i: i32, %total: tensor<128x16xf32>):
      %scores = nv_tileas.async.dot %q, %keys, %zeros rhs_stage(%zero) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>} : (tensor<128x16xf16>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, tensor<128x16xf32>, i32) -> tensor<128x16xf32>
      %less = nv_tileas.mulf %total, %total {rounding_mode = "nearest_even"} : tensor<128x16xf32>
      %more = nv_tileas.async.dot %p, %keys, %less rhs_stage(%one) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>} : (tensor<128x16xf16>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, tensor<128x16xf32>, i32) -> tensor<128x16xf32>
      %first = nv_tileas.async.dot_wait %scores {pending = 1 : i32} : tensor<128x16xf32>
      %second = nv_tileas.async.dot_wait %more {pending = 0 : i32} : tensor<128x16xf32>
      nv_tileas.continue %second : (tensor<128x16xf32>) -> ()
    }
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {num_warps = 8 : i32, schedule = {ping_pong = true}} {
^bb0(%q: tensor<128x16xf16>, %p: tensor<128x16xf16>, %zeros: tensor<128x16xf32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %keys = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    nv_tileas.async.sequence.open {warpgroups = 2 : i32}
    %sum = nv_tileas.for %zero, %n, %one initial(%zeros) : (i32, i32, i32, tensor<128x16xf32>) -> tensor<128x16xf32> {
    ^bb0(%i: i32, %total: tensor<128x16xf32>):
      nv_tileas.async.sequence.wait {warpgroups = 2 : i32}
      %scores = nv_tileas.async.dot %q, %keys, %zeros rhs_stage(%zero) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>} : (tensor<128x16xf16>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, tensor<128x16xf32>, i32) -> tensor<128x16xf32>
      %less = nv_tileas.mulf %total, %total {rounding_mode = "nearest_even"} : tensor<128x16xf32>
      %more = nv_tileas.async.dot %p, %keys, %less rhs_stage(%one) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>} : (tensor<128x16xf16>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, tensor<128x16xf32>, i32) -> tensor<128x16xf32>
      nv_tileas.async.sequence.arrive {warpgroups = 2 : i32}
      %first = nv_tileas.async.dot_wait %scores {pending = 1 : i32} : tensor<128x16xf32>
      %second = nv_tileas.async.dot_wait %more {pending = 0 : i32} : tensor<128x16xf32>
      nv_tileas.continue %second : (tensor<128x16xf32>) -> ()
    }
    nv_tileas.async.sequence.close {warpgroups = 2 : i32}
    nv_tileas.yield
  }
  nv_tileaa.return
}

// ---- no_turn_waits_for_all_warps
nv_tileaa.func @k attributes {num_warps = 8 : i32} {
^bb0(%q: tensor<128x16xf16>, %p: tensor<128x16xf16>, %zeros: tensor<128x16xf32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %keys = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    nv_tileas.for %zero, %n, %one attributes {} : (i32, i32, i32) -> () {
    ^bb1(%i: i32):
      %scores = nv_tileas.async.dot %q, %keys, %zeros rhs_stage(%zero) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>} : (tensor<128x16xf16>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, tensor<128x16xf32>, i32) -> tensor<128x16xf32>
      nv_tileas.barrier
      %more = nv_tileas.async.dot %p, %keys, %zeros rhs_stage(%one) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>} : (tensor<128x16xf16>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, tensor<128x16xf32>, i32) -> tensor<128x16xf32>
      %first = nv_tileas.async.dot_wait %scores {pending = 1 : i32} : tensor<128x16xf32>
      %second = nv_tileas.async.dot_wait %more {pending = 0 : i32} : tensor<128x16xf32>
      nv_tileas.continue
    }
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {num_warps = 8 : i32} {
^bb0(%q: tensor<128x16xf16>, %p: tensor<128x16xf16>, %zeros: tensor<128x16xf32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %keys = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    nv_tileas.for %zero, %n, %one : (i32, i32, i32) -> () {
    ^bb0(%i: i32):
      %scores = nv_tileas.async.dot %q, %keys, %zeros rhs_stage(%zero) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>} : (tensor<128x16xf16>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, tensor<128x16xf32>, i32) -> tensor<128x16xf32>
      nv_tileas.barrier
      %more = nv_tileas.async.dot %p, %keys, %zeros rhs_stage(%one) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>} : (tensor<128x16xf16>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, tensor<128x16xf32>, i32) -> tensor<128x16xf32>
      %first = nv_tileas.async.dot_wait %scores {pending = 1 : i32} : tensor<128x16xf32>
      %second = nv_tileas.async.dot_wait %more {pending = 0 : i32} : tensor<128x16xf32>
      nv_tileas.continue
    }
    nv_tileas.yield
  }
  nv_tileaa.return
}

// Threads rescale an accumulator in registers in each iteration: they wait for its MMA and read it where they do, not an iteration before.
// run: tileas-read-accumulators-late sm_100

// ---- an_accumulator_that_each_iteration_rescales
nv_tileaa.func @k attributes {num_warps = 4 : i32, producer_warps = 1 : i32, schedule = {}} {
^bb0(%n: i32, %tile: tensor<128x16xf32>, %factor: tensor<128x16xf32>, %half: tensor<16x16xf16>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %true = arith.constant true
  %left = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (128,16):(16,1)>>
  %right = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>
  %ready = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %memory = nv_tileas.create_tmem : !nv_tileas.tmem<#builtin.int<32>>
  %acc = nv_tileas.alloc_tmem %memory {column = 0 : i32} : (!nv_tileas.tmem<#builtin.int<32>>) -> !nv_tileas.tmem<#builtin.int<16>>
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %total, %last = nv_tileas.for %zero, %n, %one initial(%tile, %zero) : (i32, i32, i32, tensor<128x16xf32>, i32) -> (tensor<128x16xf32>, i32) {
    ^bb1(%i: i32, %sum: tensor<128x16xf32>, %token: i32):
      %scaled = nv_tileas.mulf %sum, %factor {rounding_mode = "nearest_even"} : tensor<128x16xf32>
      nv_tileas.tmem_store %scaled, %acc {accumulator} : (tensor<128x16xf32>, !nv_tileas.tmem<#builtin.int<16>>) -> ()
      nv_tileas.barrier
      nv_tileas.async.umma %left, %right, %acc, %true lhs_stage(%zero) rhs_stage(%zero) {mma = "tcgen05_k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, shape = array<i64: 128, 16, 16>} : (!nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (128,16):(16,1)>>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.tmem<#builtin.int<16>>, i1, i32, i32) -> ()
      nv_tileas.async.umma_commit %ready : (!nv_tileas.pipeline<#builtin.int<1>>) -> ()
      nv_tileas.async.pipeline.consumer_wait %ready, %token : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %read = nv_tileas.tmem_load %acc : (!nv_tileas.tmem<#builtin.int<16>>) -> tensor<128x16xf32>
      %next = nv_tileas.async.pipeline.advance %ready, %token : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      nv_tileas.barrier
      nv_tileas.continue %read, %next : (tensor<128x16xf32>, i32) -> ()
    }
    %unused = arith.negf %total : tensor<128x16xf32>
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {num_warps = 4 : i32, producer_warps = 1 : i32, schedule = {}} {
^bb0(%n: i32, %tile: tensor<128x16xf32>, %factor: tensor<128x16xf32>, %half: tensor<16x16xf16>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %true = arith.constant true
  %left = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (128,16):(16,1)>>
  %right = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>
  %ready = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %memory = nv_tileas.create_tmem : !nv_tileas.tmem<#builtin.int<32>>
  %acc = nv_tileas.alloc_tmem %memory {column = 0 : i32} : (!nv_tileas.tmem<#builtin.int<32>>) -> !nv_tileas.tmem<#builtin.int<16>>
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    nv_tileas.tmem_store %tile, %acc {accumulator} : (tensor<128x16xf32>, !nv_tileas.tmem<#builtin.int<16>>) -> ()
    nv_tileas.async.umma_commit %ready : (!nv_tileas.pipeline<#builtin.int<1>>) -> ()
    %last = nv_tileas.for %zero, %n, %one initial(%zero) : i32 {
    ^bb0(%i: i32, %token: i32):
      nv_tileas.async.pipeline.consumer_wait %ready, %token : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %read = nv_tileas.tmem_load %acc : (!nv_tileas.tmem<#builtin.int<16>>) -> tensor<128x16xf32>
      %next = nv_tileas.async.pipeline.advance %ready, %token : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      %scaled = nv_tileas.mulf %read, %factor {rounding_mode = "nearest_even"} : tensor<128x16xf32>
      nv_tileas.tmem_store %scaled, %acc {accumulator} : (tensor<128x16xf32>, !nv_tileas.tmem<#builtin.int<16>>) -> ()
      nv_tileas.barrier
      nv_tileas.async.umma %left, %right, %acc, %true lhs_stage(%zero) rhs_stage(%zero) {mma = "tcgen05_k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, shape = array<i64: 128, 16, 16>} : (!nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (128,16):(16,1)>>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.tmem<#builtin.int<16>>, i1, i32, i32) -> ()
      nv_tileas.async.umma_commit %ready : (!nv_tileas.pipeline<#builtin.int<1>>) -> ()
      nv_tileas.barrier
      nv_tileas.continue %next : (i32) -> ()
    }
    nv_tileas.async.pipeline.consumer_wait %ready, %last : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
    %read_1 = nv_tileas.tmem_load %acc : (!nv_tileas.tmem<#builtin.int<16>>) -> tensor<128x16xf32>
    %next_1 = nv_tileas.async.pipeline.advance %ready, %last : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
    %unused = arith.negf %read_1 : tensor<128x16xf32>
    nv_tileas.yield
  }
  nv_tileaa.return
}

// ---- threads_write_an_operand_before_they_rescale
nv_tileaa.func @k attributes {num_warps = 4 : i32, producer_warps = 1 : i32, schedule = {}} {
^bb0(%n: i32, %tile: tensor<128x16xf32>, %factor: tensor<128x16xf32>, %half: tensor<16x16xf16>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %true = arith.constant true
  %left = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (128,16):(16,1)>>
  %right = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>
  %ready = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %memory = nv_tileas.create_tmem : !nv_tileas.tmem<#builtin.int<32>>
  %acc = nv_tileas.alloc_tmem %memory {column = 0 : i32} : (!nv_tileas.tmem<#builtin.int<32>>) -> !nv_tileas.tmem<#builtin.int<16>>
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %total, %last = nv_tileas.for %zero, %n, %one initial(%tile, %zero) : (i32, i32, i32, tensor<128x16xf32>, i32) -> (tensor<128x16xf32>, i32) {
    ^bb1(%i: i32, %sum: tensor<128x16xf32>, %token: i32):
      nv_tileas.local_store %half, %right, %zero {copy_atom = "stmatrix"} : (tensor<16x16xf16>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, i32) -> ()
      %scaled = nv_tileas.mulf %sum, %factor {rounding_mode = "nearest_even"} : tensor<128x16xf32>
      nv_tileas.tmem_store %scaled, %acc {accumulator} : (tensor<128x16xf32>, !nv_tileas.tmem<#builtin.int<16>>) -> ()
      nv_tileas.barrier
      nv_tileas.async.umma %left, %right, %acc, %true lhs_stage(%zero) rhs_stage(%zero) {mma = "tcgen05_k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, shape = array<i64: 128, 16, 16>} : (!nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (128,16):(16,1)>>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.tmem<#builtin.int<16>>, i1, i32, i32) -> ()
      nv_tileas.async.umma_commit %ready : (!nv_tileas.pipeline<#builtin.int<1>>) -> ()
      nv_tileas.async.pipeline.consumer_wait %ready, %token : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %read = nv_tileas.tmem_load %acc : (!nv_tileas.tmem<#builtin.int<16>>) -> tensor<128x16xf32>
      %next = nv_tileas.async.pipeline.advance %ready, %token : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      nv_tileas.barrier
      nv_tileas.continue %read, %next : (tensor<128x16xf32>, i32) -> ()
    }
    %unused = arith.negf %total : tensor<128x16xf32>
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {num_warps = 4 : i32, producer_warps = 1 : i32, schedule = {}} {
^bb0(%n: i32, %tile: tensor<128x16xf32>, %factor: tensor<128x16xf32>, %half: tensor<16x16xf16>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %true = arith.constant true
  %left = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (128,16):(16,1)>>
  %right = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>
  %ready = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %memory = nv_tileas.create_tmem : !nv_tileas.tmem<#builtin.int<32>>
  %acc = nv_tileas.alloc_tmem %memory {column = 0 : i32} : (!nv_tileas.tmem<#builtin.int<32>>) -> !nv_tileas.tmem<#builtin.int<16>>
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %total, %last = nv_tileas.for %zero, %n, %one initial(%tile, %zero) : (i32, i32, i32, tensor<128x16xf32>, i32) -> (tensor<128x16xf32>, i32) {
    ^bb0(%i: i32, %sum: tensor<128x16xf32>, %token: i32):
      nv_tileas.local_store %half, %right, %zero {copy_atom = "stmatrix"} : (tensor<16x16xf16>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, i32) -> ()
      %scaled = nv_tileas.mulf %sum, %factor {rounding_mode = "nearest_even"} : tensor<128x16xf32>
      nv_tileas.tmem_store %scaled, %acc {accumulator} : (tensor<128x16xf32>, !nv_tileas.tmem<#builtin.int<16>>) -> ()
      nv_tileas.barrier
      nv_tileas.async.umma %left, %right, %acc, %true lhs_stage(%zero) rhs_stage(%zero) {mma = "tcgen05_k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, shape = array<i64: 128, 16, 16>} : (!nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (128,16):(16,1)>>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.tmem<#builtin.int<16>>, i1, i32, i32) -> ()
      nv_tileas.async.umma_commit %ready : (!nv_tileas.pipeline<#builtin.int<1>>) -> ()
      nv_tileas.async.pipeline.consumer_wait %ready, %token : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %read = nv_tileas.tmem_load %acc : (!nv_tileas.tmem<#builtin.int<16>>) -> tensor<128x16xf32>
      %next = nv_tileas.async.pipeline.advance %ready, %token : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      nv_tileas.barrier
      nv_tileas.continue %read, %next : (tensor<128x16xf32>, i32) -> ()
    }
    %unused = arith.negf %total : tensor<128x16xf32>
    nv_tileas.yield
  }
  nv_tileaa.return
}

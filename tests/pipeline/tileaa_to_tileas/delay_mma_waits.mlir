// Threads write the left operand of one MMA and read the result of another, both issued by a warp of their own: they wait for the first one
// where they overwrite its operand in the next iteration.
// run: tileas-delay-mma-waits sm_100

// ---- a_wait_at_the_end_of_an_iteration
nv_tileaa.func @k attributes {num_warps = 4 : i32, producer_warps = 2 : i32, schedule = {mma_warp = true}} {
^bb0(%n: i32, %tile: tensor<128x16xf16>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %left = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (128,16):(16,1)>>
  %right = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>
  %scores_ready = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %acc_ready = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %read = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32, producers = 4 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %written = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32, producers = 4 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %memory = nv_tileas.create_tmem : !nv_tileas.tmem<#builtin.int<64>>
  %scores = nv_tileas.alloc_tmem %memory {column = 0 : i32} : (!nv_tileas.tmem<#builtin.int<64>>) -> !nv_tileas.tmem<#builtin.int<16>>
  %acc = nv_tileas.alloc_tmem %memory {column = 16 : i32} : (!nv_tileas.tmem<#builtin.int<64>>) -> !nv_tileas.tmem<#builtin.int<16>>
  %operand = nv_tileas.alloc_tmem %memory {column = 32 : i32} : (!nv_tileas.tmem<#builtin.int<64>>) -> !nv_tileas.tmem<#builtin.int<8>>
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %rs, %ws = nv_tileas.for %zero, %n, %one initial(%zero, %zero) : (i32, i32, i32, i32, i32) -> (i32, i32) {
    ^bb1(%i: i32, %r: i32, %w: i32):
      nv_tileas.async.pipeline.consumer_wait %read, %r : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %rnext = nv_tileas.async.pipeline.advance %read, %r : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      %freshrnext = arith.constant false
      nv_tileas.async.umma %left, %right, %scores, %freshrnext lhs_stage(%zero) rhs_stage(%zero) ready(%scores_ready) {mma = "tcgen05_k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, shape = array<i64: 128, 16, 16>} : (!nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (128,16):(16,1)>>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.tmem<#builtin.int<16>>, i1, i32, i32, !nv_tileas.pipeline<#builtin.int<1>>) -> ()
      nv_tileas.async.pipeline.consumer_wait %written, %w : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %wnext = nv_tileas.async.pipeline.advance %written, %w : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      %morernext = arith.constant true
      nv_tileas.async.umma %operand, %right, %acc, %morernext rhs_stage(%zero) ready(%acc_ready) {mma = "tcgen05_k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, shape = array<i64: 128, 16, 16>} : (!nv_tileas.tmem<#builtin.int<8>>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.tmem<#builtin.int<16>>, i1, i32, !nv_tileas.pipeline<#builtin.int<1>>) -> ()
      nv_tileas.continue %rnext, %wnext : (i32, i32) -> ()
    }
    nv_tileas.yield
  } {
    %s1, %g1, %h1, %x1 = nv_tileas.for %zero, %n, %one initial(%zero, %zero, %zero, %zero) : (i32, i32, i32, i32, i32, i32, i32) -> (i32, i32, i32, i32) {
    ^bb2(%j: i32, %s: i32, %g: i32, %h: i32, %x: i32):
      nv_tileas.async.pipeline.producer_commit %read, %h {ordered} : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %hnext = nv_tileas.async.pipeline.advance %read, %h : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      nv_tileas.async.pipeline.consumer_wait %scores_ready, %s : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %snext = nv_tileas.async.pipeline.advance %scores_ready, %s : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      %partsnext = nv_tileas.tmem_load %scores : (!nv_tileas.tmem<#builtin.int<16>>) -> tensor<128x16xf32>
      %halfsnext = nv_tileas.fp_to_fp %partsnext {rounding_mode = "nearest_even"} : (tensor<128x16xf32>) -> tensor<128x16xf16>
      nv_tileas.tmem_store %halfsnext, %operand : (tensor<128x16xf16>, !nv_tileas.tmem<#builtin.int<8>>) -> ()
      nv_tileas.async.pipeline.producer_commit %written, %x {ordered} : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %xnext = nv_tileas.async.pipeline.advance %written, %x : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      nv_tileas.async.pipeline.consumer_wait %acc_ready, %g : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %gnext = nv_tileas.async.pipeline.advance %acc_ready, %g : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      nv_tileas.continue %snext, %gnext, %hnext, %xnext : (i32, i32, i32, i32) -> ()
    }
    %total = nv_tileas.tmem_load %acc : (!nv_tileas.tmem<#builtin.int<16>>) -> tensor<128x16xf32>
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {num_warps = 4 : i32, producer_warps = 2 : i32, schedule = {mma_warp = true}} {
^bb0(%n: i32, %tile: tensor<128x16xf16>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %left = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (128,16):(16,1)>>
  %right = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>
  %scores_ready = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %acc_ready = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %read = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32, producers = 4 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %written = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32, producers = 4 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %memory = nv_tileas.create_tmem : !nv_tileas.tmem<#builtin.int<64>>
  %scores = nv_tileas.alloc_tmem %memory {column = 0 : i32} : (!nv_tileas.tmem<#builtin.int<64>>) -> !nv_tileas.tmem<#builtin.int<16>>
  %acc = nv_tileas.alloc_tmem %memory {column = 16 : i32} : (!nv_tileas.tmem<#builtin.int<64>>) -> !nv_tileas.tmem<#builtin.int<16>>
  %operand = nv_tileas.alloc_tmem %memory {column = 32 : i32} : (!nv_tileas.tmem<#builtin.int<64>>) -> !nv_tileas.tmem<#builtin.int<8>>
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %rs, %ws = nv_tileas.for %zero, %n, %one initial(%zero, %zero) : (i32, i32, i32, i32, i32) -> (i32, i32) {
    ^bb0(%i: i32, %r: i32, %w: i32):
      nv_tileas.async.pipeline.consumer_wait %read, %r : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %rnext = nv_tileas.async.pipeline.advance %read, %r : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      %freshrnext = arith.constant false
      nv_tileas.async.umma %left, %right, %scores, %freshrnext lhs_stage(%zero) rhs_stage(%zero) ready(%scores_ready) {mma = "tcgen05_k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, shape = array<i64: 128, 16, 16>} : (!nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (128,16):(16,1)>>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.tmem<#builtin.int<16>>, i1, i32, i32, !nv_tileas.pipeline<#builtin.int<1>>) -> ()
      nv_tileas.async.pipeline.consumer_wait %written, %w : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %wnext = nv_tileas.async.pipeline.advance %written, %w : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      %morernext = arith.constant true
      nv_tileas.async.umma %operand, %right, %acc, %morernext rhs_stage(%zero) ready(%acc_ready) {mma = "tcgen05_k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, shape = array<i64: 128, 16, 16>} : (!nv_tileas.tmem<#builtin.int<8>>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.tmem<#builtin.int<16>>, i1, i32, !nv_tileas.pipeline<#builtin.int<1>>) -> ()
      nv_tileas.continue %rnext, %wnext : (i32, i32) -> ()
    }
    nv_tileas.yield
  } {
    %0 = arith.cmpi %zero, %n {predicate = "slt"} : (i32, i32) -> i1
    %s1, %g1, %h1, %x1 = nv_tileas.for %zero, %n, %one initial(%zero, %zero, %zero, %zero) : (i32, i32, i32, i32, i32, i32, i32) -> (i32, i32, i32, i32) {
    ^bb0(%j: i32, %s: i32, %g: i32, %h: i32, %x: i32):
      nv_tileas.async.pipeline.producer_commit %read, %h {ordered} : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %hnext = nv_tileas.async.pipeline.advance %read, %h : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      nv_tileas.async.pipeline.consumer_wait %scores_ready, %s : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %snext = nv_tileas.async.pipeline.advance %scores_ready, %s : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      %partsnext = nv_tileas.tmem_load %scores : (!nv_tileas.tmem<#builtin.int<16>>) -> tensor<128x16xf32>
      %halfsnext = nv_tileas.fp_to_fp %partsnext {rounding_mode = "nearest_even"} : (tensor<128x16xf32>) -> tensor<128x16xf16>
      %1 = arith.cmpi %j, %zero {predicate = "ne"} : (i32, i32) -> i1
      %gnext = nv_tileas.if %1 : (i1) -> i32 {
        nv_tileas.async.pipeline.consumer_wait %acc_ready, %g : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
        %gnext_1 = nv_tileas.async.pipeline.advance %acc_ready, %g : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
        nv_tileas.yield %gnext_1 : (i32) -> ()
      } {
        nv_tileas.yield %g : (i32) -> ()
      }
      nv_tileas.tmem_store %halfsnext, %operand : (tensor<128x16xf16>, !nv_tileas.tmem<#builtin.int<8>>) -> ()
      nv_tileas.async.pipeline.producer_commit %written, %x {ordered} : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %xnext = nv_tileas.async.pipeline.advance %written, %x : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      nv_tileas.continue %snext, %gnext, %hnext, %xnext : (i32, i32, i32, i32) -> ()
    }
    %2 = nv_tileas.if %0 : (i1) -> i32 {
      nv_tileas.async.pipeline.consumer_wait %acc_ready, %g1 : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %gnext_2 = nv_tileas.async.pipeline.advance %acc_ready, %g1 : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      nv_tileas.yield %gnext_2 : (i32) -> ()
    } {
      nv_tileas.yield %g1 : (i32) -> ()
    }
    %total = nv_tileas.tmem_load %acc : (!nv_tileas.tmem<#builtin.int<16>>) -> tensor<128x16xf32>
    nv_tileas.yield
  }
  nv_tileaa.return
}

// ---- a_wait_before_the_loop_and_in_it
nv_tileaa.func @k attributes {num_warps = 4 : i32, producer_warps = 2 : i32, schedule = {mma_warp = true}} {
^bb0(%n: i32, %tile: tensor<128x16xf16>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %left = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (128,16):(16,1)>>
  %right = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>
  %scores_ready = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %acc_ready = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %read = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32, producers = 4 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %written = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32, producers = 4 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %memory = nv_tileas.create_tmem : !nv_tileas.tmem<#builtin.int<64>>
  %scores = nv_tileas.alloc_tmem %memory {column = 0 : i32} : (!nv_tileas.tmem<#builtin.int<64>>) -> !nv_tileas.tmem<#builtin.int<16>>
  %acc = nv_tileas.alloc_tmem %memory {column = 16 : i32} : (!nv_tileas.tmem<#builtin.int<64>>) -> !nv_tileas.tmem<#builtin.int<16>>
  %operand = nv_tileas.alloc_tmem %memory {column = 32 : i32} : (!nv_tileas.tmem<#builtin.int<64>>) -> !nv_tileas.tmem<#builtin.int<8>>
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    nv_tileas.async.pipeline.consumer_wait %read, %zero : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
    %r0 = nv_tileas.async.pipeline.advance %read, %zero : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
    %freshr0 = arith.constant false
    nv_tileas.async.umma %left, %right, %scores, %freshr0 lhs_stage(%zero) rhs_stage(%zero) ready(%scores_ready) {mma = "tcgen05_k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, shape = array<i64: 128, 16, 16>} : (!nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (128,16):(16,1)>>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.tmem<#builtin.int<16>>, i1, i32, i32, !nv_tileas.pipeline<#builtin.int<1>>) -> ()
    nv_tileas.async.pipeline.consumer_wait %written, %zero : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
    %w0 = nv_tileas.async.pipeline.advance %written, %zero : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
    %morer0 = arith.constant true
    nv_tileas.async.umma %operand, %right, %acc, %morer0 rhs_stage(%zero) ready(%acc_ready) {mma = "tcgen05_k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, shape = array<i64: 128, 16, 16>} : (!nv_tileas.tmem<#builtin.int<8>>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.tmem<#builtin.int<16>>, i1, i32, !nv_tileas.pipeline<#builtin.int<1>>) -> ()
    %rs, %ws = nv_tileas.for %one, %n, %one initial(%r0, %w0) : (i32, i32, i32, i32, i32) -> (i32, i32) {
    ^bb1(%i: i32, %r: i32, %w: i32):
      nv_tileas.async.pipeline.consumer_wait %read, %r : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %rnext = nv_tileas.async.pipeline.advance %read, %r : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      %freshrnext = arith.constant false
      nv_tileas.async.umma %left, %right, %scores, %freshrnext lhs_stage(%zero) rhs_stage(%zero) ready(%scores_ready) {mma = "tcgen05_k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, shape = array<i64: 128, 16, 16>} : (!nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (128,16):(16,1)>>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.tmem<#builtin.int<16>>, i1, i32, i32, !nv_tileas.pipeline<#builtin.int<1>>) -> ()
      nv_tileas.async.pipeline.consumer_wait %written, %w : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %wnext = nv_tileas.async.pipeline.advance %written, %w : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      %morernext = arith.constant true
      nv_tileas.async.umma %operand, %right, %acc, %morernext rhs_stage(%zero) ready(%acc_ready) {mma = "tcgen05_k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, shape = array<i64: 128, 16, 16>} : (!nv_tileas.tmem<#builtin.int<8>>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.tmem<#builtin.int<16>>, i1, i32, !nv_tileas.pipeline<#builtin.int<1>>) -> ()
      nv_tileas.continue %rnext, %wnext : (i32, i32) -> ()
    }
    nv_tileas.yield
  } {
    nv_tileas.async.pipeline.producer_commit %read, %zero {ordered} : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
    %h0 = nv_tileas.async.pipeline.advance %read, %zero : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
    nv_tileas.async.pipeline.consumer_wait %scores_ready, %zero : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
    %s0 = nv_tileas.async.pipeline.advance %scores_ready, %zero : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
    %parts0 = nv_tileas.tmem_load %scores : (!nv_tileas.tmem<#builtin.int<16>>) -> tensor<128x16xf32>
    %halfs0 = nv_tileas.fp_to_fp %parts0 {rounding_mode = "nearest_even"} : (tensor<128x16xf32>) -> tensor<128x16xf16>
    nv_tileas.tmem_store %halfs0, %operand : (tensor<128x16xf16>, !nv_tileas.tmem<#builtin.int<8>>) -> ()
    nv_tileas.async.pipeline.producer_commit %written, %zero {ordered} : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
    %x0 = nv_tileas.async.pipeline.advance %written, %zero : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
    nv_tileas.async.pipeline.consumer_wait %acc_ready, %zero : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
    %g0 = nv_tileas.async.pipeline.advance %acc_ready, %zero : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
    %s1, %g1, %h1, %x1 = nv_tileas.for %one, %n, %one initial(%s0, %g0, %h0, %x0) : (i32, i32, i32, i32, i32, i32, i32) -> (i32, i32, i32, i32) {
    ^bb2(%j: i32, %s: i32, %g: i32, %h: i32, %x: i32):
      nv_tileas.async.pipeline.producer_commit %read, %h {ordered} : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %hnext = nv_tileas.async.pipeline.advance %read, %h : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      nv_tileas.async.pipeline.consumer_wait %scores_ready, %s : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %snext = nv_tileas.async.pipeline.advance %scores_ready, %s : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      %partsnext = nv_tileas.tmem_load %scores : (!nv_tileas.tmem<#builtin.int<16>>) -> tensor<128x16xf32>
      %halfsnext = nv_tileas.fp_to_fp %partsnext {rounding_mode = "nearest_even"} : (tensor<128x16xf32>) -> tensor<128x16xf16>
      nv_tileas.tmem_store %halfsnext, %operand : (tensor<128x16xf16>, !nv_tileas.tmem<#builtin.int<8>>) -> ()
      nv_tileas.async.pipeline.producer_commit %written, %x {ordered} : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %xnext = nv_tileas.async.pipeline.advance %written, %x : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      nv_tileas.async.pipeline.consumer_wait %acc_ready, %g : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %gnext = nv_tileas.async.pipeline.advance %acc_ready, %g : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      nv_tileas.continue %snext, %gnext, %hnext, %xnext : (i32, i32, i32, i32) -> ()
    }
    %total = nv_tileas.tmem_load %acc : (!nv_tileas.tmem<#builtin.int<16>>) -> tensor<128x16xf32>
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {num_warps = 4 : i32, producer_warps = 2 : i32, schedule = {mma_warp = true}} {
^bb0(%n: i32, %tile: tensor<128x16xf16>):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %left = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (128,16):(16,1)>>
  %right = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>
  %scores_ready = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %acc_ready = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %read = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32, producers = 4 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %written = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32, producers = 4 : i32} : !nv_tileas.pipeline<#builtin.int<1>>
  %memory = nv_tileas.create_tmem : !nv_tileas.tmem<#builtin.int<64>>
  %scores = nv_tileas.alloc_tmem %memory {column = 0 : i32} : (!nv_tileas.tmem<#builtin.int<64>>) -> !nv_tileas.tmem<#builtin.int<16>>
  %acc = nv_tileas.alloc_tmem %memory {column = 16 : i32} : (!nv_tileas.tmem<#builtin.int<64>>) -> !nv_tileas.tmem<#builtin.int<16>>
  %operand = nv_tileas.alloc_tmem %memory {column = 32 : i32} : (!nv_tileas.tmem<#builtin.int<64>>) -> !nv_tileas.tmem<#builtin.int<8>>
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    nv_tileas.async.pipeline.consumer_wait %read, %zero : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
    %r0 = nv_tileas.async.pipeline.advance %read, %zero : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
    %freshr0 = arith.constant false
    nv_tileas.async.umma %left, %right, %scores, %freshr0 lhs_stage(%zero) rhs_stage(%zero) ready(%scores_ready) {mma = "tcgen05_k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, shape = array<i64: 128, 16, 16>} : (!nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (128,16):(16,1)>>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.tmem<#builtin.int<16>>, i1, i32, i32, !nv_tileas.pipeline<#builtin.int<1>>) -> ()
    nv_tileas.async.pipeline.consumer_wait %written, %zero : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
    %w0 = nv_tileas.async.pipeline.advance %written, %zero : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
    %morer0 = arith.constant true
    nv_tileas.async.umma %operand, %right, %acc, %morer0 rhs_stage(%zero) ready(%acc_ready) {mma = "tcgen05_k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, shape = array<i64: 128, 16, 16>} : (!nv_tileas.tmem<#builtin.int<8>>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.tmem<#builtin.int<16>>, i1, i32, !nv_tileas.pipeline<#builtin.int<1>>) -> ()
    %rs, %ws = nv_tileas.for %one, %n, %one initial(%r0, %w0) : (i32, i32, i32, i32, i32) -> (i32, i32) {
    ^bb0(%i: i32, %r: i32, %w: i32):
      nv_tileas.async.pipeline.consumer_wait %read, %r : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %rnext = nv_tileas.async.pipeline.advance %read, %r : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      %freshrnext = arith.constant false
      nv_tileas.async.umma %left, %right, %scores, %freshrnext lhs_stage(%zero) rhs_stage(%zero) ready(%scores_ready) {mma = "tcgen05_k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, shape = array<i64: 128, 16, 16>} : (!nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (128,16):(16,1)>>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.tmem<#builtin.int<16>>, i1, i32, i32, !nv_tileas.pipeline<#builtin.int<1>>) -> ()
      nv_tileas.async.pipeline.consumer_wait %written, %w : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %wnext = nv_tileas.async.pipeline.advance %written, %w : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      %morernext = arith.constant true
      nv_tileas.async.umma %operand, %right, %acc, %morernext rhs_stage(%zero) ready(%acc_ready) {mma = "tcgen05_k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>, shape = array<i64: 128, 16, 16>} : (!nv_tileas.tmem<#builtin.int<8>>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<1,3,3> o (16,16):(16,1)>>, !nv_tileas.tmem<#builtin.int<16>>, i1, i32, !nv_tileas.pipeline<#builtin.int<1>>) -> ()
      nv_tileas.continue %rnext, %wnext : (i32, i32) -> ()
    }
    nv_tileas.yield
  } {
    nv_tileas.async.pipeline.producer_commit %read, %zero {ordered} : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
    %h0 = nv_tileas.async.pipeline.advance %read, %zero : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
    nv_tileas.async.pipeline.consumer_wait %scores_ready, %zero : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
    %s0 = nv_tileas.async.pipeline.advance %scores_ready, %zero : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
    %parts0 = nv_tileas.tmem_load %scores : (!nv_tileas.tmem<#builtin.int<16>>) -> tensor<128x16xf32>
    %halfs0 = nv_tileas.fp_to_fp %parts0 {rounding_mode = "nearest_even"} : (tensor<128x16xf32>) -> tensor<128x16xf16>
    nv_tileas.tmem_store %halfs0, %operand : (tensor<128x16xf16>, !nv_tileas.tmem<#builtin.int<8>>) -> ()
    nv_tileas.async.pipeline.producer_commit %written, %zero {ordered} : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
    %x0 = nv_tileas.async.pipeline.advance %written, %zero : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
    %s1, %g1, %h1, %x1 = nv_tileas.for %one, %n, %one initial(%s0, %zero, %h0, %x0) : (i32, i32, i32, i32, i32, i32, i32) -> (i32, i32, i32, i32) {
    ^bb0(%j: i32, %s: i32, %g: i32, %h: i32, %x: i32):
      nv_tileas.async.pipeline.producer_commit %read, %h {ordered} : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %hnext = nv_tileas.async.pipeline.advance %read, %h : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      nv_tileas.async.pipeline.consumer_wait %scores_ready, %s : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %snext = nv_tileas.async.pipeline.advance %scores_ready, %s : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      %partsnext = nv_tileas.tmem_load %scores : (!nv_tileas.tmem<#builtin.int<16>>) -> tensor<128x16xf32>
      %halfsnext = nv_tileas.fp_to_fp %partsnext {rounding_mode = "nearest_even"} : (tensor<128x16xf32>) -> tensor<128x16xf16>
      nv_tileas.async.pipeline.consumer_wait %acc_ready, %g : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %gnext = nv_tileas.async.pipeline.advance %acc_ready, %g : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      nv_tileas.tmem_store %halfsnext, %operand : (tensor<128x16xf16>, !nv_tileas.tmem<#builtin.int<8>>) -> ()
      nv_tileas.async.pipeline.producer_commit %written, %x {ordered} : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
      %xnext = nv_tileas.async.pipeline.advance %written, %x : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
      nv_tileas.continue %snext, %gnext, %hnext, %xnext : (i32, i32, i32, i32) -> ()
    }
    nv_tileas.async.pipeline.consumer_wait %acc_ready, %g1 : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> ()
    %g0 = nv_tileas.async.pipeline.advance %acc_ready, %g1 : (!nv_tileas.pipeline<#builtin.int<1>>, i32) -> i32
    %total = nv_tileas.tmem_load %acc : (!nv_tileas.tmem<#builtin.int<16>>) -> tensor<128x16xf32>
    nv_tileas.yield
  }
  nv_tileaa.return
}

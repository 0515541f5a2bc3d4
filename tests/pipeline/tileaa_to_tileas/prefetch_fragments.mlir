// The fragments of a matmul's first step come across the wait for their stage.
// run: tileas-prefetch-fragments sm_80

// ---- the_last_step_is_multiplied_behind_the_next_readings
!ra = !nv_tileas.buffer<f16, #builtin.int<3>, #cute.shared<16, swizzle<2,3,3> o (64,32):(32,1)>>
!rb = !nv_tileas.buffer<f16, #builtin.int<3>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>
!a = tensor<64x32xf16, #cute.layout<(64,32), ((4,8),(2,2),(2,2,4,2)):((2,32),(512,0),(1,256,8,1024))>>
!b = tensor<32x64xf16, #cute.layout<(32,64), ((4,8),(2,2),(2,2,4,2)):((128,1),(0,8),(64,512,16,1024))>>
!c = tensor<64x64xf32, #cute.layout<(64,64), ((4,8),(2,2),(2,2,4,2)):((2,64),(1024,8),(1,512,16,2048))>>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%none: !c, %end: i32, %one: i32, %zero: i32, %three: i32):
  %x = nv_tileas.alloc_tensor : !ra
  %y = nv_tileas.alloc_tensor : !rb
  %sum, %last = nv_tileas.for %zero, %end, %one initial(%none, %zero) : (i32, i32, i32, !c, i32) -> (!c, i32) {
  ^bb1(%k: i32, %acc: !c, %stage: i32):
    nv_tileas.async_wait {pending = 1 : i32}
    nv_tileas.barrier
    %left = nv_tileas.local_load %x, %stage : (!ra, i32) -> !a
    %right = nv_tileas.local_load %y, %stage : (!rb, i32) -> !b
    %more = nv_tileas.dot %left, %right, %acc {mma = "mma_m16n8k16_f16_f16_f32", warps = array<i32: 2, 2, 1>} : (!a, !b, !c) -> !c
    nv_tileas.async_commit
    %raised = arith.addi %stage, %one : i32
    %next = arith.remui %raised, %three : i32
    nv_tileas.continue %more, %next : (!c, i32) -> ()
  }
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(64,64), ((4,8),(2,2),(2,2,4,2)):((2,64),(1024,8),(1,512,16,2048))>
!tile_64x64xf32 = tensor<64x64xf32, #layout0>
#layout1 = #cute.layout<(64,16), ((4,8),(2,2),(2,2,2,2)):((2,16),(256,0),(1,128,8,512))>
!tile_64x16xf16 = tensor<64x16xf16, #layout1>
#layout2 = #cute.layout<(16,64), ((4,8),(2,2),(2,2,4)):((128,1),(0,8),(64,512,16))>
!tile_16x64xf16 = tensor<16x64xf16, #layout2>
nv_tileaa.func @k attributes {num_warps = 4 : i32, schedule = {prefetch_fragments = true}} {
^bb0(%none: !tile_64x64xf32, %end: i32, %one: i32, %zero: i32, %three: i32):
  %x = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<3>, #cute.shared<16, swizzle<2,3,3> o (64,32):(32,1)>>
  %y = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<3>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>
  nv_tileas.async_wait {pending = 1 : i32}
  nv_tileas.barrier
  %0 = nv_tileas.local_load %x, %zero {starts = array<i64: 0, 0>} : (!nv_tileas.buffer<f16, #builtin.int<3>, #cute.shared<16, swizzle<2,3,3> o (64,32):(32,1)>>, i32) -> !tile_64x16xf16
  %1 = nv_tileas.local_load %y, %zero {starts = array<i64: 0, 0>} : (!nv_tileas.buffer<f16, #builtin.int<3>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>, i32) -> !tile_16x64xf16
  nv_tileas.async_commit
  %raised = arith.addi %zero, %one : i32
  %2 = arith.constant 0 : i32
  %3 = arith.cmpi %three, %2 {predicate = "eq"} : (i32, i32) -> i1
  %4 = arith.constant 1 : i32
  %5 = arith.select %3, %4, %three : (i1, i32, i32) -> i32
  %6 = arith.remui %raised, %5 : i32
  %sum, %7, %8, %9, %10 = nv_tileas.for %zero, %end, %one initial(%none, %0, %1, %6, %zero) : (i32, i32, i32, !tile_64x64xf32, !tile_64x16xf16, !tile_16x64xf16, i32, i32) -> (!tile_64x64xf32, !tile_64x16xf16, !tile_16x64xf16, i32, i32) {
  ^bb0(%11: i32, %12: !tile_64x64xf32, %13: !tile_64x16xf16, %14: !tile_16x64xf16, %15: i32, %16: i32):
    %17 = nv_tileas.local_load %x, %16 {starts = array<i64: 0, 16>} : (!nv_tileas.buffer<f16, #builtin.int<3>, #cute.shared<16, swizzle<2,3,3> o (64,32):(32,1)>>, i32) -> !tile_64x16xf16
    %18 = nv_tileas.local_load %y, %16 {starts = array<i64: 16, 0>} : (!nv_tileas.buffer<f16, #builtin.int<3>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>, i32) -> !tile_16x64xf16
    %more = nv_tileas.dot %13, %14, %12 {mma = "mma_m16n8k16_f16_f16_f32", warps = array<i32: 2, 2, 1>} : (!tile_64x16xf16, !tile_16x64xf16, !tile_64x64xf32) -> !tile_64x64xf32
    %19 = arith.addi %11, %one : i32
    nv_tileas.async_wait {pending = 1 : i32}
    nv_tileas.barrier
    %20 = nv_tileas.local_load %x, %15 {starts = array<i64: 0, 0>} : (!nv_tileas.buffer<f16, #builtin.int<3>, #cute.shared<16, swizzle<2,3,3> o (64,32):(32,1)>>, i32) -> !tile_64x16xf16
    %21 = nv_tileas.local_load %y, %15 {starts = array<i64: 0, 0>} : (!nv_tileas.buffer<f16, #builtin.int<3>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>, i32) -> !tile_16x64xf16
    %more_1 = nv_tileas.dot %17, %18, %more {mma = "mma_m16n8k16_f16_f16_f32", warps = array<i32: 2, 2, 1>} : (!tile_64x16xf16, !tile_16x64xf16, !tile_64x64xf32) -> !tile_64x64xf32
    nv_tileas.async_commit
    %raised_1 = arith.addi %15, %one : i32
    %22 = arith.constant 0 : i32
    %23 = arith.cmpi %three, %22 {predicate = "eq"} : (i32, i32) -> i1
    %24 = arith.constant 1 : i32
    %25 = arith.select %23, %24, %three : (i1, i32, i32) -> i32
    %26 = arith.remui %raised_1, %25 : i32
    nv_tileas.continue %more_1, %20, %21, %26, %15 : (!tile_64x64xf32, !tile_64x16xf16, !tile_16x64xf16, i32, i32) -> ()
  }
  nv_tileaa.return
}

// ---- operands_that_are_converted_on_the_way_stay
!ra = !nv_tileas.buffer<bf16, #builtin.int<3>, #cute.shared<16, swizzle<2,3,3> o (64,32):(32,1)>>
!rb = !nv_tileas.buffer<f16, #builtin.int<3>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>
!a = tensor<64x32xf16, #cute.layout<(64,32), ((4,8),(2,2),(2,2,4,2)):((2,32),(512,0),(1,256,8,1024))>>
!b = tensor<32x64xf16, #cute.layout<(32,64), ((4,8),(2,2),(2,2,4,2)):((128,1),(0,8),(64,512,16,1024))>>
!n = tensor<64x32xbf16, #cute.layout<(64,32), ((4,8),(2,2),(2,2,4,2)):((2,32),(512,0),(1,256,8,1024))>>
!c = tensor<64x64xf32, #cute.layout<(64,64), ((4,8),(2,2),(2,2,4,2)):((2,64),(1024,8),(1,512,16,2048))>>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%none: !c, %end: i32, %one: i32, %zero: i32, %three: i32):
  %x = nv_tileas.alloc_tensor : !ra
  %y = nv_tileas.alloc_tensor : !rb
  %sum, %last = nv_tileas.for %zero, %end, %one initial(%none, %zero) : (i32, i32, i32, !c, i32) -> (!c, i32) {
  ^bb1(%k: i32, %acc: !c, %stage: i32):
    nv_tileas.async_wait {pending = 1 : i32}
    nv_tileas.barrier
    %left = nv_tileas.local_load %x, %stage : (!ra, i32) -> !n
    %other = nv_tileas.fp_to_fp %left {rounding_mode = "nearest_even"} : (!n) -> !a
    %right = nv_tileas.local_load %y, %stage : (!rb, i32) -> !b
    %more = nv_tileas.dot %other, %right, %acc {mma = "mma_m16n8k16_f16_f16_f32", warps = array<i32: 2, 2, 1>} : (!a, !b, !c) -> !c
    nv_tileas.async_commit
    %raised = arith.addi %stage, %one : i32
    %next = arith.remui %raised, %three : i32
    nv_tileas.continue %more, %next : (!c, i32) -> ()
  }
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(64,64), ((4,8),(2,2),(2,2,4,2)):((2,64),(1024,8),(1,512,16,2048))>
!tile_64x64xf32 = tensor<64x64xf32, #layout0>
#layout1 = #cute.layout<(64,32), ((4,8),(2,2),(2,2,4,2)):((2,32),(512,0),(1,256,8,1024))>
!tile_64x32xbf16 = tensor<64x32xbf16, #layout1>
!tile_64x32xf16 = tensor<64x32xf16, #layout1>
#layout2 = #cute.layout<(32,64), ((4,8),(2,2),(2,2,4,2)):((128,1),(0,8),(64,512,16,1024))>
!tile_32x64xf16 = tensor<32x64xf16, #layout2>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%none: !tile_64x64xf32, %end: i32, %one: i32, %zero: i32, %three: i32):
  %x = nv_tileas.alloc_tensor : !nv_tileas.buffer<bf16, #builtin.int<3>, #cute.shared<16, swizzle<2,3,3> o (64,32):(32,1)>>
  %y = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<3>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>
  %sum, %last = nv_tileas.for %zero, %end, %one initial(%none, %zero) : (i32, i32, i32, !tile_64x64xf32, i32) -> (!tile_64x64xf32, i32) {
  ^bb0(%k: i32, %acc: !tile_64x64xf32, %stage: i32):
    nv_tileas.async_wait {pending = 1 : i32}
    nv_tileas.barrier
    %left = nv_tileas.local_load %x, %stage : (!nv_tileas.buffer<bf16, #builtin.int<3>, #cute.shared<16, swizzle<2,3,3> o (64,32):(32,1)>>, i32) -> !tile_64x32xbf16
    %other = nv_tileas.fp_to_fp %left {rounding_mode = "nearest_even"} : (!tile_64x32xbf16) -> !tile_64x32xf16
    %right = nv_tileas.local_load %y, %stage : (!nv_tileas.buffer<f16, #builtin.int<3>, #cute.shared<16, swizzle<3,3,3> o (32,64):(64,1)>>, i32) -> !tile_32x64xf16
    %more = nv_tileas.dot %other, %right, %acc {mma = "mma_m16n8k16_f16_f16_f32", warps = array<i32: 2, 2, 1>} : (!tile_64x32xf16, !tile_32x64xf16, !tile_64x64xf32) -> !tile_64x64xf32
    nv_tileas.async_commit
    %raised = arith.addi %stage, %one : i32
    %next = arith.remui %raised, %three : i32
    nv_tileas.continue %more, %next : (!tile_64x64xf32, i32) -> ()
  }
  nv_tileaa.return
}

// ---- a_matmul_of_one_step_stays
!ra = !nv_tileas.buffer<f16, #builtin.int<3>, #cute.shared<16, (64,16):(16,1)>>
!rb = !nv_tileas.buffer<f16, #builtin.int<3>, #cute.shared<16, (16,64):(64,1)>>
!a = tensor<64x16xf16, #cute.layout<(64,16), ((4,8),(2,2),(2,2,2,2)):((2,16),(256,0),(1,128,8,512))>>
!b = tensor<16x64xf16, #cute.layout<(16,64), ((4,8),(2,2),(2,2,4)):((128,1),(0,8),(64,512,16))>>
!c = tensor<64x64xf32, #cute.layout<(64,64), ((4,8),(2,2),(2,2,4,2)):((2,64),(1024,8),(1,512,16,2048))>>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%none: !c, %end: i32, %one: i32, %zero: i32):
  %x = nv_tileas.alloc_tensor : !ra
  %y = nv_tileas.alloc_tensor : !rb
  %sum = nv_tileas.for %zero, %end, %one initial(%none) : (i32, i32, i32, !c) -> !c {
  ^bb1(%k: i32, %acc: !c):
    nv_tileas.barrier
    %left = nv_tileas.local_load %x, %zero : (!ra, i32) -> !a
    %right = nv_tileas.local_load %y, %zero : (!rb, i32) -> !b
    %more = nv_tileas.dot %left, %right, %acc {mma = "mma_m16n8k16_f16_f16_f32", warps = array<i32: 2, 2, 1>} : (!a, !b, !c) -> !c
    nv_tileas.continue %more : (!c) -> ()
  }
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(64,64), ((4,8),(2,2),(2,2,4,2)):((2,64),(1024,8),(1,512,16,2048))>
!tile_64x64xf32 = tensor<64x64xf32, #layout0>
#layout1 = #cute.layout<(64,16), ((4,8),(2,2),(2,2,2,2)):((2,16),(256,0),(1,128,8,512))>
!tile_64x16xf16 = tensor<64x16xf16, #layout1>
#layout2 = #cute.layout<(16,64), ((4,8),(2,2),(2,2,4)):((128,1),(0,8),(64,512,16))>
!tile_16x64xf16 = tensor<16x64xf16, #layout2>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%none: !tile_64x64xf32, %end: i32, %one: i32, %zero: i32):
  %x = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<3>, #cute.shared<16, (64,16):(16,1)>>
  %y = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<3>, #cute.shared<16, (16,64):(64,1)>>
  %sum = nv_tileas.for %zero, %end, %one initial(%none) : (i32, i32, i32, !tile_64x64xf32) -> !tile_64x64xf32 {
  ^bb0(%k: i32, %acc: !tile_64x64xf32):
    nv_tileas.barrier
    %left = nv_tileas.local_load %x, %zero : (!nv_tileas.buffer<f16, #builtin.int<3>, #cute.shared<16, (64,16):(16,1)>>, i32) -> !tile_64x16xf16
    %right = nv_tileas.local_load %y, %zero : (!nv_tileas.buffer<f16, #builtin.int<3>, #cute.shared<16, (16,64):(64,1)>>, i32) -> !tile_16x64xf16
    %more = nv_tileas.dot %left, %right, %acc {mma = "mma_m16n8k16_f16_f16_f32", warps = array<i32: 2, 2, 1>} : (!tile_64x16xf16, !tile_16x64xf16, !tile_64x64xf32) -> !tile_64x64xf32
    nv_tileas.continue %more : (!tile_64x64xf32) -> ()
  }
  nv_tileaa.return
}

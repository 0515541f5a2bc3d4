// A left operand that threads store to a stage: they copy it two iterations ahead, and the MMA reads the next of four tiles.
// run: tileas-copy-operands-ahead sm_90

// ---- through_pointers
#rows = #cute.layout<(64,16), ((2,16),4,(8,1)):((8,16),256,(1,0))>
!pointers = tensor<64x16x!nv_tileaa.ptr<f16>, #rows>
!offsets = tensor<64x16xi32, #rows>
!mask = tensor<64x16xi1, #rows>
!tile = tensor<64x16xf16, #rows>
!acc = tensor<64x8xf32, #cute.layout<(64,8), ((4,8),4,(2,2)):((128,1),16,(64,8))>>
!left = !nv_tileas.buffer<f16, #builtin.int<4>, #cute.shared<16, swizzle<1,3,3> o (64,16):(16,1)>>
!right = !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<0,3,3> o (16,8):(8,1)>>
!pipeline = !nv_tileas.pipeline<#builtin.int<2>>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%start: !pointers, %bits: !mask, %zeros: !acc, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %a = nv_tileas.alloc_tensor : !left
  %b = nv_tileas.alloc_tensor : !right
  %p = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 256 : i32} : !pipeline
  %result, %last = nv_tileas.for %zero, %n, %one initial(%zeros, %zero) : (i32, i32, i32, !acc, i32) -> (!acc, i32) {
  ^bb1(%i: i32, %c: !acc, %token: i32):
    %by = nv_tileas.splat %i : (i32) -> !offsets
    %at = nv_tileas.addptr %start, %by : (!pointers, !offsets) -> !pointers
    %x, %t = nv_tileas.load %at mask(%bits) {mem_semantic = "weak", vector = 8 : i32} : (!pointers, !mask) -> (!tile, !nv_tileaa.mem_token)
    nv_tileas.async.pipeline.consumer_wait %p, %token : (!pipeline, i32) -> ()
    %stage = arith.shrui %token, %one : i32
    nv_tileas.local_store %x, %a, %stage pipeline(%p) : (!tile, !left, i32, !pipeline) -> ()
    nv_tileas.barrier
    %d = nv_tileas.async.dot %a, %b, %c lhs_stage(%stage) rhs_stage(%stage) {mma = "wgmma_m64k16_f16_f16_f32", lhs_placement = #cute.shared<16, swizzle<1,3,3> o (64,16):(16,1)>, rhs_placement = #cute.shared<16, swizzle<0,3,3> o (16,8):(8,1)>, pending = 1 : i32} : (!left, !right, !acc, i32, i32) -> !acc
    %next = nv_tileas.async.pipeline.advance %p, %token : (!pipeline, i32) -> i32
    nv_tileas.continue %d, %next : (!acc, i32) -> ()
  }
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(64,16), (32,4,8):(8,256,1)>
!tile_64x16xnv_tileaa_ptr_f16 = tensor<64x16x!nv_tileaa.ptr<f16>, #layout0>
!tile_64x16xi1 = tensor<64x16xi1, #layout0>
#layout1 = #cute.layout<(64,8), ((4,8),4,(2,2)):((128,1),16,(64,8))>
!tile_64x8xf32 = tensor<64x8xf32, #layout1>
!tile_64x16xi32 = tensor<64x16xi32, #layout0>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%start: !tile_64x16xnv_tileaa_ptr_f16, %bits: !tile_64x16xi1, %zeros: !tile_64x8xf32, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %0 = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<4>, #cute.shared<16, swizzle<1,3,3> o (64,16):(16,1)>>
  %b = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, (16,8):(8,1)>>
  %p = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 256 : i32} : !nv_tileas.pipeline<#builtin.int<2>>
  %1 = arith.cmpi %zero, %n {predicate = "slt"} : (i32, i32) -> i1
  %2 = arith.constant 0 : i32
  %3 = nv_tileas.splat %zero : (i32) -> !tile_64x16xi32
  %4 = nv_tileas.addptr %start, %3 : (!tile_64x16xnv_tileaa_ptr_f16, !tile_64x16xi32) -> !tile_64x16xnv_tileaa_ptr_f16
  nv_tileas.async_load %4, %0, %2, %1 mask(%bits) {vector = 8 : i32} : (!tile_64x16xnv_tileaa_ptr_f16, !tile_64x16xi1, !nv_tileas.buffer<f16, #builtin.int<4>, #cute.shared<16, swizzle<1,3,3> o (64,16):(16,1)>>, i32, i1) -> ()
  nv_tileas.async_commit
  %5 = arith.addi %zero, %one : i32
  %6 = arith.cmpi %5, %n {predicate = "slt"} : (i32, i32) -> i1
  %7 = arith.andi %1, %6 : i1
  %8 = arith.constant 1 : i32
  %9 = nv_tileas.splat %5 : (i32) -> !tile_64x16xi32
  %10 = nv_tileas.addptr %start, %9 : (!tile_64x16xnv_tileaa_ptr_f16, !tile_64x16xi32) -> !tile_64x16xnv_tileaa_ptr_f16
  nv_tileas.async_load %10, %0, %8, %7 mask(%bits) {vector = 8 : i32} : (!tile_64x16xnv_tileaa_ptr_f16, !tile_64x16xi1, !nv_tileas.buffer<f16, #builtin.int<4>, #cute.shared<16, swizzle<1,3,3> o (64,16):(16,1)>>, i32, i1) -> ()
  nv_tileas.async_commit
  %11 = arith.addi %5, %one : i32
  %12 = arith.cmpi %11, %n {predicate = "slt"} : (i32, i32) -> i1
  %13 = arith.andi %7, %12 : i1
  %14 = arith.constant -2147483646 : i32
  %15 = arith.maxsi %n, %14 : i32
  %16 = arith.constant 2 : i32
  %17 = arith.subi %15, %16 : i32
  %18 = arith.constant 0 : i32
  %19 = arith.constant 2 : i32
  %result, %last, %20, %21 = nv_tileas.for %zero, %n, %one initial(%zeros, %zero, %18, %19) : (i32, i32, i32, !tile_64x8xf32, i32, i32, i32) -> (!tile_64x8xf32, i32, i32, i32) {
  ^bb0(%i: i32, %c: !tile_64x8xf32, %token: i32, %22: i32, %23: i32):
    nv_tileas.async.pipeline.consumer_wait %p, %token : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> ()
    %stage = arith.shrui %token, %one : i32
    nv_tileas.async_wait {pending = 1 : i32, for_mma}
    nv_tileas.barrier
    %d = nv_tileas.async.dot %0, %b, %c lhs_stage(%22) rhs_stage(%stage) {mma = "wgmma_m64k16_f16_f16_f32", lhs_placement = #cute.shared<16, swizzle<1,3,3> o (64,16):(16,1)>, rhs_placement = #cute.shared<16, (16,8):(8,1)>, pending = 1 : i32} : (!nv_tileas.buffer<f16, #builtin.int<4>, #cute.shared<16, swizzle<1,3,3> o (64,16):(16,1)>>, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, (16,8):(8,1)>>, !tile_64x8xf32, i32, i32) -> !tile_64x8xf32
    %24 = arith.addi %i, %one : i32
    %25 = arith.addi %24, %one : i32
    %26 = arith.cmpi %i, %17 {predicate = "slt"} : (i32, i32) -> i1
    %27 = nv_tileas.splat %25 : (i32) -> !tile_64x16xi32
    %28 = nv_tileas.addptr %start, %27 : (!tile_64x16xnv_tileaa_ptr_f16, !tile_64x16xi32) -> !tile_64x16xnv_tileaa_ptr_f16
    nv_tileas.async_load %28, %0, %23, %26 mask(%bits) {vector = 8 : i32} : (!tile_64x16xnv_tileaa_ptr_f16, !tile_64x16xi1, !nv_tileas.buffer<f16, #builtin.int<4>, #cute.shared<16, swizzle<1,3,3> o (64,16):(16,1)>>, i32, i1) -> ()
    nv_tileas.async_commit
    %next = nv_tileas.async.pipeline.advance %p, %token : (!nv_tileas.pipeline<#builtin.int<2>>, i32) -> i32
    %29 = arith.constant 1 : i32
    %30 = arith.constant 4 : i32
    %31 = arith.constant 0 : i32
    %32 = arith.addi %22, %29 : i32
    %33 = arith.cmpi %32, %30 {predicate = "eq"} : (i32, i32) -> i1
    %34 = arith.select %33, %31, %32 : (i1, i32, i32) -> i32
    %35 = arith.constant 1 : i32
    %36 = arith.constant 4 : i32
    %37 = arith.constant 0 : i32
    %38 = arith.addi %23, %35 : i32
    %39 = arith.cmpi %38, %36 {predicate = "eq"} : (i32, i32) -> i1
    %40 = arith.select %39, %37, %38 : (i1, i32, i32) -> i32
    nv_tileas.continue %d, %next, %34, %40 : (!tile_64x8xf32, i32, i32, i32) -> ()
  }
  nv_tileas.async_wait {pending = 0 : i32}
  nv_tileaa.return
}

// Tiles that threads load for an MMA, a gathered left operand or scales: each iteration loads those of the next one.
// run: tileas-prefetch-gathered-tiles sm_90

// ---- addresses_from_the_index_and_from_what_the_loop_carries
#rows = #cute.layout<(64,16), (32,4,8):(1,256,32)>
!pointers = tensor<64x16x!nv_tileaa.ptr<f16>, #rows>
!offsets = tensor<64x16xi32, #rows>
!mask = tensor<64x16xi1, #rows>
!left = tensor<64x16xf16, #rows>
!sum = tensor<64x8xf32, #cute.layout<(64,8), ((4,8),4,(2,2)):((128,1),16,(64,8))>>
!right = !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<0,3,3> o (16,8):(8,1)>>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%start: !pointers, %bits: !mask, %zeros: !sum, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f16
  %other = nv_tileas.splat %none : (f16) -> !left
  %b = nv_tileas.alloc_tensor : !right
  %result, %last = nv_tileas.for %zero, %n, %one initial(%zeros, %start) : (i32, i32, i32, !sum, !pointers) -> (!sum, !pointers) {
  ^bb1(%i: i32, %c: !sum, %place: !pointers):
    %by = nv_tileas.splat %i : (i32) -> !offsets
    %at = nv_tileas.addptr %place, %by : (!pointers, !offsets) -> !pointers
    %a, %t = nv_tileas.load %at mask(%bits) other(%other) {mem_semantic = "weak", vector = 1 : i32} : (!pointers, !mask, !left) -> (!left, !nv_tileaa.mem_token)
    %d = nv_tileas.async.dot %a, %b, %c rhs_stage(%zero) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<0,3,3> o (16,8):(8,1)>, pending = 0 : i32} : (!left, !right, !sum, i32) -> !sum
    nv_tileas.continue %d, %at : (!sum, !pointers) -> ()
  }
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(64,16), (32,4,8):(1,256,32)>
!tile_64x16xnv_tileaa_ptr_f16 = tensor<64x16x!nv_tileaa.ptr<f16>, #layout0>
!tile_64x16xi1 = tensor<64x16xi1, #layout0>
#layout1 = #cute.layout<(64,8), ((4,8),4,(2,2)):((128,1),16,(64,8))>
!tile_64x8xf32 = tensor<64x8xf32, #layout1>
!tile_64x16xf16 = tensor<64x16xf16, #layout0>
!tile_64x16xi32 = tensor<64x16xi32, #layout0>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%start: !tile_64x16xnv_tileaa_ptr_f16, %bits: !tile_64x16xi1, %zeros: !tile_64x8xf32, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %none = arith.constant 0.000000e+00 : f16
  %other = nv_tileas.splat %none : (f16) -> !tile_64x16xf16
  %b = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, (16,8):(8,1)>>
  %0 = arith.cmpi %zero, %n {predicate = "slt"} : (i32, i32) -> i1
  %1 = nv_tileas.splat %zero : (i32) -> !tile_64x16xi32
  %2 = nv_tileas.addptr %start, %1 : (!tile_64x16xnv_tileaa_ptr_f16, !tile_64x16xi32) -> !tile_64x16xnv_tileaa_ptr_f16
  %3 = nv_tileas.splat %0 : (i1) -> !tile_64x16xi1
  %4 = arith.andi %bits, %3 : !tile_64x16xi1
  %5, %6 = nv_tileas.load %2 mask(%4) other(%other) {mem_semantic = "weak", vector = 1 : i32} : (!tile_64x16xnv_tileaa_ptr_f16, !tile_64x16xi1, !tile_64x16xf16) -> (!tile_64x16xf16, !nv_tileaa.mem_token)
  %7 = arith.addi %zero, %one : i32
  %8 = arith.cmpi %7, %n {predicate = "slt"} : (i32, i32) -> i1
  %9 = arith.andi %0, %8 : i1
  %result, %last, %10 = nv_tileas.for %zero, %n, %one initial(%zeros, %start, %5) : (i32, i32, i32, !tile_64x8xf32, !tile_64x16xnv_tileaa_ptr_f16, !tile_64x16xf16) -> (!tile_64x8xf32, !tile_64x16xnv_tileaa_ptr_f16, !tile_64x16xf16) {
  ^bb0(%i: i32, %c: !tile_64x8xf32, %place: !tile_64x16xnv_tileaa_ptr_f16, %a: !tile_64x16xf16):
    %11 = arith.addi %i, %one : i32
    %12 = arith.cmpi %11, %n {predicate = "slt"} : (i32, i32) -> i1
    %13 = nv_tileas.splat %i : (i32) -> !tile_64x16xi32
    %14 = nv_tileas.addptr %place, %13 : (!tile_64x16xnv_tileaa_ptr_f16, !tile_64x16xi32) -> !tile_64x16xnv_tileaa_ptr_f16
    %15 = nv_tileas.splat %11 : (i32) -> !tile_64x16xi32
    %16 = nv_tileas.addptr %14, %15 : (!tile_64x16xnv_tileaa_ptr_f16, !tile_64x16xi32) -> !tile_64x16xnv_tileaa_ptr_f16
    %17 = nv_tileas.splat %12 : (i1) -> !tile_64x16xi1
    %18 = arith.andi %bits, %17 : !tile_64x16xi1
    %19, %20 = nv_tileas.load %16 mask(%18) other(%other) {mem_semantic = "weak", vector = 1 : i32} : (!tile_64x16xnv_tileaa_ptr_f16, !tile_64x16xi1, !tile_64x16xf16) -> (!tile_64x16xf16, !nv_tileaa.mem_token)
    %by = nv_tileas.splat %i : (i32) -> !tile_64x16xi32
    %at = nv_tileas.addptr %place, %by : (!tile_64x16xnv_tileaa_ptr_f16, !tile_64x16xi32) -> !tile_64x16xnv_tileaa_ptr_f16
    %d = nv_tileas.async.dot %a, %b, %c rhs_stage(%zero) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, (16,8):(8,1)>, pending = 0 : i32} : (!tile_64x16xf16, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, (16,8):(8,1)>>, !tile_64x8xf32, i32) -> !tile_64x8xf32
    nv_tileas.continue %d, %at, %19 : (!tile_64x8xf32, !tile_64x16xnv_tileaa_ptr_f16, !tile_64x16xf16) -> ()
  }
  nv_tileaa.return
}

// ---- a_load_that_follows_a_store_of_the_loop_stays
#rows = #cute.layout<(64,16), (32,4,8):(1,256,32)>
!pointers = tensor<64x16x!nv_tileaa.ptr<f16>, #rows>
!left = tensor<64x16xf16, #rows>
!sum = tensor<64x8xf32, #cute.layout<(64,8), ((4,8),4,(2,2)):((128,1),16,(64,8))>>
!right = !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<0,3,3> o (16,8):(8,1)>>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%start: !pointers, %zeros: !sum, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = nv_tileas.alloc_tensor : !right
  %first = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %result, %last = nv_tileas.for %zero, %n, %one initial(%zeros, %first) : (i32, i32, i32, !sum, !nv_tileaa.mem_token) -> (!sum, !nv_tileaa.mem_token) {
  ^bb1(%i: i32, %c: !sum, %token: !nv_tileaa.mem_token):
    %a, %t = nv_tileas.load %start token(%token) {mem_semantic = "weak", vector = 1 : i32} : (!pointers, !nv_tileaa.mem_token) -> (!left, !nv_tileaa.mem_token)
    %d = nv_tileas.async.dot %a, %b, %c rhs_stage(%zero) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<0,3,3> o (16,8):(8,1)>, pending = 0 : i32} : (!left, !right, !sum, i32) -> !sum
    %u = nv_tileas.store %start, %a token(%t) {mem_semantic = "weak", vector = 1 : i32} : (!pointers, !left, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.continue %d, %u : (!sum, !nv_tileaa.mem_token) -> ()
  }
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(64,16), (32,4,8):(1,256,32)>
!tile_64x16xnv_tileaa_ptr_f16 = tensor<64x16x!nv_tileaa.ptr<f16>, #layout0>
#layout1 = #cute.layout<(64,8), ((4,8),4,(2,2)):((128,1),16,(64,8))>
!tile_64x8xf32 = tensor<64x8xf32, #layout1>
!tile_64x16xf16 = tensor<64x16xf16, #layout0>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%start: !tile_64x16xnv_tileaa_ptr_f16, %zeros: !tile_64x8xf32, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, (16,8):(8,1)>>
  %first = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %result, %last = nv_tileas.for %zero, %n, %one initial(%zeros, %first) : (i32, i32, i32, !tile_64x8xf32, !nv_tileaa.mem_token) -> (!tile_64x8xf32, !nv_tileaa.mem_token) {
  ^bb0(%i: i32, %c: !tile_64x8xf32, %token: !nv_tileaa.mem_token):
    %a, %t = nv_tileas.load %start token(%token) {mem_semantic = "weak", vector = 1 : i32} : (!tile_64x16xnv_tileaa_ptr_f16, !nv_tileaa.mem_token) -> (!tile_64x16xf16, !nv_tileaa.mem_token)
    %d = nv_tileas.async.dot %a, %b, %c rhs_stage(%zero) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, (16,8):(8,1)>, pending = 0 : i32} : (!tile_64x16xf16, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, (16,8):(8,1)>>, !tile_64x8xf32, i32) -> !tile_64x8xf32
    %u = nv_tileas.store %start, %a token(%t) {mem_semantic = "weak", vector = 1 : i32} : (!tile_64x16xnv_tileaa_ptr_f16, !tile_64x16xf16, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.continue %d, %u : (!tile_64x8xf32, !nv_tileaa.mem_token) -> ()
  }
  nv_tileaa.return
}

// ---- a_small_tile_of_a_view
#columns = #cute.layout<(1,8), ((4,8),4,2):((2,0),0,1)>
!m = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [1, 8], dim_map = [0, 1], steps = [1, 8], sparse = -1, padding = zero>
!scale = tensor<1x8xf16, #columns>
!left = tensor<64x16xf16, #cute.layout<(64,16), (32,4,8):(1,256,32)>>
!sum = tensor<64x8xf32, #cute.layout<(64,8), ((4,8),4,(2,2)):((128,1),16,(64,8))>>
!right = !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<0,3,3> o (16,8):(8,1)>>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%view: !v, %a: !left, %zeros: !sum, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = nv_tileas.alloc_tensor : !right
  %result = nv_tileas.for %zero, %n, %one initial(%zeros) : (i32, i32, i32, !sum) -> !sum {
  ^bb1(%i: i32, %c: !sum):
    %s, %t = nv_tileas.tiled_load %view coords(%i, %zero) {mem_semantic = "weak"} : (!v, i32, i32) -> (!scale, !nv_tileaa.mem_token)
    %twice = nv_tileas.addf %s, %s {rounding_mode = "nearest_even"} : (!scale, !scale) -> !scale
    %d = nv_tileas.async.dot %a, %b, %c rhs_stage(%zero) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<0,3,3> o (16,8):(8,1)>, pending = 0 : i32} : (!left, !right, !sum, i32) -> !sum
    nv_tileas.continue %d : (!sum) -> ()
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [1, 8], dim_map = [0, 1], steps = [1, 8], sparse = -1, padding = zero>
#layout0 = #cute.layout<(64,16), (32,4,8):(1,256,32)>
!tile_64x16xf16 = tensor<64x16xf16, #layout0>
#layout1 = #cute.layout<(64,8), ((4,8),4,(2,2)):((128,1),16,(64,8))>
!tile_64x8xf32 = tensor<64x8xf32, #layout1>
#layout2 = #cute.layout<(1,8), ((4,8),4,2):((2,0),0,1)>
!tile_1x8xf16 = tensor<1x8xf16, #layout2>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%view: !view0, %a: !tile_64x16xf16, %zeros: !tile_64x8xf32, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, (16,8):(8,1)>>
  %0 = arith.cmpi %zero, %n {predicate = "slt"} : (i32, i32) -> i1
  %1 = arith.constant -1 : i32
  %2 = arith.select %0, %zero, %1 : (i1, i32, i32) -> i32
  %3, %4 = nv_tileas.tiled_load %view coords(%2, %zero) {mem_semantic = "weak", index_checks = array<i32: 2, 2>} : (!view0, i32, i32) -> (!tile_1x8xf16, !nv_tileaa.mem_token)
  %5 = arith.addi %zero, %one : i32
  %6 = arith.cmpi %5, %n {predicate = "slt"} : (i32, i32) -> i1
  %7 = arith.andi %0, %6 : i1
  %result, %8 = nv_tileas.for %zero, %n, %one initial(%zeros, %3) : (i32, i32, i32, !tile_64x8xf32, !tile_1x8xf16) -> (!tile_64x8xf32, !tile_1x8xf16) {
  ^bb0(%i: i32, %c: !tile_64x8xf32, %s: !tile_1x8xf16):
    %9 = arith.addi %i, %one : i32
    %10 = arith.cmpi %9, %n {predicate = "slt"} : (i32, i32) -> i1
    %11 = arith.constant -1 : i32
    %12 = arith.select %10, %9, %11 : (i1, i32, i32) -> i32
    %13, %14 = nv_tileas.tiled_load %view coords(%12, %zero) {mem_semantic = "weak", index_checks = array<i32: 2, 2>} : (!view0, i32, i32) -> (!tile_1x8xf16, !nv_tileaa.mem_token)
    %twice = nv_tileas.addf %s, %s {rounding_mode = "nearest_even"} : !tile_1x8xf16
    %d = nv_tileas.async.dot %a, %b, %c rhs_stage(%zero) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, (16,8):(8,1)>, pending = 0 : i32} : (!tile_64x16xf16, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, (16,8):(8,1)>>, !tile_64x8xf32, i32) -> !tile_64x8xf32
    nv_tileas.continue %d, %13 : (!tile_64x8xf32, !tile_1x8xf16) -> ()
  }
  nv_tileaa.return
}

// ---- a_row_that_a_loop_reduces
!pointers = tensor<64x!nv_tileaa.ptr<f32>, #cute.layout<(64), (32,1,2):(1,0,32)>>
!offsets = tensor<64xi32, #cute.layout<(64), (32,1,2):(1,0,32)>>
!row = tensor<64xf32, #cute.layout<(64), (32,1,2):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%start: !pointers, %out: !nv_tileaa.ptr<f32>, %n: i32):
  %first = nv_tileas.get_program_id {axis = 0 : i32} : i32
  %one = arith.constant 1 : i32
  nv_tileas.for %first, %n, %one initial() : (i32, i32, i32) -> () {
  ^bb1(%i: i32):
    %by = nv_tileas.splat %i : (i32) -> !offsets
    %at = nv_tileas.addptr %start, %by : (!pointers, !offsets) -> !pointers
    %row, %t = nv_tileas.load %at {mem_semantic = "weak", vector = 1 : i32} : (!pointers) -> (!row, !nv_tileaa.mem_token)
    %total = nv_tileas.reduce %row attributes {axis = 0 : i32} : (!row) -> f32 {
    ^bb2(%a: f32, %b: f32):
      %c = nv_tileas.addf %a, %b {rounding_mode = "nearest_even"} : f32
      nv_tileas.yield %c : (f32) -> ()
    }
    %s = nv_tileas.store %out, %total {mem_semantic = "weak"} : (!nv_tileaa.ptr<f32>, f32) -> !nv_tileaa.mem_token
    nv_tileas.continue
  }
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(64), (32,1,2):(1,0,32)>
!tile_64xnv_tileaa_ptr_f32 = tensor<64x!nv_tileaa.ptr<f32>, #layout0>
!tile_64xi32 = tensor<64xi32, #layout0>
!tile_64xi1 = tensor<64xi1, #layout0>
!tile_64xf32 = tensor<64xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%start: !tile_64xnv_tileaa_ptr_f32, %out: !nv_tileaa.ptr<f32>, %n: i32):
  %first = nv_tileas.get_program_id {axis = 0 : i32} : i32
  %one = arith.constant 1 : i32
  %0 = arith.cmpi %first, %n {predicate = "slt"} : (i32, i32) -> i1
  %1 = nv_tileas.splat %first : (i32) -> !tile_64xi32
  %2 = nv_tileas.addptr %start, %1 : (!tile_64xnv_tileaa_ptr_f32, !tile_64xi32) -> !tile_64xnv_tileaa_ptr_f32
  %3 = nv_tileas.splat %0 : (i1) -> !tile_64xi1
  %4, %5 = nv_tileas.load %2 mask(%3) {mem_semantic = "weak", vector = 1 : i32} : (!tile_64xnv_tileaa_ptr_f32, !tile_64xi1) -> (!tile_64xf32, !nv_tileaa.mem_token)
  %6 = arith.addi %first, %one : i32
  %7 = arith.cmpi %6, %n {predicate = "slt"} : (i32, i32) -> i1
  %8 = arith.andi %0, %7 : i1
  %9 = nv_tileas.for %first, %n, %one initial(%4) : (i32, i32, i32, !tile_64xf32) -> !tile_64xf32 {
  ^bb0(%i: i32, %row: !tile_64xf32):
    %10 = arith.addi %i, %one : i32
    %11 = arith.cmpi %10, %n {predicate = "slt"} : (i32, i32) -> i1
    %12 = nv_tileas.splat %10 : (i32) -> !tile_64xi32
    %13 = nv_tileas.addptr %start, %12 : (!tile_64xnv_tileaa_ptr_f32, !tile_64xi32) -> !tile_64xnv_tileaa_ptr_f32
    %14 = nv_tileas.splat %11 : (i1) -> !tile_64xi1
    %15, %16 = nv_tileas.load %13 mask(%14) {mem_semantic = "weak", vector = 1 : i32} : (!tile_64xnv_tileaa_ptr_f32, !tile_64xi1) -> (!tile_64xf32, !nv_tileaa.mem_token)
    %by = nv_tileas.splat %i : (i32) -> !tile_64xi32
    %at = nv_tileas.addptr %start, %by : (!tile_64xnv_tileaa_ptr_f32, !tile_64xi32) -> !tile_64xnv_tileaa_ptr_f32
    %total = nv_tileas.reduce %row attributes {axis = 0 : i32} : (!tile_64xf32) -> f32 {
    ^bb0(%a: f32, %b: f32):
      %c = nv_tileas.addf %a, %b {rounding_mode = "nearest_even"} : f32
      nv_tileas.yield %c : (f32) -> ()
    }
    %s = nv_tileas.store %out, %total {mem_semantic = "weak"} : (!nv_tileaa.ptr<f32>, f32) -> !nv_tileaa.mem_token
    nv_tileas.continue %15 : (!tile_64xf32) -> ()
  }
  nv_tileaa.return
}

// ---- a_tile_for_which_a_thread_has_no_registers_beside_the_accumulator
#rows = #cute.layout<(64,128), (32,4,64):(1,2048,32)>
!pointers = tensor<64x128x!nv_tileaa.ptr<f16>, #rows>
!left = tensor<64x128xf16, #rows>
!sum = tensor<64x256xf32, #cute.layout<(64,256), ((4,8),4,(2,2,32)):((128,1),16,(64,8,512))>>
!right = !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<0,3,3> o (128,256):(256,1)>>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%start: !pointers, %zeros: !sum, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = nv_tileas.alloc_tensor : !right
  %result = nv_tileas.for %zero, %n, %one initial(%zeros) : (i32, i32, i32, !sum) -> !sum {
  ^bb1(%i: i32, %c: !sum):
    %a, %t = nv_tileas.load %start {mem_semantic = "weak", vector = 1 : i32} : (!pointers) -> (!left, !nv_tileaa.mem_token)
    %d = nv_tileas.async.dot %a, %b, %c rhs_stage(%zero) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<0,3,3> o (128,256):(256,1)>, pending = 0 : i32} : (!left, !right, !sum, i32) -> !sum
    nv_tileas.continue %d : (!sum) -> ()
  }
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(64,128), (32,4,64):(1,2048,32)>
!tile_64x128xnv_tileaa_ptr_f16 = tensor<64x128x!nv_tileaa.ptr<f16>, #layout0>
#layout1 = #cute.layout<(64,256), ((4,8),4,(2,2,32)):((128,1),16,(64,8,512))>
!tile_64x256xf32 = tensor<64x256xf32, #layout1>
!tile_64x128xf16 = tensor<64x128xf16, #layout0>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%start: !tile_64x128xnv_tileaa_ptr_f16, %zeros: !tile_64x256xf32, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, (128,256):(256,1)>>
  %result = nv_tileas.for %zero, %n, %one initial(%zeros) : (i32, i32, i32, !tile_64x256xf32) -> !tile_64x256xf32 {
  ^bb0(%i: i32, %c: !tile_64x256xf32):
    %a, %t = nv_tileas.load %start {mem_semantic = "weak", vector = 1 : i32} : (!tile_64x128xnv_tileaa_ptr_f16) -> (!tile_64x128xf16, !nv_tileaa.mem_token)
    %d = nv_tileas.async.dot %a, %b, %c rhs_stage(%zero) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, (128,256):(256,1)>, pending = 0 : i32} : (!tile_64x128xf16, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, (128,256):(256,1)>>, !tile_64x256xf32, i32) -> !tile_64x256xf32
    nv_tileas.continue %d : (!tile_64x256xf32) -> ()
  }
  nv_tileaa.return
}

// ---- an_index_of_an_element_that_the_loop_writes
!pointers = tensor<1x!nv_tileaa.ptr<i32>, #cute.layout<(1), (32,1,1):(0,0,0)>>
!index = tensor<1xi32, #cute.layout<(1), (32,1,1):(0,0,0)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%indices: !pointers, %counts: !pointers, %more: !index, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %first = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %last = nv_tileas.for %zero, %n, %one initial(%first) : (i32, i32, i32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token {
  ^bb1(%i: i32, %written: !nv_tileaa.mem_token):
    %by = nv_tileas.splat %i : (i32) -> !index
    %at = nv_tileas.addptr %indices, %by : (!pointers, !index) -> !pointers
    %index, %t = nv_tileas.load %at token(%first) {mem_semantic = "weak", vector = 1 : i32} : (!pointers, !nv_tileaa.mem_token) -> (!index, !nv_tileaa.mem_token)
    %place = nv_tileas.addptr %counts, %index : (!pointers, !index) -> !pointers
    %count, %read = nv_tileas.load %place token(%written) {mem_semantic = "weak", vector = 1 : i32} : (!pointers, !nv_tileaa.mem_token) -> (!index, !nv_tileaa.mem_token)
    %next = arith.addi %count, %more : !index
    %s = nv_tileas.store %place, %next token(%read) {mem_semantic = "weak", vector = 1 : i32} : (!pointers, !index, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.continue %s : (!nv_tileaa.mem_token) -> ()
  }
  nv_tileaa.return
}
// ==>
#layout0 = #cute.layout<(1), (32,1,1):(0,0,0)>
!tile_1xnv_tileaa_ptr_i32 = tensor<1x!nv_tileaa.ptr<i32>, #layout0>
!tile_1xi32 = tensor<1xi32, #layout0>
!tile_1xi1 = tensor<1xi1, #layout0>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%indices: !tile_1xnv_tileaa_ptr_i32, %counts: !tile_1xnv_tileaa_ptr_i32, %more: !tile_1xi32, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %first = nv_tileas.create_mem_token : !nv_tileaa.mem_token
  %0 = arith.cmpi %zero, %n {predicate = "slt"} : (i32, i32) -> i1
  %1 = nv_tileas.splat %zero : (i32) -> !tile_1xi32
  %2 = nv_tileas.addptr %indices, %1 : (!tile_1xnv_tileaa_ptr_i32, !tile_1xi32) -> !tile_1xnv_tileaa_ptr_i32
  %3 = nv_tileas.splat %0 : (i1) -> !tile_1xi1
  %4, %5 = nv_tileas.load %2 mask(%3) {mem_semantic = "weak", vector = 1 : i32} : (!tile_1xnv_tileaa_ptr_i32, !tile_1xi1) -> (!tile_1xi32, !nv_tileaa.mem_token)
  %6 = arith.addi %zero, %one : i32
  %7 = arith.cmpi %6, %n {predicate = "slt"} : (i32, i32) -> i1
  %8 = arith.andi %0, %7 : i1
  %last, %9 = nv_tileas.for %zero, %n, %one initial(%first, %4) : (i32, i32, i32, !nv_tileaa.mem_token, !tile_1xi32) -> (!nv_tileaa.mem_token, !tile_1xi32) {
  ^bb0(%i: i32, %written: !nv_tileaa.mem_token, %index: !tile_1xi32):
    %10 = arith.addi %i, %one : i32
    %11 = arith.cmpi %10, %n {predicate = "slt"} : (i32, i32) -> i1
    %12 = nv_tileas.splat %10 : (i32) -> !tile_1xi32
    %13 = nv_tileas.addptr %indices, %12 : (!tile_1xnv_tileaa_ptr_i32, !tile_1xi32) -> !tile_1xnv_tileaa_ptr_i32
    %14 = nv_tileas.splat %11 : (i1) -> !tile_1xi1
    %15, %16 = nv_tileas.load %13 mask(%14) {mem_semantic = "weak", vector = 1 : i32} : (!tile_1xnv_tileaa_ptr_i32, !tile_1xi1) -> (!tile_1xi32, !nv_tileaa.mem_token)
    %by = nv_tileas.splat %i : (i32) -> !tile_1xi32
    %at = nv_tileas.addptr %indices, %by : (!tile_1xnv_tileaa_ptr_i32, !tile_1xi32) -> !tile_1xnv_tileaa_ptr_i32
    %place = nv_tileas.addptr %counts, %index : (!tile_1xnv_tileaa_ptr_i32, !tile_1xi32) -> !tile_1xnv_tileaa_ptr_i32
    %count, %read = nv_tileas.load %place token(%written) {mem_semantic = "weak", vector = 1 : i32} : (!tile_1xnv_tileaa_ptr_i32, !nv_tileaa.mem_token) -> (!tile_1xi32, !nv_tileaa.mem_token)
    %next = arith.addi %count, %more : !tile_1xi32
    %s = nv_tileas.store %place, %next token(%read) {mem_semantic = "weak", vector = 1 : i32} : (!tile_1xnv_tileaa_ptr_i32, !tile_1xi32, !nv_tileaa.mem_token) -> !nv_tileaa.mem_token
    nv_tileas.continue %s, %15 : (!nv_tileaa.mem_token, !tile_1xi32) -> ()
  }
  nv_tileaa.return
}

// ---- a_length_before_the_loop_of_mmas
!m = !nv_tileaa.memref<i32, [?], [1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [1], dim_map = [0], steps = [1], sparse = -1, padding = none>
!length = tensor<1xi32, #cute.layout<(1), (32,4,1):(0,0,0)>>
!left = tensor<64x16xf16, #cute.layout<(64,16), (32,4,8):(1,256,32)>>
!sum = tensor<64x8xf32, #cute.layout<(64,8), ((4,8),4,(2,2)):((128,1),16,(64,8))>>
!right = !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<0,3,3> o (16,8):(8,1)>>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%view: !v, %a: !left, %zeros: !sum, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = nv_tileas.alloc_tensor : !right
  %result = nv_tileas.for %zero, %n, %one initial(%zeros) : (i32, i32, i32, !sum) -> !sum {
  ^bb1(%i: i32, %c: !sum):
    %s, %t = nv_tileas.tiled_load %view coords(%i) {mem_semantic = "weak"} : (!v, i32) -> (!length, !nv_tileaa.mem_token)
    %length = nv_tileas.extract_slice %s indices(%zero) : (!length, i32) -> i32
    %inner = nv_tileas.for %zero, %length, %one initial(%c) : (i32, i32, i32, !sum) -> !sum {
    ^bb2(%j: i32, %e: !sum):
      %d = nv_tileas.async.dot %a, %b, %e rhs_stage(%zero) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, swizzle<0,3,3> o (16,8):(8,1)>, pending = 0 : i32} : (!left, !right, !sum, i32) -> !sum
      nv_tileas.continue %d : (!sum) -> ()
    }
    nv_tileas.continue %inner : (!sum) -> ()
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<i32, [?], [1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [1], dim_map = [0], steps = [1], sparse = -1, padding = none>
#layout0 = #cute.layout<(64,16), (32,4,8):(1,256,32)>
!tile_64x16xf16 = tensor<64x16xf16, #layout0>
#layout1 = #cute.layout<(64,8), ((4,8),4,(2,2)):((128,1),16,(64,8))>
!tile_64x8xf32 = tensor<64x8xf32, #layout1>
#layout2 = #cute.layout<(1), (32,4,1):(0,0,0)>
!tile_1xi32 = tensor<1xi32, #layout2>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%view: !view0, %a: !tile_64x16xf16, %zeros: !tile_64x8xf32, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %b = nv_tileas.alloc_tensor : !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, (16,8):(8,1)>>
  %0 = arith.cmpi %zero, %n {predicate = "slt"} : (i32, i32) -> i1
  %1 = arith.constant -1 : i32
  %2 = arith.select %0, %zero, %1 : (i1, i32, i32) -> i32
  %3, %4 = nv_tileas.tiled_load %view coords(%2) {mem_semantic = "weak", index_checks = array<i32: 2>} : (!view0, i32) -> (!tile_1xi32, !nv_tileaa.mem_token)
  %5 = arith.addi %zero, %one : i32
  %6 = arith.cmpi %5, %n {predicate = "slt"} : (i32, i32) -> i1
  %7 = arith.andi %0, %6 : i1
  %result, %8 = nv_tileas.for %zero, %n, %one initial(%zeros, %3) : (i32, i32, i32, !tile_64x8xf32, !tile_1xi32) -> (!tile_64x8xf32, !tile_1xi32) {
  ^bb0(%i: i32, %c: !tile_64x8xf32, %s: !tile_1xi32):
    %9 = arith.addi %i, %one : i32
    %10 = arith.cmpi %9, %n {predicate = "slt"} : (i32, i32) -> i1
    %11 = arith.constant -1 : i32
    %12 = arith.select %10, %9, %11 : (i1, i32, i32) -> i32
    %13, %14 = nv_tileas.tiled_load %view coords(%12) {mem_semantic = "weak", index_checks = array<i32: 2>} : (!view0, i32) -> (!tile_1xi32, !nv_tileaa.mem_token)
    %length = nv_tileas.extract_slice %s indices(%zero) : (!tile_1xi32, i32) -> i32
    %inner = nv_tileas.for %zero, %length, %one initial(%c) : (i32, i32, i32, !tile_64x8xf32) -> !tile_64x8xf32 {
    ^bb0(%j: i32, %e: !tile_64x8xf32):
      %d = nv_tileas.async.dot %a, %b, %e rhs_stage(%zero) {mma = "wgmma_m64k16_f16_f16_f32", rhs_placement = #cute.shared<16, (16,8):(8,1)>, pending = 0 : i32} : (!tile_64x16xf16, !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, (16,8):(8,1)>>, !tile_64x8xf32, i32) -> !tile_64x8xf32
      nv_tileas.continue %d : (!tile_64x8xf32) -> ()
    }
    nv_tileas.continue %inner, %13 : (!tile_64x8xf32, !tile_1xi32) -> ()
  }
  nv_tileaa.return
}

// ---- words_beside_a_dot_that_threads_compute
#columns = #cute.layout<(1,8), ((4,8),4,2):((2,0),0,1)>
!m = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [1, 8], dim_map = [0, 1], steps = [1, 8], sparse = -1, padding = zero>
!scale = tensor<1x8xf32, #columns>
!left = tensor<64x16xf16>
!right = tensor<16x8xf16>
!result = tensor<64x8xf32>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%view: !v, %a: !left, %b: !right, %zeros: !result, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %result = nv_tileas.for %zero, %n, %one initial(%zeros) : (i32, i32, i32, !result) -> !result {
  ^bb1(%i: i32, %c: !result):
    %s, %t = nv_tileas.tiled_load %view coords(%i, %zero) {mem_semantic = "weak"} : (!v, i32, i32) -> (!scale, !nv_tileaa.mem_token)
    %twice = nv_tileas.addf %s, %s {rounding_mode = "nearest_even"} : (!scale, !scale) -> !scale
    %d = nv_tileas.dot %a, %b, %c : (!left, !right, !result) -> !result
    nv_tileas.continue %d : (!result) -> ()
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [1, 8], dim_map = [0, 1], steps = [1, 8], sparse = -1, padding = zero>
#layout0 = #cute.layout<(1,8), ((4,8),4,2):((2,0),0,1)>
!tile_1x8xf32 = tensor<1x8xf32, #layout0>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%view: !view0, %a: tensor<64x16xf16>, %b: tensor<16x8xf16>, %zeros: tensor<64x8xf32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %0 = arith.cmpi %zero, %n {predicate = "slt"} : (i32, i32) -> i1
  %1 = arith.constant -1 : i32
  %2 = arith.select %0, %zero, %1 : (i1, i32, i32) -> i32
  %3, %4 = nv_tileas.tiled_load %view coords(%2, %zero) {mem_semantic = "weak", index_checks = array<i32: 2, 2>} : (!view0, i32, i32) -> (!tile_1x8xf32, !nv_tileaa.mem_token)
  %5 = arith.addi %zero, %one : i32
  %6 = arith.cmpi %5, %n {predicate = "slt"} : (i32, i32) -> i1
  %7 = arith.andi %0, %6 : i1
  %result, %8 = nv_tileas.for %zero, %n, %one initial(%zeros, %3) : (i32, i32, i32, tensor<64x8xf32>, !tile_1x8xf32) -> (tensor<64x8xf32>, !tile_1x8xf32) {
  ^bb0(%i: i32, %c: tensor<64x8xf32>, %s: !tile_1x8xf32):
    %9 = arith.addi %i, %one : i32
    %10 = arith.cmpi %9, %n {predicate = "slt"} : (i32, i32) -> i1
    %11 = arith.constant -1 : i32
    %12 = arith.select %10, %9, %11 : (i1, i32, i32) -> i32
    %13, %14 = nv_tileas.tiled_load %view coords(%12, %zero) {mem_semantic = "weak", index_checks = array<i32: 2, 2>} : (!view0, i32, i32) -> (!tile_1x8xf32, !nv_tileaa.mem_token)
    %twice = nv_tileas.addf %s, %s {rounding_mode = "nearest_even"} : !tile_1x8xf32
    %d = nv_tileas.dot %a, %b, %c : (tensor<64x16xf16>, tensor<16x8xf16>, tensor<64x8xf32>) -> tensor<64x8xf32>
    nv_tileas.continue %d, %13 : (tensor<64x8xf32>, !tile_1x8xf32) -> ()
  }
  nv_tileaa.return
}

// ---- parts_of_words_stay_beside_a_dot_that_threads_compute
#columns = #cute.layout<(1,8), ((4,8),4,2):((2,0),0,1)>
!m = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!v = !nv_tileaa.tiled_view<partition, !m, tile = [1, 8], dim_map = [0, 1], steps = [1, 8], sparse = -1, padding = zero>
!scale = tensor<1x8xf16, #columns>
!left = tensor<64x16xf16>
!right = tensor<16x8xf16>
!result = tensor<64x8xf32>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%view: !v, %a: !left, %b: !right, %zeros: !result, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %result = nv_tileas.for %zero, %n, %one initial(%zeros) : (i32, i32, i32, !result) -> !result {
  ^bb1(%i: i32, %c: !result):
    %s, %t = nv_tileas.tiled_load %view coords(%i, %zero) {mem_semantic = "weak"} : (!v, i32, i32) -> (!scale, !nv_tileaa.mem_token)
    %twice = nv_tileas.addf %s, %s {rounding_mode = "nearest_even"} : (!scale, !scale) -> !scale
    %d = nv_tileas.dot %a, %b, %c : (!left, !right, !result) -> !result
    nv_tileas.continue %d : (!result) -> ()
  }
  nv_tileaa.return
}
// ==>
!memref0 = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view0 = !nv_tileaa.tiled_view<partition, !memref0, tile = [1, 8], dim_map = [0, 1], steps = [1, 8], sparse = -1, padding = zero>
#layout0 = #cute.layout<(1,8), ((4,8),4,2):((2,0),0,1)>
!tile_1x8xf16 = tensor<1x8xf16, #layout0>
nv_tileaa.func @k attributes {num_warps = 4 : i32} {
^bb0(%view: !view0, %a: tensor<64x16xf16>, %b: tensor<16x8xf16>, %zeros: tensor<64x8xf32>, %n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %result = nv_tileas.for %zero, %n, %one initial(%zeros) : (i32, i32, i32, tensor<64x8xf32>) -> tensor<64x8xf32> {
  ^bb0(%i: i32, %c: tensor<64x8xf32>):
    %s, %t = nv_tileas.tiled_load %view coords(%i, %zero) {mem_semantic = "weak"} : (!view0, i32, i32) -> (!tile_1x8xf16, !nv_tileaa.mem_token)
    %twice = nv_tileas.addf %s, %s {rounding_mode = "nearest_even"} : !tile_1x8xf16
    %d = nv_tileas.dot %a, %b, %c : (tensor<64x16xf16>, tensor<16x8xf16>, tensor<64x8xf32>) -> tensor<64x8xf32>
    nv_tileas.continue %d : (tensor<64x8xf32>) -> ()
  }
  nv_tileaa.return
}

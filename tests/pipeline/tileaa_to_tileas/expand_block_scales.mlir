// Scales stay where tensor memory takes them.
// run: tileas-expand-block-scales sm_100

// ---- a_matmul_of_warps
nv_tileaa.func @k {
^bb0(%a: tensor<128x64xf8E4M3FN>, %b: tensor<64x64xf8E4M3FN>, %c: tensor<128x64xf32>, %s: tensor<128x2xf8E8M0FNU>, %t: tensor<2x64xf8E8M0FNU>):
  %r = nv_tileas.dot %a, %b, %c lhs_scale(%s) rhs_scale(%t) : (tensor<128x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<128x64xf32>, tensor<128x2xf8E8M0FNU>, tensor<2x64xf8E8M0FNU>) -> tensor<128x64xf32>
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%a: tensor<128x64xf8E4M3FN>, %b: tensor<64x64xf8E4M3FN>, %c: tensor<128x64xf32>, %s: tensor<128x2xf8E8M0FNU>, %t: tensor<2x64xf8E8M0FNU>):
  %0 = nv_tileas.fp_to_fp %s {rounding_mode = "nearest_even"} : (tensor<128x2xf8E8M0FNU>) -> tensor<128x2xf32>
  %1 = nv_tileas.view %0 : (tensor<128x2xf32>) -> tensor<128x2x1xf32>
  %2 = nv_tileas.broadcast %1 : (tensor<128x2x1xf32>) -> tensor<128x2x32xf32>
  %3 = nv_tileas.view %2 : (tensor<128x2x32xf32>) -> tensor<128x64xf32>
  %4 = nv_tileas.fp_to_fp %a {rounding_mode = "nearest_even"} : (tensor<128x64xf8E4M3FN>) -> tensor<128x64xf32>
  %5 = nv_tileas.mulf %4, %3 {rounding_mode = "nearest_even"} : tensor<128x64xf32>
  %6 = nv_tileas.fp_to_fp %5 {rounding_mode = "nearest_even"} : (tensor<128x64xf32>) -> tensor<128x64xbf16>
  %7 = nv_tileas.fp_to_fp %t {rounding_mode = "nearest_even"} : (tensor<2x64xf8E8M0FNU>) -> tensor<2x64xf32>
  %8 = nv_tileas.view %7 : (tensor<2x64xf32>) -> tensor<2x1x64xf32>
  %9 = nv_tileas.broadcast %8 : (tensor<2x1x64xf32>) -> tensor<2x32x64xf32>
  %10 = nv_tileas.view %9 : (tensor<2x32x64xf32>) -> tensor<64x64xf32>
  %11 = nv_tileas.fp_to_fp %b {rounding_mode = "nearest_even"} : (tensor<64x64xf8E4M3FN>) -> tensor<64x64xf32>
  %12 = nv_tileas.mulf %11, %10 {rounding_mode = "nearest_even"} : tensor<64x64xf32>
  %13 = nv_tileas.fp_to_fp %12 {rounding_mode = "nearest_even"} : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %r = nv_tileas.dot %6, %13, %c : (tensor<128x64xbf16>, tensor<64x64xbf16>, tensor<128x64xf32>) -> tensor<128x64xf32>
  nv_tileaa.return
}

// ---- a_matmul_in_tensor_memory
nv_tileaa.func @k {
^bb0(%a: tensor<128x64xf8E4M3FN>, %b: tensor<64x64xf8E4M3FN>, %c: tensor<128x64xf32>, %s: tensor<128x2xf8E8M0FNU>, %t: tensor<2x64xf8E8M0FNU>):
  %r = nv_tileas.dot %a, %b, %c lhs_scale(%s) rhs_scale(%t) {mma = "tcgen05_mxf8f6f4_k32_f8E4M3FN_f8E4M3FN_f32_ue8m0"} : (tensor<128x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<128x64xf32>, tensor<128x2xf8E8M0FNU>, tensor<2x64xf8E8M0FNU>) -> tensor<128x64xf32>
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%a: tensor<128x64xf8E4M3FN>, %b: tensor<64x64xf8E4M3FN>, %c: tensor<128x64xf32>, %s: tensor<128x2xf8E8M0FNU>, %t: tensor<2x64xf8E8M0FNU>):
  %r = nv_tileas.dot %a, %b, %c lhs_scale(%s) rhs_scale(%t) {mma = "tcgen05_mxf8f6f4_k32_f8E4M3FN_f8E4M3FN_f32_ue8m0"} : (tensor<128x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<128x64xf32>, tensor<128x2xf8E8M0FNU>, tensor<2x64xf8E8M0FNU>) -> tensor<128x64xf32>
  nv_tileaa.return
}

// ---- a_matmul_that_scales_by_itself
// run: tileas-expand-block-scales sm_120
nv_tileaa.func @k {
^bb0(%a: tensor<128x64xf8E4M3FN>, %b: tensor<64x64xf8E4M3FN>, %c: tensor<128x64xf32>, %s: tensor<128x2xf8E8M0FNU>, %t: tensor<2x64xf8E8M0FNU>):
  %r = nv_tileas.dot %a, %b, %c lhs_scale(%s) rhs_scale(%t) : (tensor<128x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<128x64xf32>, tensor<128x2xf8E8M0FNU>, tensor<2x64xf8E8M0FNU>) -> tensor<128x64xf32>
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%a: tensor<128x64xf8E4M3FN>, %b: tensor<64x64xf8E4M3FN>, %c: tensor<128x64xf32>, %s: tensor<128x2xf8E8M0FNU>, %t: tensor<2x64xf8E8M0FNU>):
  %r = nv_tileas.dot %a, %b, %c lhs_scale(%s) rhs_scale(%t) : (tensor<128x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<128x64xf32>, tensor<128x2xf8E8M0FNU>, tensor<2x64xf8E8M0FNU>) -> tensor<128x64xf32>
  nv_tileaa.return
}

// ---- pairs_that_no_instruction_reads
nv_tileaa.func @k {
^bb0(%a: tensor<32x32xi8>, %b: tensor<32x32xi8>, %c: tensor<32x32xf32>, %s: tensor<32x4xf8E4M3FN>, %t: tensor<4x32xf8E4M3FN>):
  %r = nv_tileas.dot %a, %b, %c lhs_scale(%s) rhs_scale(%t) {packed} : (tensor<32x32xi8>, tensor<32x32xi8>, tensor<32x32xf32>, tensor<32x4xf8E4M3FN>, tensor<4x32xf8E4M3FN>) -> tensor<32x32xf32>
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%a: tensor<32x32xi8>, %b: tensor<32x32xi8>, %c: tensor<32x32xf32>, %s: tensor<32x4xf8E4M3FN>, %t: tensor<4x32xf8E4M3FN>):
  %0 = nv_tileas.view %a : (tensor<32x32xi8>) -> tensor<1024xi8>
  %1 = nv_tileas.reinterpret %0 : (tensor<1024xi8>) -> tensor<2048xf4E2M1FN>
  %2 = nv_tileas.view %1 : (tensor<2048xf4E2M1FN>) -> tensor<32x64xf4E2M1FN>
  %3 = nv_tileas.permute %b {permutation = array<i32: 1, 0>} : tensor<32x32xi8>
  %4 = nv_tileas.view %3 : (tensor<32x32xi8>) -> tensor<1024xi8>
  %5 = nv_tileas.reinterpret %4 : (tensor<1024xi8>) -> tensor<2048xf4E2M1FN>
  %6 = nv_tileas.view %5 : (tensor<2048xf4E2M1FN>) -> tensor<32x64xf4E2M1FN>
  %7 = nv_tileas.permute %6 {permutation = array<i32: 1, 0>} : (tensor<32x64xf4E2M1FN>) -> tensor<64x32xf4E2M1FN>
  %8 = nv_tileas.fp_to_fp %s {rounding_mode = "nearest_even"} : (tensor<32x4xf8E4M3FN>) -> tensor<32x4xf32>
  %9 = nv_tileas.view %8 : (tensor<32x4xf32>) -> tensor<32x4x1xf32>
  %10 = nv_tileas.broadcast %9 : (tensor<32x4x1xf32>) -> tensor<32x4x16xf32>
  %11 = nv_tileas.view %10 : (tensor<32x4x16xf32>) -> tensor<32x64xf32>
  %12 = nv_tileas.fp_to_fp %2 {rounding_mode = "nearest_even"} : (tensor<32x64xf4E2M1FN>) -> tensor<32x64xf32>
  %13 = nv_tileas.mulf %12, %11 {rounding_mode = "nearest_even"} : tensor<32x64xf32>
  %14 = nv_tileas.fp_to_fp %13 {rounding_mode = "nearest_even"} : (tensor<32x64xf32>) -> tensor<32x64xbf16>
  %15 = nv_tileas.fp_to_fp %t {rounding_mode = "nearest_even"} : (tensor<4x32xf8E4M3FN>) -> tensor<4x32xf32>
  %16 = nv_tileas.view %15 : (tensor<4x32xf32>) -> tensor<4x1x32xf32>
  %17 = nv_tileas.broadcast %16 : (tensor<4x1x32xf32>) -> tensor<4x16x32xf32>
  %18 = nv_tileas.view %17 : (tensor<4x16x32xf32>) -> tensor<64x32xf32>
  %19 = nv_tileas.fp_to_fp %7 {rounding_mode = "nearest_even"} : (tensor<64x32xf4E2M1FN>) -> tensor<64x32xf32>
  %20 = nv_tileas.mulf %19, %18 {rounding_mode = "nearest_even"} : tensor<64x32xf32>
  %21 = nv_tileas.fp_to_fp %20 {rounding_mode = "nearest_even"} : (tensor<64x32xf32>) -> tensor<64x32xbf16>
  %r = nv_tileas.dot %14, %21, %c : (tensor<32x64xbf16>, tensor<64x32xbf16>, tensor<32x32xf32>) -> tensor<32x32xf32>
  nv_tileaa.return
}

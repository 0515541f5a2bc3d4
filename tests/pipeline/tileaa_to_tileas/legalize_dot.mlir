// Matmuls of fp8 become matmuls of f16 where the GPU has no fp8 matmul; scaled ones too.
// run: tileas-legalize-dot sm_80

// ---- fp8_is_widened_where_there_is_no_row
nv_tileaa.func @k {
^bb0(%a: tensor<64x32xf8E4M3FN>, %b: tensor<32x64xf8E4M3FN>, %c: tensor<64x64xf32>):
  %r = nv_tileas.dot %a, %b, %c : (tensor<64x32xf8E4M3FN>, tensor<32x64xf8E4M3FN>, tensor<64x64xf32>) -> tensor<64x64xf32>
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%a: tensor<64x32xf8E4M3FN>, %b: tensor<32x64xf8E4M3FN>, %c: tensor<64x64xf32>):
  %0 = nv_tileas.fp_to_fp %a {rounding_mode = "nearest_even"} : (tensor<64x32xf8E4M3FN>) -> tensor<64x32xf16>
  %1 = nv_tileas.fp_to_fp %b {rounding_mode = "nearest_even"} : (tensor<32x64xf8E4M3FN>) -> tensor<32x64xf16>
  %r = nv_tileas.dot %0, %1, %c : (tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
  nv_tileaa.return
}

// ---- fp8_stays_where_there_is_one
// run: tileas-legalize-dot sm_89
nv_tileaa.func @k {
^bb0(%a: tensor<64x32xf8E4M3FN>, %b: tensor<32x64xf8E4M3FN>, %c: tensor<64x64xf32>):
  %r = nv_tileas.dot %a, %b, %c : (tensor<64x32xf8E4M3FN>, tensor<32x64xf8E4M3FN>, tensor<64x64xf32>) -> tensor<64x64xf32>
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%a: tensor<64x32xf8E4M3FN>, %b: tensor<32x64xf8E4M3FN>, %c: tensor<64x64xf32>):
  %r = nv_tileas.dot %a, %b, %c : (tensor<64x32xf8E4M3FN>, tensor<32x64xf8E4M3FN>, tensor<64x64xf32>) -> tensor<64x64xf32>
  nv_tileaa.return
}

// ---- f16_stays
nv_tileaa.func @k {
^bb0(%a: tensor<64x32xf16>, %b: tensor<32x64xf16>, %c: tensor<64x64xf32>):
  %r = nv_tileas.dot %a, %b, %c : (tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%a: tensor<64x32xf16>, %b: tensor<32x64xf16>, %c: tensor<64x64xf32>):
  %r = nv_tileas.dot %a, %b, %c : (tensor<64x32xf16>, tensor<32x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
  nv_tileaa.return
}

// ---- scaled_matmul
nv_tileaa.func @k {
^bb0(%a: tensor<64x64xf8E4M3FN>, %b: tensor<64x64xf8E4M3FN>, %c: tensor<64x64xf32>, %s: tensor<64x2xf8E8M0FNU>, %t: tensor<2x64xf8E8M0FNU>):
  %r = nv_tileas.dot %a, %b, %c lhs_scale(%s) rhs_scale(%t) : (tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x64xf32>, tensor<64x2xf8E8M0FNU>, tensor<2x64xf8E8M0FNU>) -> tensor<64x64xf32>
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%a: tensor<64x64xf8E4M3FN>, %b: tensor<64x64xf8E4M3FN>, %c: tensor<64x64xf32>, %s: tensor<64x2xf8E8M0FNU>, %t: tensor<2x64xf8E8M0FNU>):
  %0 = nv_tileas.fp_to_fp %s {rounding_mode = "nearest_even"} : (tensor<64x2xf8E8M0FNU>) -> tensor<64x2xf32>
  %1 = nv_tileas.view %0 : (tensor<64x2xf32>) -> tensor<64x2x1xf32>
  %2 = nv_tileas.broadcast %1 : (tensor<64x2x1xf32>) -> tensor<64x2x32xf32>
  %3 = nv_tileas.view %2 : (tensor<64x2x32xf32>) -> tensor<64x64xf32>
  %4 = nv_tileas.fp_to_fp %a {rounding_mode = "nearest_even"} : (tensor<64x64xf8E4M3FN>) -> tensor<64x64xf32>
  %5 = nv_tileas.mulf %4, %3 {rounding_mode = "nearest_even"} : tensor<64x64xf32>
  %6 = nv_tileas.fp_to_fp %5 {rounding_mode = "nearest_even"} : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %7 = nv_tileas.fp_to_fp %t {rounding_mode = "nearest_even"} : (tensor<2x64xf8E8M0FNU>) -> tensor<2x64xf32>
  %8 = nv_tileas.view %7 : (tensor<2x64xf32>) -> tensor<2x1x64xf32>
  %9 = nv_tileas.broadcast %8 : (tensor<2x1x64xf32>) -> tensor<2x32x64xf32>
  %10 = nv_tileas.view %9 : (tensor<2x32x64xf32>) -> tensor<64x64xf32>
  %11 = nv_tileas.fp_to_fp %b {rounding_mode = "nearest_even"} : (tensor<64x64xf8E4M3FN>) -> tensor<64x64xf32>
  %12 = nv_tileas.mulf %11, %10 {rounding_mode = "nearest_even"} : tensor<64x64xf32>
  %13 = nv_tileas.fp_to_fp %12 {rounding_mode = "nearest_even"} : (tensor<64x64xf32>) -> tensor<64x64xbf16>
  %r = nv_tileas.dot %6, %13, %c : (tensor<64x64xbf16>, tensor<64x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
  nv_tileaa.return
}

// ---- scales_of_the_target_stay
// run: tileas-legalize-dot sm_120
nv_tileaa.func @k {
^bb0(%a: tensor<64x64xf8E4M3FN>, %b: tensor<64x64xf8E4M3FN>, %c: tensor<64x64xf32>, %s: tensor<64x2xf8E8M0FNU>, %t: tensor<2x64xf8E8M0FNU>):
  %r = nv_tileas.dot %a, %b, %c lhs_scale(%s) rhs_scale(%t) : (tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x64xf32>, tensor<64x2xf8E8M0FNU>, tensor<2x64xf8E8M0FNU>) -> tensor<64x64xf32>
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%a: tensor<64x64xf8E4M3FN>, %b: tensor<64x64xf8E4M3FN>, %c: tensor<64x64xf32>, %s: tensor<64x2xf8E8M0FNU>, %t: tensor<2x64xf8E8M0FNU>):
  %r = nv_tileas.dot %a, %b, %c lhs_scale(%s) rhs_scale(%t) : (tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x64xf32>, tensor<64x2xf8E8M0FNU>, tensor<2x64xf8E8M0FNU>) -> tensor<64x64xf32>
  nv_tileaa.return
}

// ---- scales_of_the_target_that_the_kernel_names_stay
// run: tileas-legalize-dot sm_80
// seed: lowering-overview kernel-spec-mirrored
nv_tileaa.func @k attributes {nv_tileaa.target_spec = "sm_120a"} {
^bb0(%a: tensor<64x64xf8E4M3FN>, %b: tensor<64x64xf8E4M3FN>, %c: tensor<64x64xf32>, %s: tensor<64x2xf8E8M0FNU>, %t: tensor<2x64xf8E8M0FNU>):
  %r = nv_tileas.dot %a, %b, %c lhs_scale(%s) rhs_scale(%t) : (tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x64xf32>, tensor<64x2xf8E8M0FNU>, tensor<2x64xf8E8M0FNU>) -> tensor<64x64xf32>
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k attributes {nv_tileaa.target_spec = "sm_120a"} {
^bb0(%a: tensor<64x64xf8E4M3FN>, %b: tensor<64x64xf8E4M3FN>, %c: tensor<64x64xf32>, %s: tensor<64x2xf8E8M0FNU>, %t: tensor<2x64xf8E8M0FNU>):
  %r = nv_tileas.dot %a, %b, %c lhs_scale(%s) rhs_scale(%t) : (tensor<64x64xf8E4M3FN>, tensor<64x64xf8E4M3FN>, tensor<64x64xf32>, tensor<64x2xf8E8M0FNU>, tensor<2x64xf8E8M0FNU>) -> tensor<64x64xf32>
  nv_tileaa.return
}

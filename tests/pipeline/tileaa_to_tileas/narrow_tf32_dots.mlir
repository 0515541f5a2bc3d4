
// Dots of tf32 whose operands were f16 or bf16 are dots of these; others stay.
// run: tileas-narrow-tf32-dots sm_90

// ---- both_operands_were_bf16
nv_tileaa.func @k {
^bb0(%a: tensor<64x32xbf16>, %b: tensor<64x32xbf16>, %c: tensor<64x64xf32>):
  %0 = nv_tileas.fp_to_fp %a {rounding_mode = "nearest_even"} : (tensor<64x32xbf16>) -> tensor<64x32xf32>
  %1 = nv_tileas.fp_to_fp %0 {rounding_mode = "nearest_even"} : (tensor<64x32xf32>) -> tensor<64x32xtf32>
  %2 = nv_tileas.fp_to_fp %b {rounding_mode = "nearest_even"} : (tensor<64x32xbf16>) -> tensor<64x32xf32>
  %3 = nv_tileas.permute %2 {permutation = array<i32: 1, 0>} : (tensor<64x32xf32>) -> tensor<32x64xf32>
  %4 = nv_tileas.fp_to_fp %3 {rounding_mode = "nearest_even"} : (tensor<32x64xf32>) -> tensor<32x64xtf32>
  %r = nv_tileas.dot %1, %4, %c : (tensor<64x32xtf32>, tensor<32x64xtf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%a: tensor<64x32xbf16>, %b: tensor<64x32xbf16>, %c: tensor<64x64xf32>):
  %0 = nv_tileas.permute %b {permutation = array<i32: 1, 0>} : (tensor<64x32xbf16>) -> tensor<32x64xbf16>
  %r = nv_tileas.dot %a, %0, %c : (tensor<64x32xbf16>, tensor<32x64xbf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
  nv_tileaa.return
}

// ---- what_others_read_stays
nv_tileaa.func @k {
^bb0(%a: tensor<64x64xf16>, %c: tensor<64x64xf32>):
  %0 = nv_tileas.fp_to_fp %a {rounding_mode = "nearest_even"} : (tensor<64x64xf16>) -> tensor<64x64xf32>
  %1 = nv_tileas.fp_to_fp %0 {rounding_mode = "nearest_even"} : (tensor<64x64xf32>) -> tensor<64x64xtf32>
  %2 = nv_tileas.mulf %0, %0 {rounding_mode = "nearest_even"} : tensor<64x64xf32>
  %r = nv_tileas.dot %1, %1, %2 : (tensor<64x64xtf32>, tensor<64x64xtf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%a: tensor<64x64xf16>, %c: tensor<64x64xf32>):
  %0 = nv_tileas.fp_to_fp %a {rounding_mode = "nearest_even"} : (tensor<64x64xf16>) -> tensor<64x64xf32>
  %1 = nv_tileas.mulf %0, %0 {rounding_mode = "nearest_even"} : tensor<64x64xf32>
  %r = nv_tileas.dot %a, %a, %1 : (tensor<64x64xf16>, tensor<64x64xf16>, tensor<64x64xf32>) -> tensor<64x64xf32>
  nv_tileaa.return
}

// ---- operands_of_two_types_stay
nv_tileaa.func @k {
^bb0(%a: tensor<64x32xbf16>, %b: tensor<32x64xf16>, %c: tensor<64x64xf32>):
  %0 = nv_tileas.fp_to_fp %a {rounding_mode = "nearest_even"} : (tensor<64x32xbf16>) -> tensor<64x32xtf32>
  %1 = nv_tileas.fp_to_fp %b {rounding_mode = "nearest_even"} : (tensor<32x64xf16>) -> tensor<32x64xtf32>
  %r = nv_tileas.dot %0, %1, %c : (tensor<64x32xtf32>, tensor<32x64xtf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%a: tensor<64x32xbf16>, %b: tensor<32x64xf16>, %c: tensor<64x64xf32>):
  %0 = nv_tileas.fp_to_fp %a {rounding_mode = "nearest_even"} : (tensor<64x32xbf16>) -> tensor<64x32xtf32>
  %1 = nv_tileas.fp_to_fp %b {rounding_mode = "nearest_even"} : (tensor<32x64xf16>) -> tensor<32x64xtf32>
  %r = nv_tileas.dot %0, %1, %c : (tensor<64x32xtf32>, tensor<32x64xtf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  nv_tileaa.return
}

// ---- operands_of_f32_and_dots_of_f32_stay
nv_tileaa.func @k {
^bb0(%a: tensor<64x32xf32>, %b: tensor<32x64xf16>, %c: tensor<64x64xf32>):
  %0 = nv_tileas.fp_to_fp %a {rounding_mode = "nearest_even"} : (tensor<64x32xf32>) -> tensor<64x32xtf32>
  %1 = nv_tileas.fp_to_fp %b {rounding_mode = "nearest_even"} : (tensor<32x64xf16>) -> tensor<32x64xtf32>
  %r = nv_tileas.dot %0, %1, %c : (tensor<64x32xtf32>, tensor<32x64xtf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = nv_tileas.fp_to_fp %b {rounding_mode = "nearest_even"} : (tensor<32x64xf16>) -> tensor<32x64xf32>
  %s = nv_tileas.dot %a, %2, %r : (tensor<64x32xf32>, tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%a: tensor<64x32xf32>, %b: tensor<32x64xf16>, %c: tensor<64x64xf32>):
  %0 = nv_tileas.fp_to_fp %a {rounding_mode = "nearest_even"} : (tensor<64x32xf32>) -> tensor<64x32xtf32>
  %1 = nv_tileas.fp_to_fp %b {rounding_mode = "nearest_even"} : (tensor<32x64xf16>) -> tensor<32x64xtf32>
  %r = nv_tileas.dot %0, %1, %c : (tensor<64x32xtf32>, tensor<32x64xtf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %2 = nv_tileas.fp_to_fp %b {rounding_mode = "nearest_even"} : (tensor<32x64xf16>) -> tensor<32x64xf32>
  %s = nv_tileas.dot %a, %2, %r : (tensor<64x32xf32>, tensor<32x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  nv_tileaa.return
}

// ---- a_tile_that_another_dot_reads_in_tf32
nv_tileaa.func @k {
^bb0(%a: tensor<64x64xf16>, %b: tensor<64x64xtf32>, %c: tensor<64x64xf32>):
  %0 = nv_tileas.fp_to_fp %a {rounding_mode = "nearest_even"} : (tensor<64x64xf16>) -> tensor<64x64xtf32>
  %r = nv_tileas.dot %0, %0, %c : (tensor<64x64xtf32>, tensor<64x64xtf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %s = nv_tileas.dot %b, %0, %r : (tensor<64x64xtf32>, tensor<64x64xtf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  nv_tileaa.return
}
// ==>
nv_tileaa.func @k {
^bb0(%a: tensor<64x64xf16>, %b: tensor<64x64xtf32>, %c: tensor<64x64xf32>):
  %0 = nv_tileas.fp_to_fp %a {rounding_mode = "nearest_even"} : (tensor<64x64xf16>) -> tensor<64x64xtf32>
  %r = nv_tileas.dot %0, %0, %c : (tensor<64x64xtf32>, tensor<64x64xtf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %s = nv_tileas.dot %b, %0, %r : (tensor<64x64xtf32>, tensor<64x64xtf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  nv_tileaa.return
}

// Halves that are widened for one sum or difference alone go into it as they are, where the target has instructions for it.
// run: convert-nv-tile-func-to-llvm ll sm_100

// ---- a_sum_and_a_difference
!half = tensor<64xf16, #cute.layout<(64), (32,1,2):(1,0,32)>>
!tile = tensor<64xf32, #cute.layout<(64), (32,1,2):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%s: f32, %h: f16):
  %n = nv_tileas.splat %h : (f16) -> !half
  %b = nv_tileas.splat %s : (f32) -> !tile
  %a = nv_tileas.fp_to_fp %n {rounding_mode = "nearest_even"} : (!half) -> !tile
  %c = nv_tileas.addf %b, %a {rounding_mode = "nearest_even"} : !tile
  %d = nv_tileas.fp_to_fp %n {rounding_mode = "nearest_even"} : (!half) -> !tile
  %e = nv_tileas.subf %d, %c {rounding_mode = "nearest_even"} : !tile
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k(float %a0, half %a1) "nvvm.reqntid"="32" {
b0:
  %v0 = fpext half %a1 to float
  %v1 = bitcast half %a1 to i16
  %v2 = call float asm "add.rn.f32.f16 $0, $1, $2;", "=f,h,f"(i16 %v1, float %a0)
  %v3 = call float asm "sub.rn.f32.f16 $0, $1, $2;", "=f,h,f"(i16 %v1, float %v2)
  ret void
}

// ---- not_where_it_is_wanted_wide_or_rounded_otherwise
!half = tensor<64xf16, #cute.layout<(64), (32,1,2):(1,0,32)>>
!tile = tensor<64xf32, #cute.layout<(64), (32,1,2):(1,0,32)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%s: f32, %h: f16):
  %n = nv_tileas.splat %h : (f16) -> !half
  %b = nv_tileas.splat %s : (f32) -> !tile
  %a = nv_tileas.fp_to_fp %n {rounding_mode = "nearest_even"} : (!half) -> !tile
  %c = nv_tileas.addf %b, %a {rounding_mode = "nearest_even"} : !tile
  %d = nv_tileas.mulf %c, %a {rounding_mode = "nearest_even"} : !tile
  %f = nv_tileas.fp_to_fp %n {rounding_mode = "nearest_even"} : (!half) -> !tile
  %e = nv_tileas.addf %d, %f {rounding_mode = "zero"} : !tile
  %g = nv_tileas.fp_to_fp %n {rounding_mode = "nearest_even"} : (!half) -> !tile
  %i = nv_tileas.subf %e, %g {rounding_mode = "nearest_even"} : !tile
  nv_tileaa.return
}
// ==>
define ptx_kernel void @k(float %a0, half %a1) "nvvm.reqntid"="32" {
b0:
  %v0 = fpext half %a1 to float
  %v1 = fadd float %a0, %v0
  %v2 = fmul float %v1, %v0
  %v3 = call float @llvm.nvvm.add.rz.f(float %v2, float %v0)
  %v4 = fsub float %v3, %v0
  ret void
}

// math operations: vectors taken apart, then one libdevice call per scalar.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- every_kind_in_f32
// seed: nvptx-bring-up blob-attribute
// seed: nvgpu-gpu-to-nvvm concept-math math-table
gpu.module @m {
  gpu.func @k(%x: f32, %i: i32) kernel {
    %absf = math.absf %x : f32
    %acos = math.acos %x : f32
    %acosh = math.acosh %x : f32
    %asin = math.asin %x : f32
    %asinh = math.asinh %x : f32
    %atan = math.atan %x : f32
    %atanh = math.atanh %x : f32
    %cbrt = math.cbrt %x : f32
    %ceil = math.ceil %x : f32
    %cos = math.cos %x : f32
    %cosh = math.cosh %x : f32
    %erf = math.erf %x : f32
    %erfc = math.erfc %x : f32
    %exp = math.exp %x : f32
    %exp2 = math.exp2 %x : f32
    %expm1 = math.expm1 %x : f32
    %floor = math.floor %x : f32
    %log = math.log %x : f32
    %log10 = math.log10 %x : f32
    %log1p = math.log1p %x : f32
    %log2 = math.log2 %x : f32
    %round = math.round %x : f32
    %roundeven = math.roundeven %x : f32
    %rsqrt = math.rsqrt %x : f32
    %sin = math.sin %x : f32
    %sinh = math.sinh %x : f32
    %sqrt = math.sqrt %x : f32
    %tan = math.tan %x : f32
    %tanh = math.tanh %x : f32
    %trunc = math.trunc %x : f32
    %atan2 = math.atan2 %x, %x : f32
    %copysign = math.copysign %x, %x : f32
    %powf = math.powf %x, %x : f32
    %fma = math.fma %x, %x, %x : f32
    %fpowi = math.fpowi %x, %i : f32, i32
    %isnan = math.isnan %x : f32
    %isinf = math.isinf %x : f32
    %isfinite = math.isfinite %x : f32
    %rem = arith.remf %x, %x : f32
    %min = arith.minnumf %x, %x : f32
    %max = arith.maxnumf %x, %x : f32
    gpu.return
  }
}
// ==>
gpu.module @m attributes {blobLinkedLib = "libdevice.10.bc"} {
  llvm.func @__nv_fmaxf(f32, f32) -> f32
  llvm.func @__nv_fminf(f32, f32) -> f32
  llvm.func @__nv_fmodf(f32, f32) -> f32
  llvm.func @__nv_finitef(f32) -> i32
  llvm.func @__nv_isinff(f32) -> i32
  llvm.func @__nv_isnanf(f32) -> i32
  llvm.func @__nv_powif(f32, i32) -> f32
  llvm.func @__nv_fmaf(f32, f32, f32) -> f32
  llvm.func @__nv_powf(f32, f32) -> f32
  llvm.func @__nv_copysignf(f32, f32) -> f32
  llvm.func @__nv_atan2f(f32, f32) -> f32
  llvm.func @__nv_truncf(f32) -> f32
  llvm.func @__nv_tanhf(f32) -> f32
  llvm.func @__nv_tanf(f32) -> f32
  llvm.func @__nv_sqrtf(f32) -> f32
  llvm.func @__nv_sinhf(f32) -> f32
  llvm.func @__nv_sinf(f32) -> f32
  llvm.func @__nv_rsqrtf(f32) -> f32
  llvm.func @__nv_rintf(f32) -> f32
  llvm.func @__nv_roundf(f32) -> f32
  llvm.func @__nv_log2f(f32) -> f32
  llvm.func @__nv_log1pf(f32) -> f32
  llvm.func @__nv_log10f(f32) -> f32
  llvm.func @__nv_logf(f32) -> f32
  llvm.func @__nv_floorf(f32) -> f32
  llvm.func @__nv_expm1f(f32) -> f32
  llvm.func @__nv_exp2f(f32) -> f32
  llvm.func @__nv_expf(f32) -> f32
  llvm.func @__nv_erfcf(f32) -> f32
  llvm.func @__nv_erff(f32) -> f32
  llvm.func @__nv_coshf(f32) -> f32
  llvm.func @__nv_cosf(f32) -> f32
  llvm.func @__nv_ceilf(f32) -> f32
  llvm.func @__nv_cbrtf(f32) -> f32
  llvm.func @__nv_atanhf(f32) -> f32
  llvm.func @__nv_atanf(f32) -> f32
  llvm.func @__nv_asinhf(f32) -> f32
  llvm.func @__nv_asinf(f32) -> f32
  llvm.func @__nv_acoshf(f32) -> f32
  llvm.func @__nv_acosf(f32) -> f32
  llvm.func @__nv_fabsf(f32) -> f32
  llvm.func @k(%x: f32, %i: i32) attributes {gpu.kernel, nvvm.kernel} {
    %absf = llvm.call @__nv_fabsf(%x) : (f32) -> f32
    %acos = llvm.call @__nv_acosf(%x) : (f32) -> f32
    %acosh = llvm.call @__nv_acoshf(%x) : (f32) -> f32
    %asin = llvm.call @__nv_asinf(%x) : (f32) -> f32
    %asinh = llvm.call @__nv_asinhf(%x) : (f32) -> f32
    %atan = llvm.call @__nv_atanf(%x) : (f32) -> f32
    %atanh = llvm.call @__nv_atanhf(%x) : (f32) -> f32
    %cbrt = llvm.call @__nv_cbrtf(%x) : (f32) -> f32
    %ceil = llvm.call @__nv_ceilf(%x) : (f32) -> f32
    %cos = llvm.call @__nv_cosf(%x) : (f32) -> f32
    %cosh = llvm.call @__nv_coshf(%x) : (f32) -> f32
    %erf = llvm.call @__nv_erff(%x) : (f32) -> f32
    %erfc = llvm.call @__nv_erfcf(%x) : (f32) -> f32
    %exp = llvm.call @__nv_expf(%x) : (f32) -> f32
    %exp2 = llvm.call @__nv_exp2f(%x) : (f32) -> f32
    %expm1 = llvm.call @__nv_expm1f(%x) : (f32) -> f32
    %floor = llvm.call @__nv_floorf(%x) : (f32) -> f32
    %log = llvm.call @__nv_logf(%x) : (f32) -> f32
    %log10 = llvm.call @__nv_log10f(%x) : (f32) -> f32
    %log1p = llvm.call @__nv_log1pf(%x) : (f32) -> f32
    %log2 = llvm.call @__nv_log2f(%x) : (f32) -> f32
    %round = llvm.call @__nv_roundf(%x) : (f32) -> f32
    %roundeven = llvm.call @__nv_rintf(%x) : (f32) -> f32
    %rsqrt = llvm.call @__nv_rsqrtf(%x) : (f32) -> f32
    %sin = llvm.call @__nv_sinf(%x) : (f32) -> f32
    %sinh = llvm.call @__nv_sinhf(%x) : (f32) -> f32
    %sqrt = llvm.call @__nv_sqrtf(%x) : (f32) -> f32
    %tan = llvm.call @__nv_tanf(%x) : (f32) -> f32
    %tanh = llvm.call @__nv_tanhf(%x) : (f32) -> f32
    %trunc = llvm.call @__nv_truncf(%x) : (f32) -> f32
    %atan2 = llvm.call @__nv_atan2f(%x, %x) : (f32, f32) -> f32
    %copysign = llvm.call @__nv_copysignf(%x, %x) : (f32, f32) -> f32
    %powf = llvm.call @__nv_powf(%x, %x) : (f32, f32) -> f32
    %fma = llvm.call @__nv_fmaf(%x, %x, %x) : (f32, f32, f32) -> f32
    %fpowi = llvm.call @__nv_powif(%x, %i) : (f32, i32) -> f32
    %0 = llvm.call @__nv_isnanf(%x) : (f32) -> i32
    %1 = llvm.mlir.constant(0 : i32) : i32
    %isnan = llvm.icmp "ne" %0, %1 : i32
    %2 = llvm.call @__nv_isinff(%x) : (f32) -> i32
    %3 = llvm.mlir.constant(0 : i32) : i32
    %isinf = llvm.icmp "ne" %2, %3 : i32
    %4 = llvm.call @__nv_finitef(%x) : (f32) -> i32
    %5 = llvm.mlir.constant(0 : i32) : i32
    %isfinite = llvm.icmp "ne" %4, %5 : i32
    %rem = llvm.call @__nv_fmodf(%x, %x) : (f32, f32) -> f32
    %min = llvm.call @__nv_fminf(%x, %x) : (f32, f32) -> f32
    %max = llvm.call @__nv_fmaxf(%x, %x) : (f32, f32) -> f32
    llvm.return
  }
}

// ---- every_kind_in_f64
// seed: nvgpu-gpu-to-nvvm concept-math math-table
gpu.module @m {
  gpu.func @k(%x: f64, %i: i32) kernel {
    %absf = math.absf %x : f64
    %acos = math.acos %x : f64
    %acosh = math.acosh %x : f64
    %asin = math.asin %x : f64
    %asinh = math.asinh %x : f64
    %atan = math.atan %x : f64
    %atanh = math.atanh %x : f64
    %cbrt = math.cbrt %x : f64
    %ceil = math.ceil %x : f64
    %cos = math.cos %x : f64
    %cosh = math.cosh %x : f64
    %erf = math.erf %x : f64
    %erfc = math.erfc %x : f64
    %exp = math.exp %x : f64
    %exp2 = math.exp2 %x : f64
    %expm1 = math.expm1 %x : f64
    %floor = math.floor %x : f64
    %log = math.log %x : f64
    %log10 = math.log10 %x : f64
    %log1p = math.log1p %x : f64
    %log2 = math.log2 %x : f64
    %round = math.round %x : f64
    %roundeven = math.roundeven %x : f64
    %rsqrt = math.rsqrt %x : f64
    %sin = math.sin %x : f64
    %sinh = math.sinh %x : f64
    %sqrt = math.sqrt %x : f64
    %tan = math.tan %x : f64
    %tanh = math.tanh %x : f64
    %trunc = math.trunc %x : f64
    %atan2 = math.atan2 %x, %x : f64
    %copysign = math.copysign %x, %x : f64
    %powf = math.powf %x, %x : f64
    %fma = math.fma %x, %x, %x : f64
    %fpowi = math.fpowi %x, %i : f64, i32
    %isnan = math.isnan %x : f64
    %isinf = math.isinf %x : f64
    %isfinite = math.isfinite %x : f64
    %rem = arith.remf %x, %x : f64
    %min = arith.minnumf %x, %x : f64
    %max = arith.maxnumf %x, %x : f64
    gpu.return
  }
}
// ==>
gpu.module @m attributes {blobLinkedLib = "libdevice.10.bc"} {
  llvm.func @__nv_fmax(f64, f64) -> f64
  llvm.func @__nv_fmin(f64, f64) -> f64
  llvm.func @__nv_fmod(f64, f64) -> f64
  llvm.func @__nv_isfinited(f64) -> i32
  llvm.func @__nv_isinfd(f64) -> i32
  llvm.func @__nv_isnand(f64) -> i32
  llvm.func @__nv_powi(f64, i32) -> f64
  llvm.func @__nv_fma(f64, f64, f64) -> f64
  llvm.func @__nv_pow(f64, f64) -> f64
  llvm.func @__nv_copysign(f64, f64) -> f64
  llvm.func @__nv_atan2(f64, f64) -> f64
  llvm.func @__nv_trunc(f64) -> f64
  llvm.func @__nv_tanh(f64) -> f64
  llvm.func @__nv_tan(f64) -> f64
  llvm.func @__nv_sqrt(f64) -> f64
  llvm.func @__nv_sinh(f64) -> f64
  llvm.func @__nv_sin(f64) -> f64
  llvm.func @__nv_rsqrt(f64) -> f64
  llvm.func @__nv_rint(f64) -> f64
  llvm.func @__nv_round(f64) -> f64
  llvm.func @__nv_log2(f64) -> f64
  llvm.func @__nv_log1p(f64) -> f64
  llvm.func @__nv_log10(f64) -> f64
  llvm.func @__nv_log(f64) -> f64
  llvm.func @__nv_floor(f64) -> f64
  llvm.func @__nv_expm1(f64) -> f64
  llvm.func @__nv_exp2(f64) -> f64
  llvm.func @__nv_exp(f64) -> f64
  llvm.func @__nv_erfc(f64) -> f64
  llvm.func @__nv_erf(f64) -> f64
  llvm.func @__nv_cosh(f64) -> f64
  llvm.func @__nv_cos(f64) -> f64
  llvm.func @__nv_ceil(f64) -> f64
  llvm.func @__nv_cbrt(f64) -> f64
  llvm.func @__nv_atanh(f64) -> f64
  llvm.func @__nv_atan(f64) -> f64
  llvm.func @__nv_asinh(f64) -> f64
  llvm.func @__nv_asin(f64) -> f64
  llvm.func @__nv_acosh(f64) -> f64
  llvm.func @__nv_acos(f64) -> f64
  llvm.func @__nv_fabs(f64) -> f64
  llvm.func @k(%x: f64, %i: i32) attributes {gpu.kernel, nvvm.kernel} {
    %absf = llvm.call @__nv_fabs(%x) : (f64) -> f64
    %acos = llvm.call @__nv_acos(%x) : (f64) -> f64
    %acosh = llvm.call @__nv_acosh(%x) : (f64) -> f64
    %asin = llvm.call @__nv_asin(%x) : (f64) -> f64
    %asinh = llvm.call @__nv_asinh(%x) : (f64) -> f64
    %atan = llvm.call @__nv_atan(%x) : (f64) -> f64
    %atanh = llvm.call @__nv_atanh(%x) : (f64) -> f64
    %cbrt = llvm.call @__nv_cbrt(%x) : (f64) -> f64
    %ceil = llvm.call @__nv_ceil(%x) : (f64) -> f64
    %cos = llvm.call @__nv_cos(%x) : (f64) -> f64
    %cosh = llvm.call @__nv_cosh(%x) : (f64) -> f64
    %erf = llvm.call @__nv_erf(%x) : (f64) -> f64
    %erfc = llvm.call @__nv_erfc(%x) : (f64) -> f64
    %exp = llvm.call @__nv_exp(%x) : (f64) -> f64
    %exp2 = llvm.call @__nv_exp2(%x) : (f64) -> f64
    %expm1 = llvm.call @__nv_expm1(%x) : (f64) -> f64
    %floor = llvm.call @__nv_floor(%x) : (f64) -> f64
    %log = llvm.call @__nv_log(%x) : (f64) -> f64
    %log10 = llvm.call @__nv_log10(%x) : (f64) -> f64
    %log1p = llvm.call @__nv_log1p(%x) : (f64) -> f64
    %log2 = llvm.call @__nv_log2(%x) : (f64) -> f64
    %round = llvm.call @__nv_round(%x) : (f64) -> f64
    %roundeven = llvm.call @__nv_rint(%x) : (f64) -> f64
    %rsqrt = llvm.call @__nv_rsqrt(%x) : (f64) -> f64
    %sin = llvm.call @__nv_sin(%x) : (f64) -> f64
    %sinh = llvm.call @__nv_sinh(%x) : (f64) -> f64
    %sqrt = llvm.call @__nv_sqrt(%x) : (f64) -> f64
    %tan = llvm.call @__nv_tan(%x) : (f64) -> f64
    %tanh = llvm.call @__nv_tanh(%x) : (f64) -> f64
    %trunc = llvm.call @__nv_trunc(%x) : (f64) -> f64
    %atan2 = llvm.call @__nv_atan2(%x, %x) : (f64, f64) -> f64
    %copysign = llvm.call @__nv_copysign(%x, %x) : (f64, f64) -> f64
    %powf = llvm.call @__nv_pow(%x, %x) : (f64, f64) -> f64
    %fma = llvm.call @__nv_fma(%x, %x, %x) : (f64, f64, f64) -> f64
    %fpowi = llvm.call @__nv_powi(%x, %i) : (f64, i32) -> f64
    %0 = llvm.call @__nv_isnand(%x) : (f64) -> i32
    %1 = llvm.mlir.constant(0 : i32) : i32
    %isnan = llvm.icmp "ne" %0, %1 : i32
    %2 = llvm.call @__nv_isinfd(%x) : (f64) -> i32
    %3 = llvm.mlir.constant(0 : i32) : i32
    %isinf = llvm.icmp "ne" %2, %3 : i32
    %4 = llvm.call @__nv_isfinited(%x) : (f64) -> i32
    %5 = llvm.mlir.constant(0 : i32) : i32
    %isfinite = llvm.icmp "ne" %4, %5 : i32
    %rem = llvm.call @__nv_fmod(%x, %x) : (f64, f64) -> f64
    %min = llvm.call @__nv_fmin(%x, %x) : (f64, f64) -> f64
    %max = llvm.call @__nv_fmax(%x, %x) : (f64, f64) -> f64
    llvm.return
  }
}

// ---- absolute_values_of_integers
// seed: nvgpu-gpu-to-nvvm math-table
gpu.module @m {
  gpu.func @k(%x: i32, %y: i64) kernel {
    %a = math.absi %x : i32
    %b = math.absi %y : i64
    gpu.return
  }
}
// ==>
gpu.module @m attributes {blobLinkedLib = "libdevice.10.bc"} {
  llvm.func @__nv_llabs(i64) -> i64
  llvm.func @__nv_abs(i32) -> i32
  llvm.func @k(%x: i32, %y: i64) attributes {gpu.kernel, nvvm.kernel} {
    %a = llvm.call @__nv_abs(%x) : (i32) -> i32
    %b = llvm.call @__nv_llabs(%y) : (i64) -> i64
    llvm.return
  }
}

// ---- half_is_computed_in_f32
// seed: nvgpu-gpu-to-nvvm math-promotion
gpu.module @m {
  gpu.func @k(%x: f16) kernel {
    %a = math.sqrt %x : f16
    %b = math.powf %x, %x : f16
    %c = math.isnan %x : f16
    gpu.return
  }
}
// ==>
gpu.module @m attributes {blobLinkedLib = "libdevice.10.bc"} {
  llvm.func @__nv_isnanf(f32) -> i32
  llvm.func @__nv_powf(f32, f32) -> f32
  llvm.func @__nv_sqrtf(f32) -> f32
  llvm.func @k(%x: f16) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.fpext %x : f16 to f32
    %1 = llvm.call @__nv_sqrtf(%0) : (f32) -> f32
    %a = llvm.fptrunc %1 : f32 to f16
    %2 = llvm.fpext %x : f16 to f32
    %3 = llvm.fpext %x : f16 to f32
    %4 = llvm.call @__nv_powf(%2, %3) : (f32, f32) -> f32
    %b = llvm.fptrunc %4 : f32 to f16
    %5 = llvm.fpext %x : f16 to f32
    %6 = llvm.call @__nv_isnanf(%5) : (f32) -> i32
    %7 = llvm.mlir.constant(0 : i32) : i32
    %c = llvm.icmp "ne" %6, %7 : i32
    llvm.return
  }
}

// ---- bfloat_is_computed_in_f32
// seed: nvgpu-gpu-to-nvvm math-promotion
gpu.module @m {
  gpu.func @k(%x: bf16) kernel {
    %a = math.sin %x : bf16
    gpu.return
  }
}
// ==>
gpu.module @m attributes {blobLinkedLib = "libdevice.10.bc"} {
  llvm.func @__nv_sinf(f32) -> f32
  llvm.func @k(%x: bf16) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.fpext %x : bf16 to f32
    %1 = llvm.call @__nv_sinf(%0) : (f32) -> f32
    %a = llvm.fptrunc %1 : f32 to bf16
    llvm.return
  }
}

// ---- the_afn_flag_chooses_fast_variants
// seed: nvgpu-gpu-to-nvvm math-fast math-division
gpu.module @m {
  gpu.func @k(%x: f32) kernel {
    %cos = math.cos %x fastmath<afn> : f32
    %sin = math.sin %x fastmath<afn> : f32
    %tan = math.tan %x fastmath<afn> : f32
    %exp = math.exp %x fastmath<afn> : f32
    %log = math.log %x fastmath<afn> : f32
    %log2 = math.log2 %x fastmath<afn> : f32
    %log10 = math.log10 %x fastmath<afn> : f32
    %p = math.powf %x, %x fastmath<afn> : f32
    %d = arith.divf %x, %x fastmath<arcp> : f32
    gpu.return
  }
}
// ==>
gpu.module @m attributes {blobLinkedLib = "libdevice.10.bc"} {
  llvm.func @__nv_fast_fdividef(f32, f32) -> f32
  llvm.func @__nv_fast_powf(f32, f32) -> f32
  llvm.func @__nv_fast_log10f(f32) -> f32
  llvm.func @__nv_fast_log2f(f32) -> f32
  llvm.func @__nv_fast_logf(f32) -> f32
  llvm.func @__nv_fast_expf(f32) -> f32
  llvm.func @__nv_fast_tanf(f32) -> f32
  llvm.func @__nv_fast_sinf(f32) -> f32
  llvm.func @__nv_fast_cosf(f32) -> f32
  llvm.func @k(%x: f32) attributes {gpu.kernel, nvvm.kernel} {
    %cos = llvm.call @__nv_fast_cosf(%x) : (f32) -> f32
    %sin = llvm.call @__nv_fast_sinf(%x) : (f32) -> f32
    %tan = llvm.call @__nv_fast_tanf(%x) : (f32) -> f32
    %exp = llvm.call @__nv_fast_expf(%x) : (f32) -> f32
    %log = llvm.call @__nv_fast_logf(%x) : (f32) -> f32
    %log2 = llvm.call @__nv_fast_log2f(%x) : (f32) -> f32
    %log10 = llvm.call @__nv_fast_log10f(%x) : (f32) -> f32
    %p = llvm.call @__nv_fast_powf(%x, %x) : (f32, f32) -> f32
    %d = llvm.call @__nv_fast_fdividef(%x, %x) : (f32, f32) -> f32
    llvm.return
  }
}

// ---- all_flags_include_afn
// seed: nvgpu-gpu-to-nvvm math-fast
gpu.module @m {
  gpu.func @k(%x: f32) kernel {
    %a = math.sin %x fastmath<fast> : f32
    gpu.return
  }
}
// ==>
gpu.module @m attributes {blobLinkedLib = "libdevice.10.bc"} {
  llvm.func @__nv_fast_sinf(f32) -> f32
  llvm.func @k(%x: f32) attributes {gpu.kernel, nvvm.kernel} {
    %a = llvm.call @__nv_fast_sinf(%x) : (f32) -> f32
    llvm.return
  }
}

// ---- other_flags_and_types_stay_precise
// seed: nvgpu-gpu-to-nvvm math-fast
gpu.module @m {
  gpu.func @k(%x: f32, %y: f64) kernel {
    %a = math.sin %x fastmath<nnan,ninf> : f32
    %b = math.sin %y fastmath<afn> : f64
    %c = math.sqrt %x fastmath<afn> : f32
    %d = arith.divf %x, %x : f32
    %e = arith.divf %y, %y fastmath<arcp> : f64
    gpu.return
  }
}
// ==>
gpu.module @m attributes {blobLinkedLib = "libdevice.10.bc"} {
  llvm.func @__nv_sqrtf(f32) -> f32
  llvm.func @__nv_sin(f64) -> f64
  llvm.func @__nv_sinf(f32) -> f32
  llvm.func @k(%x: f32, %y: f64) attributes {gpu.kernel, nvvm.kernel} {
    %a = llvm.call @__nv_sinf(%x) : (f32) -> f32
    %b = llvm.call @__nv_sin(%y) : (f64) -> f64
    %c = llvm.call @__nv_sqrtf(%x) : (f32) -> f32
    %d = llvm.fdiv %x, %x : f32
    %e = llvm.fdiv %y, %y : f64
    llvm.return
  }
}

// ---- a_vector_is_taken_apart_and_rebuilt
// seed: nvgpu-gpu-to-nvvm math-scalarized scalar-before-libdevice
gpu.module @m {
  gpu.func @k(%v: vector<4xf32>) kernel {
    %r = math.sqrt %v : vector<4xf32>
    gpu.return
  }
}
// ==>
gpu.module @m attributes {blobLinkedLib = "libdevice.10.bc"} {
  llvm.func @__nv_sqrtf(f32) -> f32
  llvm.func @k(%v: vector<4xf32>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = vector.extract %v[0] : f32 from vector<4xf32>
    %1 = llvm.call @__nv_sqrtf(%0) : (f32) -> f32
    %2 = vector.extract %v[1] : f32 from vector<4xf32>
    %3 = llvm.call @__nv_sqrtf(%2) : (f32) -> f32
    %4 = vector.extract %v[2] : f32 from vector<4xf32>
    %5 = llvm.call @__nv_sqrtf(%4) : (f32) -> f32
    %6 = vector.extract %v[3] : f32 from vector<4xf32>
    %7 = llvm.call @__nv_sqrtf(%6) : (f32) -> f32
    %r = vector.from_elements %1, %3, %5, %7 : vector<4xf32>
    llvm.return
  }
}

// ---- a_vector_of_two_dimensions
// seed: nvgpu-gpu-to-nvvm math-scalarized
gpu.module @m {
  gpu.func @k(%v: vector<2x2xf16>) kernel {
    %r = math.exp %v fastmath<afn> : vector<2x2xf16>
    gpu.return
  }
}
// ==>
gpu.module @m attributes {blobLinkedLib = "libdevice.10.bc"} {
  llvm.func @__nv_fast_expf(f32) -> f32
  llvm.func @k(%v: !llvm.array<2 x vector<2xf16>>) attributes {gpu.kernel, nvvm.kernel} {
    %v_1 = builtin.unrealized_conversion_cast %v : !llvm.array<2 x vector<2xf16>> to vector<2x2xf16>
    %0 = vector.extract %v_1[0, 0] : f16 from vector<2x2xf16>
    %1 = llvm.fpext %0 : f16 to f32
    %2 = llvm.call @__nv_fast_expf(%1) : (f32) -> f32
    %3 = llvm.fptrunc %2 : f32 to f16
    %4 = vector.extract %v_1[0, 1] : f16 from vector<2x2xf16>
    %5 = llvm.fpext %4 : f16 to f32
    %6 = llvm.call @__nv_fast_expf(%5) : (f32) -> f32
    %7 = llvm.fptrunc %6 : f32 to f16
    %8 = vector.extract %v_1[1, 0] : f16 from vector<2x2xf16>
    %9 = llvm.fpext %8 : f16 to f32
    %10 = llvm.call @__nv_fast_expf(%9) : (f32) -> f32
    %11 = llvm.fptrunc %10 : f32 to f16
    %12 = vector.extract %v_1[1, 1] : f16 from vector<2x2xf16>
    %13 = llvm.fpext %12 : f16 to f32
    %14 = llvm.call @__nv_fast_expf(%13) : (f32) -> f32
    %15 = llvm.fptrunc %14 : f32 to f16
    %r = vector.from_elements %3, %7, %11, %15 : vector<2x2xf16>
    llvm.return
  }
}

// ---- a_vector_of_predicates
// seed: nvgpu-gpu-to-nvvm math-scalarized
gpu.module @m {
  gpu.func @k(%v: vector<2xf64>) kernel {
    %r = math.isnan %v : vector<2xf64>
    gpu.return
  }
}
// ==>
gpu.module @m attributes {blobLinkedLib = "libdevice.10.bc"} {
  llvm.func @__nv_isnand(f64) -> i32
  llvm.func @k(%v: vector<2xf64>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = vector.extract %v[0] : f64 from vector<2xf64>
    %1 = llvm.call @__nv_isnand(%0) : (f64) -> i32
    %2 = llvm.mlir.constant(0 : i32) : i32
    %3 = llvm.icmp "ne" %1, %2 : i32
    %4 = vector.extract %v[1] : f64 from vector<2xf64>
    %5 = llvm.call @__nv_isnand(%4) : (f64) -> i32
    %6 = llvm.mlir.constant(0 : i32) : i32
    %7 = llvm.icmp "ne" %5, %6 : i32
    %r = vector.from_elements %3, %7 : vector<2xi1>
    llvm.return
  }
}

// ---- scalarizing_alone_calls_nothing
// seed: nvgpu-gpu-to-nvvm math-scalarized scalar-before-libdevice
// run: scalarize-vector-math sm_90
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>, %i: vector<2xi32>) kernel {
    %r = math.fpowi %v, %i : vector<2xf32>, vector<2xi32>
    gpu.return
  }
}
// ==>
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>, %i: vector<2xi32>) kernel {
    %0 = vector.extract %v[0] : f32 from vector<2xf32>
    %1 = vector.extract %i[0] : i32 from vector<2xi32>
    %2 = math.fpowi %0, %1 : f32, i32
    %3 = vector.extract %v[1] : f32 from vector<2xf32>
    %4 = vector.extract %i[1] : i32 from vector<2xi32>
    %5 = math.fpowi %3, %4 : f32, i32
    %r = vector.from_elements %2, %5 : vector<2xf32>
    gpu.return
  }
}

// ---- operations_that_llvm_selects_stay
gpu.module @m {
  gpu.func @k(%i: i32) kernel {
    %a = math.ctpop %i : i32
    %b = math.ctlz %i : i32
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%i: i32) attributes {gpu.kernel, nvvm.kernel} {
    %a = math.ctpop %i : i32
    %b = math.ctlz %i : i32
    llvm.return
  }
}

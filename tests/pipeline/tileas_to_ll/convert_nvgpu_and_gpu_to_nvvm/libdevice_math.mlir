// math operations: vectors taken apart, then one libdevice call per scalar.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- every_kind_in_f32
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


// ---- bfloat_is_computed_in_f32
// seed: nvgpu-gpu-to-nvvm math-promotion
gpu.module @m {
  gpu.func @k(%x: bf16) kernel {
    %a = math.sin %x : bf16
    gpu.return
  }
}
// ==>


// ---- the_afn_flag_chooses_fast_variants
// seed: nvgpu-gpu-to-nvvm math-fast
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


// ---- all_flags_include_afn
// seed: nvgpu-gpu-to-nvvm math-fast
gpu.module @m {
  gpu.func @k(%x: f32) kernel {
    %a = math.sin %x fastmath<fast> : f32
    gpu.return
  }
}
// ==>


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


// ---- a_vector_is_taken_apart_and_rebuilt
// seed: nvgpu-gpu-to-nvvm math-scalarized scalar-before-libdevice
gpu.module @m {
  gpu.func @k(%v: vector<4xf32>) kernel {
    %r = math.sqrt %v : vector<4xf32>
    gpu.return
  }
}
// ==>


// ---- a_vector_of_two_dimensions
// seed: nvgpu-gpu-to-nvvm math-scalarized
gpu.module @m {
  gpu.func @k(%v: vector<2x2xf16>) kernel {
    %r = math.exp %v fastmath<afn> : vector<2x2xf16>
    gpu.return
  }
}
// ==>


// ---- a_vector_of_predicates
// seed: nvgpu-gpu-to-nvvm math-scalarized
gpu.module @m {
  gpu.func @k(%v: vector<2xf64>) kernel {
    %r = math.isnan %v : vector<2xf64>
    gpu.return
  }
}
// ==>


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


// ---- operations_that_llvm_selects_stay
gpu.module @m {
  gpu.func @k(%i: i32) kernel {
    %a = math.ctpop %i : i32
    %b = math.ctlz %i : i32
    gpu.return
  }
}
// ==>



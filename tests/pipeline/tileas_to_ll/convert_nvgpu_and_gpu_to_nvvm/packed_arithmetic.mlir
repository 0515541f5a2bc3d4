// Reciprocals, packed conversions and packed f32x2 arithmetic.
// run: convert-nvgpu-and-gpu-to-nvvm sm_100

// ---- reciprocal
// seed: nvgpu-gpu-to-nvvm concept-packed rcp
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>) kernel {
    %r = nvgpu.rcp %v {rounding = approx, ftz} : vector<2xf32>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: vector<2xf32>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = vector.extract %v[0] : f32 from vector<2xf32>
    %1 = vector.extract %v[1] : f32 from vector<2xf32>
    %2 = nvvm.rcp.approx.ftz.f %0 : f32
    %3 = nvvm.rcp.approx.ftz.f %1 : f32
    %r = vector.from_elements %2, %3 : vector<2xf32>
    llvm.return
  }
}

// ---- fma
// seed: nvgpu-gpu-to-nvvm concept-packed packed-f32x2
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>) kernel {
    %r = nvgpu.fma.packed.f32x2 %v, %v, %v : vector<2xf32>, vector<2xf32>, vector<2xf32> -> vector<2xf32>
    %s = nvgpu.fma.packed.f32x2 %v, %v, %v {ftz} : vector<2xf32>, vector<2xf32>, vector<2xf32> -> vector<2xf32>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: vector<2xf32>) attributes {gpu.kernel, nvvm.kernel} {
    %r = nvvm.fma.packed.f32x2 %v, %v, %v : vector<2xf32>
    %s = nvvm.fma.packed.f32x2 %v, %v, %v {ftz} : vector<2xf32>
    llvm.return
  }
}

// ---- mul
// seed: nvgpu-gpu-to-nvvm packed-f32x2
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>) kernel {
    %r = nvgpu.mul.packed.f32x2 %v, %v : vector<2xf32>, vector<2xf32> -> vector<2xf32>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: vector<2xf32>) attributes {gpu.kernel, nvvm.kernel} {
    %r = nvvm.mul.packed.f32x2 %v, %v : vector<2xf32>
    llvm.return
  }
}

// ---- narrow_to_f16
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>) kernel {
    %r = nvgpu.cvt_fptrunc %v : vector<2xf32> to vector<2xf16>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: vector<2xf32>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = vector.extract %v[0] : f32 from vector<2xf32>
    %1 = vector.extract %v[1] : f32 from vector<2xf32>
    %r = nvvm.convert.f32x2.packed %1, %0 {dstTy = "f16", rnd = #nvvm.fp_rnd_mode<rn>} : vector<2xf16>
    llvm.return
  }
}

// ---- narrow_to_bf16
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>) kernel {
    %r = nvgpu.cvt_fptrunc %v : vector<2xf32> to vector<2xbf16>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: vector<2xf32>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = vector.extract %v[0] : f32 from vector<2xf32>
    %1 = vector.extract %v[1] : f32 from vector<2xf32>
    %r = nvvm.convert.f32x2.packed %1, %0 {dstTy = "bf16", rnd = #nvvm.fp_rnd_mode<rn>} : vector<2xbf16>
    llvm.return
  }
}

// ---- narrow_to_f8e4m3fn
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>) kernel {
    %r = nvgpu.cvt_fptrunc %v : vector<2xf32> to vector<2xf8E4M3FN>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: vector<2xf32>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = vector.extract %v[0] : f32 from vector<2xf32>
    %1 = vector.extract %v[1] : f32 from vector<2xf32>
    %2 = nvvm.convert.f32x2.packed %1, %0 {dstTy = "e4m3", rnd = #nvvm.fp_rnd_mode<rn>, satfinite} : i16
    llvm.return
  }
}

// ---- narrow_to_f8e5m2
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>) kernel {
    %r = nvgpu.cvt_fptrunc %v : vector<2xf32> to vector<2xf8E5M2>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: vector<2xf32>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = vector.extract %v[0] : f32 from vector<2xf32>
    %1 = vector.extract %v[1] : f32 from vector<2xf32>
    %2 = nvvm.convert.f32x2.packed %1, %0 {dstTy = "e5m2", rnd = #nvvm.fp_rnd_mode<rn>, satfinite} : i16
    llvm.return
  }
}

// ---- narrow_to_f6e2m3fn
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>) kernel {
    %r = nvgpu.cvt_fptrunc %v : vector<2xf32> to vector<2xf6E2M3FN>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: vector<2xf32>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = vector.extract %v[0] : f32 from vector<2xf32>
    %1 = vector.extract %v[1] : f32 from vector<2xf32>
    %2 = nvvm.convert.f32x2.packed %1, %0 {dstTy = "e2m3", rnd = #nvvm.fp_rnd_mode<rn>, satfinite} : i16
    llvm.return
  }
}

// ---- narrow_to_f6e3m2fn
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>) kernel {
    %r = nvgpu.cvt_fptrunc %v : vector<2xf32> to vector<2xf6E3M2FN>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: vector<2xf32>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = vector.extract %v[0] : f32 from vector<2xf32>
    %1 = vector.extract %v[1] : f32 from vector<2xf32>
    %2 = nvvm.convert.f32x2.packed %1, %0 {dstTy = "e3m2", rnd = #nvvm.fp_rnd_mode<rn>, satfinite} : i16
    llvm.return
  }
}

// ---- narrow_to_f4e2m1fn
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>) kernel {
    %r = nvgpu.cvt_fptrunc %v : vector<2xf32> to vector<2xf4E2M1FN>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: vector<2xf32>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = vector.extract %v[0] : f32 from vector<2xf32>
    %1 = vector.extract %v[1] : f32 from vector<2xf32>
    %2 = nvvm.convert.f32x2.packed %1, %0 {dstTy = "e2m1", rnd = #nvvm.fp_rnd_mode<rn>, satfinite} : i16
    llvm.return
  }
}

// ---- narrow_to_f8e8m0fnu
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>) kernel {
    %r = nvgpu.cvt_fptrunc %v : vector<2xf32> to vector<2xf8E8M0FNU>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: vector<2xf32>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = vector.extract %v[0] : f32 from vector<2xf32>
    %1 = vector.extract %v[1] : f32 from vector<2xf32>
    %2 = nvvm.convert.f32x2.packed %1, %0 {dstTy = "ue8m0", rnd = #nvvm.fp_rnd_mode<rz>, satfinite} : i16
    llvm.return
  }
}

// ---- narrow_four_at_a_time
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<4xf32>) kernel {
    %r = nvgpu.cvt_fptrunc %v : vector<4xf32> to vector<4xf16>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: vector<4xf32>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = vector.extract %v[0] : f32 from vector<4xf32>
    %1 = vector.extract %v[1] : f32 from vector<4xf32>
    %2 = vector.extract %v[2] : f32 from vector<4xf32>
    %3 = vector.extract %v[3] : f32 from vector<4xf32>
    %4 = nvvm.convert.f32x2.packed %1, %0 {dstTy = "f16", rnd = #nvvm.fp_rnd_mode<rn>} : vector<2xf16>
    %5 = nvvm.convert.f32x2.packed %3, %2 {dstTy = "f16", rnd = #nvvm.fp_rnd_mode<rn>} : vector<2xf16>
    %6 = vector.extract %4[0] : f16 from vector<2xf16>
    %7 = vector.extract %4[1] : f16 from vector<2xf16>
    %8 = vector.extract %5[0] : f16 from vector<2xf16>
    %9 = vector.extract %5[1] : f16 from vector<2xf16>
    %r = vector.from_elements %6, %7, %8, %9 : vector<4xf16>
    llvm.return
  }
}

// ---- narrow_four_to_bytes
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<4xf32>) kernel {
    %r = nvgpu.cvt_fptrunc %v : vector<4xf32> to vector<4xf8E5M2>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: vector<4xf32>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = vector.extract %v[0] : f32 from vector<4xf32>
    %1 = vector.extract %v[1] : f32 from vector<4xf32>
    %2 = vector.extract %v[2] : f32 from vector<4xf32>
    %3 = vector.extract %v[3] : f32 from vector<4xf32>
    %4 = nvvm.convert.f32x2.packed %1, %0 {dstTy = "e5m2", rnd = #nvvm.fp_rnd_mode<rn>, satfinite} : i16
    %5 = nvvm.convert.f32x2.packed %3, %2 {dstTy = "e5m2", rnd = #nvvm.fp_rnd_mode<rn>, satfinite} : i16
    %6 = vector.from_elements %4, %5 : vector<2xi16>
    llvm.return
  }
}

// ---- narrow_with_relu
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>) kernel {
    %r = nvgpu.cvt_fptrunc %v {relu} : vector<2xf32> to vector<2xf8E4M3FN>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: vector<2xf32>) attributes {gpu.kernel, nvvm.kernel} {
    %0 = vector.extract %v[0] : f32 from vector<2xf32>
    %1 = vector.extract %v[1] : f32 from vector<2xf32>
    %2 = nvvm.convert.f32x2.packed %1, %0 {dstTy = "e4m3", rnd = #nvvm.fp_rnd_mode<rn>, satfinite, relu} : i16
    llvm.return
  }
}

// ---- widen_from_f8e4m3fn
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf8E4M3FN>) kernel {
    %r = nvgpu.cvt_fpext %v : vector<2xf8E4M3FN> to vector<2xf16>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: vector<2xi8>) attributes {gpu.kernel, nvvm.kernel} {
    %v_1 = builtin.unrealized_conversion_cast %v : vector<2xi8> to vector<2xf8E4M3FN>
    %v_2 = builtin.unrealized_conversion_cast %v_1 : vector<2xf8E4M3FN> to i16
    %r = nvvm.convert.packed.f16x2 %v_2 {srcTy = "e4m3"} : i16 -> vector<2xf16>
    llvm.return
  }
}

// ---- widen_from_f8e5m2
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf8E5M2>) kernel {
    %r = nvgpu.cvt_fpext %v : vector<2xf8E5M2> to vector<2xf16>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: vector<2xi8>) attributes {gpu.kernel, nvvm.kernel} {
    %v_1 = builtin.unrealized_conversion_cast %v : vector<2xi8> to vector<2xf8E5M2>
    %v_2 = builtin.unrealized_conversion_cast %v_1 : vector<2xf8E5M2> to i16
    %r = nvvm.convert.packed.f16x2 %v_2 {srcTy = "e5m2"} : i16 -> vector<2xf16>
    llvm.return
  }
}

// ---- widen_from_f6e2m3fn
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf6E2M3FN>) kernel {
    %r = nvgpu.cvt_fpext %v : vector<2xf6E2M3FN> to vector<2xf16>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: vector<2xi6>) attributes {gpu.kernel, nvvm.kernel} {
    %v_1 = builtin.unrealized_conversion_cast %v : vector<2xi6> to vector<2xf6E2M3FN>
    %v_2 = builtin.unrealized_conversion_cast %v_1 : vector<2xf6E2M3FN> to i16
    %r = nvvm.convert.packed.f16x2 %v_2 {srcTy = "e2m3"} : i16 -> vector<2xf16>
    llvm.return
  }
}

// ---- widen_from_f6e3m2fn
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf6E3M2FN>) kernel {
    %r = nvgpu.cvt_fpext %v : vector<2xf6E3M2FN> to vector<2xf16>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: vector<2xi6>) attributes {gpu.kernel, nvvm.kernel} {
    %v_1 = builtin.unrealized_conversion_cast %v : vector<2xi6> to vector<2xf6E3M2FN>
    %v_2 = builtin.unrealized_conversion_cast %v_1 : vector<2xf6E3M2FN> to i16
    %r = nvvm.convert.packed.f16x2 %v_2 {srcTy = "e3m2"} : i16 -> vector<2xf16>
    llvm.return
  }
}

// ---- widen_from_f4e2m1fn
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf4E2M1FN>) kernel {
    %r = nvgpu.cvt_fpext %v : vector<2xf4E2M1FN> to vector<2xf16>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: vector<2xi4>) attributes {gpu.kernel, nvvm.kernel} {
    %v_1 = builtin.unrealized_conversion_cast %v : vector<2xi4> to vector<2xf4E2M1FN>
    %v_2 = builtin.unrealized_conversion_cast %v_1 : vector<2xf4E2M1FN> to i16
    %r = nvvm.convert.packed.f16x2 %v_2 {srcTy = "e2m1"} : i16 -> vector<2xf16>
    llvm.return
  }
}

// ---- widen_scales
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf8E8M0FNU>) kernel {
    %r = nvgpu.cvt_fpext %v : vector<2xf8E8M0FNU> to vector<2xbf16>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: vector<2xi8>) attributes {gpu.kernel, nvvm.kernel} {
    %v_1 = builtin.unrealized_conversion_cast %v : vector<2xi8> to vector<2xf8E8M0FNU>
    %v_2 = builtin.unrealized_conversion_cast %v_1 : vector<2xf8E8M0FNU> to i16
    %r = nvvm.convert.packed.f16x2 %v_2 {srcTy = "ue8m0"} : i16 -> vector<2xbf16>
    llvm.return
  }
}

// ---- widen_halves
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf16>) kernel {
    %r = nvgpu.cvt_fpext %v : vector<2xf16> to vector<2xf32>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: vector<2xf16>) attributes {gpu.kernel, nvvm.kernel} {
    %r = llvm.fpext %v : vector<2xf16> to vector<2xf32>
    llvm.return
  }
}

// ---- widen_four_at_a_time
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<4xf8E4M3FN>) kernel {
    %r = nvgpu.cvt_fpext %v : vector<4xf8E4M3FN> to vector<4xf16>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%v: vector<4xi8>) attributes {gpu.kernel, nvvm.kernel} {
    %v_1 = builtin.unrealized_conversion_cast %v : vector<4xi8> to vector<4xf8E4M3FN>
    %v_2 = builtin.unrealized_conversion_cast %v_1 : vector<4xf8E4M3FN> to vector<2xi16>
    %0 = vector.extract %v_2[0] : i16 from vector<2xi16>
    %1 = vector.extract %v_2[1] : i16 from vector<2xi16>
    %2 = nvvm.convert.packed.f16x2 %0 {srcTy = "e4m3"} : i16 -> vector<2xf16>
    %3 = nvvm.convert.packed.f16x2 %1 {srcTy = "e4m3"} : i16 -> vector<2xf16>
    %4 = vector.extract %2[0] : f16 from vector<2xf16>
    %5 = vector.extract %2[1] : f16 from vector<2xf16>
    %6 = vector.extract %3[0] : f16 from vector<2xf16>
    %7 = vector.extract %3[1] : f16 from vector<2xf16>
    %r = vector.from_elements %4, %5, %6, %7 : vector<4xf16>
    llvm.return
  }
}

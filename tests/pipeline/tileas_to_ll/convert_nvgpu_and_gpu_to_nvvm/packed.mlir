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


// ---- mul
// seed: nvgpu-gpu-to-nvvm packed-f32x2
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>) kernel {
    %r = nvgpu.mul.packed.f32x2 %v, %v : vector<2xf32>, vector<2xf32> -> vector<2xf32>
    gpu.return
  }
}
// ==>


// ---- narrow_to_f16
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>) kernel {
    %r = nvgpu.cvt_fptrunc %v : vector<2xf32> to vector<2xf16>
    gpu.return
  }
}
// ==>


// ---- narrow_to_bf16
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>) kernel {
    %r = nvgpu.cvt_fptrunc %v : vector<2xf32> to vector<2xbf16>
    gpu.return
  }
}
// ==>


// ---- narrow_to_f8e4m3fn
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>) kernel {
    %r = nvgpu.cvt_fptrunc %v : vector<2xf32> to vector<2xf8E4M3FN>
    gpu.return
  }
}
// ==>


// ---- narrow_to_f8e5m2
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>) kernel {
    %r = nvgpu.cvt_fptrunc %v : vector<2xf32> to vector<2xf8E5M2>
    gpu.return
  }
}
// ==>


// ---- narrow_to_f6e2m3fn
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>) kernel {
    %r = nvgpu.cvt_fptrunc %v : vector<2xf32> to vector<2xf6E2M3FN>
    gpu.return
  }
}
// ==>


// ---- narrow_to_f6e3m2fn
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>) kernel {
    %r = nvgpu.cvt_fptrunc %v : vector<2xf32> to vector<2xf6E3M2FN>
    gpu.return
  }
}
// ==>


// ---- narrow_to_f4e2m1fn
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>) kernel {
    %r = nvgpu.cvt_fptrunc %v : vector<2xf32> to vector<2xf4E2M1FN>
    gpu.return
  }
}
// ==>


// ---- narrow_to_f8e8m0fnu
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>) kernel {
    %r = nvgpu.cvt_fptrunc %v : vector<2xf32> to vector<2xf8E8M0FNU>
    gpu.return
  }
}
// ==>


// ---- narrow_four_at_a_time
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<4xf32>) kernel {
    %r = nvgpu.cvt_fptrunc %v : vector<4xf32> to vector<4xf16>
    gpu.return
  }
}
// ==>


// ---- narrow_four_to_bytes
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<4xf32>) kernel {
    %r = nvgpu.cvt_fptrunc %v : vector<4xf32> to vector<4xf8E5M2>
    gpu.return
  }
}
// ==>


// ---- narrow_with_relu
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>) kernel {
    %r = nvgpu.cvt_fptrunc %v {relu} : vector<2xf32> to vector<2xf8E4M3FN>
    gpu.return
  }
}
// ==>


// ---- widen_from_f8e4m3fn
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf8E4M3FN>) kernel {
    %r = nvgpu.cvt_fpext %v : vector<2xf8E4M3FN> to vector<2xf16>
    gpu.return
  }
}
// ==>


// ---- widen_from_f8e5m2
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf8E5M2>) kernel {
    %r = nvgpu.cvt_fpext %v : vector<2xf8E5M2> to vector<2xf16>
    gpu.return
  }
}
// ==>


// ---- widen_from_f6e2m3fn
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf6E2M3FN>) kernel {
    %r = nvgpu.cvt_fpext %v : vector<2xf6E2M3FN> to vector<2xf16>
    gpu.return
  }
}
// ==>


// ---- widen_from_f6e3m2fn
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf6E3M2FN>) kernel {
    %r = nvgpu.cvt_fpext %v : vector<2xf6E3M2FN> to vector<2xf16>
    gpu.return
  }
}
// ==>


// ---- widen_from_f4e2m1fn
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf4E2M1FN>) kernel {
    %r = nvgpu.cvt_fpext %v : vector<2xf4E2M1FN> to vector<2xf16>
    gpu.return
  }
}
// ==>


// ---- widen_scales
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf8E8M0FNU>) kernel {
    %r = nvgpu.cvt_fpext %v : vector<2xf8E8M0FNU> to vector<2xbf16>
    gpu.return
  }
}
// ==>


// ---- widen_halves
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf16>) kernel {
    %r = nvgpu.cvt_fpext %v : vector<2xf16> to vector<2xf32>
    gpu.return
  }
}
// ==>


// ---- widen_four_at_a_time
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<4xf8E4M3FN>) kernel {
    %r = nvgpu.cvt_fpext %v : vector<4xf8E4M3FN> to vector<4xf16>
    gpu.return
  }
}
// ==>



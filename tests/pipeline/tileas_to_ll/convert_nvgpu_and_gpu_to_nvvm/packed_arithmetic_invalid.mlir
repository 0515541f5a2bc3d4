// Packed operations without an instruction.
// run: convert-nvgpu-and-gpu-to-nvvm sm_100

// ---- reciprocal_that_is_exact
// seed: nvgpu-gpu-to-nvvm rcp
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>) kernel {
    %r = nvgpu.rcp %v {rounding = rn} : vector<2xf32>
    gpu.return
  }
}
// ==>
// reciprocal_that_is_exact: error[ir-invalid]: the module does not verify: 'nvgpu.rcp' op has a limitation. #nvgpu<rcp_rounding_mode rn> or non-ftz is not supported yet.

// ---- packed_arithmetic_before_sm_100
// seed: nvgpu-gpu-to-nvvm packed-f32x2
// run: convert-nvgpu-and-gpu-to-nvvm sm_90
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>) kernel {
    %r = nvgpu.mul.packed.f32x2 %v, %v : vector<2xf32>, vector<2xf32> -> vector<2xf32>
    gpu.return
  }
}
// ==>
// error[packed-target]: 'nvgpu.mul.packed.f32x2' op has no instruction on sm_90; use sm_100 or newer

// ---- packed_arithmetic_of_four
// seed: nvgpu-gpu-to-nvvm packed-f32x2
gpu.module @m {
  gpu.func @k(%v: vector<4xf32>) kernel {
    %r = nvgpu.mul.packed.f32x2 %v, %v : vector<4xf32>, vector<4xf32> -> vector<4xf32>
    gpu.return
  }
}
// ==>
// error[packed-type]: 'nvgpu.mul.packed.f32x2' op is for vector<2xf32>, but got 'vector<4xf32>'

// ---- narrow_an_odd_number
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<3xf32>) kernel {
    %r = nvgpu.cvt_fptrunc %v : vector<3xf32> to vector<3xf16>
    gpu.return
  }
}
// ==>
// error[convert-shape]: 'nvgpu.cvt_fptrunc' op converts pairs, but got 'vector<3xf32>' to 'vector<3xf16>'

// ---- narrow_to_a_wider_type
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf32>) kernel {
    %r = nvgpu.cvt_fptrunc %v : vector<2xf32> to vector<2xf64>
    gpu.return
  }
}
// ==>
// error[convert-type]: 'nvgpu.cvt_fptrunc' op cannot convert 'vector<2xf32>' to 'vector<2xf64>'

// ---- widen_bytes_to_f32
// seed: nvgpu-gpu-to-nvvm cvt-packed
gpu.module @m {
  gpu.func @k(%v: vector<2xf8E4M3FN>) kernel {
    %r = nvgpu.cvt_fpext %v : vector<2xf8E4M3FN> to vector<2xf32>
    gpu.return
  }
}
// ==>
// error[convert-type]: 'nvgpu.cvt_fpext' op cannot convert 'vector<2xf8E4M3FN>' to 'vector<2xf32>'

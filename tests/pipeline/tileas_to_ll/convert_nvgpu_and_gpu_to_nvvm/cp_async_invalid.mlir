// Copies that cp.async cannot do.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- a_copy_of_six_bytes
gpu.module @m {
  gpu.func @k(%g: memref<64x64xf16>, %s: memref<64x64xf16, 3>, %i: index, %j: index, %n: index) kernel {
    %t = nvgpu.device_async_copy %g[%i, %j], %s[%i, %j], 3 : memref<64x64xf16> to memref<64x64xf16, 3>
    gpu.return
  }
}
// ==>
// a_copy_of_six_bytes: error[ir-invalid]: the module does not verify: 'nvgpu.device_async_copy' op copies 3 elements of 16 bits, but can copy 2, 4, 8

// ---- past_l1_with_eight_bytes
gpu.module @m {
  gpu.func @k(%g: memref<64x64xf16>, %s: memref<64x64xf16, 3>, %i: index, %j: index, %n: index) kernel {
    %t = nvgpu.device_async_copy %g[%i, %j], %s[%i, %j], 4 {bypassL1} : memref<64x64xf16> to memref<64x64xf16, 3>
    gpu.return
  }
}
// ==>
// past_l1_with_eight_bytes: error[ir-invalid]: the module does not verify: 'nvgpu.device_async_copy' op bypassL1 needs 8 elements of 'f16', got 4

// ---- a_destination_in_global_memory
gpu.module @m {
  gpu.func @k(%g: memref<64xf32>, %i: index) kernel {
    %t = nvgpu.device_async_copy %g[%i], %g[%i], 4 : memref<64xf32> to memref<64xf32>
    gpu.return
  }
}
// ==>
// a_destination_in_global_memory: error[ir-invalid]: the module does not verify: 'nvgpu.device_async_copy' op destination memref must be in shared memory, but got 'memref<64xf32>'

// ---- too_few_indices
gpu.module @m {
  gpu.func @k(%g: memref<8x8xf32>, %s: memref<64xf32, 3>, %i: index) kernel {
    %t = nvgpu.device_async_copy %g[%i], %s[%i], 4 : memref<8x8xf32> to memref<64xf32, 3>
    gpu.return
  }
}
// ==>
// too_few_indices: error[ir-invalid]: the module does not verify: 'nvgpu.device_async_copy' op expected 2 source indices

// ---- counted_and_ignored
gpu.module @m {
  gpu.func @k(%g: memref<64xf32>, %s: memref<64xf32, 3>, %i: index, %p: i1) kernel {
    %t = nvgpu.device_async_copy %g[%i], %s[%i], 4, %i ignored = %p : memref<64xf32> to memref<64xf32, 3>
    gpu.return
  }
}
// ==>
// counted_and_ignored: error[ir-invalid]: the module does not verify: 'nvgpu.device_async_copy' op has srcElements or is ignored, not both

// Asynchronous copies of sm_80 and their groups.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- copy_of_four_bytes
// seed: nvgpu-gpu-to-nvvm concept-async device-async-copy async-token
gpu.module @m {
  gpu.func @k(%g: memref<64x64xf16>, %s: memref<64x64xf16, 3>, %i: index, %j: index, %n: index) kernel {
    %t = nvgpu.device_async_copy %g[%i, %j], %s[%i, %j], 2 : memref<64x64xf16> to memref<64x64xf16, 3>
    gpu.return
  }
}
// ==>


// ---- copy_of_sixteen_bytes_past_l1
// seed: nvgpu-gpu-to-nvvm device-async-copy
gpu.module @m {
  gpu.func @k(%g: memref<64x64xf16>, %s: memref<64x64xf16, 3>, %i: index, %j: index, %n: index) kernel {
    %t = nvgpu.device_async_copy %g[%i, %j], %s[%i, %j], 8 {bypassL1} : memref<64x64xf16> to memref<64x64xf16, 3>
    gpu.return
  }
}
// ==>


// ---- copy_of_fewer_source_elements
// seed: nvgpu-gpu-to-nvvm device-async-copy
gpu.module @m {
  gpu.func @k(%g: memref<64x64xf32>, %s: memref<64x64xf32, 3>, %i: index, %j: index, %n: index) kernel {
    %t = nvgpu.device_async_copy %g[%i, %j], %s[%i, %j], 4, %n : memref<64x64xf32> to memref<64x64xf32, 3>
    gpu.return
  }
}
// ==>


// ---- a_group_discards_its_tokens
// seed: nvgpu-gpu-to-nvvm device-async-create-group async-token
gpu.module @m {
  gpu.func @k(%g: memref<64xf32, 1>, %s: memref<64xf32, 3>, %i: index) kernel {
    %t = nvgpu.device_async_copy %g[%i], %s[%i], 4 : memref<64xf32, 1> to memref<64xf32, 3>
    %u = nvgpu.device_async_create_group %t, %t
    nvgpu.device_async_wait %u
    gpu.return
  }
}
// ==>


// ---- a_wait_for_all_but_two_groups
// seed: nvgpu-gpu-to-nvvm device-async-wait
gpu.module @m {
  gpu.func @k() kernel {
    %u = nvgpu.device_async_create_group
    nvgpu.device_async_wait %u {numGroups = 2 : i32}
    gpu.return
  }
}
// ==>



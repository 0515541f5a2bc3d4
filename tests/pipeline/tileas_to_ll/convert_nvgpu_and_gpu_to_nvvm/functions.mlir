// gpu.func, its buffers, gpu.return, gpu.module, and dynamic shared memory.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- a_kernel_and_a_helper
// seed: nvgpu-gpu-to-nvvm legal-leftovers no-executable-gpu module-container
gpu.module @m attributes {keep = 1 : i32} {
  gpu.func @helper(%x: f32, %n: index) -> (f32, index) {
    gpu.return %x, %n : f32, index
  }
  gpu.func @one(%x: f32) -> f32 {
    gpu.return %x : f32
  }
  gpu.func @kernel(%x: f32, %a: memref<4x8xf32, 1>) kernel attributes {known_block_size = array<i32: 64, 1, 1>} {
    gpu.return
  }
}
// ==>


// ---- buffers_become_globals_and_stack_objects
gpu.module @m {
  gpu.func @kernel(%i: index, %v: f32) workgroup(%w: memref<32xf32, #gpu.address_space<workgroup>>) private(%p: memref<4xf32, #gpu.address_space<private>>) kernel {
    memref.store %v, %w[%i] : memref<32xf32, #gpu.address_space<workgroup>>
    memref.store %v, %p[%i] : memref<4xf32, #gpu.address_space<private>>
    gpu.return
  }
}
// ==>


// ---- dynamic_shared_memory_is_one_global
gpu.module @m {
  gpu.func @k(%i: index, %v: i8) kernel {
    %a = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %b = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    memref.store %v, %a[%i] : memref<?xi8, #gpu.address_space<workgroup>>
    memref.store %v, %b[%i] : memref<?xi8, #gpu.address_space<workgroup>>
    gpu.return
  }
}
// ==>


// ---- an_argument_keeps_its_attributes
gpu.module @m {
  gpu.func @kernel(%x: !llvm.ptr<1> {llvm.noalias}, %n: i32) kernel {
    gpu.return
  }
}
// ==>


// ---- values_that_loops_carry_change_their_type
// seed: nvgpu-gpu-to-nvvm no-executable-gpu
gpu.module @m {
  gpu.func @k(%n: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %first = nvgpu.device_async_create_group
    %last = scf.for %i = %c0 to %n step %c1 iter_args(%group = %first) -> (!nvgpu.device.async.token) {
      nvgpu.device_async_wait %group {numGroups = 1 : i32}
      %next = nvgpu.device_async_create_group %group
      scf.yield %next : !nvgpu.device.async.token
    }
    nvgpu.device_async_wait %last
    gpu.return
  }
}
// ==>


// ---- values_that_branches_carry_change_their_type
// seed: nvgpu-gpu-to-nvvm no-executable-gpu
gpu.module @m {
  gpu.func @kernel(%c: i1) kernel {
    %a = nvgpu.device_async_create_group
    cf.cond_br %c, ^one(%a : !nvgpu.device.async.token), ^two
  ^one(%t: !nvgpu.device.async.token):
    nvgpu.device_async_wait %t
    cf.br ^two
  ^two:
    gpu.return
  }
}
// ==>



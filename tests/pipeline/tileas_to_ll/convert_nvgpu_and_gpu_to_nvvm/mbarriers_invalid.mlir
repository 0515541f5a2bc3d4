// A barrier outside shared memory is refused, never cast.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- init_in_global_memory
// seed: nvgpu-gpu-to-nvvm diag-mbarrier mbarrier-no-cast mbarrier-space
gpu.module @m {
  gpu.func @k(%b: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>>, %i: index, %p: i1) kernel {
    nvgpu.mbarrier.init %b[%i], %i : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>>
    gpu.return
  }
}
// ==>
// init_in_global_memory: error[ir-invalid]: the module does not verify: 'nvgpu.mbarrier.init' op operand #0 must be mbarrier barrier type, but got '!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>>'

// ---- arrive_in_global_memory
// seed: nvgpu-gpu-to-nvvm diag-mbarrier mbarrier-no-cast mbarrier-space
gpu.module @m {
  gpu.func @k(%b: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>>, %i: index, %p: i1) kernel {
    %t = nvgpu.mbarrier.arrive %b[%i] : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>> -> !nvgpu.mbarrier.token
    gpu.return
  }
}
// ==>
// arrive_in_global_memory: error[ir-invalid]: the module does not verify: 'nvgpu.mbarrier.arrive' op operand #0 must be mbarrier barrier type, but got '!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>>'

// ---- nocomplete_in_global_memory
// seed: nvgpu-gpu-to-nvvm diag-mbarrier mbarrier-no-cast mbarrier-space
gpu.module @m {
  gpu.func @k(%b: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>>, %i: index, %p: i1) kernel {
    %t = nvgpu.mbarrier.arrive.nocomplete %b[%i], %i : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>> -> !nvgpu.mbarrier.token
    gpu.return
  }
}
// ==>
// nocomplete_in_global_memory: error[ir-invalid]: the module does not verify: 'nvgpu.mbarrier.arrive.nocomplete' op operand #0 must be mbarrier barrier type, but got '!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>>'

// ---- expect_tx_in_global_memory
// seed: nvgpu-gpu-to-nvvm diag-mbarrier mbarrier-no-cast mbarrier-space
gpu.module @m {
  gpu.func @k(%b: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>>, %i: index, %p: i1) kernel {
    nvgpu.mbarrier.arrive.expect_tx %b[%i], %i : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>>
    gpu.return
  }
}
// ==>
// expect_tx_in_global_memory: error[ir-invalid]: the module does not verify: 'nvgpu.mbarrier.arrive.expect_tx' op operand #0 must be mbarrier barrier type, but got '!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>>'

// ---- try_wait_in_global_memory
// seed: nvgpu-gpu-to-nvvm diag-mbarrier mbarrier-no-cast mbarrier-space
gpu.module @m {
  gpu.func @k(%b: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>>, %i: index, %p: i1) kernel {
    nvgpu.mbarrier.try_wait.parity %b[%i], %p, %i : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>>
    gpu.return
  }
}
// ==>
// try_wait_in_global_memory: error[ir-invalid]: the module does not verify: 'nvgpu.mbarrier.try_wait.parity' op operand #0 must be mbarrier barrier type, but got '!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>>'

// ---- test_wait_in_global_memory
// seed: nvgpu-gpu-to-nvvm diag-mbarrier mbarrier-no-cast mbarrier-space
gpu.module @m {
  gpu.func @k(%b: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>>, %i: index, %p: i1, %k: !nvgpu.mbarrier.token) kernel {
    %w = nvgpu.mbarrier.test.wait %b[%i], %k : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>>, !nvgpu.mbarrier.token
    gpu.return
  }
}
// ==>
// test_wait_in_global_memory: error[ir-invalid]: the module does not verify: 'nvgpu.mbarrier.test.wait' op operand #0 must be mbarrier barrier type, but got '!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>>'

// ---- create_in_global_memory
// seed: nvgpu-gpu-to-nvvm diag-mbarrier mbarrier-no-cast
gpu.module @m {
  gpu.func @k() kernel {
    %b = nvgpu.mbarrier.create -> !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>>
    gpu.return
  }
}
// ==>
// create_in_global_memory: error[ir-invalid]: the module does not verify: 'nvgpu.mbarrier.create' op result #0 must be mbarrier barrier type, but got '!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>>'

// ---- a_generic_pointer_is_no_barrier
// seed: nvgpu-gpu-to-nvvm diag-mbarrier mbarrier-no-cast
gpu.module @m {
  gpu.func @k(%b: !llvm.ptr, %i: index) kernel {
    nvgpu.mbarrier.init %b[%i], %i : !llvm.ptr
    gpu.return
  }
}
// ==>
// a_generic_pointer_is_no_barrier: error[ir-invalid]: the module does not verify: 'nvgpu.mbarrier.init' op operand #0 must be mbarrier barrier type, but got '!llvm.ptr'

// ---- an_integer_is_no_barrier
// seed: nvgpu-gpu-to-nvvm diag-mbarrier
gpu.module @m {
  gpu.func @k(%b: i32, %i: index) kernel {
    nvgpu.mbarrier.init %b[%i], %i : i32
    gpu.return
  }
}
// ==>
// an_integer_is_no_barrier: error[ir-invalid]: the module does not verify: 'nvgpu.mbarrier.init' op operand #0 must be mbarrier barrier type, but got 'i32'

// ---- a_tma_load_with_a_barrier_in_global_memory
// seed: nvgpu-gpu-to-nvvm diag-mbarrier mbarrier-no-cast
gpu.module @m {
  gpu.func @k(%m: !nvgpu.tensormap.descriptor<tensor = memref<64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>, %b: !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>>, %i: index, %s: memref<64xf16, 3>) kernel {
    nvgpu.tma.async.load %m[%i], %b[%i] to %s : !nvgpu.tensormap.descriptor<tensor = memref<64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>> -> memref<64xf16, 3>
    gpu.return
  }
}
// ==>
// a_tma_load_with_a_barrier_in_global_memory: error[ir-invalid]: the module does not verify: 'nvgpu.tma.async.load' op operand #1 must be mbarrier barrier type, but got '!nvgpu.mbarrier.group<memorySpace = #gpu.address_space<global>>'

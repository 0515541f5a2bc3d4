// mbarrier operations become their .shared forms.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- create_refers_to_shared_storage
// seed: nvgpu-gpu-to-nvvm concept-mbarrier mbarrier-create mbarrier-space
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>
gpu.module @m {
  gpu.func @k(%i: index) kernel {
    %a = nvgpu.mbarrier.create -> !bar
    %b = nvgpu.mbarrier.create -> !bars
    nvgpu.mbarrier.init %a[%i], %i : !bar
    nvgpu.mbarrier.init %b[%i], %i : !bars
    gpu.return
  }
}
// ==>


// ---- init_sets_the_count
// seed: nvgpu-gpu-to-nvvm mbarrier-init mbarrier-space
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>
gpu.module @m {
  gpu.func @k(%b: !bar, %n: index, %p: i1) kernel {
    %c0 = arith.constant 0 : index
    %c32 = arith.constant 32 : index
    nvgpu.mbarrier.init %b[%c0], %c32 : !bar
    nvgpu.mbarrier.init %b[%c0], %n, predicate = %p : !bar
    gpu.return
  }
}
// ==>


// ---- arrive_forms
// seed: nvgpu-gpu-to-nvvm mbarrier-arrive mbarrier-expect-tx
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>
gpu.module @m {
  gpu.func @k(%b: !bar, %n: index, %p: i1) kernel {
    %c0 = arith.constant 0 : index
    %t = nvgpu.mbarrier.arrive %b[%c0] : !bar -> !nvgpu.mbarrier.token
    %u = nvgpu.mbarrier.arrive.nocomplete %b[%c0], %n : !bar -> !nvgpu.mbarrier.token
    nvgpu.mbarrier.arrive.expect_tx %b[%c0], %n : !bar
    nvgpu.mbarrier.arrive.expect_tx %b[%c0], %n, predicate = %p : !bar
    gpu.return
  }
}
// ==>


// ---- test_wait_takes_the_token
// seed: nvgpu-gpu-to-nvvm mbarrier-test-wait
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>
gpu.module @m {
  gpu.func @k(%b: !bar) kernel {
    %c0 = arith.constant 0 : index
    %t = nvgpu.mbarrier.arrive %b[%c0] : !bar -> !nvgpu.mbarrier.token
    %done = nvgpu.mbarrier.test.wait %b[%c0], %t : !bar, !nvgpu.mbarrier.token
    gpu.return
  }
}
// ==>


// ---- try_wait_by_parity
// seed: nvgpu-gpu-to-nvvm mbarrier-try-wait-parity
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>
gpu.module @m {
  gpu.func @k(%b: !bar, %phase: i1, %ticks: index) kernel {
    %c0 = arith.constant 0 : index
    nvgpu.mbarrier.try_wait.parity %b[%c0], %phase, %ticks : !bar
    %done = nvgpu.mbarrier.try_wait.parity %b[%c0], %phase, %ticks : !bar -> i1
    gpu.return
  }
}
// ==>


// ---- one_barrier_of_a_group
// seed: nvgpu-gpu-to-nvvm mbarrier-arrive
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
!bars = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>, num_barriers = 4>
gpu.module @m {
  gpu.func @k(%b: !bars, %i: index) kernel {
    %c0 = arith.constant 0 : index
    %c2 = arith.constant 2 : index
    %s = nvgpu.mbarrier.arrive %b[%c0] : !bars -> !nvgpu.mbarrier.token
    %t = nvgpu.mbarrier.arrive %b[%c2] : !bars -> !nvgpu.mbarrier.token
    %u = nvgpu.mbarrier.arrive %b[%i] : !bars -> !nvgpu.mbarrier.token
    gpu.return
  }
}
// ==>



// The barrier, device assertions and printf.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- the_barrier_is_aligned_and_stays_in_place
// seed: nvgpu-gpu-to-nvvm concept-barrier barrier-aligned
gpu.module @m {
  gpu.func @k() kernel {
    %a = gpu.thread_id x
    gpu.barrier
    %b = gpu.thread_id y
    gpu.return
  }
}
// ==>


// ---- an_assertion_guards_its_call
// seed: nvgpu-gpu-to-nvvm concept-assert assert-globals assert-guard assert-signature assert-preserved
gpu.module @m {
  gpu.func @k(%cond: i1) kernel {
    cf.assert %cond, "out of range" loc("kernel.py":12:5)
    %a = gpu.thread_id x
    gpu.return
  }
}
// ==>


// ---- assertions_share_their_strings
// seed: nvgpu-gpu-to-nvvm assert-globals
gpu.module @m {
  gpu.func @k(%cond: i1) kernel {
    cf.assert %cond, "first"
    cf.assert %cond, "second"
    cf.assert %cond, "first"
    gpu.return
  }
}
// ==>


// ---- an_assertion_in_a_branch
// seed: nvgpu-gpu-to-nvvm assert-guard
gpu.module @m {
  gpu.func @kernel(%c: i1, %d: i1) kernel {
    cf.cond_br %c, ^one, ^two
  ^one:
    cf.assert %d, "one"
    cf.br ^two
  ^two:
    gpu.return
  }
}
// ==>


// ---- printf_promotes_its_arguments
// seed: nvgpu-gpu-to-nvvm concept-printf
gpu.module @m {
  gpu.func @k(%a: i8, %b: i32, %c: f16, %d: f32, %e: index, %p: !llvm.ptr, %t: i1) kernel {
    gpu.printf "%d %d %f %f %lld %p %u\n", %a, %b, %c, %d, %e, %p, %t : i8, i32, f16, f32, index, !llvm.ptr, i1
    gpu.return
  }
}
// ==>


// ---- printf_without_arguments
// seed: nvgpu-gpu-to-nvvm concept-printf
gpu.module @m {
  gpu.func @k() kernel {
    gpu.printf "hello\n"
    gpu.printf "hello\n"
    gpu.return
  }
}
// ==>



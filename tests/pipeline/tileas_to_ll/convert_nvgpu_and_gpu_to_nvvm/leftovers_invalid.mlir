// An operation without a rewrite is a hard failure that names it.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- a_query_of_the_grid
// seed: nvgpu-gpu-to-nvvm diag-leftover no-executable-gpu
gpu.module @m {
  gpu.func @k() kernel {
    %i = gpu.global_id x
    gpu.return
  }
}
// ==>
// error[illegal-operation]: failed to legalize operation 'gpu.global_id' that was explicitly marked illegal; no rewrite of convert-nvgpu-and-gpu-to-nvvm has it as its root

// ---- both_are_reported
// seed: nvgpu-gpu-to-nvvm diag-leftover
gpu.module @m {
  gpu.func @k() kernel {
    %i = gpu.global_id x
    %n = "gpu.num_subgroups"() : () -> index
    gpu.return
  }
}
// ==>
// error[illegal-operation]: failed to legalize operation 'gpu.global_id' that was explicitly marked illegal; no rewrite of convert-nvgpu-and-gpu-to-nvvm has it as its root
// error[illegal-operation]: failed to legalize operation 'gpu.num_subgroups' that was explicitly marked illegal; no rewrite of convert-nvgpu-and-gpu-to-nvvm has it as its root

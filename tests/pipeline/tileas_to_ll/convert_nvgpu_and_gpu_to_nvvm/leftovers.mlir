// The gpu.module container and the other dialects are what remains.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- only_the_container_remains
// seed: nvgpu-gpu-to-nvvm legal-leftovers module-container no-executable-gpu
gpu.module @m {
  gpu.func @k(%a: memref<64xf32>) kernel {
    %i = gpu.thread_id x
    %v = memref.load %a[%i] : memref<64xf32>
    %s = arith.addf %v, %v : f32
    memref.store %s, %a[%i] : memref<64xf32>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @k(%a: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
    %a_1 = builtin.unrealized_conversion_cast %a : !llvm.ptr to memref<64xf32>
    %0 = nvvm.read.ptx.sreg.tid.x : i32
    %i = arith.index_cast %0 : i32 to index
    %v = memref.load %a_1[%i] : memref<64xf32>
    %s = llvm.fadd %v, %v : f32
    memref.store %s, %a_1[%i] : memref<64xf32>
    llvm.return
  }
}

// ---- code_of_the_host_is_left_alone
// seed: nvgpu-gpu-to-nvvm legal-leftovers
func.func @host(%x: f32, %c: i1) -> f32 {
  cf.assert %c, "host"
  %y = math.sqrt %x : f32
  %t = "gpu.wait"() : () -> !gpu.async.token
  func.return %y : f32
}
gpu.module @m {
  gpu.func @kernel() kernel {
    gpu.return
  }
}
// ==>
func.func @host(%x: f32, %c: i1) -> f32 {
  cf.assert %c, "host"
  %y = math.sqrt %x : f32
  %t = "gpu.wait"() : () -> !gpu.async.token
  func.return %y : f32
}
gpu.module @m {
  llvm.func @kernel() attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
}

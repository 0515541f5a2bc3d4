// Launches that have no lowering.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- no_such_kernel
// seed: lowering-overview role-gpu
builtin.module attributes {gpu.container_module} {
  gpu.module @device {
    gpu.func @helper(%x: f32) {
      gpu.return
    }
  }
  func.func @host(%n: index, %x: f32) {
    gpu.launch_func @device::@helper blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%x : f32)
    func.return
  }
}
// ==>
// error[launch-kernel]: 'gpu.launch_func' op launches @device::@helper, which is not a kernel of this module

// ---- arguments_of_other_types
builtin.module attributes {gpu.container_module} {
  gpu.module @device {
    gpu.func @k(%x: f32, %y: i32) kernel {
      gpu.return
    }
  }
  func.func @host(%n: index, %x: f32) {
    gpu.launch_func @device::@k blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%x : f32)
    func.return
  }
}
// ==>
// error[launch-arguments]: 'gpu.launch_func' op must give @device::@k arguments of types (f32, i32)

// ---- an_asynchronous_launch
builtin.module attributes {gpu.container_module} {
  gpu.module @device {
    gpu.func @k() kernel {
      gpu.return
    }
  }
  func.func @host(%n: index) {
    %t = gpu.launch_func async @device::@k blocks in (%n, %n, %n) threads in (%n, %n, %n)
    func.return
  }
}
// ==>
// error[launch-async]: 'gpu.launch_func' op has an asynchronous token; give the launch a stream instead

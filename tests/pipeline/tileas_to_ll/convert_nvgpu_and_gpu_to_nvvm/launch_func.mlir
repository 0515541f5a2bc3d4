// gpu.launch_func in host code: arguments packed for the driver, calls of MLIR's CUDA runtime wrappers.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- queries_barrier_function_and_launch
// seed: lowering-overview one-type-converter memref-descriptor
// seed: lowering-overview role-gpu
builtin.module attributes {gpu.container_module} {
  gpu.module @device {
    gpu.func @scale(%x: f32, %a: memref<64xf32>) kernel {
      %i = gpu.thread_id x
      gpu.barrier
      memref.store %x, %a[%i] : memref<64xf32>
      gpu.return
    }
  }
  func.func @host(%grid: index, %block: index, %one: index, %bytes: i32, %x: f32, %a: memref<64xf32>) {
    gpu.launch_func @device::@scale blocks in (%grid, %one, %one) threads in (%block, %one, %one) dynamic_shared_memory_size %bytes args(%x : f32, %a : memref<64xf32>)
    func.return
  }
}
// ==>
builtin.module attributes {gpu.container_module} {
  llvm.func @mgpuStreamDestroy(!llvm.ptr)
  llvm.func @mgpuStreamSynchronize(!llvm.ptr)
  llvm.func @mgpuLaunchKernel(!llvm.ptr, i64, i64, i64, i64, i64, i64, i32, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64)
  llvm.func @mgpuStreamCreate() -> !llvm.ptr
  llvm.func @mgpuModuleGetFunction(!llvm.ptr, !llvm.ptr) -> !llvm.ptr
  llvm.mlir.global internal constant @device_scale_name("scale\00") {addr_space = 0 : i32} : !llvm.array<6 x i8>
  llvm.mlir.global external @device_module() {addr_space = 0 : i32} : !llvm.ptr
  gpu.module @device {
    llvm.func @scale(%x: f32, %a: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
      %a_1 = builtin.unrealized_conversion_cast %a : !llvm.ptr to memref<64xf32>
      %0 = nvvm.read.ptx.sreg.tid.x : i32
      %i = arith.index_cast %0 : i32 to index
      nvvm.barrier0
      memref.store %x, %a_1[%i] : memref<64xf32>
      llvm.return
    }
  }
  func.func @host(%grid: index, %block: index, %one: index, %bytes: i32, %x: f32, %a: memref<64xf32>) {
    %0 = llvm.mlir.constant(1 : i32) : i32
    %1 = llvm.alloca %0 x !llvm.struct<(f32, !llvm.ptr)> {alignment = 32 : i64} : (i32) -> !llvm.ptr
    %2 = llvm.alloca %0 x !llvm.array<2 x !llvm.ptr> {alignment = 32 : i64} : (i32) -> !llvm.ptr
    %3 = llvm.mlir.addressof @device_module : !llvm.ptr
    %4 = llvm.load %3 : !llvm.ptr -> !llvm.ptr
    %5 = llvm.mlir.addressof @device_scale_name : !llvm.ptr
    %6 = llvm.call @mgpuModuleGetFunction(%4, %5) : (!llvm.ptr, !llvm.ptr) -> !llvm.ptr
    %a_1 = builtin.unrealized_conversion_cast %a : memref<64xf32> to !llvm.struct<(!llvm.ptr, !llvm.ptr, i64, !llvm.array<1 x i64>, !llvm.array<1 x i64>)>
    %7 = llvm.extractvalue %a_1[1] : !llvm.struct<(!llvm.ptr, !llvm.ptr, i64, !llvm.array<1 x i64>, !llvm.array<1 x i64>)>
    %8 = llvm.getelementptr %1[0, 0] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(f32, !llvm.ptr)>
    llvm.store %x, %8 : f32, !llvm.ptr
    %9 = llvm.getelementptr %2[0, 0] : (!llvm.ptr) -> !llvm.ptr, !llvm.array<2 x !llvm.ptr>
    llvm.store %8, %9 : !llvm.ptr, !llvm.ptr
    %10 = llvm.getelementptr %1[0, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.struct<(f32, !llvm.ptr)>
    llvm.store %7, %10 : !llvm.ptr, !llvm.ptr
    %11 = llvm.getelementptr %2[0, 1] : (!llvm.ptr) -> !llvm.ptr, !llvm.array<2 x !llvm.ptr>
    llvm.store %10, %11 : !llvm.ptr, !llvm.ptr
    %12 = llvm.call @mgpuStreamCreate() : () -> !llvm.ptr
    %grid_1 = builtin.unrealized_conversion_cast %grid : index to i64
    %one_1 = builtin.unrealized_conversion_cast %one : index to i64
    %one_2 = builtin.unrealized_conversion_cast %one : index to i64
    %block_1 = builtin.unrealized_conversion_cast %block : index to i64
    %one_3 = builtin.unrealized_conversion_cast %one : index to i64
    %one_4 = builtin.unrealized_conversion_cast %one : index to i64
    %13 = llvm.mlir.constant(2) : i64
    %14 = llvm.mlir.zero : !llvm.ptr
    llvm.call @mgpuLaunchKernel(%6, %grid_1, %one_1, %one_2, %block_1, %one_3, %one_4, %bytes, %12, %2, %14, %13) : (!llvm.ptr, i64, i64, i64, i64, i64, i64, i32, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()
    llvm.call @mgpuStreamSynchronize(%12) : (!llvm.ptr) -> ()
    llvm.call @mgpuStreamDestroy(%12) : (!llvm.ptr) -> ()
    func.return
  }
}

// ---- a_cluster_on_a_stream
// seed: lowering-overview role-gpu
builtin.module attributes {gpu.container_module} {
  gpu.module @device {
    gpu.func @none() kernel {
      gpu.return
    }
  }
  func.func @host(%n: i32, %two: i32, %stream: !llvm.ptr) {
    gpu.launch_func <%stream : !llvm.ptr> @device::@none clusters in (%two, %two, %n) blocks in (%n, %n, %n) threads in (%n, %n, %n) : i32
    func.return
  }
}
// ==>
builtin.module attributes {gpu.container_module} {
  llvm.func @mgpuLaunchClusterKernel(!llvm.ptr, i64, i64, i64, i64, i64, i64, i64, i64, i64, i32, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64)
  llvm.func @mgpuModuleGetFunction(!llvm.ptr, !llvm.ptr) -> !llvm.ptr
  llvm.mlir.global internal constant @device_none_name("none\00") {addr_space = 0 : i32} : !llvm.array<5 x i8>
  llvm.mlir.global external @device_module() {addr_space = 0 : i32} : !llvm.ptr
  gpu.module @device {
    llvm.func @none() attributes {gpu.kernel, nvvm.kernel} {
      llvm.return
    }
  }
  func.func @host(%n: i32, %two: i32, %stream: !llvm.ptr) {
    %0 = llvm.mlir.constant(1 : i32) : i32
    %1 = llvm.alloca %0 x !llvm.struct<()> {alignment = 32 : i64} : (i32) -> !llvm.ptr
    %2 = llvm.alloca %0 x !llvm.array<0 x !llvm.ptr> {alignment = 32 : i64} : (i32) -> !llvm.ptr
    %3 = llvm.mlir.addressof @device_module : !llvm.ptr
    %4 = llvm.load %3 : !llvm.ptr -> !llvm.ptr
    %5 = llvm.mlir.addressof @device_none_name : !llvm.ptr
    %6 = llvm.call @mgpuModuleGetFunction(%4, %5) : (!llvm.ptr, !llvm.ptr) -> !llvm.ptr
    %7 = llvm.zext %two : i32 to i64
    %8 = llvm.zext %two : i32 to i64
    %9 = llvm.zext %n : i32 to i64
    %10 = llvm.zext %n : i32 to i64
    %11 = llvm.zext %n : i32 to i64
    %12 = llvm.zext %n : i32 to i64
    %13 = llvm.zext %n : i32 to i64
    %14 = llvm.zext %n : i32 to i64
    %15 = llvm.zext %n : i32 to i64
    %16 = llvm.mlir.constant(0 : i32) : i32
    %17 = llvm.mlir.constant(0) : i64
    %18 = llvm.mlir.zero : !llvm.ptr
    llvm.call @mgpuLaunchClusterKernel(%6, %7, %8, %9, %10, %11, %12, %13, %14, %15, %16, %stream, %2, %18, %17) : (!llvm.ptr, i64, i64, i64, i64, i64, i64, i64, i64, i64, i32, !llvm.ptr, !llvm.ptr, !llvm.ptr, i64) -> ()
    func.return
  }
}

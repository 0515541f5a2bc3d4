// Descriptors of matrices and tensor maps, and what a kernel asks the architecture for.
// run: convert-cute-and-cute-nvgpu-to-llvm sm_100

// ---- a_matrix_for_wgmma
// seed: lowering-overview companion-cute
func.func @wgmma() -> !cute_nvgpu.smem_desc {
  %s = cute.memref.alloc_smem {alignment = 1024 : i64} : () -> !cute.memref<f16, smem, "S<3,3,3> o 0 o (64,64):(64,1)">
  %d = cute_nvgpu.smem_desc_view %s : (!cute.memref<f16, smem, "S<3,3,3> o 0 o (64,64):(64,1)">) -> !cute_nvgpu.smem_desc
  func.return %d : !cute_nvgpu.smem_desc
}
// ==>
llvm.mlir.global internal @cute_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<4096 x f16>
func.func @wgmma() -> i64 {
  %0 = llvm.mlir.addressof @cute_smem : !llvm.ptr<3>
  %1 = llvm.ptrtoint %0 : !llvm.ptr<3> to i64
  %2 = llvm.mlir.constant(262143) : i64
  %3 = llvm.and %1, %2 : i64
  %4 = llvm.mlir.constant(4) : i64
  %5 = llvm.lshr %3, %4 : i64
  %6 = llvm.mlir.constant(4611686293305360384) : i64
  %7 = llvm.or %5, %6 : i64
  func.return %7 : i64
}

// ---- a_matrix_for_tcgen05
// seed: lowering-overview companion-cute
gpu.module @m {
  gpu.func @tcgen05(%s: !cute.memref<f16, smem, "S<2,3,3> o 0 o (128,32):(32,1)">) -> !cute_nvgpu.smem_desc {
    %d = cute_nvgpu.smem_desc_view %s {version = "tcgen05"} : (!cute.memref<f16, smem, "S<2,3,3> o 0 o (128,32):(32,1)">) -> !cute_nvgpu.smem_desc
    gpu.return %d : !cute_nvgpu.smem_desc
  }
}
// ==>
gpu.module @m {
  gpu.func @tcgen05(%s: !llvm.struct<(!llvm.ptr<3>, !llvm.struct<(i32, i32, i32, i32)>)>) -> i64 {
    %0 = llvm.extractvalue %s[0] : !llvm.struct<(!llvm.ptr<3>, !llvm.struct<(i32, i32, i32, i32)>)>
    %1 = llvm.extractvalue %s[1] : !llvm.struct<(!llvm.ptr<3>, !llvm.struct<(i32, i32, i32, i32)>)>
    %2 = llvm.extractvalue %1[0] : !llvm.struct<(i32, i32, i32, i32)>
    %3 = llvm.extractvalue %1[1] : !llvm.struct<(i32, i32, i32, i32)>
    %4 = llvm.extractvalue %1[2] : !llvm.struct<(i32, i32, i32, i32)>
    %5 = llvm.extractvalue %1[3] : !llvm.struct<(i32, i32, i32, i32)>
    %6 = llvm.ptrtoint %0 : !llvm.ptr<3> to i64
    %7 = llvm.mlir.constant(262143) : i64
    %8 = llvm.and %6, %7 : i64
    %9 = llvm.mlir.constant(4) : i64
    %10 = llvm.lshr %8, %9 : i64
    %11 = llvm.mlir.constant(-9223301530671579136) : i64
    %12 = llvm.or %10, %11 : i64
    gpu.return %12 : i64
  }
}

// ---- tensor_maps
// seed: lowering-overview companion-cute
func.func @maps(%m: !cute_nvgpu.tma_desc, %to: !cute_nvgpu.tma_desc) -> i64 {
  cute_nvgpu.prefetch_tma_desc %m : (!cute_nvgpu.tma_desc) -> ()
  cute_nvgpu.copy_tma_desc %m, %to : (!cute_nvgpu.tma_desc, !cute_nvgpu.tma_desc) -> ()
  %i = cute_nvgpu.cast_tma_desc_to_integer %to : (!cute_nvgpu.tma_desc) -> i64
  func.return %i : i64
}
// ==>
func.func @maps(%m: !llvm.ptr, %to: !llvm.ptr) -> i64 {
  nvvm.prefetch.tensormap %m : !llvm.ptr
  %0 = llvm.load %m : !llvm.ptr -> i64
  llvm.store %0, %to : i64, !llvm.ptr
  %1 = llvm.getelementptr %m[1] : (!llvm.ptr) -> !llvm.ptr, i64
  %2 = llvm.load %1 : !llvm.ptr -> i64
  %3 = llvm.getelementptr %to[1] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %2, %3 : i64, !llvm.ptr
  %4 = llvm.getelementptr %m[2] : (!llvm.ptr) -> !llvm.ptr, i64
  %5 = llvm.load %4 : !llvm.ptr -> i64
  %6 = llvm.getelementptr %to[2] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %5, %6 : i64, !llvm.ptr
  %7 = llvm.getelementptr %m[3] : (!llvm.ptr) -> !llvm.ptr, i64
  %8 = llvm.load %7 : !llvm.ptr -> i64
  %9 = llvm.getelementptr %to[3] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %8, %9 : i64, !llvm.ptr
  %10 = llvm.getelementptr %m[4] : (!llvm.ptr) -> !llvm.ptr, i64
  %11 = llvm.load %10 : !llvm.ptr -> i64
  %12 = llvm.getelementptr %to[4] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %11, %12 : i64, !llvm.ptr
  %13 = llvm.getelementptr %m[5] : (!llvm.ptr) -> !llvm.ptr, i64
  %14 = llvm.load %13 : !llvm.ptr -> i64
  %15 = llvm.getelementptr %to[5] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %14, %15 : i64, !llvm.ptr
  %16 = llvm.getelementptr %m[6] : (!llvm.ptr) -> !llvm.ptr, i64
  %17 = llvm.load %16 : !llvm.ptr -> i64
  %18 = llvm.getelementptr %to[6] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %17, %18 : i64, !llvm.ptr
  %19 = llvm.getelementptr %m[7] : (!llvm.ptr) -> !llvm.ptr, i64
  %20 = llvm.load %19 : !llvm.ptr -> i64
  %21 = llvm.getelementptr %to[7] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %20, %21 : i64, !llvm.ptr
  %22 = llvm.getelementptr %m[8] : (!llvm.ptr) -> !llvm.ptr, i64
  %23 = llvm.load %22 : !llvm.ptr -> i64
  %24 = llvm.getelementptr %to[8] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %23, %24 : i64, !llvm.ptr
  %25 = llvm.getelementptr %m[9] : (!llvm.ptr) -> !llvm.ptr, i64
  %26 = llvm.load %25 : !llvm.ptr -> i64
  %27 = llvm.getelementptr %to[9] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %26, %27 : i64, !llvm.ptr
  %28 = llvm.getelementptr %m[10] : (!llvm.ptr) -> !llvm.ptr, i64
  %29 = llvm.load %28 : !llvm.ptr -> i64
  %30 = llvm.getelementptr %to[10] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %29, %30 : i64, !llvm.ptr
  %31 = llvm.getelementptr %m[11] : (!llvm.ptr) -> !llvm.ptr, i64
  %32 = llvm.load %31 : !llvm.ptr -> i64
  %33 = llvm.getelementptr %to[11] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %32, %33 : i64, !llvm.ptr
  %34 = llvm.getelementptr %m[12] : (!llvm.ptr) -> !llvm.ptr, i64
  %35 = llvm.load %34 : !llvm.ptr -> i64
  %36 = llvm.getelementptr %to[12] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %35, %36 : i64, !llvm.ptr
  %37 = llvm.getelementptr %m[13] : (!llvm.ptr) -> !llvm.ptr, i64
  %38 = llvm.load %37 : !llvm.ptr -> i64
  %39 = llvm.getelementptr %to[13] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %38, %39 : i64, !llvm.ptr
  %40 = llvm.getelementptr %m[14] : (!llvm.ptr) -> !llvm.ptr, i64
  %41 = llvm.load %40 : !llvm.ptr -> i64
  %42 = llvm.getelementptr %to[14] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %41, %42 : i64, !llvm.ptr
  %43 = llvm.getelementptr %m[15] : (!llvm.ptr) -> !llvm.ptr, i64
  %44 = llvm.load %43 : !llvm.ptr -> i64
  %45 = llvm.getelementptr %to[15] : (!llvm.ptr) -> !llvm.ptr, i64
  llvm.store %44, %45 : i64, !llvm.ptr
  %i = llvm.ptrtoint %to : !llvm.ptr to i64
  func.return %i : i64
}

// ---- storage_and_uniform_values
// seed: lowering-overview companion-cute
func.func @storage(%x: i32) -> (i32, i32) {
  %a = cute_nvgpu.arch.alloc_smem {size = 64 : i32} : () -> !cute.ptr<i8, smem>
  %b = cute_nvgpu.arch.get_dyn_smem : () -> !cute.ptr<i8, smem>
  %n = cute_nvgpu.arch.get_dyn_smem_size : () -> i32
  %u = cute_nvgpu.arch.make_warp_uniform %x : (i32) -> i32
  func.return %n, %u : i32, i32
}
// ==>
llvm.mlir.global external @__dynamic_shmem__() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
llvm.mlir.global internal @cute_smem() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<64 x i8>
func.func @storage(%x: i32) -> (i32, i32) {
  %0 = llvm.mlir.addressof @cute_smem : !llvm.ptr<3>
  %1 = llvm.mlir.addressof @__dynamic_shmem__ : !llvm.ptr<3>
  %n = nvvm.read.ptx.sreg.dynamic.smem.size : i32
  %2 = llvm.mlir.constant(-1 : i32) : i32
  %3 = llvm.mlir.constant(0 : i32) : i32
  %4 = llvm.mlir.constant(31 : i32) : i32
  %u = nvvm.shfl.sync idx %2, %x, %3, %4 : i32 -> i32
  func.return %n, %u : i32, i32
}

// gpu.func, its buffers, gpu.return, gpu.module, and dynamic shared memory.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- a_kernel_and_a_helper
// seed: lowering-overview role-gpu
// seed: nvgpu-gpu-to-nvvm legal-leftovers no-executable-gpu module-container function-boundary function-return
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
gpu.module @m attributes {keep = 1 : i32} {
  llvm.func @helper(%x: f32, %n: i64) -> !llvm.struct<(f32, i64)> {
    %0 = llvm.mlir.undef : !llvm.struct<(f32, i64)>
    %1 = llvm.insertvalue %x, %0[0] : !llvm.struct<(f32, i64)>
    %2 = llvm.insertvalue %n, %1[1] : !llvm.struct<(f32, i64)>
    llvm.return %2 : !llvm.struct<(f32, i64)>
  }
  llvm.func @one(%x_1: f32) -> f32 {
    llvm.return %x_1 : f32
  }
  llvm.func @kernel(%x_2: f32, %a: !llvm.ptr<1>) attributes {nvvm.reqntid = array<i32: 64, 1, 1>, gpu.kernel, nvvm.kernel} {
    llvm.return
  }
}

// ---- buffers_become_globals_and_stack_objects
// seed: nvgpu-gpu-to-nvvm function-boundary
gpu.module @m {
  gpu.func @kernel(%i: index, %v: f32) workgroup(%w: memref<32xf32, #gpu.address_space<workgroup>>) private(%p: memref<4xf32, #gpu.address_space<private>>) kernel {
    memref.store %v, %w[%i] : memref<32xf32, #gpu.address_space<workgroup>>
    memref.store %v, %p[%i] : memref<4xf32, #gpu.address_space<private>>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.mlir.global internal @__wg_kernel_0() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<32 x f32>
  llvm.func @kernel(%i: i64, %v: f32) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.addressof @__wg_kernel_0 : !llvm.ptr<3>
    %w = builtin.unrealized_conversion_cast %0 : !llvm.ptr<3> to memref<32xf32, #gpu.address_space<workgroup>>
    %1 = llvm.mlir.constant(1 : i32) : i32
    %2 = llvm.alloca %1 x !llvm.array<4 x f32> {alignment = 16 : i64} : (i32) -> !llvm.ptr
    %3 = llvm.addrspacecast %2 : !llvm.ptr to !llvm.ptr<5>
    %p = builtin.unrealized_conversion_cast %3 : !llvm.ptr<5> to memref<4xf32, #gpu.address_space<private>>
    %i_1 = builtin.unrealized_conversion_cast %i : i64 to index
    memref.store %v, %w[%i_1] : memref<32xf32, #gpu.address_space<workgroup>>
    memref.store %v, %p[%i_1] : memref<4xf32, #gpu.address_space<private>>
    llvm.return
  }
}

// ---- dynamic_shared_memory_is_one_global
// seed: lowering-overview role-gpu
// seed: nvgpu-gpu-to-nvvm dynamic-shared
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
gpu.module @m {
  llvm.mlir.global external @__dynamic_shmem__() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<0 x i8>
  llvm.func @k(%i: i64, %v: i8) attributes {gpu.kernel, nvvm.kernel} {
    %i_1 = builtin.unrealized_conversion_cast %i : i64 to index
    %a = llvm.mlir.addressof @__dynamic_shmem__ : !llvm.ptr<3>
    %a_1 = builtin.unrealized_conversion_cast %a : !llvm.ptr<3> to memref<?xi8, #gpu.address_space<workgroup>>
    %b = llvm.mlir.addressof @__dynamic_shmem__ : !llvm.ptr<3>
    %b_1 = builtin.unrealized_conversion_cast %b : !llvm.ptr<3> to memref<?xi8, #gpu.address_space<workgroup>>
    memref.store %v, %a_1[%i_1] : memref<?xi8, #gpu.address_space<workgroup>>
    memref.store %v, %b_1[%i_1] : memref<?xi8, #gpu.address_space<workgroup>>
    llvm.return
  }
}

// ---- dynamic_shared_memory_that_the_module_has
// seed: nvgpu-gpu-to-nvvm dynamic-shared
gpu.module @m {
  llvm.mlir.global external @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
  llvm.func @k() {
    %a = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
    %p = builtin.unrealized_conversion_cast %a : memref<?xi8, #gpu.address_space<workgroup>> to !llvm.ptr<3>
    %n = llvm.ptrtoint %p : !llvm.ptr<3> to i32
    llvm.return
  }
}
// ==>
gpu.module @m {
  llvm.mlir.global external @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
  llvm.func @k() {
    %a = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %n = llvm.ptrtoint %a : !llvm.ptr<3> to i32
    llvm.return
  }
}

// ---- an_argument_keeps_its_attributes
// seed: nvgpu-gpu-to-nvvm function-boundary
gpu.module @m {
  gpu.func @kernel(%x: !llvm.ptr<1> {llvm.noalias}, %n: i32) kernel {
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @kernel(%x: !llvm.ptr<1> {llvm.noalias}, %n: i32) attributes {gpu.kernel, nvvm.kernel} {
    llvm.return
  }
}

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
gpu.module @m {
  llvm.func @k(%n: i64) attributes {gpu.kernel, nvvm.kernel} {
    %n_1 = builtin.unrealized_conversion_cast %n : i64 to index
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    nvvm.cp.async.commit.group
    %first = llvm.mlir.constant(0 : i32) : i32
    %last = scf.for %i = %c0 to %n_1 step %c1 iter_args(%group = %first) -> (i32) {
      nvvm.cp.async.wait.group 1
      nvvm.cp.async.commit.group
      %next = llvm.mlir.constant(0 : i32) : i32
      scf.yield %next : i32
    }
    nvvm.cp.async.wait.group 0
    llvm.return
  }
}

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
gpu.module @m {
  llvm.func @kernel(%c: i1) attributes {gpu.kernel, nvvm.kernel} {
    nvvm.cp.async.commit.group
    %a = llvm.mlir.constant(0 : i32) : i32
    cf.cond_br %c, ^one(%a : i32), ^two
  ^one(%t: i32):
    nvvm.cp.async.wait.group 0
    cf.br ^two
  ^two:
    llvm.return
  }
}

// ---- small_floats_travel_as_bytes
// seed: nvgpu-gpu-to-nvvm function-boundary
gpu.module @m {
  gpu.func @kernel(%x: f8E4M3FN, %v: vector<4xf8E5M2>, %i: index, %g: memref<64x16xf8E4M3FN>) workgroup(%w: memref<64x16xf8E4M3FN, 3>) kernel {
    %t = nvgpu.device_async_copy %g[%i, %i], %w[%i, %i], 16 : memref<64x16xf8E4M3FN> to memref<64x16xf8E4M3FN, 3>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.mlir.global internal @__wg_kernel_0() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<1024 x i8>
  llvm.func @kernel(%x: i8, %v: vector<4xi8>, %i: i64, %g: !llvm.ptr) attributes {gpu.kernel, nvvm.kernel} {
    %w = llvm.mlir.addressof @__wg_kernel_0 : !llvm.ptr<3>
    %0 = llvm.mlir.constant(16) : i64
    %1 = llvm.mul %i, %0 : i64
    %2 = llvm.add %1, %i : i64
    %3 = llvm.getelementptr %w[%2] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %4 = llvm.mlir.constant(16) : i64
    %5 = llvm.mul %i, %4 : i64
    %6 = llvm.add %5, %i : i64
    %7 = llvm.getelementptr %g[%6] : (!llvm.ptr, i64) -> !llvm.ptr, i8
    %8 = llvm.addrspacecast %7 : !llvm.ptr to !llvm.ptr<1>
    nvvm.cp.async.shared.global %3, %8, 16, cache = ca : !llvm.ptr<3>, !llvm.ptr<1>
    llvm.return
  }
}

// ---- a_kernels_memref_is_its_pointer_and_a_functions_its_descriptor
// seed: lowering-overview one-type-converter memref-descriptor abi-bare-pointer
gpu.module @m {
  gpu.func @kernel(%s: memref<8x8xf16, strided<[16, 1], offset: 4>, 3>, %i: index) kernel {
    %v = nvgpu.ldmatrix %s[%i, %i] {numTiles = 1 : i32, transpose = false} : memref<8x8xf16, strided<[16, 1], offset: 4>, 3> -> vector<1x2xf16>
    gpu.return
  }
  gpu.func @function(%s: memref<8x8xf16, strided<[16, 1], offset: 4>, 3>, %i: index) {
    %v = nvgpu.ldmatrix %s[%i, %i] {numTiles = 1 : i32, transpose = false} : memref<8x8xf16, strided<[16, 1], offset: 4>, 3> -> vector<1x2xf16>
    gpu.return
  }
}
// ==>
gpu.module @m {
  llvm.func @kernel(%s: !llvm.ptr<3>, %i: i64) attributes {gpu.kernel, nvvm.kernel} {
    %0 = llvm.mlir.constant(16) : i64
    %1 = llvm.mul %i, %0 : i64
    %2 = llvm.add %1, %i : i64
    %3 = llvm.mlir.constant(4) : i64
    %4 = llvm.add %2, %3 : i64
    %5 = llvm.getelementptr %s[%4] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f16
    %6 = nvvm.ldmatrix %5 {num = 1 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> i32
    %7 = vector.from_elements %6 : vector<1x1xi32>
    %v = vector.bitcast %7 : vector<1x1xi32> to vector<1x2xf16>
    llvm.return
  }
  llvm.func @function(%s_1: !llvm.struct<(!llvm.ptr<3>, !llvm.ptr<3>, i64, !llvm.array<2 x i64>, !llvm.array<2 x i64>)>, %i_1: i64) {
    %8 = llvm.extractvalue %s_1[1] : !llvm.struct<(!llvm.ptr<3>, !llvm.ptr<3>, i64, !llvm.array<2 x i64>, !llvm.array<2 x i64>)>
    %9 = llvm.mlir.constant(16) : i64
    %10 = llvm.mul %i_1, %9 : i64
    %11 = llvm.add %10, %i_1 : i64
    %12 = llvm.mlir.constant(4) : i64
    %13 = llvm.add %11, %12 : i64
    %14 = llvm.getelementptr %8[%13] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, f16
    %15 = nvvm.ldmatrix %14 {num = 1 : i32, layout = #nvvm.mma_layout<row>, shape = #nvvm.ld_st_matrix_shape<m = 8, n = 8>, eltType = #nvvm.ld_st_matrix_elt_type<b16>} : (!llvm.ptr<3>) -> i32
    %16 = vector.from_elements %15 : vector<1x1xi32>
    %v_1 = vector.bitcast %16 : vector<1x1xi32> to vector<1x2xf16>
    llvm.return
  }
}

// ---- a_buffer_that_a_function_returns_is_described
// seed: lowering-overview one-type-converter memref-descriptor
gpu.module @m {
  gpu.func @function(%x: index) -> memref<4x8xf32, #gpu.address_space<workgroup>> workgroup(%w: memref<4x8xf32, #gpu.address_space<workgroup>>) {
    gpu.return %w : memref<4x8xf32, #gpu.address_space<workgroup>>
  }
}
// ==>
gpu.module @m {
  llvm.mlir.global internal @__wg_function_0() {addr_space = 3 : i32, alignment = 16 : i64} : !llvm.array<32 x f32>
  llvm.func @function(%x: i64) -> !llvm.struct<(!llvm.ptr<3>, !llvm.ptr<3>, i64, !llvm.array<2 x i64>, !llvm.array<2 x i64>)> {
    %w = llvm.mlir.addressof @__wg_function_0 : !llvm.ptr<3>
    %0 = llvm.mlir.undef : !llvm.struct<(!llvm.ptr<3>, !llvm.ptr<3>, i64, !llvm.array<2 x i64>, !llvm.array<2 x i64>)>
    %1 = llvm.insertvalue %w, %0[0] : !llvm.struct<(!llvm.ptr<3>, !llvm.ptr<3>, i64, !llvm.array<2 x i64>, !llvm.array<2 x i64>)>
    %2 = llvm.insertvalue %w, %1[1] : !llvm.struct<(!llvm.ptr<3>, !llvm.ptr<3>, i64, !llvm.array<2 x i64>, !llvm.array<2 x i64>)>
    %3 = llvm.mlir.constant(0) : i64
    %4 = llvm.insertvalue %3, %2[2] : !llvm.struct<(!llvm.ptr<3>, !llvm.ptr<3>, i64, !llvm.array<2 x i64>, !llvm.array<2 x i64>)>
    %5 = llvm.mlir.constant(4) : i64
    %6 = llvm.insertvalue %5, %4[3, 0] : !llvm.struct<(!llvm.ptr<3>, !llvm.ptr<3>, i64, !llvm.array<2 x i64>, !llvm.array<2 x i64>)>
    %7 = llvm.mlir.constant(8) : i64
    %8 = llvm.insertvalue %7, %6[3, 1] : !llvm.struct<(!llvm.ptr<3>, !llvm.ptr<3>, i64, !llvm.array<2 x i64>, !llvm.array<2 x i64>)>
    %9 = llvm.mlir.constant(8) : i64
    %10 = llvm.insertvalue %9, %8[4, 0] : !llvm.struct<(!llvm.ptr<3>, !llvm.ptr<3>, i64, !llvm.array<2 x i64>, !llvm.array<2 x i64>)>
    %11 = llvm.mlir.constant(1) : i64
    %12 = llvm.insertvalue %11, %10[4, 1] : !llvm.struct<(!llvm.ptr<3>, !llvm.ptr<3>, i64, !llvm.array<2 x i64>, !llvm.array<2 x i64>)>
    llvm.return %12 : !llvm.struct<(!llvm.ptr<3>, !llvm.ptr<3>, i64, !llvm.array<2 x i64>, !llvm.array<2 x i64>)>
  }
}

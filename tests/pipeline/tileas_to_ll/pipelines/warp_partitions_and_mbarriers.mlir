// Rings of mbarriers between warps that copy and warps that compute.
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_90

// ---- a_ring_of_two_stages
!ring = !nv_tileas.pipeline<#builtin.int<2>>
nv_tileaa.func @k attributes {num_warps = 4 : i32, producer_warps = 1 : i32, shared_bytes = 32 : i32} {
^bb0(%on: i1):
  %p = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 1024 : i32, shared_offset = 0 : i32} : !ring
  nv_tileas.agent_switch {
    %t = arith.constant 0 : i32
    nv_tileas.async.pipeline.producer_acquire %p, %t : (!ring, i32) -> ()
    %u = nv_tileas.async.pipeline.advance %p, %t : (!ring, i32) -> i32
    nv_tileas.async.pipeline.producer_acquire %p, %u : (!ring, i32) -> ()
    nv_tileas.yield
  } {
    %t = arith.constant 0 : i32
    nv_tileas.async.pipeline.consumer_wait %p, %t : (!ring, i32) -> ()
    nv_tileas.async.pipeline.consumer_release %p, %t enabled(%on) {previous_stage} : (!ring, i32, i1) -> ()
    %u = nv_tileas.async.pipeline.advance %p, %t : (!ring, i32) -> i32
    nv_tileas.async.pipeline.consumer_wait %p, %u : (!ring, i32) -> ()
    nv_tileas.async.pipeline.consumer_release %p, %u : (!ring, i32) -> ()
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_90a\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i1\22, \22size\22: 1, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}], \22param_sizes\22: [1], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 160, \22shared_memory\22: {\22static\22: 32, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<32 x i8>
  llvm.func @k(%a0: i8) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 160>} {
    %0 = llvm.mlir.constant(0 : i8) : i8
    %1 = llvm.icmp "ne" %a0, %0 : i8
    %2 = gpu.thread_id x
    %3 = arith.index_cast %2 : index to i32
    %4 = llvm.mlir.constant(0 : i32) : i32
    %5 = llvm.icmp "eq" %3, %4 : i32
    %6 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %7 = llvm.mlir.constant(0) : i64
    %8 = llvm.mlir.constant(1 : i32) : i32
    %9 = llvm.mlir.constant(8) : i64
    %10 = llvm.mlir.constant(16) : i64
    %11 = llvm.mlir.constant(4 : i32) : i32
    %12 = llvm.mlir.constant(24) : i64
    %13 = llvm.mlir.constant(5 : i32) : i32
    %14 = llvm.lshr %3, %13 : i32
    %15 = llvm.mlir.constant(32 : i32) : i32
    %16, %17 = gpu.shuffle idx %14, %4, %15 : i32
    %18 = llvm.icmp "uge" %16, %11 : i32
    %19 = llvm.mlir.constant(-1 : i32) : i32
    %20 = llvm.ptrtoint %6 : !llvm.ptr<3> to i32
    %21 = llvm.mlir.constant(16 : i32) : i32
    %22 = llvm.mlir.constant(1024 : i32) : i32
    %23 = llvm.mlir.constant(2 : i32) : i32
    %24 = llvm.mlir.constant(8 : i32) : i32
    %25 = llvm.mlir.constant(31 : i32) : i32
    %26 = llvm.and %3, %25 : i32
    %27 = llvm.icmp "eq" %26, %4 : i32
    llvm.cond_br %5, ^bb1, ^bb2
  ^bb1:
    %28 = llvm.getelementptr %6[%7] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %29 = builtin.unrealized_conversion_cast %28 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %30 = builtin.unrealized_conversion_cast %4 : i32 to index
    %31 = builtin.unrealized_conversion_cast %8 : i32 to index
    nvgpu.mbarrier.init %29[%30], %31 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %32 = llvm.getelementptr %6[%9] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %33 = builtin.unrealized_conversion_cast %32 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %33[%30], %31 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %34 = llvm.getelementptr %6[%10] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %35 = builtin.unrealized_conversion_cast %34 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %36 = builtin.unrealized_conversion_cast %11 : i32 to index
    nvgpu.mbarrier.init %35[%30], %36 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %37 = llvm.getelementptr %6[%12] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %38 = builtin.unrealized_conversion_cast %37 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %38[%30], %36 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvvm.fence.mbarrier.init
    llvm.br ^bb2
  ^bb2:
    gpu.barrier
    llvm.cond_br %18, ^bb3, ^bb10
  ^bb3:
    %39 = nvvm.elect.sync %19 : (i32) -> !llvm.struct<(i32, i1)>
    %40 = llvm.extractvalue %39[1] : !llvm.struct<(i32, i1)>
    llvm.cond_br %40, ^bb4, ^bb9
  ^bb4:
    %41 = llvm.add %20, %21 : i32
    %42 = llvm.inttoptr %41 : i32 to !llvm.ptr<3>
    %43 = builtin.unrealized_conversion_cast %42 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %44 = builtin.unrealized_conversion_cast %4 : i32 to index
    %45 = builtin.unrealized_conversion_cast %8 : i32 to i1
    llvm.br ^bb5
  ^bb5:
    %46 = nvgpu.mbarrier.try_wait.parity %43[%44], %45 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> i1
    llvm.cond_br %46, ^bb6, ^bb5
  ^bb6:
    nvvm.memory_clobber
    %47 = llvm.inttoptr %20 : i32 to !llvm.ptr<3>
    %48 = builtin.unrealized_conversion_cast %47 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %49 = builtin.unrealized_conversion_cast %22 : i32 to index
    nvgpu.mbarrier.arrive.expect_tx %48[%44], %49 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %50 = llvm.icmp "uge" %23, %11 : i32
    %51 = llvm.select %50, %8, %23 : i1, i32
    %52 = llvm.lshr %51, %8 : i32
    %53 = llvm.mul %52, %24 : i32
    %54 = llvm.add %53, %20 : i32
    %55 = llvm.add %54, %21 : i32
    %56 = llvm.and %51, %8 : i32
    %57 = llvm.xor %56, %8 : i32
    %58 = llvm.inttoptr %55 : i32 to !llvm.ptr<3>
    %59 = builtin.unrealized_conversion_cast %58 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %60 = builtin.unrealized_conversion_cast %57 : i32 to i1
    llvm.br ^bb7
  ^bb7:
    %61 = nvgpu.mbarrier.try_wait.parity %59[%44], %60 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> i1
    llvm.cond_br %61, ^bb8, ^bb7
  ^bb8:
    nvvm.memory_clobber
    %62 = llvm.inttoptr %54 : i32 to !llvm.ptr<3>
    %63 = builtin.unrealized_conversion_cast %62 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.arrive.expect_tx %63[%44], %49 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    llvm.br ^bb15
  ^bb9:
    llvm.br ^bb15
  ^bb10:
    %64 = llvm.inttoptr %20 : i32 to !llvm.ptr<3>
    %65 = builtin.unrealized_conversion_cast %64 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %66 = builtin.unrealized_conversion_cast %4 : i32 to index
    %67 = builtin.unrealized_conversion_cast %4 : i32 to i1
    llvm.br ^bb11
  ^bb11:
    %68 = nvgpu.mbarrier.try_wait.parity %65[%66], %67 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> i1
    llvm.cond_br %68, ^bb12, ^bb11
  ^bb12:
    nvvm.memory_clobber
    %69 = llvm.icmp "eq" %4, %4 : i32
    %70 = llvm.select %69, %8, %19 : i1, i32
    %71 = llvm.and %27, %1 : i1
    nvvm.bar.warp.sync %19 : (i32) -> ()
    %72 = llvm.mul %70, %24 : i32
    %73 = llvm.add %72, %20 : i32
    %74 = llvm.add %73, %21 : i32
    %75 = llvm.inttoptr %74 : i32 to !llvm.ptr<3>
    %76 = builtin.unrealized_conversion_cast %75 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.arrive %76[%66], predicate = %71 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %77 = llvm.icmp "uge" %23, %11 : i32
    %78 = llvm.select %77, %8, %23 : i1, i32
    %79 = llvm.lshr %78, %8 : i32
    %80 = llvm.mul %79, %24 : i32
    %81 = llvm.add %80, %20 : i32
    %82 = llvm.and %78, %8 : i32
    %83 = llvm.inttoptr %81 : i32 to !llvm.ptr<3>
    %84 = builtin.unrealized_conversion_cast %83 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %85 = builtin.unrealized_conversion_cast %82 : i32 to i1
    llvm.br ^bb13
  ^bb13:
    %86 = nvgpu.mbarrier.try_wait.parity %84[%66], %85 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> i1
    llvm.cond_br %86, ^bb14, ^bb13
  ^bb14:
    nvvm.memory_clobber
    nvvm.bar.warp.sync %19 : (i32) -> ()
    %87 = llvm.add %81, %21 : i32
    %88 = llvm.inttoptr %87 : i32 to !llvm.ptr<3>
    %89 = builtin.unrealized_conversion_cast %88 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.arrive %89[%66], predicate = %27 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    llvm.br ^bb15
  ^bb15:
    llvm.return
  }
}

// ---- a_token_of_a_loop
!ring = !nv_tileas.pipeline<#builtin.int<3>>
nv_tileaa.func @k attributes {num_warps = 4 : i32, producer_warps = 1 : i32, shared_bytes = 48 : i32} {
^bb0(%n: i32):
  %zero = arith.constant 0 : i32
  %one = arith.constant 1 : i32
  %p = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 1024 : i32, shared_offset = 0 : i32} : !ring
  nv_tileas.agent_switch {
    %last = nv_tileas.for %zero, %n, %one initial(%zero) : (i32, i32, i32, i32) -> i32 {
    ^bb0(%i: i32, %t: i32):
      nv_tileas.async.pipeline.producer_acquire %p, %t : (!ring, i32) -> ()
      %u = nv_tileas.async.pipeline.advance %p, %t : (!ring, i32) -> i32
      nv_tileas.continue %u : (i32) -> ()
    }
    nv_tileas.yield
  } {
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_90a\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}], \22param_sizes\22: [4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 160, \22shared_memory\22: {\22static\22: 48, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<48 x i8>
  llvm.func @k(%a0: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 160>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(0 : i32) : i32
    %3 = llvm.icmp "eq" %1, %2 : i32
    %4 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %5 = llvm.mlir.constant(0) : i64
    %6 = llvm.mlir.constant(1 : i32) : i32
    %7 = llvm.mlir.constant(8) : i64
    %8 = llvm.mlir.constant(16) : i64
    %9 = llvm.mlir.constant(24) : i64
    %10 = llvm.mlir.constant(4 : i32) : i32
    %11 = llvm.mlir.constant(32) : i64
    %12 = llvm.mlir.constant(40) : i64
    %13 = llvm.mlir.constant(5 : i32) : i32
    %14 = llvm.lshr %1, %13 : i32
    %15 = llvm.mlir.constant(32 : i32) : i32
    %16, %17 = gpu.shuffle idx %14, %2, %15 : i32
    %18 = llvm.icmp "uge" %16, %10 : i32
    %19 = llvm.mlir.constant(-1 : i32) : i32
    %20 = llvm.mlir.constant(8 : i32) : i32
    %21 = llvm.ptrtoint %4 : !llvm.ptr<3> to i32
    %22 = llvm.mlir.constant(24 : i32) : i32
    %23 = llvm.mlir.constant(1024 : i32) : i32
    %24 = llvm.mlir.constant(2 : i32) : i32
    %25 = llvm.mlir.constant(6 : i32) : i32
    llvm.cond_br %3, ^bb1, ^bb2
  ^bb1:
    %26 = llvm.getelementptr %4[%5] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %27 = builtin.unrealized_conversion_cast %26 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %28 = builtin.unrealized_conversion_cast %2 : i32 to index
    %29 = builtin.unrealized_conversion_cast %6 : i32 to index
    nvgpu.mbarrier.init %27[%28], %29 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %30 = llvm.getelementptr %4[%7] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %31 = builtin.unrealized_conversion_cast %30 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %31[%28], %29 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %32 = llvm.getelementptr %4[%8] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %33 = builtin.unrealized_conversion_cast %32 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %33[%28], %29 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %34 = llvm.getelementptr %4[%9] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %35 = builtin.unrealized_conversion_cast %34 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %36 = builtin.unrealized_conversion_cast %10 : i32 to index
    nvgpu.mbarrier.init %35[%28], %36 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %37 = llvm.getelementptr %4[%11] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %38 = builtin.unrealized_conversion_cast %37 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %38[%28], %36 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %39 = llvm.getelementptr %4[%12] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %40 = builtin.unrealized_conversion_cast %39 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %40[%28], %36 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvvm.fence.mbarrier.init
    llvm.br ^bb2
  ^bb2:
    gpu.barrier
    llvm.cond_br %18, ^bb3, ^bb12
  ^bb3:
    %41 = nvvm.elect.sync %19 : (i32) -> !llvm.struct<(i32, i1)>
    %42 = llvm.extractvalue %41[1] : !llvm.struct<(i32, i1)>
    llvm.cond_br %42, ^bb4, ^bb11
  ^bb4:
    llvm.br ^bb5(%2, %2 : i32, i32)
  ^bb5(%43: i32, %44: i32):
    %45 = llvm.icmp "slt" %43, %a0 : i32
    llvm.cond_br %45, ^bb6, ^bb10
  ^bb6:
    %46 = llvm.lshr %44, %6 : i32
    %47 = llvm.mul %46, %20 : i32
    %48 = llvm.add %47, %21 : i32
    %49 = llvm.add %48, %22 : i32
    %50 = llvm.and %44, %6 : i32
    %51 = llvm.xor %50, %6 : i32
    %52 = llvm.inttoptr %49 : i32 to !llvm.ptr<3>
    %53 = builtin.unrealized_conversion_cast %52 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %54 = builtin.unrealized_conversion_cast %2 : i32 to index
    %55 = builtin.unrealized_conversion_cast %51 : i32 to i1
    llvm.br ^bb7
  ^bb7:
    %56 = nvgpu.mbarrier.try_wait.parity %53[%54], %55 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> i1
    llvm.cond_br %56, ^bb8, ^bb7
  ^bb8:
    nvvm.memory_clobber
    %57 = llvm.inttoptr %48 : i32 to !llvm.ptr<3>
    %58 = builtin.unrealized_conversion_cast %57 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %59 = builtin.unrealized_conversion_cast %23 : i32 to index
    nvgpu.mbarrier.arrive.expect_tx %58[%54], %59 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %60 = llvm.add %44, %24 : i32
    %61 = llvm.icmp "uge" %60, %25 : i32
    %62 = llvm.select %61, %51, %60 : i1, i32
    llvm.br ^bb9
  ^bb9:
    %63 = llvm.add %43, %6 : i32
    llvm.br ^bb5(%63, %62 : i32, i32)
  ^bb10:
    llvm.br ^bb13
  ^bb11:
    llvm.br ^bb13
  ^bb12:
    llvm.br ^bb13
  ^bb13:
    llvm.return
  }
}

// ---- an_end_that_waits_for_each_stage
!ring = !nv_tileas.pipeline<#builtin.int<2>>
nv_tileaa.func @k attributes {num_warps = 4 : i32, producer_warps = 1 : i32, shared_bytes = 32 : i32} {
^bb0(%t: i32):
  %p = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 1024 : i32, shared_offset = 0 : i32} : !ring
  nv_tileas.agent_switch {
    nv_tileas.async.pipeline.producer_tail %p, %t : (!ring, i32) -> ()
    nv_tileas.yield
  } {
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_90a\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}], \22param_sizes\22: [4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 160, \22shared_memory\22: {\22static\22: 32, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<32 x i8>
  llvm.func @k(%a0: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 160>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(0 : i32) : i32
    %3 = llvm.icmp "eq" %1, %2 : i32
    %4 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %5 = llvm.mlir.constant(0) : i64
    %6 = llvm.mlir.constant(1 : i32) : i32
    %7 = llvm.mlir.constant(8) : i64
    %8 = llvm.mlir.constant(16) : i64
    %9 = llvm.mlir.constant(24) : i64
    %10 = llvm.mlir.constant(5 : i32) : i32
    %11 = llvm.lshr %1, %10 : i32
    %12 = llvm.mlir.constant(32 : i32) : i32
    %13, %14 = gpu.shuffle idx %11, %2, %12 : i32
    %15 = llvm.mlir.constant(4 : i32) : i32
    %16 = llvm.icmp "uge" %13, %15 : i32
    %17 = llvm.mlir.constant(-1 : i32) : i32
    %18 = llvm.ptrtoint %4 : !llvm.ptr<3> to i32
    %19 = llvm.mlir.constant(16 : i32) : i32
    %20 = llvm.mlir.constant(8 : i32) : i32
    llvm.cond_br %3, ^bb1, ^bb2
  ^bb1:
    %21 = llvm.getelementptr %4[%5] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %22 = builtin.unrealized_conversion_cast %21 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %23 = builtin.unrealized_conversion_cast %2 : i32 to index
    %24 = builtin.unrealized_conversion_cast %6 : i32 to index
    nvgpu.mbarrier.init %22[%23], %24 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %25 = llvm.getelementptr %4[%7] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %26 = builtin.unrealized_conversion_cast %25 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %26[%23], %24 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %27 = llvm.getelementptr %4[%8] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %28 = builtin.unrealized_conversion_cast %27 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %28[%23], %24 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %29 = llvm.getelementptr %4[%9] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %30 = builtin.unrealized_conversion_cast %29 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %30[%23], %24 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvvm.fence.mbarrier.init
    llvm.br ^bb2
  ^bb2:
    gpu.barrier
    llvm.cond_br %16, ^bb3, ^bb10
  ^bb3:
    %31 = nvvm.elect.sync %17 : (i32) -> !llvm.struct<(i32, i1)>
    %32 = llvm.extractvalue %31[1] : !llvm.struct<(i32, i1)>
    llvm.cond_br %32, ^bb4, ^bb9
  ^bb4:
    %33 = llvm.lshr %a0, %6 : i32
    %34 = llvm.and %a0, %6 : i32
    %35 = llvm.icmp "ule" %33, %2 : i32
    %36 = llvm.add %18, %19 : i32
    %37 = llvm.zext %35 : i1 to i32
    %38 = llvm.xor %34, %37 : i32
    %39 = llvm.inttoptr %36 : i32 to !llvm.ptr<3>
    %40 = builtin.unrealized_conversion_cast %39 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %41 = builtin.unrealized_conversion_cast %2 : i32 to index
    %42 = builtin.unrealized_conversion_cast %38 : i32 to i1
    llvm.br ^bb5
  ^bb5:
    %43 = nvgpu.mbarrier.try_wait.parity %40[%41], %42 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> i1
    llvm.cond_br %43, ^bb6, ^bb5
  ^bb6:
    nvvm.memory_clobber
    %44 = llvm.icmp "ule" %33, %6 : i32
    %45 = llvm.add %18, %20 : i32
    %46 = llvm.add %45, %19 : i32
    %47 = llvm.zext %44 : i1 to i32
    %48 = llvm.xor %34, %47 : i32
    %49 = llvm.inttoptr %46 : i32 to !llvm.ptr<3>
    %50 = builtin.unrealized_conversion_cast %49 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %51 = builtin.unrealized_conversion_cast %48 : i32 to i1
    llvm.br ^bb7
  ^bb7:
    %52 = nvgpu.mbarrier.try_wait.parity %50[%41], %51 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> i1
    llvm.cond_br %52, ^bb8, ^bb7
  ^bb8:
    nvvm.memory_clobber
    llvm.br ^bb11
  ^bb9:
    llvm.br ^bb11
  ^bb10:
    llvm.br ^bb11
  ^bb11:
    llvm.return
  }
}

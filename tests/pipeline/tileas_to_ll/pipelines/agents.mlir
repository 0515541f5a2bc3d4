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
    nv_tileas.async.pipeline.consumer_release %p, %t enabled(%on) {behind} : (!ring, i32, i1) -> ()
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
    %7 = llvm.ptrtoint %6 : !llvm.ptr<3> to i32
    %8 = llvm.mlir.constant(1 : i32) : i32
    %9 = llvm.mlir.constant(8 : i32) : i32
    %10 = llvm.mlir.constant(16 : i32) : i32
    %11 = llvm.mlir.constant(4 : i32) : i32
    %12 = llvm.mlir.constant(24 : i32) : i32
    %13 = llvm.mlir.constant(5 : i32) : i32
    %14 = llvm.lshr %3, %13 : i32
    %15 = llvm.mlir.constant(32 : i32) : i32
    %16, %17 = gpu.shuffle idx %14, %4, %15 : i32
    %18 = llvm.icmp "uge" %16, %11 : i32
    %19 = llvm.mlir.constant(-1 : i32) : i32
    %20 = llvm.mlir.constant(1024 : i32) : i32
    %21 = llvm.mlir.constant(2 : i32) : i32
    %22 = llvm.mlir.constant(31 : i32) : i32
    %23 = llvm.and %3, %22 : i32
    %24 = llvm.icmp "eq" %23, %4 : i32
    llvm.cond_br %5, ^bb1, ^bb2
  ^bb1:
    %25 = llvm.inttoptr %7 : i32 to !llvm.ptr<3>
    %26 = builtin.unrealized_conversion_cast %25 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %27 = builtin.unrealized_conversion_cast %4 : i32 to index
    %28 = builtin.unrealized_conversion_cast %8 : i32 to index
    nvgpu.mbarrier.init %26[%27], %28 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %29 = llvm.add %7, %9 : i32
    %30 = llvm.inttoptr %29 : i32 to !llvm.ptr<3>
    %31 = builtin.unrealized_conversion_cast %30 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %31[%27], %28 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %32 = llvm.add %7, %10 : i32
    %33 = llvm.inttoptr %32 : i32 to !llvm.ptr<3>
    %34 = builtin.unrealized_conversion_cast %33 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %35 = builtin.unrealized_conversion_cast %11 : i32 to index
    nvgpu.mbarrier.init %34[%27], %35 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %36 = llvm.add %7, %12 : i32
    %37 = llvm.inttoptr %36 : i32 to !llvm.ptr<3>
    %38 = builtin.unrealized_conversion_cast %37 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %38[%27], %35 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
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
    %41 = llvm.add %7, %10 : i32
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
    %47 = llvm.inttoptr %7 : i32 to !llvm.ptr<3>
    %48 = builtin.unrealized_conversion_cast %47 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %49 = builtin.unrealized_conversion_cast %20 : i32 to index
    nvgpu.mbarrier.arrive.expect_tx %48[%44], %49 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %50 = llvm.icmp "uge" %21, %11 : i32
    %51 = llvm.select %50, %8, %21 : i1, i32
    %52 = llvm.lshr %51, %8 : i32
    %53 = llvm.mul %52, %9 : i32
    %54 = llvm.add %53, %7 : i32
    %55 = llvm.add %54, %10 : i32
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
    %64 = llvm.inttoptr %7 : i32 to !llvm.ptr<3>
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
    %71 = llvm.and %24, %1 : i1
    nvvm.bar.warp.sync %19 : (i32) -> ()
    %72 = llvm.mul %70, %9 : i32
    %73 = llvm.add %72, %7 : i32
    %74 = llvm.add %73, %10 : i32
    %75 = llvm.inttoptr %74 : i32 to !llvm.ptr<3>
    %76 = builtin.unrealized_conversion_cast %75 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.arrive %76[%66], predicate = %71 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %77 = llvm.icmp "uge" %21, %11 : i32
    %78 = llvm.select %77, %8, %21 : i1, i32
    %79 = llvm.lshr %78, %8 : i32
    %80 = llvm.mul %79, %9 : i32
    %81 = llvm.add %80, %7 : i32
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
    %87 = llvm.add %81, %10 : i32
    %88 = llvm.inttoptr %87 : i32 to !llvm.ptr<3>
    %89 = builtin.unrealized_conversion_cast %88 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.arrive %89[%66], predicate = %24 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
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
    %5 = llvm.ptrtoint %4 : !llvm.ptr<3> to i32
    %6 = llvm.mlir.constant(1 : i32) : i32
    %7 = llvm.mlir.constant(8 : i32) : i32
    %8 = llvm.mlir.constant(16 : i32) : i32
    %9 = llvm.mlir.constant(24 : i32) : i32
    %10 = llvm.mlir.constant(4 : i32) : i32
    %11 = llvm.mlir.constant(32 : i32) : i32
    %12 = llvm.mlir.constant(40 : i32) : i32
    %13 = llvm.mlir.constant(5 : i32) : i32
    %14 = llvm.lshr %1, %13 : i32
    %15, %16 = gpu.shuffle idx %14, %2, %11 : i32
    %17 = llvm.icmp "uge" %15, %10 : i32
    %18 = llvm.mlir.constant(-1 : i32) : i32
    %19 = llvm.mlir.constant(1024 : i32) : i32
    %20 = llvm.mlir.constant(2 : i32) : i32
    %21 = llvm.mlir.constant(6 : i32) : i32
    llvm.cond_br %3, ^bb1, ^bb2
  ^bb1:
    %22 = llvm.inttoptr %5 : i32 to !llvm.ptr<3>
    %23 = builtin.unrealized_conversion_cast %22 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %24 = builtin.unrealized_conversion_cast %2 : i32 to index
    %25 = builtin.unrealized_conversion_cast %6 : i32 to index
    nvgpu.mbarrier.init %23[%24], %25 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %26 = llvm.add %5, %7 : i32
    %27 = llvm.inttoptr %26 : i32 to !llvm.ptr<3>
    %28 = builtin.unrealized_conversion_cast %27 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %28[%24], %25 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %29 = llvm.add %5, %8 : i32
    %30 = llvm.inttoptr %29 : i32 to !llvm.ptr<3>
    %31 = builtin.unrealized_conversion_cast %30 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %31[%24], %25 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %32 = llvm.add %5, %9 : i32
    %33 = llvm.inttoptr %32 : i32 to !llvm.ptr<3>
    %34 = builtin.unrealized_conversion_cast %33 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %35 = builtin.unrealized_conversion_cast %10 : i32 to index
    nvgpu.mbarrier.init %34[%24], %35 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %36 = llvm.add %5, %11 : i32
    %37 = llvm.inttoptr %36 : i32 to !llvm.ptr<3>
    %38 = builtin.unrealized_conversion_cast %37 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %38[%24], %35 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %39 = llvm.add %5, %12 : i32
    %40 = llvm.inttoptr %39 : i32 to !llvm.ptr<3>
    %41 = builtin.unrealized_conversion_cast %40 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %41[%24], %35 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvvm.fence.mbarrier.init
    llvm.br ^bb2
  ^bb2:
    gpu.barrier
    llvm.cond_br %17, ^bb3, ^bb12
  ^bb3:
    %42 = nvvm.elect.sync %18 : (i32) -> !llvm.struct<(i32, i1)>
    %43 = llvm.extractvalue %42[1] : !llvm.struct<(i32, i1)>
    llvm.cond_br %43, ^bb4, ^bb11
  ^bb4:
    llvm.br ^bb5(%2, %2 : i32, i32)
  ^bb5(%44: i32, %45: i32):
    %46 = llvm.icmp "slt" %44, %a0 : i32
    llvm.cond_br %46, ^bb6, ^bb10
  ^bb6:
    %47 = llvm.lshr %45, %6 : i32
    %48 = llvm.mul %47, %7 : i32
    %49 = llvm.add %48, %5 : i32
    %50 = llvm.add %49, %9 : i32
    %51 = llvm.and %45, %6 : i32
    %52 = llvm.xor %51, %6 : i32
    %53 = llvm.inttoptr %50 : i32 to !llvm.ptr<3>
    %54 = builtin.unrealized_conversion_cast %53 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %55 = builtin.unrealized_conversion_cast %2 : i32 to index
    %56 = builtin.unrealized_conversion_cast %52 : i32 to i1
    llvm.br ^bb7
  ^bb7:
    %57 = nvgpu.mbarrier.try_wait.parity %54[%55], %56 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> i1
    llvm.cond_br %57, ^bb8, ^bb7
  ^bb8:
    nvvm.memory_clobber
    %58 = llvm.inttoptr %49 : i32 to !llvm.ptr<3>
    %59 = builtin.unrealized_conversion_cast %58 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %60 = builtin.unrealized_conversion_cast %19 : i32 to index
    nvgpu.mbarrier.arrive.expect_tx %59[%55], %60 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %61 = llvm.add %45, %20 : i32
    %62 = llvm.icmp "uge" %61, %21 : i32
    %63 = llvm.select %62, %52, %61 : i1, i32
    llvm.br ^bb9
  ^bb9:
    %64 = llvm.add %44, %6 : i32
    llvm.br ^bb5(%64, %63 : i32, i32)
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

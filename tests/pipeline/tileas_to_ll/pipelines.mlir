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
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 1, \22target\22: \22sm_90a\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i1\22, \22size\22: 1, \22offset\22: 0}], \22param_sizes\22: [1], \22threads_per_cta\22: 160, \22shared_memory\22: {\22static\22: 32, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
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
    %8 = llvm.mlir.constant(8 : i32) : i32
    %9 = llvm.mlir.constant(16 : i32) : i32
    %10 = llvm.mlir.constant(24 : i32) : i32
    %11 = llvm.mlir.constant(5 : i32) : i32
    %12 = llvm.lshr %3, %11 : i32
    %13 = llvm.mlir.constant(-1 : i32) : i32
    %14 = llvm.mlir.constant(31 : i32) : i32
    %15 = nvvm.shfl.sync.b32 %13, %12, %4, %14 {mode = "idx"} : i32
    %16 = llvm.mlir.constant(4 : i32) : i32
    %17 = llvm.icmp "uge" %15, %16 : i32
    %18 = llvm.mlir.constant(1 : i32) : i32
    %19 = llvm.mlir.constant(1024 : i32) : i32
    %20 = llvm.mlir.constant(2 : i32) : i32
    %21 = llvm.and %3, %14 : i32
    %22 = llvm.icmp "eq" %21, %4 : i32
    llvm.cond_br %5, ^bb1, ^bb2
  ^bb1:
    nvvm.mbarrier.init %7 {count = 1 : i64} : (i32) -> ()
    %23 = llvm.add %7, %8 : i32
    nvvm.mbarrier.init %23 {count = 1 : i64} : (i32) -> ()
    %24 = llvm.add %7, %9 : i32
    nvvm.mbarrier.init %24 {count = 4 : i64} : (i32) -> ()
    %25 = llvm.add %7, %10 : i32
    nvvm.mbarrier.init %25 {count = 4 : i64} : (i32) -> ()
    nvvm.fence.mbarrier.init
    llvm.br ^bb2
  ^bb2:
    nvvm.barrier.cta.sync.aligned.all %4 : (i32) -> ()
    llvm.cond_br %17, ^bb3, ^bb10
  ^bb3:
    %26 = nvvm.elect.sync %13 : (i32) -> !llvm.struct<(i32, i1)>
    %27 = llvm.extractvalue %26[1] : !llvm.struct<(i32, i1)>
    llvm.cond_br %27, ^bb4, ^bb9
  ^bb4:
    %28 = llvm.add %7, %9 : i32
    %29 = llvm.inttoptr %28 : i32 to !llvm.ptr<3>
    llvm.br ^bb5
  ^bb5:
    %30 = nvvm.mbarrier.try_wait %29, %18 : (!llvm.ptr<3>, i32) -> i1
    llvm.cond_br %30, ^bb6, ^bb5
  ^bb6:
    nvvm.memory_clobber
    nvvm.mbarrier.arrive.expect_tx %7, %19 : (i32, i32) -> ()
    %31 = llvm.icmp "uge" %20, %16 : i32
    %32 = llvm.select %31, %18, %20 : i1, i32
    %33 = llvm.lshr %32, %18 : i32
    %34 = llvm.mul %33, %8 : i32
    %35 = llvm.add %34, %7 : i32
    %36 = llvm.add %35, %9 : i32
    %37 = llvm.and %32, %18 : i32
    %38 = llvm.xor %37, %18 : i32
    %39 = llvm.inttoptr %36 : i32 to !llvm.ptr<3>
    llvm.br ^bb7
  ^bb7:
    %40 = nvvm.mbarrier.try_wait %39, %38 : (!llvm.ptr<3>, i32) -> i1
    llvm.cond_br %40, ^bb8, ^bb7
  ^bb8:
    nvvm.memory_clobber
    nvvm.mbarrier.arrive.expect_tx %35, %19 : (i32, i32) -> ()
    llvm.br ^bb15
  ^bb9:
    llvm.br ^bb15
  ^bb10:
    %41 = llvm.inttoptr %7 : i32 to !llvm.ptr<3>
    llvm.br ^bb11
  ^bb11:
    %42 = nvvm.mbarrier.try_wait %41, %4 : (!llvm.ptr<3>, i32) -> i1
    llvm.cond_br %42, ^bb12, ^bb11
  ^bb12:
    nvvm.memory_clobber
    %43 = llvm.icmp "eq" %4, %4 : i32
    %44 = llvm.select %43, %18, %13 : i1, i32
    %45 = llvm.and %22, %1 : i1
    nvvm.bar.warp.sync %13 : (i32) -> ()
    %46 = llvm.mul %44, %8 : i32
    %47 = llvm.add %46, %7 : i32
    %48 = llvm.add %47, %9 : i32
    nvvm.mbarrier.arrive %45, %48 {space = "cta"} : (i1, i32) -> ()
    %49 = llvm.icmp "uge" %20, %16 : i32
    %50 = llvm.select %49, %18, %20 : i1, i32
    %51 = llvm.lshr %50, %18 : i32
    %52 = llvm.mul %51, %8 : i32
    %53 = llvm.add %52, %7 : i32
    %54 = llvm.and %50, %18 : i32
    %55 = llvm.inttoptr %53 : i32 to !llvm.ptr<3>
    llvm.br ^bb13
  ^bb13:
    %56 = nvvm.mbarrier.try_wait %55, %54 : (!llvm.ptr<3>, i32) -> i1
    llvm.cond_br %56, ^bb14, ^bb13
  ^bb14:
    nvvm.memory_clobber
    nvvm.bar.warp.sync %13 : (i32) -> ()
    %57 = llvm.add %53, %9 : i32
    nvvm.mbarrier.arrive %22, %57 {space = "cta"} : (i1, i32) -> ()
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
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 1, \22target\22: \22sm_90a\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 0}], \22param_sizes\22: [4], \22threads_per_cta\22: 160, \22shared_memory\22: {\22static\22: 48, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<48 x i8>
  llvm.func @k(%a0: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 160>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(0 : i32) : i32
    %3 = llvm.icmp "eq" %1, %2 : i32
    %4 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %5 = llvm.ptrtoint %4 : !llvm.ptr<3> to i32
    %6 = llvm.mlir.constant(8 : i32) : i32
    %7 = llvm.mlir.constant(16 : i32) : i32
    %8 = llvm.mlir.constant(24 : i32) : i32
    %9 = llvm.mlir.constant(32 : i32) : i32
    %10 = llvm.mlir.constant(40 : i32) : i32
    %11 = llvm.mlir.constant(5 : i32) : i32
    %12 = llvm.lshr %1, %11 : i32
    %13 = llvm.mlir.constant(-1 : i32) : i32
    %14 = llvm.mlir.constant(31 : i32) : i32
    %15 = nvvm.shfl.sync.b32 %13, %12, %2, %14 {mode = "idx"} : i32
    %16 = llvm.mlir.constant(4 : i32) : i32
    %17 = llvm.icmp "uge" %15, %16 : i32
    %18 = llvm.mlir.constant(1 : i32) : i32
    %19 = llvm.mlir.constant(1024 : i32) : i32
    %20 = llvm.mlir.constant(2 : i32) : i32
    %21 = llvm.mlir.constant(6 : i32) : i32
    llvm.cond_br %3, ^bb1, ^bb2
  ^bb1:
    nvvm.mbarrier.init %5 {count = 1 : i64} : (i32) -> ()
    %22 = llvm.add %5, %6 : i32
    nvvm.mbarrier.init %22 {count = 1 : i64} : (i32) -> ()
    %23 = llvm.add %5, %7 : i32
    nvvm.mbarrier.init %23 {count = 1 : i64} : (i32) -> ()
    %24 = llvm.add %5, %8 : i32
    nvvm.mbarrier.init %24 {count = 4 : i64} : (i32) -> ()
    %25 = llvm.add %5, %9 : i32
    nvvm.mbarrier.init %25 {count = 4 : i64} : (i32) -> ()
    %26 = llvm.add %5, %10 : i32
    nvvm.mbarrier.init %26 {count = 4 : i64} : (i32) -> ()
    nvvm.fence.mbarrier.init
    llvm.br ^bb2
  ^bb2:
    nvvm.barrier.cta.sync.aligned.all %2 : (i32) -> ()
    llvm.cond_br %17, ^bb3, ^bb12
  ^bb3:
    %27 = nvvm.elect.sync %13 : (i32) -> !llvm.struct<(i32, i1)>
    %28 = llvm.extractvalue %27[1] : !llvm.struct<(i32, i1)>
    llvm.cond_br %28, ^bb4, ^bb11
  ^bb4:
    llvm.br ^bb5(%2, %2 : i32, i32)
  ^bb5(%29: i32, %30: i32):
    %31 = llvm.icmp "slt" %29, %a0 : i32
    llvm.cond_br %31, ^bb6, ^bb10
  ^bb6:
    %32 = llvm.lshr %30, %18 : i32
    %33 = llvm.mul %32, %6 : i32
    %34 = llvm.add %33, %5 : i32
    %35 = llvm.add %34, %8 : i32
    %36 = llvm.and %30, %18 : i32
    %37 = llvm.xor %36, %18 : i32
    %38 = llvm.inttoptr %35 : i32 to !llvm.ptr<3>
    llvm.br ^bb7
  ^bb7:
    %39 = nvvm.mbarrier.try_wait %38, %37 : (!llvm.ptr<3>, i32) -> i1
    llvm.cond_br %39, ^bb8, ^bb7
  ^bb8:
    nvvm.memory_clobber
    nvvm.mbarrier.arrive.expect_tx %34, %19 : (i32, i32) -> ()
    %40 = llvm.add %30, %20 : i32
    %41 = llvm.icmp "uge" %40, %21 : i32
    %42 = llvm.select %41, %37, %40 : i1, i32
    llvm.br ^bb9
  ^bb9:
    %43 = llvm.add %29, %18 : i32
    llvm.br ^bb5(%43, %42 : i32, i32)
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

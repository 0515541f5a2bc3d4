// Tensor memory: columns are taken, written, multiplied into and read (tcgen05).
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_100

// ---- a_tile_to_tensor_memory_and_back
!columns = !nv_tileas.tmem<#builtin.int<32>>
!tile = tensor<64x32xf32, #cute.layout<(64,32), ((4,8),4,(2,2,4)):((2,32),512,(1,256,8))>>
nv_tileaa.func @k attributes {num_warps = 4 : i32, shared_bytes = 16 : i32} {
^bb0(%x: f32, %on: i1):
  %all = nv_tileas.create_tmem {shared_offset = 0 : i32} : !columns
  %d = nv_tileas.alloc_tmem %all {column = 0 : i32} : !columns
  %zeros = nv_tileas.splat %x : (f32) -> !tile
  nv_tileas.tmem_store %zeros, %d enabled(%on) : (!tile, !columns, i1) -> ()
  %y = nv_tileas.tmem_load %d : (!columns) -> !tile
  %z = nv_tileas.addf %y, %y {rounding_mode = "nearest_even"} : !tile
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_100a\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22f32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22i1\22, \22size\22: 1, \22offset\22: 4, \22role\22: \22scalar\22, \22argument\22: 1}], \22param_sizes\22: [4, 1], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 128, \22shared_memory\22: {\22static\22: 16, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<16 x i8>
  llvm.func @k(%a0: f32, %a1: i8) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
    %0 = llvm.mlir.constant(0 : i8) : i8
    %1 = llvm.icmp "ne" %a1, %0 : i8
    %2 = gpu.thread_id x
    %3 = arith.index_cast %2 : index to i32
    %4 = llvm.mlir.constant(5 : i32) : i32
    %5 = llvm.lshr %3, %4 : i32
    %6 = llvm.mlir.constant(0 : i32) : i32
    %7 = llvm.mlir.constant(32 : i32) : i32
    %8, %9 = gpu.shuffle idx %5, %6, %7 : i32
    %10 = llvm.mlir.constant(3 : i32) : i32
    %11 = llvm.and %8, %10 : i32
    %12 = llvm.mlir.constant(21 : i32) : i32
    %13 = llvm.shl %11, %12 : i32
    %14 = llvm.mlir.undef : vector<16xi32>
    %15 = llvm.mlir.constant(1 : i32) : i32
    %16 = llvm.mlir.constant(2 : i32) : i32
    %17 = llvm.mlir.constant(4 : i32) : i32
    %18 = llvm.mlir.constant(6 : i32) : i32
    %19 = llvm.mlir.constant(7 : i32) : i32
    %20 = llvm.mlir.constant(8 : i32) : i32
    %21 = llvm.mlir.constant(9 : i32) : i32
    %22 = llvm.mlir.constant(10 : i32) : i32
    %23 = llvm.mlir.constant(11 : i32) : i32
    %24 = llvm.mlir.constant(12 : i32) : i32
    %25 = llvm.mlir.constant(13 : i32) : i32
    %26 = llvm.mlir.constant(14 : i32) : i32
    %27 = llvm.mlir.constant(15 : i32) : i32
    llvm.cond_br %1, ^bb1, ^bb2
  ^bb1:
    %28 = llvm.bitcast %a0 : f32 to i32
    %29 = llvm.inttoptr %13 : i32 to !llvm.ptr<6>
    %30 = llvm.insertelement %28, %14[%6 : i32] : vector<16xi32>
    %31 = llvm.insertelement %28, %30[%15 : i32] : vector<16xi32>
    %32 = llvm.insertelement %28, %31[%16 : i32] : vector<16xi32>
    %33 = llvm.insertelement %28, %32[%10 : i32] : vector<16xi32>
    %34 = llvm.insertelement %28, %33[%17 : i32] : vector<16xi32>
    %35 = llvm.insertelement %28, %34[%4 : i32] : vector<16xi32>
    %36 = llvm.insertelement %28, %35[%18 : i32] : vector<16xi32>
    %37 = llvm.insertelement %28, %36[%19 : i32] : vector<16xi32>
    %38 = llvm.insertelement %28, %37[%20 : i32] : vector<16xi32>
    %39 = llvm.insertelement %28, %38[%21 : i32] : vector<16xi32>
    %40 = llvm.insertelement %28, %39[%22 : i32] : vector<16xi32>
    %41 = llvm.insertelement %28, %40[%23 : i32] : vector<16xi32>
    %42 = llvm.insertelement %28, %41[%24 : i32] : vector<16xi32>
    %43 = llvm.insertelement %28, %42[%25 : i32] : vector<16xi32>
    %44 = llvm.insertelement %28, %43[%26 : i32] : vector<16xi32>
    %45 = llvm.insertelement %28, %44[%27 : i32] : vector<16xi32>
    cute_nvgpu.arch.copy.SM100.tmem_store %29 registers(%45) {shape = "16x256b", repetitions = 4 : i64, async} : (!llvm.ptr<6>, vector<16xi32>) -> ()
    nvvm.tcgen05.wait.st
    nvvm.tcgen05.fence.before_thread_sync
    llvm.br ^bb2
  ^bb2:
    nvvm.tcgen05.fence.after_thread_sync
    %46 = llvm.inttoptr %13 : i32 to !llvm.ptr<6>
    %47 = cute_nvgpu.arch.copy.SM100.tmem_load %46 {shape = "16x256b", repetitions = 4 : i64, async} : (!llvm.ptr<6>) -> vector<16xi32>
    nvvm.tcgen05.wait.ld
    nvvm.tcgen05.fence.before_thread_sync
    %48 = llvm.extractelement %47[%6 : i32] : vector<16xi32>
    %49 = llvm.extractelement %47[%15 : i32] : vector<16xi32>
    %50 = llvm.extractelement %47[%16 : i32] : vector<16xi32>
    %51 = llvm.extractelement %47[%10 : i32] : vector<16xi32>
    %52 = llvm.extractelement %47[%17 : i32] : vector<16xi32>
    %53 = llvm.extractelement %47[%4 : i32] : vector<16xi32>
    %54 = llvm.extractelement %47[%18 : i32] : vector<16xi32>
    %55 = llvm.extractelement %47[%19 : i32] : vector<16xi32>
    %56 = llvm.extractelement %47[%20 : i32] : vector<16xi32>
    %57 = llvm.extractelement %47[%21 : i32] : vector<16xi32>
    %58 = llvm.extractelement %47[%22 : i32] : vector<16xi32>
    %59 = llvm.extractelement %47[%23 : i32] : vector<16xi32>
    %60 = llvm.extractelement %47[%24 : i32] : vector<16xi32>
    %61 = llvm.extractelement %47[%25 : i32] : vector<16xi32>
    %62 = llvm.extractelement %47[%26 : i32] : vector<16xi32>
    %63 = llvm.extractelement %47[%27 : i32] : vector<16xi32>
    %64 = llvm.bitcast %48 : i32 to f32
    %65 = llvm.bitcast %49 : i32 to f32
    %66 = llvm.bitcast %50 : i32 to f32
    %67 = llvm.bitcast %51 : i32 to f32
    %68 = llvm.bitcast %52 : i32 to f32
    %69 = llvm.bitcast %53 : i32 to f32
    %70 = llvm.bitcast %54 : i32 to f32
    %71 = llvm.bitcast %55 : i32 to f32
    %72 = llvm.bitcast %56 : i32 to f32
    %73 = llvm.bitcast %57 : i32 to f32
    %74 = llvm.bitcast %58 : i32 to f32
    %75 = llvm.bitcast %59 : i32 to f32
    %76 = llvm.bitcast %60 : i32 to f32
    %77 = llvm.bitcast %61 : i32 to f32
    %78 = llvm.bitcast %62 : i32 to f32
    %79 = llvm.bitcast %63 : i32 to f32
    %80 = llvm.fadd %64, %64 : f32
    %81 = llvm.fadd %65, %65 : f32
    %82 = llvm.fadd %66, %66 : f32
    %83 = llvm.fadd %67, %67 : f32
    %84 = llvm.fadd %68, %68 : f32
    %85 = llvm.fadd %69, %69 : f32
    %86 = llvm.fadd %70, %70 : f32
    %87 = llvm.fadd %71, %71 : f32
    %88 = llvm.fadd %72, %72 : f32
    %89 = llvm.fadd %73, %73 : f32
    %90 = llvm.fadd %74, %74 : f32
    %91 = llvm.fadd %75, %75 : f32
    %92 = llvm.fadd %76, %76 : f32
    %93 = llvm.fadd %77, %77 : f32
    %94 = llvm.fadd %78, %78 : f32
    %95 = llvm.fadd %79, %79 : f32
    llvm.return
  }
}

// ---- a_product_and_its_commit
!columns = !nv_tileas.tmem<#builtin.int<32>>
!lhs = !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<2,3,3> o (64,32):(32,1)>>
!rhs = !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<2,3,3> o (32,32):(1,32)>>
!done = !nv_tileas.pipeline<#builtin.int<1>>
!ring = !nv_tileas.pipeline<#builtin.int<2>>
nv_tileaa.func @k attributes {num_warps = 4 : i32, producer_warps = 1 : i32, shared_bytes = 12352 : i32} {
^bb0(%more: i1):
  %a = nv_tileas.alloc_tensor {shared_offset = 0 : i32} : !lhs
  %b = nv_tileas.alloc_tensor {shared_offset = 8192 : i32} : !rhs
  %ring = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 6144 : i32, shared_offset = 12288 : i32} : !ring
  %all = nv_tileas.create_tmem {shared_offset = 12320 : i32} : !columns
  %d = nv_tileas.alloc_tmem %all {column = 0 : i32} : !columns
  %done = nv_tileas.async.pipeline.create {consumers = 1 : i32, bytes = 0 : i32, shared_offset = 12336 : i32} : !done
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %t = arith.constant 0 : i32
    nv_tileas.async.pipeline.consumer_wait %ring, %t : (!ring, i32) -> ()
    nv_tileas.async.umma %a, %b, %d, %more lhs_stage(%t) rhs_stage(%t) pipeline(%ring) token(%t) {lhs_placement = #cute.shared<16, swizzle<2,3,3> o (64,32):(32,1)>, rhs_placement = #cute.shared<16, swizzle<2,3,3> o (32,32):(1,32)>, atom = "tcgen05_k16_f16_f16_f32", shape = array<i64: 64, 32, 32>} : (!lhs, !rhs, !columns, i1, i32, i32, !ring, i32) -> ()
    nv_tileas.async.umma_commit %done : (!done) -> ()
    nv_tileas.async.pipeline.consumer_wait %done, %t : (!done, i32) -> ()
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_100a\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i1\22, \22size\22: 1, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}], \22param_sizes\22: [1], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 160, \22shared_memory\22: {\22static\22: 12352, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<12352 x i8>
  llvm.func @k(%a0: i8) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 160>} {
    %0 = llvm.mlir.constant(0 : i8) : i8
    %1 = llvm.icmp "ne" %a0, %0 : i8
    %2 = gpu.thread_id x
    %3 = arith.index_cast %2 : index to i32
    %4 = llvm.mlir.constant(0 : i32) : i32
    %5 = llvm.icmp "eq" %3, %4 : i32
    %6 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %7 = llvm.ptrtoint %6 : !llvm.ptr<3> to i32
    %8 = llvm.mlir.constant(12288 : i32) : i32
    %9 = llvm.mlir.constant(1 : i32) : i32
    %10 = llvm.mlir.constant(12296 : i32) : i32
    %11 = llvm.mlir.constant(12304 : i32) : i32
    %12 = llvm.mlir.constant(12312 : i32) : i32
    %13 = llvm.mlir.constant(12336 : i32) : i32
    %14 = llvm.mlir.constant(12344 : i32) : i32
    %15 = llvm.mlir.constant(5 : i32) : i32
    %16 = llvm.lshr %3, %15 : i32
    %17 = llvm.mlir.constant(32 : i32) : i32
    %18, %19 = gpu.shuffle idx %16, %4, %17 : i32
    %20 = llvm.icmp "eq" %18, %4 : i32
    %21 = llvm.mlir.constant(12320 : i32) : i32
    %22 = llvm.mlir.constant(4 : i32) : i32
    %23 = llvm.icmp "uge" %18, %22 : i32
    %24 = llvm.mlir.constant(-1 : i32) : i32
    %25 = llvm.mlir.constant(262143 : i32) : i32
    %26 = llvm.mlir.constant(-9223301530671644672) : i64
    %27 = llvm.mlir.constant(8192 : i32) : i32
    %28 = llvm.mlir.constant(2) : i64
    %29 = llvm.mlir.constant(true) : i1
    %30 = llvm.mlir.constant(16 : i32) : i32
    %31 = llvm.mlir.constant(128 : i32) : i32
    llvm.cond_br %5, ^bb1, ^bb2
  ^bb1:
    %32 = llvm.add %7, %8 : i32
    %33 = llvm.inttoptr %32 : i32 to !llvm.ptr<3>
    %34 = builtin.unrealized_conversion_cast %33 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %35 = builtin.unrealized_conversion_cast %4 : i32 to index
    %36 = builtin.unrealized_conversion_cast %9 : i32 to index
    nvgpu.mbarrier.init %34[%35], %36 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %37 = llvm.add %7, %10 : i32
    %38 = llvm.inttoptr %37 : i32 to !llvm.ptr<3>
    %39 = builtin.unrealized_conversion_cast %38 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %39[%35], %36 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %40 = llvm.add %7, %11 : i32
    %41 = llvm.inttoptr %40 : i32 to !llvm.ptr<3>
    %42 = builtin.unrealized_conversion_cast %41 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %42[%35], %36 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %43 = llvm.add %7, %12 : i32
    %44 = llvm.inttoptr %43 : i32 to !llvm.ptr<3>
    %45 = builtin.unrealized_conversion_cast %44 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %45[%35], %36 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %46 = llvm.add %7, %13 : i32
    %47 = llvm.inttoptr %46 : i32 to !llvm.ptr<3>
    %48 = builtin.unrealized_conversion_cast %47 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %48[%35], %36 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %49 = llvm.add %7, %14 : i32
    %50 = llvm.inttoptr %49 : i32 to !llvm.ptr<3>
    %51 = builtin.unrealized_conversion_cast %50 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %51[%35], %36 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvvm.fence.mbarrier.init
    llvm.br ^bb2
  ^bb2:
    llvm.cond_br %20, ^bb3, ^bb4
  ^bb3:
    %52 = llvm.add %7, %21 : i32
    %53 = llvm.inttoptr %52 : i32 to !llvm.ptr<3>
    cute_nvgpu.arch.sm100.alloc_tmem %53 {columns = 32 : i64, cta_group = 1 : i64} : (!llvm.ptr<3>) -> ()
    cute_nvgpu.arch.sm100.relinquish_tmem_alloc_permit {cta_group = 1 : i64}
    llvm.br ^bb4
  ^bb4:
    nvvm.tcgen05.fence.before_thread_sync
    gpu.barrier
    nvvm.tcgen05.fence.after_thread_sync
    %54 = llvm.add %7, %21 : i32
    %55 = llvm.inttoptr %54 : i32 to !llvm.ptr<3>
    %56 = cute_nvgpu.arch.sm100.retrieve_tmem_ptr %55 : (!llvm.ptr<3>) -> i32
    llvm.cond_br %23, ^bb5, ^bb8
  ^bb5:
    %57 = nvvm.elect.sync %24 : (i32) -> !llvm.struct<(i32, i1)>
    %58 = llvm.extractvalue %57[1] : !llvm.struct<(i32, i1)>
    llvm.cond_br %58, ^bb6, ^bb7
  ^bb6:
    llvm.br ^bb23
  ^bb7:
    llvm.br ^bb23
  ^bb8:
    %59 = llvm.add %7, %8 : i32
    %60 = llvm.inttoptr %59 : i32 to !llvm.ptr<3>
    %61 = builtin.unrealized_conversion_cast %60 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %62 = builtin.unrealized_conversion_cast %4 : i32 to index
    %63 = builtin.unrealized_conversion_cast %4 : i32 to i1
    llvm.br ^bb9
  ^bb9:
    %64 = nvgpu.mbarrier.try_wait.parity %61[%62], %63 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> i1
    llvm.cond_br %64, ^bb10, ^bb9
  ^bb10:
    nvvm.memory_clobber
    %65 = llvm.and %7, %25 : i32
    %66 = llvm.lshr %65, %22 : i32
    %67 = llvm.zext %66 : i32 to i64
    %68 = llvm.or %67, %26 : i64
    %69 = llvm.add %7, %27 : i32
    %70 = llvm.and %69, %25 : i32
    %71 = llvm.lshr %70, %22 : i32
    %72 = llvm.zext %71 : i32 to i64
    %73 = llvm.or %72, %26 : i64
    llvm.cond_br %20, ^bb11, ^bb14
  ^bb11:
    %74 = nvvm.elect.sync %24 : (i32) -> !llvm.struct<(i32, i1)>
    %75 = llvm.extractvalue %74[1] : !llvm.struct<(i32, i1)>
    llvm.cond_br %75, ^bb12, ^bb13
  ^bb12:
    nvvm.tcgen05.fence.after_thread_sync
    %76 = llvm.inttoptr %56 : i32 to !llvm.ptr<6>
    cute_nvgpu.arch.mma.SM100.umma %76, %68, %73, %1 {atom = !cute_nvgpu.sm100.mma<"64x32x16 f16 f16 f32">, cta_group = 1 : i64} : (!llvm.ptr<6>, i64, i64, i1) -> ()
    %77 = llvm.add %73, %28 : i64
    %78 = llvm.add %68, %28 : i64
    cute_nvgpu.arch.mma.SM100.umma %76, %78, %77, %29 {atom = !cute_nvgpu.sm100.mma<"64x32x16 f16 f16 f32">, cta_group = 1 : i64} : (!llvm.ptr<6>, i64, i64, i1) -> ()
    %79 = llvm.add %59, %30 : i32
    %80 = llvm.inttoptr %79 : i32 to !llvm.ptr<3>
    nvvm.tcgen05.commit %80 {group = "cg1"} : (!llvm.ptr<3>) -> ()
    llvm.br ^bb13
  ^bb13:
    llvm.br ^bb14
  ^bb14:
    llvm.cond_br %20, ^bb15, ^bb18
  ^bb15:
    %81 = nvvm.elect.sync %24 : (i32) -> !llvm.struct<(i32, i1)>
    %82 = llvm.extractvalue %81[1] : !llvm.struct<(i32, i1)>
    llvm.cond_br %82, ^bb16, ^bb17
  ^bb16:
    %83 = llvm.add %7, %13 : i32
    %84 = llvm.inttoptr %83 : i32 to !llvm.ptr<3>
    nvvm.tcgen05.commit %84 {group = "cg1"} : (!llvm.ptr<3>) -> ()
    llvm.br ^bb17
  ^bb17:
    llvm.br ^bb18
  ^bb18:
    %85 = llvm.add %7, %13 : i32
    %86 = llvm.inttoptr %85 : i32 to !llvm.ptr<3>
    %87 = builtin.unrealized_conversion_cast %86 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    llvm.br ^bb19
  ^bb19:
    %88 = nvgpu.mbarrier.try_wait.parity %87[%62], %63 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> i1
    llvm.cond_br %88, ^bb20, ^bb19
  ^bb20:
    nvvm.memory_clobber
    nvvm.barrier.cta.sync.aligned.count %9, %31 : (i32, i32) -> ()
    llvm.cond_br %20, ^bb21, ^bb22
  ^bb21:
    %89 = llvm.inttoptr %56 : i32 to !llvm.ptr<6>
    cute_nvgpu.arch.sm100.dealloc_tmem %89 {columns = 32 : i64, cta_group = 1 : i64} : (!llvm.ptr<6>) -> ()
    llvm.br ^bb22
  ^bb22:
    llvm.br ^bb23
  ^bb23:
    llvm.return
  }
}

// ---- a_tile_is_scaled_where_it_is
!columns = !nv_tileas.tmem<#builtin.int<32>>
!tile = tensor<128x32xf32, #cute.layout<(128,32), (32,4,32):(32,1024,1)>>
nv_tileaa.func @k attributes {num_warps = 4 : i32, shared_bytes = 16 : i32} {
^bb0(%x: f32, %on: i1):
  %all = nv_tileas.create_tmem {shared_offset = 0 : i32} : !columns
  %d = nv_tileas.alloc_tmem %all {column = 0 : i32} : (!columns) -> !columns
  %factors = nv_tileas.splat %x : (f32) -> !tile
  nv_tileas.tmem_scale %d, %factors enabled(%on) : (!columns, !tile, i1) -> ()
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_100a\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22f32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22i1\22, \22size\22: 1, \22offset\22: 4, \22role\22: \22scalar\22, \22argument\22: 1}], \22param_sizes\22: [4, 1], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 128, \22shared_memory\22: {\22static\22: 16, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<16 x i8>
  llvm.func @k(%a0: f32, %a1: i8) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
    %0 = llvm.mlir.constant(0 : i8) : i8
    %1 = llvm.icmp "ne" %a1, %0 : i8
    %2 = llvm.mlir.constant(1.000000e+00 : f32) : f32
    %3 = llvm.mlir.constant(-1 : i32) : i32
    %4 = llvm.mlir.constant(true) : i1
    %5 = gpu.thread_id x
    %6 = arith.index_cast %5 : index to i32
    %7 = llvm.mlir.constant(5 : i32) : i32
    %8 = llvm.lshr %6, %7 : i32
    %9 = llvm.mlir.constant(0 : i32) : i32
    %10 = llvm.mlir.constant(32 : i32) : i32
    %11, %12 = gpu.shuffle idx %8, %9, %10 : i32
    %13 = llvm.mlir.constant(3 : i32) : i32
    %14 = llvm.and %11, %13 : i32
    %15 = llvm.mlir.constant(21 : i32) : i32
    %16 = llvm.shl %14, %15 : i32
    %17 = llvm.mlir.constant(1 : i32) : i32
    %18 = llvm.mlir.constant(2 : i32) : i32
    %19 = llvm.mlir.constant(4 : i32) : i32
    %20 = llvm.mlir.constant(6 : i32) : i32
    %21 = llvm.mlir.constant(7 : i32) : i32
    %22 = llvm.mlir.constant(8 : i32) : i32
    %23 = llvm.mlir.constant(9 : i32) : i32
    %24 = llvm.mlir.constant(10 : i32) : i32
    %25 = llvm.mlir.constant(11 : i32) : i32
    %26 = llvm.mlir.constant(12 : i32) : i32
    %27 = llvm.mlir.constant(13 : i32) : i32
    %28 = llvm.mlir.constant(14 : i32) : i32
    %29 = llvm.mlir.constant(15 : i32) : i32
    %30 = llvm.mlir.constant(16 : i32) : i32
    %31 = llvm.mlir.constant(17 : i32) : i32
    %32 = llvm.mlir.constant(18 : i32) : i32
    %33 = llvm.mlir.constant(19 : i32) : i32
    %34 = llvm.mlir.constant(20 : i32) : i32
    %35 = llvm.mlir.constant(22 : i32) : i32
    %36 = llvm.mlir.constant(23 : i32) : i32
    %37 = llvm.mlir.constant(24 : i32) : i32
    %38 = llvm.mlir.constant(25 : i32) : i32
    %39 = llvm.mlir.constant(26 : i32) : i32
    %40 = llvm.mlir.constant(27 : i32) : i32
    %41 = llvm.mlir.constant(28 : i32) : i32
    %42 = llvm.mlir.constant(29 : i32) : i32
    %43 = llvm.mlir.constant(30 : i32) : i32
    %44 = llvm.mlir.constant(31 : i32) : i32
    %45 = llvm.mlir.undef : vector<32xi32>
    %46 = llvm.fcmp "oeq" %a0, %2 : f32
    %47 = nvvm.vote.all.sync %3, %46 : (i32, i1) -> i1
    %48 = llvm.xor %47, %4 : i1
    %49 = llvm.and %48, %1 : i1
    llvm.cond_br %49, ^bb1, ^bb2
  ^bb1:
    nvvm.tcgen05.fence.after_thread_sync
    %50 = llvm.inttoptr %16 : i32 to !llvm.ptr<6>
    %51 = cute_nvgpu.arch.copy.SM100.tmem_load %50 {shape = "32x32b", repetitions = 32 : i64, async} : (!llvm.ptr<6>) -> vector<32xi32>
    nvvm.tcgen05.wait.ld
    %52 = llvm.extractelement %51[%9 : i32] : vector<32xi32>
    %53 = llvm.extractelement %51[%17 : i32] : vector<32xi32>
    %54 = llvm.extractelement %51[%18 : i32] : vector<32xi32>
    %55 = llvm.extractelement %51[%13 : i32] : vector<32xi32>
    %56 = llvm.extractelement %51[%19 : i32] : vector<32xi32>
    %57 = llvm.extractelement %51[%7 : i32] : vector<32xi32>
    %58 = llvm.extractelement %51[%20 : i32] : vector<32xi32>
    %59 = llvm.extractelement %51[%21 : i32] : vector<32xi32>
    %60 = llvm.extractelement %51[%22 : i32] : vector<32xi32>
    %61 = llvm.extractelement %51[%23 : i32] : vector<32xi32>
    %62 = llvm.extractelement %51[%24 : i32] : vector<32xi32>
    %63 = llvm.extractelement %51[%25 : i32] : vector<32xi32>
    %64 = llvm.extractelement %51[%26 : i32] : vector<32xi32>
    %65 = llvm.extractelement %51[%27 : i32] : vector<32xi32>
    %66 = llvm.extractelement %51[%28 : i32] : vector<32xi32>
    %67 = llvm.extractelement %51[%29 : i32] : vector<32xi32>
    %68 = llvm.extractelement %51[%30 : i32] : vector<32xi32>
    %69 = llvm.extractelement %51[%31 : i32] : vector<32xi32>
    %70 = llvm.extractelement %51[%32 : i32] : vector<32xi32>
    %71 = llvm.extractelement %51[%33 : i32] : vector<32xi32>
    %72 = llvm.extractelement %51[%34 : i32] : vector<32xi32>
    %73 = llvm.extractelement %51[%15 : i32] : vector<32xi32>
    %74 = llvm.extractelement %51[%35 : i32] : vector<32xi32>
    %75 = llvm.extractelement %51[%36 : i32] : vector<32xi32>
    %76 = llvm.extractelement %51[%37 : i32] : vector<32xi32>
    %77 = llvm.extractelement %51[%38 : i32] : vector<32xi32>
    %78 = llvm.extractelement %51[%39 : i32] : vector<32xi32>
    %79 = llvm.extractelement %51[%40 : i32] : vector<32xi32>
    %80 = llvm.extractelement %51[%41 : i32] : vector<32xi32>
    %81 = llvm.extractelement %51[%42 : i32] : vector<32xi32>
    %82 = llvm.extractelement %51[%43 : i32] : vector<32xi32>
    %83 = llvm.extractelement %51[%44 : i32] : vector<32xi32>
    %84 = llvm.bitcast %52 : i32 to f32
    %85 = llvm.bitcast %53 : i32 to f32
    %86 = llvm.bitcast %54 : i32 to f32
    %87 = llvm.bitcast %55 : i32 to f32
    %88 = llvm.bitcast %56 : i32 to f32
    %89 = llvm.bitcast %57 : i32 to f32
    %90 = llvm.bitcast %58 : i32 to f32
    %91 = llvm.bitcast %59 : i32 to f32
    %92 = llvm.bitcast %60 : i32 to f32
    %93 = llvm.bitcast %61 : i32 to f32
    %94 = llvm.bitcast %62 : i32 to f32
    %95 = llvm.bitcast %63 : i32 to f32
    %96 = llvm.bitcast %64 : i32 to f32
    %97 = llvm.bitcast %65 : i32 to f32
    %98 = llvm.bitcast %66 : i32 to f32
    %99 = llvm.bitcast %67 : i32 to f32
    %100 = llvm.bitcast %68 : i32 to f32
    %101 = llvm.bitcast %69 : i32 to f32
    %102 = llvm.bitcast %70 : i32 to f32
    %103 = llvm.bitcast %71 : i32 to f32
    %104 = llvm.bitcast %72 : i32 to f32
    %105 = llvm.bitcast %73 : i32 to f32
    %106 = llvm.bitcast %74 : i32 to f32
    %107 = llvm.bitcast %75 : i32 to f32
    %108 = llvm.bitcast %76 : i32 to f32
    %109 = llvm.bitcast %77 : i32 to f32
    %110 = llvm.bitcast %78 : i32 to f32
    %111 = llvm.bitcast %79 : i32 to f32
    %112 = llvm.bitcast %80 : i32 to f32
    %113 = llvm.bitcast %81 : i32 to f32
    %114 = llvm.bitcast %82 : i32 to f32
    %115 = llvm.bitcast %83 : i32 to f32
    %116 = llvm.fmul %84, %a0 : f32
    %117 = llvm.bitcast %116 : f32 to i32
    %118 = llvm.fmul %85, %a0 : f32
    %119 = llvm.bitcast %118 : f32 to i32
    %120 = llvm.fmul %86, %a0 : f32
    %121 = llvm.bitcast %120 : f32 to i32
    %122 = llvm.fmul %87, %a0 : f32
    %123 = llvm.bitcast %122 : f32 to i32
    %124 = llvm.fmul %88, %a0 : f32
    %125 = llvm.bitcast %124 : f32 to i32
    %126 = llvm.fmul %89, %a0 : f32
    %127 = llvm.bitcast %126 : f32 to i32
    %128 = llvm.fmul %90, %a0 : f32
    %129 = llvm.bitcast %128 : f32 to i32
    %130 = llvm.fmul %91, %a0 : f32
    %131 = llvm.bitcast %130 : f32 to i32
    %132 = llvm.fmul %92, %a0 : f32
    %133 = llvm.bitcast %132 : f32 to i32
    %134 = llvm.fmul %93, %a0 : f32
    %135 = llvm.bitcast %134 : f32 to i32
    %136 = llvm.fmul %94, %a0 : f32
    %137 = llvm.bitcast %136 : f32 to i32
    %138 = llvm.fmul %95, %a0 : f32
    %139 = llvm.bitcast %138 : f32 to i32
    %140 = llvm.fmul %96, %a0 : f32
    %141 = llvm.bitcast %140 : f32 to i32
    %142 = llvm.fmul %97, %a0 : f32
    %143 = llvm.bitcast %142 : f32 to i32
    %144 = llvm.fmul %98, %a0 : f32
    %145 = llvm.bitcast %144 : f32 to i32
    %146 = llvm.fmul %99, %a0 : f32
    %147 = llvm.bitcast %146 : f32 to i32
    %148 = llvm.fmul %100, %a0 : f32
    %149 = llvm.bitcast %148 : f32 to i32
    %150 = llvm.fmul %101, %a0 : f32
    %151 = llvm.bitcast %150 : f32 to i32
    %152 = llvm.fmul %102, %a0 : f32
    %153 = llvm.bitcast %152 : f32 to i32
    %154 = llvm.fmul %103, %a0 : f32
    %155 = llvm.bitcast %154 : f32 to i32
    %156 = llvm.fmul %104, %a0 : f32
    %157 = llvm.bitcast %156 : f32 to i32
    %158 = llvm.fmul %105, %a0 : f32
    %159 = llvm.bitcast %158 : f32 to i32
    %160 = llvm.fmul %106, %a0 : f32
    %161 = llvm.bitcast %160 : f32 to i32
    %162 = llvm.fmul %107, %a0 : f32
    %163 = llvm.bitcast %162 : f32 to i32
    %164 = llvm.fmul %108, %a0 : f32
    %165 = llvm.bitcast %164 : f32 to i32
    %166 = llvm.fmul %109, %a0 : f32
    %167 = llvm.bitcast %166 : f32 to i32
    %168 = llvm.fmul %110, %a0 : f32
    %169 = llvm.bitcast %168 : f32 to i32
    %170 = llvm.fmul %111, %a0 : f32
    %171 = llvm.bitcast %170 : f32 to i32
    %172 = llvm.fmul %112, %a0 : f32
    %173 = llvm.bitcast %172 : f32 to i32
    %174 = llvm.fmul %113, %a0 : f32
    %175 = llvm.bitcast %174 : f32 to i32
    %176 = llvm.fmul %114, %a0 : f32
    %177 = llvm.bitcast %176 : f32 to i32
    %178 = llvm.fmul %115, %a0 : f32
    %179 = llvm.bitcast %178 : f32 to i32
    %180 = llvm.insertelement %117, %45[%9 : i32] : vector<32xi32>
    %181 = llvm.insertelement %119, %180[%17 : i32] : vector<32xi32>
    %182 = llvm.insertelement %121, %181[%18 : i32] : vector<32xi32>
    %183 = llvm.insertelement %123, %182[%13 : i32] : vector<32xi32>
    %184 = llvm.insertelement %125, %183[%19 : i32] : vector<32xi32>
    %185 = llvm.insertelement %127, %184[%7 : i32] : vector<32xi32>
    %186 = llvm.insertelement %129, %185[%20 : i32] : vector<32xi32>
    %187 = llvm.insertelement %131, %186[%21 : i32] : vector<32xi32>
    %188 = llvm.insertelement %133, %187[%22 : i32] : vector<32xi32>
    %189 = llvm.insertelement %135, %188[%23 : i32] : vector<32xi32>
    %190 = llvm.insertelement %137, %189[%24 : i32] : vector<32xi32>
    %191 = llvm.insertelement %139, %190[%25 : i32] : vector<32xi32>
    %192 = llvm.insertelement %141, %191[%26 : i32] : vector<32xi32>
    %193 = llvm.insertelement %143, %192[%27 : i32] : vector<32xi32>
    %194 = llvm.insertelement %145, %193[%28 : i32] : vector<32xi32>
    %195 = llvm.insertelement %147, %194[%29 : i32] : vector<32xi32>
    %196 = llvm.insertelement %149, %195[%30 : i32] : vector<32xi32>
    %197 = llvm.insertelement %151, %196[%31 : i32] : vector<32xi32>
    %198 = llvm.insertelement %153, %197[%32 : i32] : vector<32xi32>
    %199 = llvm.insertelement %155, %198[%33 : i32] : vector<32xi32>
    %200 = llvm.insertelement %157, %199[%34 : i32] : vector<32xi32>
    %201 = llvm.insertelement %159, %200[%15 : i32] : vector<32xi32>
    %202 = llvm.insertelement %161, %201[%35 : i32] : vector<32xi32>
    %203 = llvm.insertelement %163, %202[%36 : i32] : vector<32xi32>
    %204 = llvm.insertelement %165, %203[%37 : i32] : vector<32xi32>
    %205 = llvm.insertelement %167, %204[%38 : i32] : vector<32xi32>
    %206 = llvm.insertelement %169, %205[%39 : i32] : vector<32xi32>
    %207 = llvm.insertelement %171, %206[%40 : i32] : vector<32xi32>
    %208 = llvm.insertelement %173, %207[%41 : i32] : vector<32xi32>
    %209 = llvm.insertelement %175, %208[%42 : i32] : vector<32xi32>
    %210 = llvm.insertelement %177, %209[%43 : i32] : vector<32xi32>
    %211 = llvm.insertelement %179, %210[%44 : i32] : vector<32xi32>
    cute_nvgpu.arch.copy.SM100.tmem_store %50 registers(%211) {shape = "32x32b", repetitions = 32 : i64, async} : (!llvm.ptr<6>, vector<32xi32>) -> ()
    nvvm.tcgen05.wait.st
    nvvm.tcgen05.fence.before_thread_sync
    llvm.br ^bb2
  ^bb2:
    llvm.return
  }
}

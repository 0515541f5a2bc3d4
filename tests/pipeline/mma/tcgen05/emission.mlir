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
    %28 = llvm.mlir.undef : vector<2xf32>
    llvm.cond_br %1, ^bb1, ^bb2
  ^bb1:
    %29 = llvm.bitcast %a0 : f32 to i32
    nvvm.tcgen05.fence.after_thread_sync
    %30 = llvm.inttoptr %13 : i32 to !llvm.ptr<6>
    %31 = llvm.insertelement %29, %14[%6 : i32] : vector<16xi32>
    %32 = llvm.insertelement %29, %31[%15 : i32] : vector<16xi32>
    %33 = llvm.insertelement %29, %32[%16 : i32] : vector<16xi32>
    %34 = llvm.insertelement %29, %33[%10 : i32] : vector<16xi32>
    %35 = llvm.insertelement %29, %34[%17 : i32] : vector<16xi32>
    %36 = llvm.insertelement %29, %35[%4 : i32] : vector<16xi32>
    %37 = llvm.insertelement %29, %36[%18 : i32] : vector<16xi32>
    %38 = llvm.insertelement %29, %37[%19 : i32] : vector<16xi32>
    %39 = llvm.insertelement %29, %38[%20 : i32] : vector<16xi32>
    %40 = llvm.insertelement %29, %39[%21 : i32] : vector<16xi32>
    %41 = llvm.insertelement %29, %40[%22 : i32] : vector<16xi32>
    %42 = llvm.insertelement %29, %41[%23 : i32] : vector<16xi32>
    %43 = llvm.insertelement %29, %42[%24 : i32] : vector<16xi32>
    %44 = llvm.insertelement %29, %43[%25 : i32] : vector<16xi32>
    %45 = llvm.insertelement %29, %44[%26 : i32] : vector<16xi32>
    %46 = llvm.insertelement %29, %45[%27 : i32] : vector<16xi32>
    cute_nvgpu.arch.copy.SM100.tmem_store %30 registers(%46) {shape = "16x256b", repetitions = 4 : i64, async} : (!llvm.ptr<6>, vector<16xi32>) -> ()
    nvvm.tcgen05.wait.st
    nvvm.tcgen05.fence.before_thread_sync
    llvm.br ^bb2
  ^bb2:
    nvvm.tcgen05.fence.after_thread_sync
    %47 = llvm.inttoptr %13 : i32 to !llvm.ptr<6>
    %48 = cute_nvgpu.arch.copy.SM100.tmem_load %47 {shape = "16x256b", repetitions = 4 : i64, async} : (!llvm.ptr<6>) -> vector<16xi32>
    nvvm.tcgen05.wait.ld
    nvvm.tcgen05.fence.before_thread_sync
    %49 = llvm.extractelement %48[%6 : i32] : vector<16xi32>
    %50 = llvm.extractelement %48[%15 : i32] : vector<16xi32>
    %51 = llvm.extractelement %48[%16 : i32] : vector<16xi32>
    %52 = llvm.extractelement %48[%10 : i32] : vector<16xi32>
    %53 = llvm.extractelement %48[%17 : i32] : vector<16xi32>
    %54 = llvm.extractelement %48[%4 : i32] : vector<16xi32>
    %55 = llvm.extractelement %48[%18 : i32] : vector<16xi32>
    %56 = llvm.extractelement %48[%19 : i32] : vector<16xi32>
    %57 = llvm.extractelement %48[%20 : i32] : vector<16xi32>
    %58 = llvm.extractelement %48[%21 : i32] : vector<16xi32>
    %59 = llvm.extractelement %48[%22 : i32] : vector<16xi32>
    %60 = llvm.extractelement %48[%23 : i32] : vector<16xi32>
    %61 = llvm.extractelement %48[%24 : i32] : vector<16xi32>
    %62 = llvm.extractelement %48[%25 : i32] : vector<16xi32>
    %63 = llvm.extractelement %48[%26 : i32] : vector<16xi32>
    %64 = llvm.extractelement %48[%27 : i32] : vector<16xi32>
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
    %80 = llvm.bitcast %64 : i32 to f32
    %81 = llvm.insertelement %65, %28[%6 : i32] : vector<2xf32>
    %82 = llvm.insertelement %66, %81[%15 : i32] : vector<2xf32>
    %83 = llvm.fadd %82, %82 : vector<2xf32>
    %84 = llvm.extractelement %83[%6 : i32] : vector<2xf32>
    %85 = llvm.extractelement %83[%15 : i32] : vector<2xf32>
    %86 = llvm.insertelement %67, %28[%6 : i32] : vector<2xf32>
    %87 = llvm.insertelement %68, %86[%15 : i32] : vector<2xf32>
    %88 = llvm.fadd %87, %87 : vector<2xf32>
    %89 = llvm.extractelement %88[%6 : i32] : vector<2xf32>
    %90 = llvm.extractelement %88[%15 : i32] : vector<2xf32>
    %91 = llvm.insertelement %69, %28[%6 : i32] : vector<2xf32>
    %92 = llvm.insertelement %70, %91[%15 : i32] : vector<2xf32>
    %93 = llvm.fadd %92, %92 : vector<2xf32>
    %94 = llvm.extractelement %93[%6 : i32] : vector<2xf32>
    %95 = llvm.extractelement %93[%15 : i32] : vector<2xf32>
    %96 = llvm.insertelement %71, %28[%6 : i32] : vector<2xf32>
    %97 = llvm.insertelement %72, %96[%15 : i32] : vector<2xf32>
    %98 = llvm.fadd %97, %97 : vector<2xf32>
    %99 = llvm.extractelement %98[%6 : i32] : vector<2xf32>
    %100 = llvm.extractelement %98[%15 : i32] : vector<2xf32>
    %101 = llvm.insertelement %73, %28[%6 : i32] : vector<2xf32>
    %102 = llvm.insertelement %74, %101[%15 : i32] : vector<2xf32>
    %103 = llvm.fadd %102, %102 : vector<2xf32>
    %104 = llvm.extractelement %103[%6 : i32] : vector<2xf32>
    %105 = llvm.extractelement %103[%15 : i32] : vector<2xf32>
    %106 = llvm.insertelement %75, %28[%6 : i32] : vector<2xf32>
    %107 = llvm.insertelement %76, %106[%15 : i32] : vector<2xf32>
    %108 = llvm.fadd %107, %107 : vector<2xf32>
    %109 = llvm.extractelement %108[%6 : i32] : vector<2xf32>
    %110 = llvm.extractelement %108[%15 : i32] : vector<2xf32>
    %111 = llvm.insertelement %77, %28[%6 : i32] : vector<2xf32>
    %112 = llvm.insertelement %78, %111[%15 : i32] : vector<2xf32>
    %113 = llvm.fadd %112, %112 : vector<2xf32>
    %114 = llvm.extractelement %113[%6 : i32] : vector<2xf32>
    %115 = llvm.extractelement %113[%15 : i32] : vector<2xf32>
    %116 = llvm.insertelement %79, %28[%6 : i32] : vector<2xf32>
    %117 = llvm.insertelement %80, %116[%15 : i32] : vector<2xf32>
    %118 = llvm.fadd %117, %117 : vector<2xf32>
    %119 = llvm.extractelement %118[%6 : i32] : vector<2xf32>
    %120 = llvm.extractelement %118[%15 : i32] : vector<2xf32>
    llvm.return
  }
}

// ---- a_matmul_and_its_commit
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
    nv_tileas.async.umma %a, %b, %d, %more lhs_stage(%t) rhs_stage(%t) pipeline(%ring) token(%t) {lhs_placement = #cute.shared<16, swizzle<2,3,3> o (64,32):(32,1)>, rhs_placement = #cute.shared<16, swizzle<2,3,3> o (32,32):(1,32)>, mma = "tcgen05_k16_f16_f16_f32", shape = array<i64: 64, 32, 32>} : (!lhs, !rhs, !columns, i1, i32, i32, !ring, i32) -> ()
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
    %7 = llvm.mlir.constant(12288) : i64
    %8 = llvm.mlir.constant(1 : i32) : i32
    %9 = llvm.mlir.constant(12296) : i64
    %10 = llvm.mlir.constant(12304) : i64
    %11 = llvm.mlir.constant(12312) : i64
    %12 = llvm.mlir.constant(12336) : i64
    %13 = llvm.mlir.constant(12344) : i64
    %14 = llvm.mlir.constant(5 : i32) : i32
    %15 = llvm.lshr %3, %14 : i32
    %16 = llvm.mlir.constant(32 : i32) : i32
    %17, %18 = gpu.shuffle idx %15, %4, %16 : i32
    %19 = llvm.icmp "eq" %17, %4 : i32
    %20 = llvm.ptrtoint %6 : !llvm.ptr<3> to i32
    %21 = llvm.mlir.constant(12320 : i32) : i32
    %22 = llvm.mlir.constant(4 : i32) : i32
    %23 = llvm.icmp "uge" %17, %22 : i32
    %24 = llvm.mlir.constant(-1 : i32) : i32
    %25 = llvm.mlir.constant(12288 : i32) : i32
    %26 = llvm.mlir.constant(262143 : i32) : i32
    %27 = llvm.mlir.constant(-9223301530671644672) : i64
    %28 = llvm.mlir.constant(8192 : i32) : i32
    %29 = llvm.mlir.constant(2) : i64
    %30 = llvm.mlir.constant(true) : i1
    %31 = llvm.mlir.constant(16 : i32) : i32
    %32 = llvm.mlir.constant(12336 : i32) : i32
    %33 = llvm.mlir.constant(128 : i32) : i32
    llvm.cond_br %5, ^bb1, ^bb2
  ^bb1:
    %34 = llvm.getelementptr %6[%7] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %35 = builtin.unrealized_conversion_cast %34 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %36 = builtin.unrealized_conversion_cast %4 : i32 to index
    %37 = builtin.unrealized_conversion_cast %8 : i32 to index
    nvgpu.mbarrier.init %35[%36], %37 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %38 = llvm.getelementptr %6[%9] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %39 = builtin.unrealized_conversion_cast %38 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %39[%36], %37 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %40 = llvm.getelementptr %6[%10] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %41 = builtin.unrealized_conversion_cast %40 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %41[%36], %37 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %42 = llvm.getelementptr %6[%11] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %43 = builtin.unrealized_conversion_cast %42 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %43[%36], %37 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %44 = llvm.getelementptr %6[%12] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %45 = builtin.unrealized_conversion_cast %44 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %45[%36], %37 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %46 = llvm.getelementptr %6[%13] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %47 = builtin.unrealized_conversion_cast %46 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %47[%36], %37 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvvm.fence.mbarrier.init
    llvm.br ^bb2
  ^bb2:
    llvm.cond_br %19, ^bb3, ^bb4
  ^bb3:
    %48 = llvm.add %20, %21 : i32
    %49 = llvm.inttoptr %48 : i32 to !llvm.ptr<3>
    cute_nvgpu.arch.sm100.alloc_tmem %49 {columns = 32 : i64, cta_group = 1 : i64} : (!llvm.ptr<3>) -> ()
    cute_nvgpu.arch.sm100.relinquish_tmem_alloc_permit {cta_group = 1 : i64}
    llvm.br ^bb4
  ^bb4:
    nvvm.tcgen05.fence.before_thread_sync
    gpu.barrier
    nvvm.tcgen05.fence.after_thread_sync
    %50 = llvm.add %20, %21 : i32
    %51 = llvm.inttoptr %50 : i32 to !llvm.ptr<3>
    %52 = cute_nvgpu.arch.sm100.retrieve_tmem_ptr %51 : (!llvm.ptr<3>) -> i32
    llvm.cond_br %23, ^bb5, ^bb8
  ^bb5:
    %53 = nvvm.elect.sync %24 : (i32) -> !llvm.struct<(i32, i1)>
    %54 = llvm.extractvalue %53[1] : !llvm.struct<(i32, i1)>
    llvm.cond_br %54, ^bb6, ^bb7
  ^bb6:
    llvm.br ^bb25
  ^bb7:
    llvm.br ^bb25
  ^bb8:
    llvm.cond_br %19, ^bb9, ^bb12
  ^bb9:
    %55 = llvm.add %20, %25 : i32
    %56 = llvm.inttoptr %55 : i32 to !llvm.ptr<3>
    %57 = builtin.unrealized_conversion_cast %56 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %58 = builtin.unrealized_conversion_cast %4 : i32 to index
    %59 = builtin.unrealized_conversion_cast %4 : i32 to i1
    llvm.br ^bb10
  ^bb10:
    %60 = nvgpu.mbarrier.try_wait.parity %57[%58], %59 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> i1
    llvm.cond_br %60, ^bb11, ^bb10
  ^bb11:
    nvvm.memory_clobber
    llvm.br ^bb12
  ^bb12:
    %61 = llvm.and %20, %26 : i32
    %62 = llvm.lshr %61, %22 : i32
    %63 = llvm.zext %62 : i32 to i64
    %64 = llvm.or %63, %27 : i64
    %65 = llvm.add %20, %28 : i32
    %66 = llvm.and %65, %26 : i32
    %67 = llvm.lshr %66, %22 : i32
    %68 = llvm.zext %67 : i32 to i64
    %69 = llvm.or %68, %27 : i64
    llvm.cond_br %19, ^bb13, ^bb16
  ^bb13:
    %70 = nvvm.elect.sync %24 : (i32) -> !llvm.struct<(i32, i1)>
    %71 = llvm.extractvalue %70[1] : !llvm.struct<(i32, i1)>
    llvm.cond_br %71, ^bb14, ^bb15
  ^bb14:
    nvvm.tcgen05.fence.after_thread_sync
    %72 = llvm.inttoptr %52 : i32 to !llvm.ptr<6>
    cute_nvgpu.arch.mma.SM100.umma %72, %64, %69, %1 {atom = !cute_nvgpu.sm100.mma<"64x32x16 f16 f16 f32">, cta_group = 1 : i64} : (!llvm.ptr<6>, i64, i64, i1) -> ()
    %73 = llvm.add %69, %29 : i64
    %74 = llvm.add %64, %29 : i64
    cute_nvgpu.arch.mma.SM100.umma %72, %74, %73, %30 {atom = !cute_nvgpu.sm100.mma<"64x32x16 f16 f16 f32">, cta_group = 1 : i64} : (!llvm.ptr<6>, i64, i64, i1) -> ()
    %75 = llvm.add %20, %25 : i32
    %76 = llvm.add %75, %31 : i32
    %77 = llvm.inttoptr %76 : i32 to !llvm.ptr<3>
    nvvm.tcgen05.commit %77 {group = "cg1"} : (!llvm.ptr<3>) -> ()
    llvm.br ^bb15
  ^bb15:
    llvm.br ^bb16
  ^bb16:
    llvm.cond_br %19, ^bb17, ^bb20
  ^bb17:
    %78 = nvvm.elect.sync %24 : (i32) -> !llvm.struct<(i32, i1)>
    %79 = llvm.extractvalue %78[1] : !llvm.struct<(i32, i1)>
    llvm.cond_br %79, ^bb18, ^bb19
  ^bb18:
    %80 = llvm.add %20, %32 : i32
    %81 = llvm.inttoptr %80 : i32 to !llvm.ptr<3>
    nvvm.tcgen05.commit %81 {group = "cg1"} : (!llvm.ptr<3>) -> ()
    llvm.br ^bb19
  ^bb19:
    llvm.br ^bb20
  ^bb20:
    %82 = llvm.add %20, %32 : i32
    %83 = llvm.inttoptr %82 : i32 to !llvm.ptr<3>
    %84 = builtin.unrealized_conversion_cast %83 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %85 = builtin.unrealized_conversion_cast %4 : i32 to index
    %86 = builtin.unrealized_conversion_cast %4 : i32 to i1
    llvm.br ^bb21
  ^bb21:
    %87 = nvgpu.mbarrier.try_wait.parity %84[%85], %86 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> i1
    llvm.cond_br %87, ^bb22, ^bb21
  ^bb22:
    nvvm.memory_clobber
    nvvm.barrier.cta.sync.aligned.count %8, %33 : (i32, i32) -> ()
    llvm.cond_br %19, ^bb23, ^bb24
  ^bb23:
    %88 = llvm.inttoptr %52 : i32 to !llvm.ptr<6>
    cute_nvgpu.arch.sm100.dealloc_tmem %88 {columns = 32 : i64, cta_group = 1 : i64} : (!llvm.ptr<6>) -> ()
    llvm.br ^bb24
  ^bb24:
    llvm.br ^bb25
  ^bb25:
    llvm.return
  }
}

// ---- a_left_operand_in_parts
!columns = !nv_tileas.tmem<#builtin.int<32>>
!tile = tensor<128x32xf16, #cute.layout<(128,32), (32,4,32):(32,1024,1)>>
!rhs = !nv_tileas.buffer<f16, #builtin.int<1>, #cute.shared<16, swizzle<2,3,3> o (32,32):(1,32)>>
!parts = !nv_tileas.pipeline<#builtin.int<2>>
nv_tileaa.func @k attributes {num_warps = 4 : i32, producer_warps = 1 : i32, shared_bytes = 2112 : i32} {
^bb0(%more: i1, %x: f16):
  %b = nv_tileas.alloc_tensor {shared_offset = 0 : i32} : !rhs
  %parts = nv_tileas.async.pipeline.create {consumers = 1 : i32, producers = 4 : i32, bytes = 0 : i32, shared_offset = 2048 : i32} : !parts
  %all = nv_tileas.create_tmem {shared_offset = 2096 : i32} : !columns
  %a = nv_tileas.alloc_tmem %all {column = 0 : i32} : !columns
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %t = arith.constant 2 : i32
    nv_tileas.async.pipeline.consumer_wait %parts, %t : (!parts, i32) -> ()
    nv_tileas.async.umma %a, %b, %a, %more rhs_stage(%t) {rhs_placement = #cute.shared<16, swizzle<2,3,3> o (32,32):(1,32)>, mma = "tcgen05_k16_f16_f16_f32", shape = array<i64: 128, 32, 32>, chunk = array<i64: 1, 2>} : (!columns, !rhs, !columns, i1, i32) -> ()
    nv_tileas.yield
  } {
    %p = nv_tileas.splat %x : (f16) -> !tile
    nv_tileas.tmem_store %p, %a filled(%parts) {chunk = 0 : i32} : (!tile, !columns, !parts) -> ()
    nv_tileas.tmem_store %p, %a filled(%parts) {chunk = 1 : i32} : (!tile, !columns, !parts) -> ()
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_100a\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i1\22, \22size\22: 1, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22f16\22, \22size\22: 2, \22offset\22: 2, \22role\22: \22scalar\22, \22argument\22: 1}], \22param_sizes\22: [1, 2], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 160, \22shared_memory\22: {\22static\22: 2112, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<2112 x i8>
  llvm.func @k(%a0: i8, %a1: f16) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 160>} {
    %0 = llvm.mlir.constant(0 : i8) : i8
    %1 = llvm.icmp "ne" %a0, %0 : i8
    %2 = gpu.thread_id x
    %3 = arith.index_cast %2 : index to i32
    %4 = llvm.mlir.constant(0 : i32) : i32
    %5 = llvm.icmp "eq" %3, %4 : i32
    %6 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %7 = llvm.mlir.constant(2048) : i64
    %8 = llvm.mlir.constant(4 : i32) : i32
    %9 = llvm.mlir.constant(2056) : i64
    %10 = llvm.mlir.constant(2064) : i64
    %11 = llvm.mlir.constant(1 : i32) : i32
    %12 = llvm.mlir.constant(2072) : i64
    %13 = llvm.mlir.constant(5 : i32) : i32
    %14 = llvm.lshr %3, %13 : i32
    %15 = llvm.mlir.constant(32 : i32) : i32
    %16, %17 = gpu.shuffle idx %14, %4, %15 : i32
    %18 = llvm.icmp "eq" %16, %4 : i32
    %19 = llvm.ptrtoint %6 : !llvm.ptr<3> to i32
    %20 = llvm.mlir.constant(2096 : i32) : i32
    %21 = llvm.icmp "uge" %16, %8 : i32
    %22 = llvm.mlir.constant(-1 : i32) : i32
    %23 = llvm.mlir.constant(2056 : i32) : i32
    %24 = llvm.mlir.constant(4096 : i32) : i32
    %25 = llvm.mlir.constant(262143 : i32) : i32
    %26 = llvm.mlir.constant(-9223301530671644672) : i64
    %27 = llvm.mlir.constant(2) : i64
    %28 = llvm.mlir.constant(8 : i32) : i32
    %29 = llvm.mlir.constant(true) : i1
    %30 = llvm.mlir.constant(3 : i32) : i32
    %31 = llvm.and %16, %30 : i32
    %32 = llvm.mlir.constant(21 : i32) : i32
    %33 = llvm.shl %31, %32 : i32
    %34 = llvm.mlir.undef : vector<8xi32>
    %35 = llvm.mlir.constant(2 : i32) : i32
    %36 = llvm.mlir.constant(6 : i32) : i32
    %37 = llvm.mlir.constant(7 : i32) : i32
    %38 = llvm.mlir.constant(-2 : i32) : i32
    %39 = llvm.mlir.constant(2048 : i32) : i32
    %40 = llvm.mlir.constant(31 : i32) : i32
    %41 = llvm.and %3, %40 : i32
    %42 = llvm.icmp "eq" %41, %4 : i32
    %43 = llvm.mlir.constant(128 : i32) : i32
    llvm.cond_br %5, ^bb1, ^bb2
  ^bb1:
    %44 = llvm.getelementptr %6[%7] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %45 = builtin.unrealized_conversion_cast %44 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %46 = builtin.unrealized_conversion_cast %4 : i32 to index
    %47 = builtin.unrealized_conversion_cast %8 : i32 to index
    nvgpu.mbarrier.init %45[%46], %47 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %48 = llvm.getelementptr %6[%9] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %49 = builtin.unrealized_conversion_cast %48 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %49[%46], %47 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %50 = llvm.getelementptr %6[%10] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %51 = builtin.unrealized_conversion_cast %50 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %52 = builtin.unrealized_conversion_cast %11 : i32 to index
    nvgpu.mbarrier.init %51[%46], %52 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %53 = llvm.getelementptr %6[%12] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %54 = builtin.unrealized_conversion_cast %53 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %54[%46], %52 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvvm.fence.mbarrier.init
    llvm.br ^bb2
  ^bb2:
    llvm.cond_br %18, ^bb3, ^bb4
  ^bb3:
    %55 = llvm.add %19, %20 : i32
    %56 = llvm.inttoptr %55 : i32 to !llvm.ptr<3>
    cute_nvgpu.arch.sm100.alloc_tmem %56 {columns = 32 : i64, cta_group = 1 : i64} : (!llvm.ptr<3>) -> ()
    cute_nvgpu.arch.sm100.relinquish_tmem_alloc_permit {cta_group = 1 : i64}
    llvm.br ^bb4
  ^bb4:
    nvvm.tcgen05.fence.before_thread_sync
    gpu.barrier
    nvvm.tcgen05.fence.after_thread_sync
    %57 = llvm.add %19, %20 : i32
    %58 = llvm.inttoptr %57 : i32 to !llvm.ptr<3>
    %59 = cute_nvgpu.arch.sm100.retrieve_tmem_ptr %58 : (!llvm.ptr<3>) -> i32
    llvm.cond_br %21, ^bb5, ^bb12
  ^bb5:
    %60 = nvvm.elect.sync %22 : (i32) -> !llvm.struct<(i32, i1)>
    %61 = llvm.extractvalue %60[1] : !llvm.struct<(i32, i1)>
    llvm.cond_br %61, ^bb6, ^bb7
  ^bb6:
    llvm.br ^bb19
  ^bb7:
    llvm.cond_br %61, ^bb8, ^bb11
  ^bb8:
    nvvm.tcgen05.fence.after_thread_sync
    %62 = llvm.add %19, %23 : i32
    %63 = llvm.inttoptr %62 : i32 to !llvm.ptr<3>
    %64 = builtin.unrealized_conversion_cast %63 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %65 = builtin.unrealized_conversion_cast %4 : i32 to index
    %66 = builtin.unrealized_conversion_cast %4 : i32 to i1
    llvm.br ^bb9
  ^bb9:
    %67 = nvgpu.mbarrier.try_wait.parity %64[%65], %66 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> i1
    llvm.cond_br %67, ^bb10, ^bb9
  ^bb10:
    nvvm.memory_clobber
    %68 = llvm.add %19, %24 : i32
    %69 = llvm.and %68, %25 : i32
    %70 = llvm.lshr %69, %8 : i32
    %71 = llvm.zext %70 : i32 to i64
    %72 = llvm.or %71, %26 : i64
    nvvm.tcgen05.fence.after_thread_sync
    %73 = llvm.add %72, %27 : i64
    %74 = llvm.add %59, %28 : i32
    %75 = llvm.inttoptr %74 : i32 to !llvm.ptr<6>
    %76 = llvm.inttoptr %59 : i32 to !llvm.ptr<6>
    cute_nvgpu.arch.mma.SM100.umma %76, %75, %73, %29 {atom = !cute_nvgpu.sm100.mma<"128x32x16 f16 f16 f32">, cta_group = 1 : i64} : (!llvm.ptr<6>, !llvm.ptr<6>, i64, i1) -> ()
    llvm.br ^bb19
  ^bb11:
    llvm.br ^bb19
  ^bb12:
    %77 = llvm.icmp "eq" %59, %22 : i32
    llvm.cond_br %77, ^bb13, ^bb14
  ^bb13:
    nvvm.intr.trap
    llvm.br ^bb14
  ^bb14:
    %78 = llvm.add %59, %33 : i32
    %79 = llvm.inttoptr %78 : i32 to !llvm.ptr<6>
    %80 = nvvm.mov.b32.pack %a1, %a1 : (f16, f16) -> i32
    %81 = llvm.insertelement %80, %34[%4 : i32] : vector<8xi32>
    %82 = llvm.insertelement %80, %81[%11 : i32] : vector<8xi32>
    %83 = llvm.insertelement %80, %82[%35 : i32] : vector<8xi32>
    %84 = llvm.insertelement %80, %83[%30 : i32] : vector<8xi32>
    %85 = llvm.insertelement %80, %84[%8 : i32] : vector<8xi32>
    %86 = llvm.insertelement %80, %85[%13 : i32] : vector<8xi32>
    %87 = llvm.insertelement %80, %86[%36 : i32] : vector<8xi32>
    %88 = llvm.insertelement %80, %87[%37 : i32] : vector<8xi32>
    cute_nvgpu.arch.copy.SM100.tmem_store %79 registers(%88) {shape = "32x32b", repetitions = 8 : i64, async} : (!llvm.ptr<6>, vector<8xi32>) -> ()
    %89 = llvm.icmp "eq" %59, %38 : i32
    llvm.cond_br %89, ^bb15, ^bb16
  ^bb15:
    nvvm.intr.trap
    llvm.br ^bb16
  ^bb16:
    nvvm.tcgen05.wait.st
    nvvm.tcgen05.fence.before_thread_sync
    %90 = llvm.add %19, %39 : i32
    nvvm.bar.warp.sync %22 : (i32) -> ()
    %91 = llvm.inttoptr %90 : i32 to !llvm.ptr<3>
    %92 = builtin.unrealized_conversion_cast %91 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %93 = builtin.unrealized_conversion_cast %4 : i32 to index
    nvgpu.mbarrier.arrive %92[%93], predicate = %42 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %94 = llvm.add %78, %28 : i32
    %95 = llvm.inttoptr %94 : i32 to !llvm.ptr<6>
    cute_nvgpu.arch.copy.SM100.tmem_store %95 registers(%88) {shape = "32x32b", repetitions = 8 : i64, async} : (!llvm.ptr<6>, vector<8xi32>) -> ()
    nvvm.tcgen05.wait.st
    nvvm.tcgen05.fence.before_thread_sync
    %96 = llvm.add %19, %23 : i32
    nvvm.bar.warp.sync %22 : (i32) -> ()
    %97 = llvm.inttoptr %96 : i32 to !llvm.ptr<3>
    %98 = builtin.unrealized_conversion_cast %97 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.arrive %98[%93], predicate = %42 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvvm.barrier.cta.sync.aligned.count %11, %43 : (i32, i32) -> ()
    llvm.cond_br %18, ^bb17, ^bb18
  ^bb17:
    %99 = llvm.inttoptr %59 : i32 to !llvm.ptr<6>
    cute_nvgpu.arch.sm100.dealloc_tmem %99 {columns = 32 : i64, cta_group = 1 : i64} : (!llvm.ptr<6>) -> ()
    llvm.br ^bb18
  ^bb18:
    llvm.br ^bb19
  ^bb19:
    llvm.return
  }
}

// ---- eight_columns_are_read_twice
!columns = !nv_tileas.tmem<#builtin.int<16>>
!lhs = !nv_tileas.buffer<f16, #builtin.int<1>, #cute.shared<16, swizzle<2,3,3> o (128,32):(32,1)>>
!rhs = !nv_tileas.buffer<f16, #builtin.int<1>, #cute.shared<16, (32,8):(8,1)>>
nv_tileaa.func @k attributes {num_warps = 4 : i32, producer_warps = 1 : i32, shared_bytes = 8720 : i32} {
^bb0(%more: i1):
  %a = nv_tileas.alloc_tensor {shared_offset = 0 : i32} : !lhs
  %b = nv_tileas.alloc_tensor {shared_offset = 8192 : i32} : !rhs
  %all = nv_tileas.create_tmem {shared_offset = 8704 : i32} : !columns
  %d = nv_tileas.alloc_tmem %all {column = 0 : i32} : !columns
  nv_tileas.agent_switch {
    nv_tileas.yield
  } {
    %t = arith.constant 0 : i32
    nv_tileas.async.umma %a, %b, %d, %more lhs_stage(%t) rhs_stage(%t) {lhs_placement = #cute.shared<16, swizzle<2,3,3> o (128,32):(32,1)>, rhs_placement = #cute.shared<16, (32,8):(8,1)>, mma = "tcgen05_k16_f16_f16_f32", shape = array<i64: 128, 8, 32>} : (!lhs, !rhs, !columns, i1, i32, i32) -> ()
    nv_tileas.yield
  } {
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_100a\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22i1\22, \22size\22: 1, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}], \22param_sizes\22: [1], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 160, \22shared_memory\22: {\22static\22: 8720, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<8720 x i8>
  llvm.func @k(%a0: i8) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 160>} {
    %0 = llvm.mlir.constant(0 : i8) : i8
    %1 = llvm.icmp "ne" %a0, %0 : i8
    %2 = gpu.thread_id x
    %3 = arith.index_cast %2 : index to i32
    %4 = llvm.mlir.constant(0 : i32) : i32
    %5 = llvm.icmp "eq" %3, %4 : i32
    %6 = llvm.mlir.constant(5 : i32) : i32
    %7 = llvm.lshr %3, %6 : i32
    %8 = llvm.mlir.constant(32 : i32) : i32
    %9, %10 = gpu.shuffle idx %7, %4, %8 : i32
    %11 = llvm.icmp "eq" %9, %4 : i32
    %12 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %13 = llvm.ptrtoint %12 : !llvm.ptr<3> to i32
    %14 = llvm.mlir.constant(8704 : i32) : i32
    %15 = llvm.mlir.constant(4 : i32) : i32
    %16 = llvm.icmp "uge" %9, %15 : i32
    %17 = llvm.mlir.constant(-1 : i32) : i32
    %18 = llvm.mlir.constant(262143 : i32) : i32
    %19 = llvm.mlir.constant(-9223301530671644672) : i64
    %20 = llvm.mlir.constant(8192 : i32) : i32
    %21 = llvm.mlir.constant(70368744701952) : i64
    %22 = llvm.mlir.constant(16) : i64
    %23 = llvm.mlir.constant(2) : i64
    %24 = llvm.mlir.constant(true) : i1
    %25 = llvm.mlir.constant(1 : i32) : i32
    %26 = llvm.mlir.constant(128 : i32) : i32
    llvm.cond_br %5, ^bb1, ^bb2
  ^bb1:
    nvvm.fence.mbarrier.init
    llvm.br ^bb2
  ^bb2:
    llvm.cond_br %11, ^bb3, ^bb4
  ^bb3:
    %27 = llvm.add %13, %14 : i32
    %28 = llvm.inttoptr %27 : i32 to !llvm.ptr<3>
    cute_nvgpu.arch.sm100.alloc_tmem %28 {columns = 16 : i64, cta_group = 1 : i64} : (!llvm.ptr<3>) -> ()
    cute_nvgpu.arch.sm100.relinquish_tmem_alloc_permit {cta_group = 1 : i64}
    llvm.br ^bb4
  ^bb4:
    nvvm.tcgen05.fence.before_thread_sync
    gpu.barrier
    nvvm.tcgen05.fence.after_thread_sync
    %29 = llvm.add %13, %14 : i32
    %30 = llvm.inttoptr %29 : i32 to !llvm.ptr<3>
    %31 = cute_nvgpu.arch.sm100.retrieve_tmem_ptr %30 : (!llvm.ptr<3>) -> i32
    llvm.cond_br %16, ^bb5, ^bb10
  ^bb5:
    %32 = nvvm.elect.sync %17 : (i32) -> !llvm.struct<(i32, i1)>
    %33 = llvm.extractvalue %32[1] : !llvm.struct<(i32, i1)>
    llvm.cond_br %33, ^bb6, ^bb7
  ^bb6:
    llvm.br ^bb13
  ^bb7:
    llvm.cond_br %33, ^bb8, ^bb9
  ^bb8:
    nvvm.tcgen05.fence.after_thread_sync
    %34 = llvm.and %13, %18 : i32
    %35 = llvm.lshr %34, %15 : i32
    %36 = llvm.zext %35 : i32 to i64
    %37 = llvm.or %36, %19 : i64
    %38 = llvm.add %13, %20 : i32
    %39 = llvm.and %38, %18 : i32
    %40 = llvm.lshr %39, %15 : i32
    %41 = llvm.zext %40 : i32 to i64
    %42 = llvm.or %41, %21 : i64
    nvvm.tcgen05.fence.after_thread_sync
    %43 = llvm.inttoptr %31 : i32 to !llvm.ptr<6>
    cute_nvgpu.arch.mma.SM100.umma %43, %37, %42, %1 {atom = !cute_nvgpu.sm100.mma<"128x16x16 f16 f16 f32">, cta_group = 1 : i64, b_mn_major} : (!llvm.ptr<6>, i64, i64, i1) -> ()
    %44 = llvm.add %42, %22 : i64
    %45 = llvm.add %37, %23 : i64
    cute_nvgpu.arch.mma.SM100.umma %43, %45, %44, %24 {atom = !cute_nvgpu.sm100.mma<"128x16x16 f16 f16 f32">, cta_group = 1 : i64, b_mn_major} : (!llvm.ptr<6>, i64, i64, i1) -> ()
    llvm.br ^bb13
  ^bb9:
    llvm.br ^bb13
  ^bb10:
    nvvm.barrier.cta.sync.aligned.count %25, %26 : (i32, i32) -> ()
    llvm.cond_br %11, ^bb11, ^bb12
  ^bb11:
    %46 = llvm.inttoptr %31 : i32 to !llvm.ptr<6>
    cute_nvgpu.arch.sm100.dealloc_tmem %46 {columns = 16 : i64, cta_group = 1 : i64} : (!llvm.ptr<6>) -> ()
    llvm.br ^bb12
  ^bb12:
    llvm.br ^bb13
  ^bb13:
    llvm.return
  }
}

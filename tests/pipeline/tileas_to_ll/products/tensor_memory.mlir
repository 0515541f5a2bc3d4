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
    llvm.br ^bb23
  ^bb7:
    llvm.br ^bb23
  ^bb8:
    %55 = llvm.add %20, %25 : i32
    %56 = llvm.inttoptr %55 : i32 to !llvm.ptr<3>
    %57 = builtin.unrealized_conversion_cast %56 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %58 = builtin.unrealized_conversion_cast %4 : i32 to index
    %59 = builtin.unrealized_conversion_cast %4 : i32 to i1
    llvm.br ^bb9
  ^bb9:
    %60 = nvgpu.mbarrier.try_wait.parity %57[%58], %59 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> i1
    llvm.cond_br %60, ^bb10, ^bb9
  ^bb10:
    nvvm.memory_clobber
    %61 = llvm.and %20, %26 : i32
    %62 = llvm.lshr %61, %22 : i32
    %63 = llvm.zext %62 : i32 to i64
    %64 = llvm.or %63, %27 : i64
    %65 = llvm.add %20, %28 : i32
    %66 = llvm.and %65, %26 : i32
    %67 = llvm.lshr %66, %22 : i32
    %68 = llvm.zext %67 : i32 to i64
    %69 = llvm.or %68, %27 : i64
    llvm.cond_br %19, ^bb11, ^bb14
  ^bb11:
    %70 = nvvm.elect.sync %24 : (i32) -> !llvm.struct<(i32, i1)>
    %71 = llvm.extractvalue %70[1] : !llvm.struct<(i32, i1)>
    llvm.cond_br %71, ^bb12, ^bb13
  ^bb12:
    nvvm.tcgen05.fence.after_thread_sync
    %72 = llvm.inttoptr %52 : i32 to !llvm.ptr<6>
    cute_nvgpu.arch.mma.SM100.umma %72, %64, %69, %1 {atom = !cute_nvgpu.sm100.mma<"64x32x16 f16 f16 f32">, cta_group = 1 : i64} : (!llvm.ptr<6>, i64, i64, i1) -> ()
    %73 = llvm.add %69, %29 : i64
    %74 = llvm.add %64, %29 : i64
    cute_nvgpu.arch.mma.SM100.umma %72, %74, %73, %30 {atom = !cute_nvgpu.sm100.mma<"64x32x16 f16 f16 f32">, cta_group = 1 : i64} : (!llvm.ptr<6>, i64, i64, i1) -> ()
    %75 = llvm.add %55, %31 : i32
    %76 = llvm.inttoptr %75 : i32 to !llvm.ptr<3>
    nvvm.tcgen05.commit %76 {group = "cg1"} : (!llvm.ptr<3>) -> ()
    llvm.br ^bb13
  ^bb13:
    llvm.br ^bb14
  ^bb14:
    llvm.cond_br %19, ^bb15, ^bb18
  ^bb15:
    %77 = nvvm.elect.sync %24 : (i32) -> !llvm.struct<(i32, i1)>
    %78 = llvm.extractvalue %77[1] : !llvm.struct<(i32, i1)>
    llvm.cond_br %78, ^bb16, ^bb17
  ^bb16:
    %79 = llvm.add %20, %32 : i32
    %80 = llvm.inttoptr %79 : i32 to !llvm.ptr<3>
    nvvm.tcgen05.commit %80 {group = "cg1"} : (!llvm.ptr<3>) -> ()
    llvm.br ^bb17
  ^bb17:
    llvm.br ^bb18
  ^bb18:
    %81 = llvm.add %20, %32 : i32
    %82 = llvm.inttoptr %81 : i32 to !llvm.ptr<3>
    %83 = builtin.unrealized_conversion_cast %82 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    llvm.br ^bb19
  ^bb19:
    %84 = nvgpu.mbarrier.try_wait.parity %83[%58], %59 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> i1
    llvm.cond_br %84, ^bb20, ^bb19
  ^bb20:
    nvvm.memory_clobber
    nvvm.barrier.cta.sync.aligned.count %8, %33 : (i32, i32) -> ()
    llvm.cond_br %19, ^bb21, ^bb22
  ^bb21:
    %85 = llvm.inttoptr %52 : i32 to !llvm.ptr<6>
    cute_nvgpu.arch.sm100.dealloc_tmem %85 {columns = 32 : i64, cta_group = 1 : i64} : (!llvm.ptr<6>) -> ()
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
    %45 = llvm.mlir.undef : vector<2xf32>
    %46 = llvm.mlir.undef : vector<32xi32>
    %47 = llvm.fcmp "oeq" %a0, %2 : f32
    %48 = nvvm.vote.all.sync %3, %47 : (i32, i1) -> i1
    %49 = llvm.xor %48, %4 : i1
    %50 = llvm.and %49, %1 : i1
    llvm.cond_br %50, ^bb1, ^bb2
  ^bb1:
    nvvm.tcgen05.fence.after_thread_sync
    %51 = llvm.inttoptr %16 : i32 to !llvm.ptr<6>
    %52 = cute_nvgpu.arch.copy.SM100.tmem_load %51 {shape = "32x32b", repetitions = 32 : i64, async} : (!llvm.ptr<6>) -> vector<32xi32>
    nvvm.tcgen05.wait.ld
    %53 = llvm.extractelement %52[%9 : i32] : vector<32xi32>
    %54 = llvm.extractelement %52[%17 : i32] : vector<32xi32>
    %55 = llvm.extractelement %52[%18 : i32] : vector<32xi32>
    %56 = llvm.extractelement %52[%13 : i32] : vector<32xi32>
    %57 = llvm.extractelement %52[%19 : i32] : vector<32xi32>
    %58 = llvm.extractelement %52[%7 : i32] : vector<32xi32>
    %59 = llvm.extractelement %52[%20 : i32] : vector<32xi32>
    %60 = llvm.extractelement %52[%21 : i32] : vector<32xi32>
    %61 = llvm.extractelement %52[%22 : i32] : vector<32xi32>
    %62 = llvm.extractelement %52[%23 : i32] : vector<32xi32>
    %63 = llvm.extractelement %52[%24 : i32] : vector<32xi32>
    %64 = llvm.extractelement %52[%25 : i32] : vector<32xi32>
    %65 = llvm.extractelement %52[%26 : i32] : vector<32xi32>
    %66 = llvm.extractelement %52[%27 : i32] : vector<32xi32>
    %67 = llvm.extractelement %52[%28 : i32] : vector<32xi32>
    %68 = llvm.extractelement %52[%29 : i32] : vector<32xi32>
    %69 = llvm.extractelement %52[%30 : i32] : vector<32xi32>
    %70 = llvm.extractelement %52[%31 : i32] : vector<32xi32>
    %71 = llvm.extractelement %52[%32 : i32] : vector<32xi32>
    %72 = llvm.extractelement %52[%33 : i32] : vector<32xi32>
    %73 = llvm.extractelement %52[%34 : i32] : vector<32xi32>
    %74 = llvm.extractelement %52[%15 : i32] : vector<32xi32>
    %75 = llvm.extractelement %52[%35 : i32] : vector<32xi32>
    %76 = llvm.extractelement %52[%36 : i32] : vector<32xi32>
    %77 = llvm.extractelement %52[%37 : i32] : vector<32xi32>
    %78 = llvm.extractelement %52[%38 : i32] : vector<32xi32>
    %79 = llvm.extractelement %52[%39 : i32] : vector<32xi32>
    %80 = llvm.extractelement %52[%40 : i32] : vector<32xi32>
    %81 = llvm.extractelement %52[%41 : i32] : vector<32xi32>
    %82 = llvm.extractelement %52[%42 : i32] : vector<32xi32>
    %83 = llvm.extractelement %52[%43 : i32] : vector<32xi32>
    %84 = llvm.extractelement %52[%44 : i32] : vector<32xi32>
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
    %116 = llvm.bitcast %84 : i32 to f32
    %117 = llvm.insertelement %85, %45[%9 : i32] : vector<2xf32>
    %118 = llvm.insertelement %86, %117[%17 : i32] : vector<2xf32>
    %119 = llvm.insertelement %a0, %45[%9 : i32] : vector<2xf32>
    %120 = llvm.insertelement %a0, %119[%17 : i32] : vector<2xf32>
    %121 = llvm.fmul %118, %120 : vector<2xf32>
    %122 = llvm.extractelement %121[%9 : i32] : vector<2xf32>
    %123 = llvm.extractelement %121[%17 : i32] : vector<2xf32>
    %124 = llvm.insertelement %87, %45[%9 : i32] : vector<2xf32>
    %125 = llvm.insertelement %88, %124[%17 : i32] : vector<2xf32>
    %126 = llvm.fmul %125, %120 : vector<2xf32>
    %127 = llvm.extractelement %126[%9 : i32] : vector<2xf32>
    %128 = llvm.extractelement %126[%17 : i32] : vector<2xf32>
    %129 = llvm.insertelement %89, %45[%9 : i32] : vector<2xf32>
    %130 = llvm.insertelement %90, %129[%17 : i32] : vector<2xf32>
    %131 = llvm.fmul %130, %120 : vector<2xf32>
    %132 = llvm.extractelement %131[%9 : i32] : vector<2xf32>
    %133 = llvm.extractelement %131[%17 : i32] : vector<2xf32>
    %134 = llvm.insertelement %91, %45[%9 : i32] : vector<2xf32>
    %135 = llvm.insertelement %92, %134[%17 : i32] : vector<2xf32>
    %136 = llvm.fmul %135, %120 : vector<2xf32>
    %137 = llvm.extractelement %136[%9 : i32] : vector<2xf32>
    %138 = llvm.extractelement %136[%17 : i32] : vector<2xf32>
    %139 = llvm.insertelement %93, %45[%9 : i32] : vector<2xf32>
    %140 = llvm.insertelement %94, %139[%17 : i32] : vector<2xf32>
    %141 = llvm.fmul %140, %120 : vector<2xf32>
    %142 = llvm.extractelement %141[%9 : i32] : vector<2xf32>
    %143 = llvm.extractelement %141[%17 : i32] : vector<2xf32>
    %144 = llvm.insertelement %95, %45[%9 : i32] : vector<2xf32>
    %145 = llvm.insertelement %96, %144[%17 : i32] : vector<2xf32>
    %146 = llvm.fmul %145, %120 : vector<2xf32>
    %147 = llvm.extractelement %146[%9 : i32] : vector<2xf32>
    %148 = llvm.extractelement %146[%17 : i32] : vector<2xf32>
    %149 = llvm.insertelement %97, %45[%9 : i32] : vector<2xf32>
    %150 = llvm.insertelement %98, %149[%17 : i32] : vector<2xf32>
    %151 = llvm.fmul %150, %120 : vector<2xf32>
    %152 = llvm.extractelement %151[%9 : i32] : vector<2xf32>
    %153 = llvm.extractelement %151[%17 : i32] : vector<2xf32>
    %154 = llvm.insertelement %99, %45[%9 : i32] : vector<2xf32>
    %155 = llvm.insertelement %100, %154[%17 : i32] : vector<2xf32>
    %156 = llvm.fmul %155, %120 : vector<2xf32>
    %157 = llvm.extractelement %156[%9 : i32] : vector<2xf32>
    %158 = llvm.extractelement %156[%17 : i32] : vector<2xf32>
    %159 = llvm.insertelement %101, %45[%9 : i32] : vector<2xf32>
    %160 = llvm.insertelement %102, %159[%17 : i32] : vector<2xf32>
    %161 = llvm.fmul %160, %120 : vector<2xf32>
    %162 = llvm.extractelement %161[%9 : i32] : vector<2xf32>
    %163 = llvm.extractelement %161[%17 : i32] : vector<2xf32>
    %164 = llvm.insertelement %103, %45[%9 : i32] : vector<2xf32>
    %165 = llvm.insertelement %104, %164[%17 : i32] : vector<2xf32>
    %166 = llvm.fmul %165, %120 : vector<2xf32>
    %167 = llvm.extractelement %166[%9 : i32] : vector<2xf32>
    %168 = llvm.extractelement %166[%17 : i32] : vector<2xf32>
    %169 = llvm.insertelement %105, %45[%9 : i32] : vector<2xf32>
    %170 = llvm.insertelement %106, %169[%17 : i32] : vector<2xf32>
    %171 = llvm.fmul %170, %120 : vector<2xf32>
    %172 = llvm.extractelement %171[%9 : i32] : vector<2xf32>
    %173 = llvm.extractelement %171[%17 : i32] : vector<2xf32>
    %174 = llvm.insertelement %107, %45[%9 : i32] : vector<2xf32>
    %175 = llvm.insertelement %108, %174[%17 : i32] : vector<2xf32>
    %176 = llvm.fmul %175, %120 : vector<2xf32>
    %177 = llvm.extractelement %176[%9 : i32] : vector<2xf32>
    %178 = llvm.extractelement %176[%17 : i32] : vector<2xf32>
    %179 = llvm.insertelement %109, %45[%9 : i32] : vector<2xf32>
    %180 = llvm.insertelement %110, %179[%17 : i32] : vector<2xf32>
    %181 = llvm.fmul %180, %120 : vector<2xf32>
    %182 = llvm.extractelement %181[%9 : i32] : vector<2xf32>
    %183 = llvm.extractelement %181[%17 : i32] : vector<2xf32>
    %184 = llvm.insertelement %111, %45[%9 : i32] : vector<2xf32>
    %185 = llvm.insertelement %112, %184[%17 : i32] : vector<2xf32>
    %186 = llvm.fmul %185, %120 : vector<2xf32>
    %187 = llvm.extractelement %186[%9 : i32] : vector<2xf32>
    %188 = llvm.extractelement %186[%17 : i32] : vector<2xf32>
    %189 = llvm.insertelement %113, %45[%9 : i32] : vector<2xf32>
    %190 = llvm.insertelement %114, %189[%17 : i32] : vector<2xf32>
    %191 = llvm.fmul %190, %120 : vector<2xf32>
    %192 = llvm.extractelement %191[%9 : i32] : vector<2xf32>
    %193 = llvm.extractelement %191[%17 : i32] : vector<2xf32>
    %194 = llvm.insertelement %115, %45[%9 : i32] : vector<2xf32>
    %195 = llvm.insertelement %116, %194[%17 : i32] : vector<2xf32>
    %196 = llvm.fmul %195, %120 : vector<2xf32>
    %197 = llvm.extractelement %196[%9 : i32] : vector<2xf32>
    %198 = llvm.extractelement %196[%17 : i32] : vector<2xf32>
    %199 = llvm.bitcast %122 : f32 to i32
    %200 = llvm.bitcast %123 : f32 to i32
    %201 = llvm.bitcast %127 : f32 to i32
    %202 = llvm.bitcast %128 : f32 to i32
    %203 = llvm.bitcast %132 : f32 to i32
    %204 = llvm.bitcast %133 : f32 to i32
    %205 = llvm.bitcast %137 : f32 to i32
    %206 = llvm.bitcast %138 : f32 to i32
    %207 = llvm.bitcast %142 : f32 to i32
    %208 = llvm.bitcast %143 : f32 to i32
    %209 = llvm.bitcast %147 : f32 to i32
    %210 = llvm.bitcast %148 : f32 to i32
    %211 = llvm.bitcast %152 : f32 to i32
    %212 = llvm.bitcast %153 : f32 to i32
    %213 = llvm.bitcast %157 : f32 to i32
    %214 = llvm.bitcast %158 : f32 to i32
    %215 = llvm.bitcast %162 : f32 to i32
    %216 = llvm.bitcast %163 : f32 to i32
    %217 = llvm.bitcast %167 : f32 to i32
    %218 = llvm.bitcast %168 : f32 to i32
    %219 = llvm.bitcast %172 : f32 to i32
    %220 = llvm.bitcast %173 : f32 to i32
    %221 = llvm.bitcast %177 : f32 to i32
    %222 = llvm.bitcast %178 : f32 to i32
    %223 = llvm.bitcast %182 : f32 to i32
    %224 = llvm.bitcast %183 : f32 to i32
    %225 = llvm.bitcast %187 : f32 to i32
    %226 = llvm.bitcast %188 : f32 to i32
    %227 = llvm.bitcast %192 : f32 to i32
    %228 = llvm.bitcast %193 : f32 to i32
    %229 = llvm.bitcast %197 : f32 to i32
    %230 = llvm.bitcast %198 : f32 to i32
    %231 = llvm.insertelement %199, %46[%9 : i32] : vector<32xi32>
    %232 = llvm.insertelement %200, %231[%17 : i32] : vector<32xi32>
    %233 = llvm.insertelement %201, %232[%18 : i32] : vector<32xi32>
    %234 = llvm.insertelement %202, %233[%13 : i32] : vector<32xi32>
    %235 = llvm.insertelement %203, %234[%19 : i32] : vector<32xi32>
    %236 = llvm.insertelement %204, %235[%7 : i32] : vector<32xi32>
    %237 = llvm.insertelement %205, %236[%20 : i32] : vector<32xi32>
    %238 = llvm.insertelement %206, %237[%21 : i32] : vector<32xi32>
    %239 = llvm.insertelement %207, %238[%22 : i32] : vector<32xi32>
    %240 = llvm.insertelement %208, %239[%23 : i32] : vector<32xi32>
    %241 = llvm.insertelement %209, %240[%24 : i32] : vector<32xi32>
    %242 = llvm.insertelement %210, %241[%25 : i32] : vector<32xi32>
    %243 = llvm.insertelement %211, %242[%26 : i32] : vector<32xi32>
    %244 = llvm.insertelement %212, %243[%27 : i32] : vector<32xi32>
    %245 = llvm.insertelement %213, %244[%28 : i32] : vector<32xi32>
    %246 = llvm.insertelement %214, %245[%29 : i32] : vector<32xi32>
    %247 = llvm.insertelement %215, %246[%30 : i32] : vector<32xi32>
    %248 = llvm.insertelement %216, %247[%31 : i32] : vector<32xi32>
    %249 = llvm.insertelement %217, %248[%32 : i32] : vector<32xi32>
    %250 = llvm.insertelement %218, %249[%33 : i32] : vector<32xi32>
    %251 = llvm.insertelement %219, %250[%34 : i32] : vector<32xi32>
    %252 = llvm.insertelement %220, %251[%15 : i32] : vector<32xi32>
    %253 = llvm.insertelement %221, %252[%35 : i32] : vector<32xi32>
    %254 = llvm.insertelement %222, %253[%36 : i32] : vector<32xi32>
    %255 = llvm.insertelement %223, %254[%37 : i32] : vector<32xi32>
    %256 = llvm.insertelement %224, %255[%38 : i32] : vector<32xi32>
    %257 = llvm.insertelement %225, %256[%39 : i32] : vector<32xi32>
    %258 = llvm.insertelement %226, %257[%40 : i32] : vector<32xi32>
    %259 = llvm.insertelement %227, %258[%41 : i32] : vector<32xi32>
    %260 = llvm.insertelement %228, %259[%42 : i32] : vector<32xi32>
    %261 = llvm.insertelement %229, %260[%43 : i32] : vector<32xi32>
    %262 = llvm.insertelement %230, %261[%44 : i32] : vector<32xi32>
    cute_nvgpu.arch.copy.SM100.tmem_store %51 registers(%262) {shape = "32x32b", repetitions = 32 : i64, async} : (!llvm.ptr<6>, vector<32xi32>) -> ()
    nvvm.tcgen05.wait.st
    nvvm.tcgen05.fence.before_thread_sync
    llvm.br ^bb2
  ^bb2:
    llvm.return
  }
}

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
    %17 = llvm.mlir.constant(16 : i32) : i32
    %18 = llvm.mlir.constant(1 : i32) : i32
    %19 = llvm.mlir.constant(2 : i32) : i32
    %20 = llvm.mlir.constant(4 : i32) : i32
    %21 = llvm.mlir.constant(6 : i32) : i32
    %22 = llvm.mlir.constant(7 : i32) : i32
    %23 = llvm.mlir.constant(8 : i32) : i32
    %24 = llvm.mlir.constant(9 : i32) : i32
    %25 = llvm.mlir.constant(10 : i32) : i32
    %26 = llvm.mlir.constant(11 : i32) : i32
    %27 = llvm.mlir.constant(12 : i32) : i32
    %28 = llvm.mlir.constant(13 : i32) : i32
    %29 = llvm.mlir.constant(14 : i32) : i32
    %30 = llvm.mlir.constant(15 : i32) : i32
    %31 = llvm.mlir.undef : vector<2xf32>
    %32 = llvm.mlir.undef : vector<16xi32>
    %33 = llvm.fcmp "oeq" %a0, %2 : f32
    %34 = nvvm.vote.all.sync %3, %33 : (i32, i1) -> i1
    %35 = llvm.xor %34, %4 : i1
    %36 = llvm.and %35, %1 : i1
    llvm.cond_br %36, ^bb1, ^bb2
  ^bb1:
    nvvm.tcgen05.fence.after_thread_sync
    %37 = llvm.inttoptr %16 : i32 to !llvm.ptr<6>
    %38 = cute_nvgpu.arch.copy.SM100.tmem_load %37 {shape = "32x32b", repetitions = 16 : i64, async} : (!llvm.ptr<6>) -> vector<16xi32>
    nvvm.tcgen05.wait.ld
    %39 = llvm.add %16, %17 : i32
    %40 = llvm.inttoptr %39 : i32 to !llvm.ptr<6>
    %41 = cute_nvgpu.arch.copy.SM100.tmem_load %40 {shape = "32x32b", repetitions = 16 : i64, async} : (!llvm.ptr<6>) -> vector<16xi32>
    %42 = llvm.extractelement %38[%9 : i32] : vector<16xi32>
    %43 = llvm.extractelement %38[%18 : i32] : vector<16xi32>
    %44 = llvm.extractelement %38[%19 : i32] : vector<16xi32>
    %45 = llvm.extractelement %38[%13 : i32] : vector<16xi32>
    %46 = llvm.extractelement %38[%20 : i32] : vector<16xi32>
    %47 = llvm.extractelement %38[%7 : i32] : vector<16xi32>
    %48 = llvm.extractelement %38[%21 : i32] : vector<16xi32>
    %49 = llvm.extractelement %38[%22 : i32] : vector<16xi32>
    %50 = llvm.extractelement %38[%23 : i32] : vector<16xi32>
    %51 = llvm.extractelement %38[%24 : i32] : vector<16xi32>
    %52 = llvm.extractelement %38[%25 : i32] : vector<16xi32>
    %53 = llvm.extractelement %38[%26 : i32] : vector<16xi32>
    %54 = llvm.extractelement %38[%27 : i32] : vector<16xi32>
    %55 = llvm.extractelement %38[%28 : i32] : vector<16xi32>
    %56 = llvm.extractelement %38[%29 : i32] : vector<16xi32>
    %57 = llvm.extractelement %38[%30 : i32] : vector<16xi32>
    %58 = llvm.bitcast %42 : i32 to f32
    %59 = llvm.bitcast %43 : i32 to f32
    %60 = llvm.bitcast %44 : i32 to f32
    %61 = llvm.bitcast %45 : i32 to f32
    %62 = llvm.bitcast %46 : i32 to f32
    %63 = llvm.bitcast %47 : i32 to f32
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
    %74 = llvm.insertelement %58, %31[%9 : i32] : vector<2xf32>
    %75 = llvm.insertelement %59, %74[%18 : i32] : vector<2xf32>
    %76 = llvm.insertelement %a0, %31[%9 : i32] : vector<2xf32>
    %77 = llvm.insertelement %a0, %76[%18 : i32] : vector<2xf32>
    %78 = llvm.fmul %75, %77 : vector<2xf32>
    %79 = llvm.extractelement %78[%9 : i32] : vector<2xf32>
    %80 = llvm.extractelement %78[%18 : i32] : vector<2xf32>
    %81 = llvm.insertelement %60, %31[%9 : i32] : vector<2xf32>
    %82 = llvm.insertelement %61, %81[%18 : i32] : vector<2xf32>
    %83 = llvm.fmul %82, %77 : vector<2xf32>
    %84 = llvm.extractelement %83[%9 : i32] : vector<2xf32>
    %85 = llvm.extractelement %83[%18 : i32] : vector<2xf32>
    %86 = llvm.insertelement %62, %31[%9 : i32] : vector<2xf32>
    %87 = llvm.insertelement %63, %86[%18 : i32] : vector<2xf32>
    %88 = llvm.fmul %87, %77 : vector<2xf32>
    %89 = llvm.extractelement %88[%9 : i32] : vector<2xf32>
    %90 = llvm.extractelement %88[%18 : i32] : vector<2xf32>
    %91 = llvm.insertelement %64, %31[%9 : i32] : vector<2xf32>
    %92 = llvm.insertelement %65, %91[%18 : i32] : vector<2xf32>
    %93 = llvm.fmul %92, %77 : vector<2xf32>
    %94 = llvm.extractelement %93[%9 : i32] : vector<2xf32>
    %95 = llvm.extractelement %93[%18 : i32] : vector<2xf32>
    %96 = llvm.insertelement %66, %31[%9 : i32] : vector<2xf32>
    %97 = llvm.insertelement %67, %96[%18 : i32] : vector<2xf32>
    %98 = llvm.fmul %97, %77 : vector<2xf32>
    %99 = llvm.extractelement %98[%9 : i32] : vector<2xf32>
    %100 = llvm.extractelement %98[%18 : i32] : vector<2xf32>
    %101 = llvm.insertelement %68, %31[%9 : i32] : vector<2xf32>
    %102 = llvm.insertelement %69, %101[%18 : i32] : vector<2xf32>
    %103 = llvm.fmul %102, %77 : vector<2xf32>
    %104 = llvm.extractelement %103[%9 : i32] : vector<2xf32>
    %105 = llvm.extractelement %103[%18 : i32] : vector<2xf32>
    %106 = llvm.insertelement %70, %31[%9 : i32] : vector<2xf32>
    %107 = llvm.insertelement %71, %106[%18 : i32] : vector<2xf32>
    %108 = llvm.fmul %107, %77 : vector<2xf32>
    %109 = llvm.extractelement %108[%9 : i32] : vector<2xf32>
    %110 = llvm.extractelement %108[%18 : i32] : vector<2xf32>
    %111 = llvm.insertelement %72, %31[%9 : i32] : vector<2xf32>
    %112 = llvm.insertelement %73, %111[%18 : i32] : vector<2xf32>
    %113 = llvm.fmul %112, %77 : vector<2xf32>
    %114 = llvm.extractelement %113[%9 : i32] : vector<2xf32>
    %115 = llvm.extractelement %113[%18 : i32] : vector<2xf32>
    %116 = llvm.bitcast %79 : f32 to i32
    %117 = llvm.bitcast %80 : f32 to i32
    %118 = llvm.bitcast %84 : f32 to i32
    %119 = llvm.bitcast %85 : f32 to i32
    %120 = llvm.bitcast %89 : f32 to i32
    %121 = llvm.bitcast %90 : f32 to i32
    %122 = llvm.bitcast %94 : f32 to i32
    %123 = llvm.bitcast %95 : f32 to i32
    %124 = llvm.bitcast %99 : f32 to i32
    %125 = llvm.bitcast %100 : f32 to i32
    %126 = llvm.bitcast %104 : f32 to i32
    %127 = llvm.bitcast %105 : f32 to i32
    %128 = llvm.bitcast %109 : f32 to i32
    %129 = llvm.bitcast %110 : f32 to i32
    %130 = llvm.bitcast %114 : f32 to i32
    %131 = llvm.bitcast %115 : f32 to i32
    %132 = llvm.insertelement %116, %32[%9 : i32] : vector<16xi32>
    %133 = llvm.insertelement %117, %132[%18 : i32] : vector<16xi32>
    %134 = llvm.insertelement %118, %133[%19 : i32] : vector<16xi32>
    %135 = llvm.insertelement %119, %134[%13 : i32] : vector<16xi32>
    %136 = llvm.insertelement %120, %135[%20 : i32] : vector<16xi32>
    %137 = llvm.insertelement %121, %136[%7 : i32] : vector<16xi32>
    %138 = llvm.insertelement %122, %137[%21 : i32] : vector<16xi32>
    %139 = llvm.insertelement %123, %138[%22 : i32] : vector<16xi32>
    %140 = llvm.insertelement %124, %139[%23 : i32] : vector<16xi32>
    %141 = llvm.insertelement %125, %140[%24 : i32] : vector<16xi32>
    %142 = llvm.insertelement %126, %141[%25 : i32] : vector<16xi32>
    %143 = llvm.insertelement %127, %142[%26 : i32] : vector<16xi32>
    %144 = llvm.insertelement %128, %143[%27 : i32] : vector<16xi32>
    %145 = llvm.insertelement %129, %144[%28 : i32] : vector<16xi32>
    %146 = llvm.insertelement %130, %145[%29 : i32] : vector<16xi32>
    %147 = llvm.insertelement %131, %146[%30 : i32] : vector<16xi32>
    cute_nvgpu.arch.copy.SM100.tmem_store %37 registers(%147) {shape = "32x32b", repetitions = 16 : i64, async} : (!llvm.ptr<6>, vector<16xi32>) -> ()
    nvvm.tcgen05.wait.ld
    %148 = llvm.extractelement %41[%9 : i32] : vector<16xi32>
    %149 = llvm.extractelement %41[%18 : i32] : vector<16xi32>
    %150 = llvm.extractelement %41[%19 : i32] : vector<16xi32>
    %151 = llvm.extractelement %41[%13 : i32] : vector<16xi32>
    %152 = llvm.extractelement %41[%20 : i32] : vector<16xi32>
    %153 = llvm.extractelement %41[%7 : i32] : vector<16xi32>
    %154 = llvm.extractelement %41[%21 : i32] : vector<16xi32>
    %155 = llvm.extractelement %41[%22 : i32] : vector<16xi32>
    %156 = llvm.extractelement %41[%23 : i32] : vector<16xi32>
    %157 = llvm.extractelement %41[%24 : i32] : vector<16xi32>
    %158 = llvm.extractelement %41[%25 : i32] : vector<16xi32>
    %159 = llvm.extractelement %41[%26 : i32] : vector<16xi32>
    %160 = llvm.extractelement %41[%27 : i32] : vector<16xi32>
    %161 = llvm.extractelement %41[%28 : i32] : vector<16xi32>
    %162 = llvm.extractelement %41[%29 : i32] : vector<16xi32>
    %163 = llvm.extractelement %41[%30 : i32] : vector<16xi32>
    %164 = llvm.bitcast %148 : i32 to f32
    %165 = llvm.bitcast %149 : i32 to f32
    %166 = llvm.bitcast %150 : i32 to f32
    %167 = llvm.bitcast %151 : i32 to f32
    %168 = llvm.bitcast %152 : i32 to f32
    %169 = llvm.bitcast %153 : i32 to f32
    %170 = llvm.bitcast %154 : i32 to f32
    %171 = llvm.bitcast %155 : i32 to f32
    %172 = llvm.bitcast %156 : i32 to f32
    %173 = llvm.bitcast %157 : i32 to f32
    %174 = llvm.bitcast %158 : i32 to f32
    %175 = llvm.bitcast %159 : i32 to f32
    %176 = llvm.bitcast %160 : i32 to f32
    %177 = llvm.bitcast %161 : i32 to f32
    %178 = llvm.bitcast %162 : i32 to f32
    %179 = llvm.bitcast %163 : i32 to f32
    %180 = llvm.insertelement %164, %31[%9 : i32] : vector<2xf32>
    %181 = llvm.insertelement %165, %180[%18 : i32] : vector<2xf32>
    %182 = llvm.fmul %181, %77 : vector<2xf32>
    %183 = llvm.extractelement %182[%9 : i32] : vector<2xf32>
    %184 = llvm.extractelement %182[%18 : i32] : vector<2xf32>
    %185 = llvm.insertelement %166, %31[%9 : i32] : vector<2xf32>
    %186 = llvm.insertelement %167, %185[%18 : i32] : vector<2xf32>
    %187 = llvm.fmul %186, %77 : vector<2xf32>
    %188 = llvm.extractelement %187[%9 : i32] : vector<2xf32>
    %189 = llvm.extractelement %187[%18 : i32] : vector<2xf32>
    %190 = llvm.insertelement %168, %31[%9 : i32] : vector<2xf32>
    %191 = llvm.insertelement %169, %190[%18 : i32] : vector<2xf32>
    %192 = llvm.fmul %191, %77 : vector<2xf32>
    %193 = llvm.extractelement %192[%9 : i32] : vector<2xf32>
    %194 = llvm.extractelement %192[%18 : i32] : vector<2xf32>
    %195 = llvm.insertelement %170, %31[%9 : i32] : vector<2xf32>
    %196 = llvm.insertelement %171, %195[%18 : i32] : vector<2xf32>
    %197 = llvm.fmul %196, %77 : vector<2xf32>
    %198 = llvm.extractelement %197[%9 : i32] : vector<2xf32>
    %199 = llvm.extractelement %197[%18 : i32] : vector<2xf32>
    %200 = llvm.insertelement %172, %31[%9 : i32] : vector<2xf32>
    %201 = llvm.insertelement %173, %200[%18 : i32] : vector<2xf32>
    %202 = llvm.fmul %201, %77 : vector<2xf32>
    %203 = llvm.extractelement %202[%9 : i32] : vector<2xf32>
    %204 = llvm.extractelement %202[%18 : i32] : vector<2xf32>
    %205 = llvm.insertelement %174, %31[%9 : i32] : vector<2xf32>
    %206 = llvm.insertelement %175, %205[%18 : i32] : vector<2xf32>
    %207 = llvm.fmul %206, %77 : vector<2xf32>
    %208 = llvm.extractelement %207[%9 : i32] : vector<2xf32>
    %209 = llvm.extractelement %207[%18 : i32] : vector<2xf32>
    %210 = llvm.insertelement %176, %31[%9 : i32] : vector<2xf32>
    %211 = llvm.insertelement %177, %210[%18 : i32] : vector<2xf32>
    %212 = llvm.fmul %211, %77 : vector<2xf32>
    %213 = llvm.extractelement %212[%9 : i32] : vector<2xf32>
    %214 = llvm.extractelement %212[%18 : i32] : vector<2xf32>
    %215 = llvm.insertelement %178, %31[%9 : i32] : vector<2xf32>
    %216 = llvm.insertelement %179, %215[%18 : i32] : vector<2xf32>
    %217 = llvm.fmul %216, %77 : vector<2xf32>
    %218 = llvm.extractelement %217[%9 : i32] : vector<2xf32>
    %219 = llvm.extractelement %217[%18 : i32] : vector<2xf32>
    %220 = llvm.bitcast %183 : f32 to i32
    %221 = llvm.bitcast %184 : f32 to i32
    %222 = llvm.bitcast %188 : f32 to i32
    %223 = llvm.bitcast %189 : f32 to i32
    %224 = llvm.bitcast %193 : f32 to i32
    %225 = llvm.bitcast %194 : f32 to i32
    %226 = llvm.bitcast %198 : f32 to i32
    %227 = llvm.bitcast %199 : f32 to i32
    %228 = llvm.bitcast %203 : f32 to i32
    %229 = llvm.bitcast %204 : f32 to i32
    %230 = llvm.bitcast %208 : f32 to i32
    %231 = llvm.bitcast %209 : f32 to i32
    %232 = llvm.bitcast %213 : f32 to i32
    %233 = llvm.bitcast %214 : f32 to i32
    %234 = llvm.bitcast %218 : f32 to i32
    %235 = llvm.bitcast %219 : f32 to i32
    %236 = llvm.insertelement %220, %32[%9 : i32] : vector<16xi32>
    %237 = llvm.insertelement %221, %236[%18 : i32] : vector<16xi32>
    %238 = llvm.insertelement %222, %237[%19 : i32] : vector<16xi32>
    %239 = llvm.insertelement %223, %238[%13 : i32] : vector<16xi32>
    %240 = llvm.insertelement %224, %239[%20 : i32] : vector<16xi32>
    %241 = llvm.insertelement %225, %240[%7 : i32] : vector<16xi32>
    %242 = llvm.insertelement %226, %241[%21 : i32] : vector<16xi32>
    %243 = llvm.insertelement %227, %242[%22 : i32] : vector<16xi32>
    %244 = llvm.insertelement %228, %243[%23 : i32] : vector<16xi32>
    %245 = llvm.insertelement %229, %244[%24 : i32] : vector<16xi32>
    %246 = llvm.insertelement %230, %245[%25 : i32] : vector<16xi32>
    %247 = llvm.insertelement %231, %246[%26 : i32] : vector<16xi32>
    %248 = llvm.insertelement %232, %247[%27 : i32] : vector<16xi32>
    %249 = llvm.insertelement %233, %248[%28 : i32] : vector<16xi32>
    %250 = llvm.insertelement %234, %249[%29 : i32] : vector<16xi32>
    %251 = llvm.insertelement %235, %250[%30 : i32] : vector<16xi32>
    cute_nvgpu.arch.copy.SM100.tmem_store %40 registers(%251) {shape = "32x32b", repetitions = 16 : i64, async} : (!llvm.ptr<6>, vector<16xi32>) -> ()
    nvvm.tcgen05.wait.st
    nvvm.tcgen05.fence.before_thread_sync
    llvm.br ^bb2
  ^bb2:
    llvm.return
  }
}

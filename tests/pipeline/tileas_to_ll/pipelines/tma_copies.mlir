// Bulk copies by tensor maps.
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_90

// ---- a_copy_to_shared_memory
!memref = !nv_tileaa.memref<f16, [?, ?], [?, 1]>
!view = !nv_tileaa.tiled_view<partition, !memref, tile = [64, 32], dim_map = [0, 1], steps = [64, 32], sparse = -1, padding = zero>
!ring = !nv_tileas.buffer<f16, #builtin.int<2>, #cute.shared<16, swizzle<2,3,3> o (64,32):(32,1)>>
!pipeline = !nv_tileas.pipeline<#builtin.int<2>>
nv_tileaa.func @k attributes {num_warps = 4 : i32, producer_warps = 1 : i32, shared_bytes = 8224 : i32} {
^bb0(%p: !nv_tileaa.ptr<f16>, %rows: i32, %columns: i32, %stride: i32, %i: i32):
  %m = nv_tileas.make_memref %p sizes(%rows, %columns) strides(%stride) : (!nv_tileaa.ptr<f16>, i32, i32, i32) -> !memref
  %v = nv_tileas.block_tile %m : (!memref) -> !view
  %map = nv_tileas.make_tiled_tma_desc %m {dims = array<i64: 1, 0>, box = array<i64: 32, 64>, swizzle_mode = "64B"} : (!memref) -> !nv_tileas.tma_desc
  %ring = nv_tileas.alloc_tensor {shared_offset = 0 : i32} : !ring
  %pipeline = nv_tileas.async.pipeline.create {consumers = 4 : i32, bytes = 4096 : i32, shared_offset = 8192 : i32} : !pipeline
  nv_tileas.agent_switch {
    %t = arith.constant 0 : i32
    nv_tileas.async.pipeline.producer_acquire %pipeline, %t : (!pipeline, i32) -> ()
    nv_tileas.async.tiled_tma_load %v, %map, %ring, %pipeline, %t coords(%i, %rows) : (!view, !nv_tileas.tma_desc, i32, i32, !ring, !pipeline, i32) -> ()
    nv_tileas.yield
  } {
    %t = arith.constant 0 : i32
    nv_tileas.async.pipeline.consumer_wait %pipeline, %t : (!pipeline, i32) -> ()
    nv_tileas.yield
  }
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_90a\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 0, \22role\22: \22pointer\22, \22argument\22: 0, \22element\22: \22f16\22, \22access\22: \22loaded\22}, {\22name\22: \22arg1\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 8, \22role\22: \22scalar\22, \22argument\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 12, \22role\22: \22scalar\22, \22argument\22: 2}, {\22name\22: \22arg3\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 16, \22role\22: \22scalar\22, \22argument\22: 3}, {\22name\22: \22arg4\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 20, \22role\22: \22scalar\22, \22argument\22: 4}, {\22name\22: \22map0\22, \22kind\22: \22tensor_map\22, \22size\22: 128, \22offset\22: 64, \22role\22: \22tensor_map\22}], \22param_sizes\22: [8, 4, 4, 4, 4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22param\22: 0, \22view\22: {\22extents\22: [null, null], \22strides\22: [null, 1]}}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22scalar\22, \22param\22: 2}, {\22name\22: \22arg3\22, \22kind\22: \22scalar\22, \22param\22: 3}, {\22name\22: \22arg4\22, \22kind\22: \22scalar\22, \22param\22: 4}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 160, \22shared_memory\22: {\22static\22: 8224, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: [{\22param\22: 5, \22element\22: \22f16\22, \22base\22: {\22param\22: 0}, \22shape\22: [{\22param\22: 2}, {\22param\22: 1}], \22strides\22: [{\22param\22: 3, \22times\22: 2}], \22box\22: [32, 64], \22element_strides\22: [1, 1], \22swizzle\22: \2264B\22, \22interleave\22: \22none\22, \22fill\22: \22zero\22, \22l2_promotion\22: \22128B\22}]}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<8224 x i8>
  llvm.func @k(%a0: !llvm.ptr<1>, %a1: i32, %a2: i32, %a3: i32, %a4: i32, %map0: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant}) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 160>} {
    %0 = builtin.unrealized_conversion_cast %map0 : !llvm.ptr to !nvgpu.tensormap.descriptor<tensor = memref<64x32xf16, 3 : i64>, swizzle = swizzle_64b, l2promo = none, oob = zero, interleave = none>
    %1 = gpu.thread_id x
    %2 = arith.index_cast %1 : index to i32
    %3 = llvm.mlir.constant(0 : i32) : i32
    %4 = llvm.icmp "eq" %2, %3 : i32
    %5 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %6 = llvm.mlir.constant(8192) : i64
    %7 = llvm.mlir.constant(1 : i32) : i32
    %8 = llvm.mlir.constant(8200) : i64
    %9 = llvm.mlir.constant(8208) : i64
    %10 = llvm.mlir.constant(4 : i32) : i32
    %11 = llvm.mlir.constant(8216) : i64
    %12 = llvm.mlir.constant(5 : i32) : i32
    %13 = llvm.lshr %2, %12 : i32
    %14 = llvm.mlir.constant(32 : i32) : i32
    %15, %16 = gpu.shuffle idx %13, %3, %14 : i32
    %17 = llvm.icmp "uge" %15, %10 : i32
    %18 = llvm.mlir.constant(-1 : i32) : i32
    %19 = llvm.ptrtoint %5 : !llvm.ptr<3> to i32
    %20 = llvm.mlir.constant(8192 : i32) : i32
    %21 = llvm.mlir.constant(16 : i32) : i32
    %22 = llvm.mlir.constant(4096 : i32) : i32
    %23 = llvm.mlir.constant(31 : i32) : i32
    %24 = llvm.add %a2, %23 : i32
    %25 = llvm.udiv %24, %14 : i32
    %26 = nvvm.intr.umin %a1, %25 : i32
    %27 = llvm.mul %26, %14 : i32
    %28 = llvm.mlir.constant(63 : i32) : i32
    %29 = llvm.add %a1, %28 : i32
    %30 = llvm.mlir.constant(64 : i32) : i32
    %31 = llvm.udiv %29, %30 : i32
    %32 = nvvm.intr.umin %a4, %31 : i32
    %33 = llvm.mul %32, %30 : i32
    %34 = llvm.icmp "ne" %a1, %3 : i32
    %35 = llvm.icmp "ne" %a2, %3 : i32
    %36 = llvm.and %34, %35 : i1
    %37 = llvm.mlir.constant(1073741824 : i32) : i32
    %38 = llvm.select %36, %3, %37 : i1, i32
    %39 = llvm.add %33, %38 : i32
    %40 = llvm.sext %a3 : i32 to i64
    llvm.cond_br %4, ^bb1, ^bb2
  ^bb1:
    %41 = llvm.getelementptr %5[%6] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %42 = builtin.unrealized_conversion_cast %41 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %43 = builtin.unrealized_conversion_cast %3 : i32 to index
    %44 = builtin.unrealized_conversion_cast %7 : i32 to index
    nvgpu.mbarrier.init %42[%43], %44 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %45 = llvm.getelementptr %5[%8] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %46 = builtin.unrealized_conversion_cast %45 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %46[%43], %44 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %47 = llvm.getelementptr %5[%9] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %48 = builtin.unrealized_conversion_cast %47 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %49 = builtin.unrealized_conversion_cast %10 : i32 to index
    nvgpu.mbarrier.init %48[%43], %49 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %50 = llvm.getelementptr %5[%11] : (!llvm.ptr<3>, i64) -> !llvm.ptr<3>, i8
    %51 = builtin.unrealized_conversion_cast %50 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvgpu.mbarrier.init %51[%43], %49 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    nvvm.fence.mbarrier.init
    llvm.br ^bb2
  ^bb2:
    gpu.barrier
    llvm.cond_br %17, ^bb3, ^bb8
  ^bb3:
    %52 = nvvm.elect.sync %18 : (i32) -> !llvm.struct<(i32, i1)>
    %53 = llvm.extractvalue %52[1] : !llvm.struct<(i32, i1)>
    llvm.cond_br %53, ^bb4, ^bb7
  ^bb4:
    nvgpu.tma.prefetch.descriptor %0 : !nvgpu.tensormap.descriptor<tensor = memref<64x32xf16, 3 : i64>, swizzle = swizzle_64b, l2promo = none, oob = zero, interleave = none>
    %54 = llvm.add %19, %20 : i32
    %55 = llvm.add %54, %21 : i32
    %56 = llvm.inttoptr %55 : i32 to !llvm.ptr<3>
    %57 = builtin.unrealized_conversion_cast %56 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %58 = builtin.unrealized_conversion_cast %3 : i32 to index
    %59 = builtin.unrealized_conversion_cast %7 : i32 to i1
    llvm.br ^bb5
  ^bb5:
    %60 = nvgpu.mbarrier.try_wait.parity %57[%58], %59 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> i1
    llvm.cond_br %60, ^bb6, ^bb5
  ^bb6:
    nvvm.memory_clobber
    %61 = llvm.inttoptr %54 : i32 to !llvm.ptr<3>
    %62 = builtin.unrealized_conversion_cast %61 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %63 = builtin.unrealized_conversion_cast %22 : i32 to index
    nvgpu.mbarrier.arrive.expect_tx %62[%58], %63 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %64 = llvm.inttoptr %19 : i32 to !llvm.ptr<3>
    %65 = builtin.unrealized_conversion_cast %64 : !llvm.ptr<3> to memref<64x32xf16, 3 : i64>
    %66 = builtin.unrealized_conversion_cast %27 : i32 to index
    %67 = builtin.unrealized_conversion_cast %39 : i32 to index
    nvgpu.tma.async.load %0[%66, %67], %62[%58] to %65 : !nvgpu.tensormap.descriptor<tensor = memref<64x32xf16, 3 : i64>, swizzle = swizzle_64b, l2promo = none, oob = zero, interleave = none>, !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> memref<64x32xf16, 3 : i64>
    llvm.br ^bb11
  ^bb7:
    llvm.br ^bb11
  ^bb8:
    %68 = llvm.add %19, %20 : i32
    %69 = llvm.inttoptr %68 : i32 to !llvm.ptr<3>
    %70 = builtin.unrealized_conversion_cast %69 : !llvm.ptr<3> to !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
    %71 = builtin.unrealized_conversion_cast %3 : i32 to index
    %72 = builtin.unrealized_conversion_cast %3 : i32 to i1
    llvm.br ^bb9
  ^bb9:
    %73 = nvgpu.mbarrier.try_wait.parity %70[%71], %72 : !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>> -> i1
    llvm.cond_br %73, ^bb10, ^bb9
  ^bb10:
    nvvm.memory_clobber
    llvm.br ^bb11
  ^bb11:
    llvm.return
  }
}

// ---- a_copy_from_shared_memory_follows_a_fence_of_the_proxies
!memref = !nv_tileaa.memref<f32, [?, ?], [?, 1]>
!view = !nv_tileaa.tiled_view<partition, !memref, tile = [8, 32], dim_map = [0, 1], steps = [8, 32], sparse = -1, padding = none>
!tile = tensor<8x32xf32, #cute.layout<(8,32), (32,4,2):(1,64,32)>>
nv_tileaa.func @k attributes {num_warps = 4 : i32, shared_bytes = 1024 : i32} {
^bb0(%p: !nv_tileaa.ptr<f32>, %rows: i32, %columns: i32, %stride: i32, %i: i32, %value: f32):
  %m = nv_tileas.make_memref %p sizes(%rows, %columns) strides(%stride) : (!nv_tileaa.ptr<f32>, i32, i32, i32) -> !memref
  %v = nv_tileas.block_tile %m : (!memref) -> !view
  %map = nv_tileas.make_tiled_tma_desc %m {dims = array<i64: 1, 0>, box = array<i64: 32, 8>, swizzle_mode = "none"} : (!memref) -> !nv_tileas.tma_desc
  %x = nv_tileas.splat %value : (f32) -> !tile
  %t = nv_tileas.async.tiled_tma_store %v, %map, %x coords(%i, %i) {copy_atom = "stmatrix", placement = #cute.shared<32, (8,32):(32,1)>, chunks = 1 : i32, slots = 1 : i32, scratch_bytes = 1024 : i32, scratch_offset = 0 : i32, sync_before} : (!view, !nv_tileas.tma_desc, !tile, i32, i32) -> !nv_tileaa.mem_token
  nv_tileas.async.tma_store_wait {read}
  nv_tileas.async.tma_store_wait
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_90a\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 0, \22role\22: \22pointer\22, \22argument\22: 0, \22element\22: \22f32\22, \22access\22: \22stored\22}, {\22name\22: \22arg1\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 8, \22role\22: \22scalar\22, \22argument\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 12, \22role\22: \22scalar\22, \22argument\22: 2}, {\22name\22: \22arg3\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 16, \22role\22: \22scalar\22, \22argument\22: 3}, {\22name\22: \22arg4\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 20, \22role\22: \22scalar\22, \22argument\22: 4}, {\22name\22: \22arg5\22, \22kind\22: \22f32\22, \22size\22: 4, \22offset\22: 24, \22role\22: \22scalar\22, \22argument\22: 5}, {\22name\22: \22map0\22, \22kind\22: \22tensor_map\22, \22size\22: 128, \22offset\22: 64, \22role\22: \22tensor_map\22}], \22param_sizes\22: [8, 4, 4, 4, 4, 4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22param\22: 0, \22view\22: {\22extents\22: [null, null], \22strides\22: [null, 1]}}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22scalar\22, \22param\22: 2}, {\22name\22: \22arg3\22, \22kind\22: \22scalar\22, \22param\22: 3}, {\22name\22: \22arg4\22, \22kind\22: \22scalar\22, \22param\22: 4}, {\22name\22: \22arg5\22, \22kind\22: \22scalar\22, \22param\22: 5}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 128, \22shared_memory\22: {\22static\22: 1024, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: [{\22param\22: 6, \22element\22: \22f32\22, \22base\22: {\22param\22: 0}, \22shape\22: [{\22param\22: 2}, {\22param\22: 1}], \22strides\22: [{\22param\22: 3, \22times\22: 4}], \22box\22: [32, 8], \22element_strides\22: [1, 1], \22swizzle\22: \22none\22, \22interleave\22: \22none\22, \22fill\22: \22zero\22, \22l2_promotion\22: \22128B\22}]}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<1024 x i8>
  llvm.func @k(%a0: !llvm.ptr<1>, %a1: i32, %a2: i32, %a3: i32, %a4: i32, %a5: f32, %map0: !llvm.ptr {llvm.byval = !llvm.array<128 x i8>, llvm.align = 64 : i64, nvvm.grid_constant}) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
    %0 = builtin.unrealized_conversion_cast %map0 : !llvm.ptr to !nvgpu.tensormap.descriptor<tensor = memref<8x32xf32, 3 : i64>, swizzle = none, l2promo = none, oob = zero, interleave = none>
    %1 = gpu.thread_id x
    %2 = arith.index_cast %1 : index to i32
    %3 = llvm.mlir.constant(31 : i32) : i32
    %4 = llvm.and %2, %3 : i32
    %5 = llvm.mlir.constant(15 : i32) : i32
    %6 = llvm.and %4, %5 : i32
    %7 = llvm.mlir.constant(4 : i32) : i32
    %8 = llvm.shl %6, %7 : i32
    %9 = llvm.mlir.constant(5 : i32) : i32
    %10 = llvm.lshr %2, %9 : i32
    %11 = llvm.mlir.constant(3 : i32) : i32
    %12 = llvm.and %10, %11 : i32
    %13 = llvm.mlir.constant(8 : i32) : i32
    %14 = llvm.shl %12, %13 : i32
    %15 = llvm.xor %8, %14 : i32
    %16 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %17 = llvm.ptrtoint %16 : !llvm.ptr<3> to i32
    %18 = llvm.add %15, %17 : i32
    %19 = llvm.mlir.constant(0 : i32) : i32
    %20 = llvm.mlir.constant(32 : i32) : i32
    %21, %22 = gpu.shuffle idx %10, %19, %20 : i32
    %23 = llvm.icmp "eq" %21, %19 : i32
    %24 = llvm.mlir.constant(-1 : i32) : i32
    %25 = llvm.add %a2, %3 : i32
    %26 = llvm.udiv %25, %20 : i32
    %27 = nvvm.intr.umin %a4, %26 : i32
    %28 = llvm.mul %27, %20 : i32
    %29 = llvm.mlir.constant(7 : i32) : i32
    %30 = llvm.add %a1, %29 : i32
    %31 = llvm.udiv %30, %13 : i32
    %32 = nvvm.intr.umin %a4, %31 : i32
    %33 = llvm.mul %32, %13 : i32
    %34 = llvm.icmp "ne" %a1, %19 : i32
    %35 = llvm.icmp "ne" %a2, %19 : i32
    %36 = llvm.and %34, %35 : i1
    %37 = llvm.sext %a3 : i32 to i64
    gpu.barrier
    %38 = llvm.bitcast %a5 : f32 to i32
    cute_nvgpu.arch.copy.stsm %18 registers(%38, %38) {atom = !cute_nvgpu.atom.stsm<"8x8 x2">, offset = 0 : i64} : (i32, i32, i32) -> ()
    nvvm.fence.proxy.async {shared}
    gpu.barrier
    llvm.cond_br %23, ^bb1, ^bb6
  ^bb1:
    %39 = nvvm.elect.sync %24 : (i32) -> !llvm.struct<(i32, i1)>
    %40 = llvm.extractvalue %39[1] : !llvm.struct<(i32, i1)>
    llvm.cond_br %40, ^bb2, ^bb5
  ^bb2:
    llvm.cond_br %36, ^bb3, ^bb4
  ^bb3:
    %41 = builtin.unrealized_conversion_cast %28 : i32 to index
    %42 = builtin.unrealized_conversion_cast %33 : i32 to index
    %43 = llvm.inttoptr %17 : i32 to !llvm.ptr<3>
    %44 = builtin.unrealized_conversion_cast %43 : !llvm.ptr<3> to memref<8x32xf32, 3 : i64>
    nvgpu.tma.async.store %44 to %0[%41, %42] : memref<8x32xf32, 3 : i64> -> !nvgpu.tensormap.descriptor<tensor = memref<8x32xf32, 3 : i64>, swizzle = none, l2promo = none, oob = zero, interleave = none>
    nvvm.cp.async.bulk.commit.group
    llvm.br ^bb4
  ^bb4:
    llvm.br ^bb5
  ^bb5:
    llvm.br ^bb6
  ^bb6:
    llvm.cond_br %23, ^bb7, ^bb8
  ^bb7:
    nvvm.cp.async.bulk.wait_group {pending = 0 : i64, read}
    llvm.br ^bb8
  ^bb8:
    llvm.cond_br %23, ^bb9, ^bb10
  ^bb9:
    nvvm.cp.async.bulk.wait_group {pending = 0 : i64}
    llvm.br ^bb10
  ^bb10:
    llvm.return
  }
}

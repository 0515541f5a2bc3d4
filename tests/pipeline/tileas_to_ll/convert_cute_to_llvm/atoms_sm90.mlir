// Atoms of sm_90: products of a warpgroup, boxes of tensors.
// run: convert-cute-and-cute-nvgpu-to-llvm sm_90

// ---- a_product_of_descriptors
// seed: lowering-overview companion-cute
func.func @wgmma(%a: !cute_nvgpu.smem_desc, %b: !cute_nvgpu.smem_desc, %c: !llvm.struct<(f32, f32, f32, f32)>) -> !llvm.struct<(f32, f32, f32, f32)> {
  %d = cute_nvgpu.arch.mma.SM90 %a, %b, %c {atom = !cute_nvgpu.sm90.mma<"64x8x16 f16 f16 f32">} : (!cute_nvgpu.smem_desc, !cute_nvgpu.smem_desc, !llvm.struct<(f32, f32, f32, f32)>) -> !llvm.struct<(f32, f32, f32, f32)>
  func.return %d : !llvm.struct<(f32, f32, f32, f32)>
}
// ==>
func.func @wgmma(%a: i64, %b: i64, %c: !llvm.struct<(f32, f32, f32, f32)>) -> !llvm.struct<(f32, f32, f32, f32)> {
  nvvm.wgmma.fence.aligned
  %d = nvvm.wgmma.mma_async %a, %b, %c, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<f16>, <one>, <row>], B[<f16>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
  func.return %d : !llvm.struct<(f32, f32, f32, f32)>
}

// ---- a_product_of_views
// seed: lowering-overview companion-cute
func.func @call(%a: !cute.memref<bf16, smem, "S<3,3,3> o 0 o (64,64):(64,1)">, %b: !cute.memref<bf16, smem, "S<3,3,3> o 0 o (8,64):(64,1)">) {
  %atom = cute.make_atom : () -> !cute_nvgpu.sm90.mma<"64x8x16 bf16 bf16 f32">
  %da = cute_nvgpu.smem_desc_view %a : (!cute.memref<bf16, smem, "S<3,3,3> o 0 o (64,64):(64,1)">) -> !cute_nvgpu.smem_desc
  %db = cute_nvgpu.smem_desc_view %b : (!cute.memref<bf16, smem, "S<3,3,3> o 0 o (8,64):(64,1)">) -> !cute_nvgpu.smem_desc
  %c = cute.memref.alloca : () -> !cute.memref<f32, rmem, "4:1">
  cute.mma_atom_call %atom, %c, %da, %db, %c : (!cute_nvgpu.sm90.mma<"64x8x16 bf16 bf16 f32">, !cute.memref<f32, rmem, "4:1">, !cute_nvgpu.smem_desc, !cute_nvgpu.smem_desc, !cute.memref<f32, rmem, "4:1">) -> ()
  func.return
}
// ==>
func.func @call(%a: !llvm.struct<(!llvm.ptr<3>, !llvm.struct<(i32, i32, i32, i32)>)>, %b: !llvm.struct<(!llvm.ptr<3>, !llvm.struct<(i32, i32, i32, i32)>)>) {
  %0 = llvm.extractvalue %b[0] : !llvm.struct<(!llvm.ptr<3>, !llvm.struct<(i32, i32, i32, i32)>)>
  %1 = llvm.extractvalue %b[1] : !llvm.struct<(!llvm.ptr<3>, !llvm.struct<(i32, i32, i32, i32)>)>
  %2 = llvm.extractvalue %1[0] : !llvm.struct<(i32, i32, i32, i32)>
  %3 = llvm.extractvalue %1[1] : !llvm.struct<(i32, i32, i32, i32)>
  %4 = llvm.extractvalue %1[2] : !llvm.struct<(i32, i32, i32, i32)>
  %5 = llvm.extractvalue %1[3] : !llvm.struct<(i32, i32, i32, i32)>
  %6 = llvm.extractvalue %a[0] : !llvm.struct<(!llvm.ptr<3>, !llvm.struct<(i32, i32, i32, i32)>)>
  %7 = llvm.extractvalue %a[1] : !llvm.struct<(!llvm.ptr<3>, !llvm.struct<(i32, i32, i32, i32)>)>
  %8 = llvm.extractvalue %7[0] : !llvm.struct<(i32, i32, i32, i32)>
  %9 = llvm.extractvalue %7[1] : !llvm.struct<(i32, i32, i32, i32)>
  %10 = llvm.extractvalue %7[2] : !llvm.struct<(i32, i32, i32, i32)>
  %11 = llvm.extractvalue %7[3] : !llvm.struct<(i32, i32, i32, i32)>
  %12 = llvm.ptrtoint %6 : !llvm.ptr<3> to i64
  %13 = llvm.mlir.constant(262143) : i64
  %14 = llvm.and %12, %13 : i64
  %15 = llvm.mlir.constant(4) : i64
  %16 = llvm.lshr %14, %15 : i64
  %17 = llvm.mlir.constant(4611686293305360384) : i64
  %18 = llvm.or %16, %17 : i64
  %19 = llvm.ptrtoint %0 : !llvm.ptr<3> to i64
  %20 = llvm.mlir.constant(262143) : i64
  %21 = llvm.and %19, %20 : i64
  %22 = llvm.mlir.constant(4) : i64
  %23 = llvm.lshr %21, %22 : i64
  %24 = llvm.mlir.constant(4611686293305360384) : i64
  %25 = llvm.or %23, %24 : i64
  %26 = llvm.mlir.constant(1 : i32) : i32
  %27 = llvm.alloca %26 x !llvm.array<4 x f32> {alignment = 16 : i64} : (i32) -> !llvm.ptr
  %28 = llvm.addrspacecast %27 : !llvm.ptr to !llvm.ptr<5>
  %29 = llvm.load %28 : !llvm.ptr<5> -> f32
  %30 = llvm.getelementptr %28[1] : (!llvm.ptr<5>) -> !llvm.ptr<5>, f32
  %31 = llvm.load %30 : !llvm.ptr<5> -> f32
  %32 = llvm.getelementptr %28[2] : (!llvm.ptr<5>) -> !llvm.ptr<5>, f32
  %33 = llvm.load %32 : !llvm.ptr<5> -> f32
  %34 = llvm.getelementptr %28[3] : (!llvm.ptr<5>) -> !llvm.ptr<5>, f32
  %35 = llvm.load %34 : !llvm.ptr<5> -> f32
  %36 = llvm.mlir.undef : !llvm.struct<(f32, f32, f32, f32)>
  %37 = llvm.insertvalue %29, %36[0] : !llvm.struct<(f32, f32, f32, f32)>
  %38 = llvm.insertvalue %31, %37[1] : !llvm.struct<(f32, f32, f32, f32)>
  %39 = llvm.insertvalue %33, %38[2] : !llvm.struct<(f32, f32, f32, f32)>
  %40 = llvm.insertvalue %35, %39[3] : !llvm.struct<(f32, f32, f32, f32)>
  nvvm.wgmma.fence.aligned
  %41 = nvvm.wgmma.mma_async %18, %25, %40, <m = 64, n = 8, k = 16>, D[<f32>, <one>], A[<bf16>, <one>, <row>], B[<bf16>, <one>, <col>] : !llvm.struct<(f32, f32, f32, f32)> -> !llvm.struct<(f32, f32, f32, f32)>
  nvvm.wgmma.commit.group.sync.aligned
  nvvm.wgmma.wait.group.sync.aligned 0
  %42 = llvm.extractvalue %41[0] : !llvm.struct<(f32, f32, f32, f32)>
  %43 = llvm.extractvalue %41[1] : !llvm.struct<(f32, f32, f32, f32)>
  %44 = llvm.extractvalue %41[2] : !llvm.struct<(f32, f32, f32, f32)>
  %45 = llvm.extractvalue %41[3] : !llvm.struct<(f32, f32, f32, f32)>
  llvm.store %42, %28 : f32, !llvm.ptr<5>
  %46 = llvm.getelementptr %28[1] : (!llvm.ptr<5>) -> !llvm.ptr<5>, f32
  llvm.store %43, %46 : f32, !llvm.ptr<5>
  %47 = llvm.getelementptr %28[2] : (!llvm.ptr<5>) -> !llvm.ptr<5>, f32
  llvm.store %44, %47 : f32, !llvm.ptr<5>
  %48 = llvm.getelementptr %28[3] : (!llvm.ptr<5>) -> !llvm.ptr<5>, f32
  llvm.store %45, %48 : f32, !llvm.ptr<5>
  func.return
}

// ---- boxes_of_tensors
// seed: lowering-overview companion-cute
// seed: nvgpu-gpu-to-nvvm tma-reduce
func.func @tma(%s: !cute.ptr<f16, smem>, %m: !cute_nvgpu.tma_desc, %bar: !llvm.ptr<3>, %i: i32, %j: i32, %h: i64) {
  cute_nvgpu.arch.copy.SM100.tma_load %s, %m, %bar coords(%i, %j) : (!cute.ptr<f16, smem>, !cute_nvgpu.tma_desc, !llvm.ptr<3>, i32, i32) -> ()
  cute_nvgpu.arch.copy.SM100.tma_store %m, %s coords(%i) : (!cute_nvgpu.tma_desc, !cute.ptr<f16, smem>, i32) -> ()
  cute_nvgpu.arch.copy.SM100.tma_reduce %m, %s coords(%i, %j) {kind = "add"} : (!cute_nvgpu.tma_desc, !cute.ptr<f16, smem>, i32, i32) -> ()
  cute_nvgpu.arch.copy.SM100.tma_reduce %m, %s coords(%i, %j, %i) hint(%h) {kind = "max", mode = "im2col"} : (!cute_nvgpu.tma_desc, !cute.ptr<f16, smem>, i32, i32, i32, i64) -> ()
  func.return
}
// ==>
func.func @tma(%s: !llvm.ptr<3>, %m: !llvm.ptr, %bar: !llvm.ptr<3>, %i: i32, %j: i32, %h: i64) {
  nvvm.cp.async.bulk.tensor.shared.cluster.global %s, %m, %bar, box[%i, %j] {mode = #nvvm.load_mode<tile>} : !llvm.ptr<3>, !llvm.ptr
  nvvm.cp.async.bulk.tensor.global.shared.cta %m, %s, box[%i] {mode = #nvvm.load_mode<tile>} : !llvm.ptr, !llvm.ptr<3>
  nvvm.cp.async.bulk.tensor.reduce %m, %s coordinates(%i, %j) {red_op = "add", mode = "tile"} : (!llvm.ptr, i32, i32, !llvm.ptr<3>) -> ()
  nvvm.cp.async.bulk.tensor.reduce %m, %s coordinates(%i, %j, %i) hint(%h) {red_op = "max", mode = "im2col"} : (!llvm.ptr, i32, i32, i32, !llvm.ptr<3>, i64) -> ()
  func.return
}

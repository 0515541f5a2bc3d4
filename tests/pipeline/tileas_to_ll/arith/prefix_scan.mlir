// Scans: neighboring registers first, lanes by shuffles, segments of warps by shared memory.
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_80

// ---- a_scan_within_a_warp
!tile = tensor<64xi32, #cute.layout<(64), (32,1,2):(2,0,1)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
  %x = nv_tileas.make_range : !tile
  %sum = nv_tileas.scan %x attributes {axis = 0 : i32} : !tile {
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    nv_tileas.yield %c : (i32) -> ()
  }
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [], \22param_sizes\22: [], \22arguments\22: [], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.mlir.constant(1 : i32) : i32
    %5 = llvm.shl %3, %4 : i32
    %6 = llvm.mlir.constant(30 : i32) : i32
    %7 = llvm.and %1, %6 : i32
    %8 = llvm.and %1, %4 : i32
    %9 = llvm.mlir.constant(0 : i32) : i32
    %10 = llvm.icmp "ne" %8, %9 : i32
    %11 = llvm.mlir.constant(32 : i32) : i32
    %12 = llvm.mlir.constant(29 : i32) : i32
    %13 = llvm.and %1, %12 : i32
    %14 = llvm.or %13, %4 : i32
    %15 = llvm.mlir.constant(2 : i32) : i32
    %16 = llvm.and %1, %15 : i32
    %17 = llvm.icmp "ne" %16, %9 : i32
    %18 = llvm.mlir.constant(27 : i32) : i32
    %19 = llvm.and %1, %18 : i32
    %20 = llvm.mlir.constant(3 : i32) : i32
    %21 = llvm.or %19, %20 : i32
    %22 = llvm.mlir.constant(4 : i32) : i32
    %23 = llvm.and %1, %22 : i32
    %24 = llvm.icmp "ne" %23, %9 : i32
    %25 = llvm.mlir.constant(23 : i32) : i32
    %26 = llvm.and %1, %25 : i32
    %27 = llvm.mlir.constant(7 : i32) : i32
    %28 = llvm.or %26, %27 : i32
    %29 = llvm.mlir.constant(8 : i32) : i32
    %30 = llvm.and %1, %29 : i32
    %31 = llvm.icmp "ne" %30, %9 : i32
    %32 = llvm.mlir.constant(15 : i32) : i32
    %33 = llvm.and %1, %32 : i32
    %34 = llvm.or %33, %32 : i32
    %35 = llvm.mlir.constant(16 : i32) : i32
    %36 = llvm.and %1, %35 : i32
    %37 = llvm.icmp "ne" %36, %9 : i32
    %38 = llvm.add %5, %4 : i32
    %39 = llvm.add %5, %38 : i32
    %40, %41 = gpu.shuffle idx %39, %7, %11 : i32
    %42 = llvm.add %40, %5 : i32
    %43 = llvm.add %40, %39 : i32
    %44 = llvm.select %10, %42, %5 : i1, i32
    %45 = llvm.select %10, %43, %39 : i1, i32
    %46, %47 = gpu.shuffle idx %45, %14, %11 : i32
    %48 = llvm.add %46, %44 : i32
    %49 = llvm.add %46, %45 : i32
    %50 = llvm.select %17, %48, %44 : i1, i32
    %51 = llvm.select %17, %49, %45 : i1, i32
    %52, %53 = gpu.shuffle idx %51, %21, %11 : i32
    %54 = llvm.add %52, %50 : i32
    %55 = llvm.add %52, %51 : i32
    %56 = llvm.select %24, %54, %50 : i1, i32
    %57 = llvm.select %24, %55, %51 : i1, i32
    %58, %59 = gpu.shuffle idx %57, %28, %11 : i32
    %60 = llvm.add %58, %56 : i32
    %61 = llvm.add %58, %57 : i32
    %62 = llvm.select %31, %60, %56 : i1, i32
    %63 = llvm.select %31, %61, %57 : i1, i32
    %64, %65 = gpu.shuffle idx %63, %34, %11 : i32
    %66 = llvm.add %64, %62 : i32
    %67 = llvm.add %64, %63 : i32
    %68 = llvm.select %37, %66, %62 : i1, i32
    %69 = llvm.select %37, %67, %63 : i1, i32
    llvm.return
  }
}

// ---- a_scan_from_the_end
!tile = tensor<32xf32, #cute.layout<(32), (32,1,1):(1,0,0)>>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%v: f32):
  %x = nv_tileas.splat %v : (f32) -> !tile
  %sum = nv_tileas.scan %x attributes {axis = 0 : i32, reverse} : !tile {
  ^bb0(%a: f32, %b: f32):
    %c = nv_tileas.addf %a, %b {rounding_mode = "nearest_even"} : f32
    nv_tileas.yield %c : (f32) -> ()
  }
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22f32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}], \22param_sizes\22: [4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: f32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.mlir.constant(1 : i32) : i32
    %5 = llvm.or %3, %4 : i32
    %6 = llvm.and %1, %4 : i32
    %7 = llvm.mlir.constant(0 : i32) : i32
    %8 = llvm.icmp "eq" %6, %7 : i32
    %9 = llvm.mlir.constant(32 : i32) : i32
    %10 = llvm.mlir.constant(30 : i32) : i32
    %11 = llvm.and %1, %10 : i32
    %12 = llvm.mlir.constant(2 : i32) : i32
    %13 = llvm.or %11, %12 : i32
    %14 = llvm.and %1, %12 : i32
    %15 = llvm.icmp "eq" %14, %7 : i32
    %16 = llvm.mlir.constant(28 : i32) : i32
    %17 = llvm.and %1, %16 : i32
    %18 = llvm.mlir.constant(4 : i32) : i32
    %19 = llvm.or %17, %18 : i32
    %20 = llvm.and %1, %18 : i32
    %21 = llvm.icmp "eq" %20, %7 : i32
    %22 = llvm.mlir.constant(24 : i32) : i32
    %23 = llvm.and %1, %22 : i32
    %24 = llvm.mlir.constant(8 : i32) : i32
    %25 = llvm.or %23, %24 : i32
    %26 = llvm.and %1, %24 : i32
    %27 = llvm.icmp "eq" %26, %7 : i32
    %28 = llvm.mlir.constant(16 : i32) : i32
    %29 = llvm.and %1, %28 : i32
    %30 = llvm.or %29, %28 : i32
    %31 = llvm.icmp "eq" %29, %7 : i32
    %32, %33 = gpu.shuffle idx %a0, %5, %9 : f32
    %34 = llvm.fadd %32, %a0 : f32
    %35 = llvm.select %8, %34, %a0 : i1, f32
    %36, %37 = gpu.shuffle idx %35, %13, %9 : f32
    %38 = llvm.fadd %36, %35 : f32
    %39 = llvm.select %15, %38, %35 : i1, f32
    %40, %41 = gpu.shuffle idx %39, %19, %9 : f32
    %42 = llvm.fadd %40, %39 : f32
    %43 = llvm.select %21, %42, %39 : i1, f32
    %44, %45 = gpu.shuffle idx %43, %25, %9 : f32
    %46 = llvm.fadd %44, %43 : f32
    %47 = llvm.select %27, %46, %43 : i1, f32
    %48, %49 = gpu.shuffle idx %47, %30, %9 : f32
    %50 = llvm.fadd %48, %47 : f32
    %51 = llvm.select %31, %50, %47 : i1, f32
    llvm.return
  }
}

// ---- a_scan_between_warps
!tile = tensor<256xi32, #cute.layout<(256), (32,2,(2,2)):(2,64,(1,128))>>
nv_tileaa.func @k attributes {num_warps = 2 : i32, shared_bytes = 16 : i32} {
  %x = nv_tileas.make_range : !tile
  %sum = nv_tileas.scan %x attributes {axis = 0 : i32, scratch_bytes = 16 : i32, scratch_offset = 0 : i32} : !tile {
  ^bb0(%a: i32, %b: i32):
    %c = arith.addi %a, %b : i32
    nv_tileas.yield %c : (i32) -> ()
  }
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [], \22param_sizes\22: [], \22arguments\22: [], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 64, \22shared_memory\22: {\22static\22: 16, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<16 x i8>
  llvm.func @k() attributes {nvvm.kernel, nvvm.reqntid = array<i32: 64>} {
    %0 = gpu.thread_id x
    %1 = arith.index_cast %0 : index to i32
    %2 = llvm.mlir.constant(31 : i32) : i32
    %3 = llvm.and %1, %2 : i32
    %4 = llvm.and %3, %2 : i32
    %5 = llvm.mlir.constant(1 : i32) : i32
    %6 = llvm.shl %4, %5 : i32
    %7 = llvm.mlir.constant(5 : i32) : i32
    %8 = llvm.lshr %1, %7 : i32
    %9 = llvm.and %8, %5 : i32
    %10 = llvm.mlir.constant(6 : i32) : i32
    %11 = llvm.shl %9, %10 : i32
    %12 = llvm.xor %6, %11 : i32
    %13 = llvm.mlir.constant(128 : i32) : i32
    %14 = llvm.mlir.constant(129 : i32) : i32
    %15 = llvm.mlir.constant(30 : i32) : i32
    %16 = llvm.and %3, %15 : i32
    %17 = llvm.and %3, %5 : i32
    %18 = llvm.mlir.constant(0 : i32) : i32
    %19 = llvm.icmp "ne" %17, %18 : i32
    %20 = llvm.mlir.constant(32 : i32) : i32
    %21 = llvm.mlir.constant(29 : i32) : i32
    %22 = llvm.and %3, %21 : i32
    %23 = llvm.or %22, %5 : i32
    %24 = llvm.mlir.constant(2 : i32) : i32
    %25 = llvm.and %3, %24 : i32
    %26 = llvm.icmp "ne" %25, %18 : i32
    %27 = llvm.mlir.constant(27 : i32) : i32
    %28 = llvm.and %3, %27 : i32
    %29 = llvm.mlir.constant(3 : i32) : i32
    %30 = llvm.or %28, %29 : i32
    %31 = llvm.mlir.constant(4 : i32) : i32
    %32 = llvm.and %3, %31 : i32
    %33 = llvm.icmp "ne" %32, %18 : i32
    %34 = llvm.mlir.constant(23 : i32) : i32
    %35 = llvm.and %3, %34 : i32
    %36 = llvm.mlir.constant(7 : i32) : i32
    %37 = llvm.or %35, %36 : i32
    %38 = llvm.mlir.constant(8 : i32) : i32
    %39 = llvm.and %3, %38 : i32
    %40 = llvm.icmp "ne" %39, %18 : i32
    %41 = llvm.mlir.constant(15 : i32) : i32
    %42 = llvm.and %3, %41 : i32
    %43 = llvm.or %42, %41 : i32
    %44 = llvm.mlir.constant(16 : i32) : i32
    %45 = llvm.and %3, %44 : i32
    %46 = llvm.icmp "ne" %45, %18 : i32
    %47 = llvm.shl %9, %24 : i32
    %48 = llvm.mlir.addressof @global_smem : !llvm.ptr<3>
    %49 = llvm.ptrtoint %48 : !llvm.ptr<3> to i32
    %50 = llvm.add %47, %49 : i32
    %51 = llvm.icmp "eq" %3, %2 : i32
    %52 = llvm.add %12, %5 : i32
    %53 = llvm.add %12, %13 : i32
    %54 = llvm.add %12, %14 : i32
    %55 = llvm.add %12, %52 : i32
    %56 = llvm.add %53, %54 : i32
    %57, %58 = gpu.shuffle idx %55, %16, %20 : i32
    %59, %60 = gpu.shuffle idx %56, %16, %20 : i32
    %61 = llvm.add %57, %12 : i32
    %62 = llvm.add %57, %55 : i32
    %63 = llvm.add %59, %53 : i32
    %64 = llvm.add %59, %56 : i32
    %65 = llvm.select %19, %61, %12 : i1, i32
    %66 = llvm.select %19, %62, %55 : i1, i32
    %67 = llvm.select %19, %63, %53 : i1, i32
    %68 = llvm.select %19, %64, %56 : i1, i32
    %69, %70 = gpu.shuffle idx %66, %23, %20 : i32
    %71, %72 = gpu.shuffle idx %68, %23, %20 : i32
    %73 = llvm.add %69, %65 : i32
    %74 = llvm.add %69, %66 : i32
    %75 = llvm.add %71, %67 : i32
    %76 = llvm.add %71, %68 : i32
    %77 = llvm.select %26, %73, %65 : i1, i32
    %78 = llvm.select %26, %74, %66 : i1, i32
    %79 = llvm.select %26, %75, %67 : i1, i32
    %80 = llvm.select %26, %76, %68 : i1, i32
    %81, %82 = gpu.shuffle idx %78, %30, %20 : i32
    %83, %84 = gpu.shuffle idx %80, %30, %20 : i32
    %85 = llvm.add %81, %77 : i32
    %86 = llvm.add %81, %78 : i32
    %87 = llvm.add %83, %79 : i32
    %88 = llvm.add %83, %80 : i32
    %89 = llvm.select %33, %85, %77 : i1, i32
    %90 = llvm.select %33, %86, %78 : i1, i32
    %91 = llvm.select %33, %87, %79 : i1, i32
    %92 = llvm.select %33, %88, %80 : i1, i32
    %93, %94 = gpu.shuffle idx %90, %37, %20 : i32
    %95, %96 = gpu.shuffle idx %92, %37, %20 : i32
    %97 = llvm.add %93, %89 : i32
    %98 = llvm.add %93, %90 : i32
    %99 = llvm.add %95, %91 : i32
    %100 = llvm.add %95, %92 : i32
    %101 = llvm.select %40, %97, %89 : i1, i32
    %102 = llvm.select %40, %98, %90 : i1, i32
    %103 = llvm.select %40, %99, %91 : i1, i32
    %104 = llvm.select %40, %100, %92 : i1, i32
    %105, %106 = gpu.shuffle idx %102, %43, %20 : i32
    %107, %108 = gpu.shuffle idx %104, %43, %20 : i32
    %109 = llvm.add %105, %101 : i32
    %110 = llvm.add %105, %102 : i32
    %111 = llvm.add %107, %103 : i32
    %112 = llvm.add %107, %104 : i32
    %113 = llvm.select %46, %109, %101 : i1, i32
    %114 = llvm.select %46, %110, %102 : i1, i32
    %115 = llvm.select %46, %111, %103 : i1, i32
    %116 = llvm.select %46, %112, %104 : i1, i32
    nvvm.st %50 values(%114) predicate(%51) {space = "shared"} : (i32, i32, i1) -> ()
    nvvm.st %50 values(%116) predicate(%51) {offset = 8 : i64, space = "shared"} : (i32, i32, i1) -> ()
    gpu.barrier
    %117 = nvvm.ld %49 {space = "shared"} : (i32) -> !llvm.struct<(i32, i32, i32, i32)>
    %118 = llvm.extractvalue %117[0] : !llvm.struct<(i32, i32, i32, i32)>
    %119 = llvm.extractvalue %117[1] : !llvm.struct<(i32, i32, i32, i32)>
    %120 = llvm.extractvalue %117[2] : !llvm.struct<(i32, i32, i32, i32)>
    %121 = llvm.extractvalue %117[3] : !llvm.struct<(i32, i32, i32, i32)>
    %122 = llvm.add %118, %119 : i32
    %123 = llvm.add %122, %120 : i32
    %124 = llvm.icmp "ne" %9, %18 : i32
    %125 = llvm.select %124, %123, %122 : i1, i32
    %126 = llvm.add %118, %113 : i32
    %127 = llvm.select %124, %126, %113 : i1, i32
    %128 = llvm.add %118, %114 : i32
    %129 = llvm.select %124, %128, %114 : i1, i32
    %130 = llvm.add %125, %115 : i32
    %131 = llvm.add %125, %116 : i32
    llvm.return
  }
}

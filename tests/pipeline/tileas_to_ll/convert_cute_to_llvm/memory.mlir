// Pointers, views, storage and partitions.
// run: convert-cute-and-cute-nvgpu-to-llvm sm_90

// ---- a_view_is_a_pointer_and_a_layout
// seed: lowering-overview companion-cute
func.func @copy(%p: !cute.ptr<f32, gmem>, %n: i32, %i: i32) {
  %shape = cute.make_shape %n : (i32) -> !cute.shape<"(8,?)">
  %layout = cute.make_layout %shape : (!cute.shape<"(8,?)">) -> !cute.layout<"(8,?):(1,8)">
  %view = cute.make_view %p, %layout : (!cute.ptr<f32, gmem>, !cute.layout<"(8,?):(1,8)">) -> !cute.memref<f32, gmem, "(8,?):(1,8)">
  %from = cute.make_coord %i : (i32) -> !cute.coord<"(3,?)">
  %to = cute.make_coord %i : (i32) -> !cute.coord<"(4,?)">
  %x = cute.memref.load %view, %from : (!cute.memref<f32, gmem, "(8,?):(1,8)">, !cute.coord<"(3,?)">) -> f32
  cute.memref.store %x, %view, %to : (f32, !cute.memref<f32, gmem, "(8,?):(1,8)">, !cute.coord<"(4,?)">) -> ()
  func.return
}
// ==>
func.func @copy(%p: !llvm.ptr<1>, %n: i32, %i: i32) {
  %0 = llvm.mlir.constant(8 : i32) : i32
  %1 = llvm.mul %n, %0 : i32
  %2 = llvm.mlir.constant(8 : i32) : i32
  %3 = llvm.mul %i, %2 : i32
  %4 = llvm.mlir.constant(3 : i32) : i32
  %5 = llvm.add %3, %4 : i32
  %6 = llvm.getelementptr %p[%5] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %x = llvm.load %6 : !llvm.ptr<1> -> f32
  %7 = llvm.mlir.constant(8 : i32) : i32
  %8 = llvm.mul %i, %7 : i32
  %9 = llvm.mlir.constant(4 : i32) : i32
  %10 = llvm.add %8, %9 : i32
  %11 = llvm.getelementptr %p[%10] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  llvm.store %x, %11 : f32, !llvm.ptr<1>
  func.return
}

// ---- storage_of_the_thread_and_of_the_cta
// seed: lowering-overview companion-cute
func.func @storage(%x: f16) {
  %r = cute.memref.alloca : () -> !cute.memref<f16, rmem, "(2,4):(4,1)">
  %s = cute.memref.alloc_smem {alignment = 128 : i64} : () -> !cute.memref<f16, smem, "(64,64):(64,1)">
  %v = cute.memref.load_vec %r : (!cute.memref<f16, rmem, "(2,4):(4,1)">) -> vector<8xf16>
  func.return
}
// ==>
// error[cute-dense]: 'cute.memref.load_vec' op needs contiguous elements in order, but the layout is (2,4):(4,1)

// ---- a_dense_fragment_is_one_vector
// seed: lowering-overview companion-cute
func.func @vector(%v: vector<8xf16>) -> vector<8xf16> {
  %r = cute.memref.alloca : () -> !cute.memref<f16, rmem, "(4,2):(1,4)">
  cute.memref.store_vec %v, %r : (vector<8xf16>, !cute.memref<f16, rmem, "(4,2):(1,4)">) -> ()
  %w = cute.memref.load_vec %r : (!cute.memref<f16, rmem, "(4,2):(1,4)">) -> vector<8xf16>
  func.return %w : vector<8xf16>
}
// ==>
func.func @vector(%v: vector<8xf16>) -> vector<8xf16> {
  %0 = llvm.mlir.constant(1 : i32) : i32
  %1 = llvm.alloca %0 x !llvm.array<8 x f16> {alignment = 16 : i64} : (i32) -> !llvm.ptr
  %2 = llvm.addrspacecast %1 : !llvm.ptr to !llvm.ptr<5>
  llvm.store %v, %2 : vector<8xf16>, !llvm.ptr<5>
  %w = llvm.load %2 : !llvm.ptr<5> -> vector<8xf16>
  func.return %w : vector<8xf16>
}

// ---- tiles_and_partitions_move_the_pointer
// seed: lowering-overview companion-cute
func.func @parts(%p: !cute.ptr<f32, gmem>, %m: i32, %bx: i32, %tx: i32) -> !cute.ptr<f32, gmem> {
  %shape = cute.make_shape %m : (i32) -> !cute.shape<"(?,64)">
  %stride = cute.static : !cute.stride<"(64,1)">
  %layout = cute.make_layout %shape stride(%stride) : (!cute.shape<"(?,64)">, !cute.stride<"(64,1)">) -> !cute.layout<"(?,64):(64,1)">
  %view = cute.make_view %p, %layout : (!cute.ptr<f32, gmem>, !cute.layout<"(?,64):(64,1)">) -> !cute.memref<f32, gmem, "(?,64):(64,1)">
  %size = cute.static : !cute.tile<"(16,32)">
  %at = cute.make_coord %bx : (i32) -> !cute.coord<"(?,1)">
  %tile = cute.local_tile %view, %size, %at : (!cute.memref<f32, gmem, "(?,64):(64,1)">, !cute.tile<"(16,32)">, !cute.coord<"(?,1)">) -> !cute.memref<f32, gmem, "(16,32):(64,1)">
  %threads = cute.static : !cute.layout<"(4,8):(8,1)">
  %part = cute.local_partition %tile, %threads, %tx : (!cute.memref<f32, gmem, "(16,32):(64,1)">, !cute.layout<"(4,8):(8,1)">, i32) -> !cute.memref<f32, gmem, "(4,4):(256,8)">
  %q = cute.get_iter %part : (!cute.memref<f32, gmem, "(4,4):(256,8)">) -> !cute.ptr<f32, gmem>
  func.return %q : !cute.ptr<f32, gmem>
}
// ==>
func.func @parts(%p: !llvm.ptr<1>, %m: i32, %bx: i32, %tx: i32) -> !llvm.ptr<1> {
  %0 = llvm.mlir.constant(15 : i32) : i32
  %1 = llvm.add %m, %0 : i32
  %2 = llvm.mlir.constant(16 : i32) : i32
  %3 = llvm.sdiv %1, %2 : i32
  %4 = llvm.mlir.constant(1024 : i32) : i32
  %5 = llvm.mul %bx, %4 : i32
  %6 = llvm.mlir.constant(32 : i32) : i32
  %7 = llvm.add %5, %6 : i32
  %8 = llvm.getelementptr %p[%7] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  %9 = llvm.mlir.constant(8 : i32) : i32
  %10 = llvm.sdiv %tx, %9 : i32
  %11 = llvm.mlir.constant(4 : i32) : i32
  %12 = llvm.srem %10, %11 : i32
  %13 = llvm.mlir.constant(8 : i32) : i32
  %14 = llvm.srem %tx, %13 : i32
  %15 = llvm.mlir.constant(64 : i32) : i32
  %16 = llvm.mul %12, %15 : i32
  %17 = llvm.add %16, %14 : i32
  %18 = llvm.getelementptr %8[%17] : (!llvm.ptr<1>, i32) -> !llvm.ptr<1>, f32
  func.return %18 : !llvm.ptr<1>
}

// ---- iterators_count
// seed: lowering-overview companion-cute
func.func @iterate(%p: !cute.ptr<f32, smem>, %s: i32, %n: i32) -> !cute.ptr<f32, smem> {
  %i = cute.make_desc_iter %p, %s : (!cute.ptr<f32, smem>, i32) -> !cute.desc_iter<smem>
  %j = cute.add_offset %i, %n : (!cute.desc_iter<smem>, i32) -> !cute.desc_iter<smem>
  %k = cute.add_offset %j, %s {rewind} : (!cute.desc_iter<smem>, i32) -> !cute.desc_iter<smem>
  %q = cute.deref_desc_iter %k : (!cute.desc_iter<smem>) -> !cute.ptr<f32, smem>
  func.return %q : !cute.ptr<f32, smem>
}
// ==>
func.func @iterate(%p: !llvm.ptr<3>, %s: i32, %n: i32) -> !llvm.ptr<3> {
  %0 = llvm.sub %n, %s : i32
  %1 = llvm.mul %0, %s : i32
  %2 = llvm.getelementptr %p[%1] : (!llvm.ptr<3>, i32) -> !llvm.ptr<3>, i8
  func.return %2 : !llvm.ptr<3>
}

// ---- views_cross_functions_as_structs
// seed: lowering-overview companion-cute
func.func @through(%v: !cute.memref<f16, smem, "(8,?):(?,1)">) -> i64 {
  %p = cute.get_iter %v : (!cute.memref<f16, smem, "(8,?):(?,1)">) -> !cute.ptr<f16, smem>
  %r = cute.recast_iter %p : (!cute.ptr<f16, smem>) -> !cute.ptr<i8, generic>
  %a = cute.ptrtoint %r : (!cute.ptr<i8, generic>) -> i64
  func.return %a : i64
}
// ==>
func.func @through(%v: !llvm.struct<(!llvm.ptr<3>, !llvm.struct<(i32, i32, i32, i32)>)>) -> i64 {
  %0 = llvm.extractvalue %v[0] : !llvm.struct<(!llvm.ptr<3>, !llvm.struct<(i32, i32, i32, i32)>)>
  %1 = llvm.extractvalue %v[1] : !llvm.struct<(!llvm.ptr<3>, !llvm.struct<(i32, i32, i32, i32)>)>
  %2 = llvm.extractvalue %1[0] : !llvm.struct<(i32, i32, i32, i32)>
  %3 = llvm.extractvalue %1[1] : !llvm.struct<(i32, i32, i32, i32)>
  %4 = llvm.extractvalue %1[2] : !llvm.struct<(i32, i32, i32, i32)>
  %5 = llvm.extractvalue %1[3] : !llvm.struct<(i32, i32, i32, i32)>
  %6 = llvm.addrspacecast %0 : !llvm.ptr<3> to !llvm.ptr
  %a = llvm.ptrtoint %6 : !llvm.ptr to i64
  func.return %a : i64
}

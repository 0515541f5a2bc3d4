// Layout sugar: tuples and layouts become integers; what is known at compile time leaves no trace.
// run: convert-cute-and-cute-nvgpu-to-llvm sm_90

// ---- an_offset_is_the_dot_product_of_coordinate_and_stride
// seed: lowering-overview companion-cute role-companions
func.func @offset(%i: i32, %j: i32, %n: i32, %s: i32) -> i32 {
  %shape = cute.make_shape %n : (i32) -> !cute.shape<"(?,8)">
  %stride = cute.make_stride %s : (i32) -> !cute.stride<"(?,1)">
  %layout = cute.make_layout %shape stride(%stride) : (!cute.shape<"(?,8)">, !cute.stride<"(?,1)">) -> !cute.layout<"(?,8):(?,1)">
  %coord = cute.make_coord %i, %j : (i32, i32) -> !cute.coord<"(?,?)">
  %offset = cute.crd2idx %coord, %layout : (!cute.coord<"(?,?)">, !cute.layout<"(?,8):(?,1)">) -> i32
  func.return %offset : i32
}
// ==>
func.func @offset(%i: i32, %j: i32, %n: i32, %s: i32) -> i32 {
  %0 = llvm.mul %i, %s : i32
  %offset = llvm.add %0, %j : i32
  func.return %offset : i32
}

// ---- what_is_static_is_one_constant
// seed: lowering-overview companion-cute
func.func @constants() -> (i32, i32, i32) {
  %layout = cute.static : !cute.layout<"((4,8),(2,4)):((1,16),(8,128))">
  %size = cute.size %layout : (!cute.layout<"((4,8),(2,4)):((1,16),(8,128))">) -> i32
  %cosize = cute.cosize %layout : (!cute.layout<"((4,8),(2,4)):((1,16),(8,128))">) -> i32
  %coord = cute.static : !cute.coord<"((3,2),(1,1))">
  %index = cute.crd2idx %coord, %layout : (!cute.coord<"((3,2),(1,1))">, !cute.layout<"((4,8),(2,4)):((1,16),(8,128))">) -> i32
  func.return %size, %cosize, %index : i32, i32, i32
}
// ==>
func.func @constants() -> (i32, i32, i32) {
  %size = llvm.mlir.constant(256 : i32) : i32
  %cosize = llvm.mlir.constant(508 : i32) : i32
  %index = llvm.mlir.constant(171 : i32) : i32
  func.return %size, %cosize, %index : i32, i32, i32
}

// ---- a_swizzle_moves_bits
// seed: lowering-overview companion-cute
func.func @swizzled(%i: i32, %j: i32) -> i32 {
  %plain = cute.static : !cute.layout<"(8,64):(64,1)">
  %layout = cute.make_composed_layout %plain : (!cute.layout<"(8,64):(64,1)">) -> !cute.layout<"S<3,3,3> o 0 o (8,64):(64,1)">
  %coord = cute.make_coord %i, %j : (i32, i32) -> !cute.coord<"(?,?)">
  %offset = cute.crd2idx %coord, %layout : (!cute.coord<"(?,?)">, !cute.layout<"S<3,3,3> o 0 o (8,64):(64,1)">) -> i32
  func.return %offset : i32
}
// ==>
func.func @swizzled(%i: i32, %j: i32) -> i32 {
  %0 = llvm.mlir.constant(64 : i32) : i32
  %1 = llvm.mul %i, %0 : i32
  %2 = llvm.add %1, %j : i32
  %3 = llvm.mlir.constant(64 : i32) : i32
  %4 = llvm.sdiv %2, %3 : i32
  %5 = llvm.mlir.constant(8 : i32) : i32
  %6 = llvm.srem %4, %5 : i32
  %7 = llvm.mlir.constant(8 : i32) : i32
  %8 = llvm.mul %6, %7 : i32
  %offset = llvm.xor %2, %8 : i32
  func.return %offset : i32
}

// ---- an_integer_counts_through_a_nested_mode
// seed: lowering-overview companion-cute
func.func @through(%t: i32) -> i32 {
  %layout = cute.static : !cute.layout<"(4,8):(8,1)">
  %coord = cute.make_coord %t : (i32) -> !cute.coord<"?">
  %offset = cute.crd2idx %coord, %layout : (!cute.coord<"?">, !cute.layout<"(4,8):(8,1)">) -> i32
  func.return %offset : i32
}
// ==>
func.func @through(%t: i32) -> i32 {
  %0 = llvm.mlir.constant(4 : i32) : i32
  %1 = llvm.srem %t, %0 : i32
  %2 = llvm.mlir.constant(8 : i32) : i32
  %3 = llvm.mul %1, %2 : i32
  %4 = llvm.mlir.constant(4 : i32) : i32
  %5 = llvm.sdiv %t, %4 : i32
  %offset = llvm.add %3, %5 : i32
  func.return %offset : i32
}

// ---- the_algebra_of_static_layouts
// seed: lowering-overview companion-cute
func.func @algebra() -> (i32, i32, i32) {
  %a = cute.static : !cute.layout<"(8,16):(16,1)">
  %b = cute.static : !cute.layout<"(4,2):(1,64)">
  %c = cute.composition %a, %b : (!cute.layout<"(8,16):(16,1)">, !cute.layout<"(4,2):(1,64)">) -> !cute.layout<"(4,2):(16,8)">
  %d = cute.complement %b : (!cute.layout<"(4,2):(1,64)">) -> !cute.layout<"16:4">
  %e = cute.coalesce %a : (!cute.layout<"(8,16):(16,1)">) -> !cute.layout<"(8,16):(16,1)">
  %f = cute.right_inverse %a : (!cute.layout<"(8,16):(16,1)">) -> !cute.layout<"(16,8):(8,1)">
  %t = cute.static : !cute.tile<"(4,8)">
  %g = cute.zipped_divide %a, %t : (!cute.layout<"(8,16):(16,1)">, !cute.tile<"(4,8)">) -> !cute.layout<"((4,8),(2,2)):((16,1),(64,8))">
  %h = cute.select %g {mode = array<i64: 1>} : (!cute.layout<"((4,8),(2,2)):((16,1),(64,8))">) -> !cute.layout<"(2,2):(64,8)">
  %x = cute.cosize %c : (!cute.layout<"(4,2):(16,8)">) -> i32
  %y = cute.size %f : (!cute.layout<"(16,8):(8,1)">) -> i32
  %z = cute.cosize %h : (!cute.layout<"(2,2):(64,8)">) -> i32
  func.return %x, %y, %z : i32, i32, i32
}
// ==>
func.func @algebra() -> (i32, i32, i32) {
  %x = llvm.mlir.constant(57 : i32) : i32
  %y = llvm.mlir.constant(128 : i32) : i32
  %z = llvm.mlir.constant(73 : i32) : i32
  func.return %x, %y, %z : i32, i32, i32
}

// ---- tuples_leaf_by_leaf
// seed: lowering-overview companion-cute
func.func @tuples(%m: i32, %n: i32) -> (i32, i32) {
  %shape = cute.make_shape %m, %n : (i32, i32) -> !cute.shape<"(?,?)">
  %tile = cute.static : !cute.tile<"(64,32)">
  %tiles = cute.ceil_div %shape, %tile : (!cute.shape<"(?,?)">, !cute.tile<"(64,32)">) -> !cute.shape<"(?,?)">
  %twice = cute.tuple_add %tiles, %tiles : (!cute.shape<"(?,?)">, !cute.shape<"(?,?)">) -> !cute.int_tuple<"(?,?)">
  %a, %b = cute.unpack_tuple %twice : (!cute.int_tuple<"(?,?)">) -> (i32, i32)
  func.return %a, %b : i32, i32
}
// ==>
func.func @tuples(%m: i32, %n: i32) -> (i32, i32) {
  %0 = llvm.mlir.constant(63 : i32) : i32
  %1 = llvm.add %m, %0 : i32
  %2 = llvm.mlir.constant(64 : i32) : i32
  %3 = llvm.sdiv %1, %2 : i32
  %4 = llvm.mlir.constant(31 : i32) : i32
  %5 = llvm.add %n, %4 : i32
  %6 = llvm.mlir.constant(32 : i32) : i32
  %7 = llvm.sdiv %5, %6 : i32
  %a = llvm.add %3, %3 : i32
  %b = llvm.add %7, %7 : i32
  func.return %a, %b : i32, i32
}

// ---- across_functions_layouts_are_interleaved_structs
// seed: lowering-overview companion-cute
func.func @carried(%layout: !cute.layout<"(?,(2,?)):(1,(?,8))">, %shape: !cute.shape<"(?,4)">) -> !cute.layout<"(?,(2,?)):(1,(?,8))"> {
  %size = cute.size %layout : (!cute.layout<"(?,(2,?)):(1,(?,8))">) -> i32
  func.return %layout : !cute.layout<"(?,(2,?)):(1,(?,8))">
}
// ==>
func.func @carried(%layout: !llvm.struct<(i32, i32, !llvm.struct<(i32, i32, i32, i32)>)>, %shape: !llvm.struct<(i32, i32)>) -> !llvm.struct<(i32, i32, !llvm.struct<(i32, i32, i32, i32)>)> {
  %0 = llvm.extractvalue %shape[0] : !llvm.struct<(i32, i32)>
  %1 = llvm.extractvalue %shape[1] : !llvm.struct<(i32, i32)>
  %2 = llvm.extractvalue %layout[0] : !llvm.struct<(i32, i32, !llvm.struct<(i32, i32, i32, i32)>)>
  %3 = llvm.extractvalue %layout[1] : !llvm.struct<(i32, i32, !llvm.struct<(i32, i32, i32, i32)>)>
  %4 = llvm.extractvalue %layout[2] : !llvm.struct<(i32, i32, !llvm.struct<(i32, i32, i32, i32)>)>
  %5 = llvm.extractvalue %4[0] : !llvm.struct<(i32, i32, i32, i32)>
  %6 = llvm.extractvalue %4[1] : !llvm.struct<(i32, i32, i32, i32)>
  %7 = llvm.extractvalue %4[2] : !llvm.struct<(i32, i32, i32, i32)>
  %8 = llvm.extractvalue %4[3] : !llvm.struct<(i32, i32, i32, i32)>
  %9 = llvm.mlir.constant(2 : i32) : i32
  %10 = llvm.mul %2, %9 : i32
  %size = llvm.mul %10, %7 : i32
  func.return %layout : !llvm.struct<(i32, i32, !llvm.struct<(i32, i32, i32, i32)>)>
}

// ---- loops_carry_structs_too
// seed: lowering-overview companion-cute
func.func @loop(%n: index, %zero: index, %one: index, %i: i32) -> i32 {
  %start = cute.make_coord %i : (i32) -> !cute.coord<"(?,0)">
  %less = cute.derefine %start : (!cute.coord<"(?,0)">) -> !cute.coord<"(?,?)">
  %last = scf.for %k = %zero to %n step %one iter_args(%at = %less) -> (!cute.coord<"(?,?)">) {
    %step = cute.static : !cute.coord<"(1,2)">
    %next = cute.tuple_add %at, %step : (!cute.coord<"(?,?)">, !cute.coord<"(1,2)">) -> !cute.coord<"(?,?)">
    scf.yield %next : !cute.coord<"(?,?)">
  }
  %a, %b = cute.unpack_tuple %last : (!cute.coord<"(?,?)">) -> (i32, i32)
  %sum = llvm.add %a, %b : i32
  func.return %sum : i32
}
// ==>
func.func @loop(%n: index, %zero: index, %one: index, %i: i32) -> i32 {
  %0 = llvm.mlir.undef : !llvm.struct<(i32, i32)>
  %1 = llvm.insertvalue %i, %0[0] : !llvm.struct<(i32, i32)>
  %2 = llvm.mlir.constant(0 : i32) : i32
  %3 = llvm.insertvalue %2, %1[1] : !llvm.struct<(i32, i32)>
  %last = scf.for %k = %zero to %n step %one iter_args(%at = %3) -> (!llvm.struct<(i32, i32)>) {
    %4 = llvm.extractvalue %at[0] : !llvm.struct<(i32, i32)>
    %5 = llvm.extractvalue %at[1] : !llvm.struct<(i32, i32)>
    %6 = llvm.mlir.constant(1 : i32) : i32
    %7 = llvm.add %4, %6 : i32
    %8 = llvm.mlir.constant(2 : i32) : i32
    %9 = llvm.add %5, %8 : i32
    %10 = llvm.mlir.undef : !llvm.struct<(i32, i32)>
    %11 = llvm.insertvalue %7, %10[0] : !llvm.struct<(i32, i32)>
    %12 = llvm.insertvalue %9, %11[1] : !llvm.struct<(i32, i32)>
    scf.yield %12 : !llvm.struct<(i32, i32)>
  }
  %a = llvm.extractvalue %last[0] : !llvm.struct<(i32, i32)>
  %b = llvm.extractvalue %last[1] : !llvm.struct<(i32, i32)>
  %sum = llvm.add %a, %b : i32
  func.return %sum : i32
}

// Variables of a module, and what a kernel holds of them.
// run: ll sm_90

// ---- elements_are_written_as_integers
nv_tileaa.global @table {value = #cuda_tile.dense<"0000803f00000040" : !cuda_tile.tile<2xf32>>, alignment = 16 : i64}
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
  %p = nv_tileas.get_global {symbol = "table"} : !nv_tileaa.ptr<f32>
  %x, %t = nv_tileas.load %p {mem_semantic = "weak"} : (!nv_tileaa.ptr<f32>) -> (f32, !nv_tileaa.mem_token)
  nv_tileaa.return
}
// ==>
@table = addrspace(1) global [2 x i32] [i32 1065353216, i32 1073741824], align 16

define ptx_kernel void @k() "nvvm.reqntid"="32" {
b0:
  %v0 = call float asm sideeffect "ld.global.b32 $0, [$1];", "=&f,l"(ptr addrspace(1) @table)
  ret void
}

// ---- one_value_stands_for_all_elements
nv_tileaa.global @same {value = #cuda_tile.dense<"0700" : !cuda_tile.tile<4xi16>>, alignment = 2 : i64}
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
  nv_tileaa.return
}
// ==>
@same = addrspace(1) global [4 x i16] [i16 7, i16 7, i16 7, i16 7], align 2

define ptx_kernel void @k() "nvvm.reqntid"="32" {
b0:
  ret void
}

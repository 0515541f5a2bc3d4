// Views exist only while code is made: what is left of them are sizes and addresses.
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_80

// ---- how_many_tiles_there_are
!memref = !nv_tileaa.memref<f32, [?, 100], [?, 1]>
!view = !nv_tileaa.tiled_view<partition, !memref, tile = [8, 32], dim_map = [0, 1], steps = [8, 32], sparse = -1, padding = none>
nv_tileaa.func @k attributes {num_warps = 1 : i32} {
^bb0(%p: !nv_tileaa.ptr<f32>, %q: !nv_tileaa.ptr<i32>, %rows: i32, %stride: i32):
  %m = nv_tileas.make_memref %p sizes(%rows) strides(%stride) : (!nv_tileaa.ptr<f32>, i32, i32) -> !memref
  %v = nv_tileas.block_tile %m : (!memref) -> !view
  %a, %b = nv_tileas.get_tile_count %v : (!view) -> (i32, i32)
  %c, %d = nv_tileas.get_dim_size %m : (!memref) -> (i32, i32)
  %e = arith.addi %a, %b : i32
  %f = arith.addi %c, %d : i32
  %g = arith.muli %e, %f : i32
  %t = nv_tileas.store %q, %g {mem_semantic = "weak"} : (!nv_tileaa.ptr<i32>, i32) -> !nv_tileaa.mem_token
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_80\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 0, \22role\22: \22pointer\22, \22argument\22: 0, \22element\22: \22f32\22, \22access\22: \22unused\22}, {\22name\22: \22arg1\22, \22kind\22: \22pointer\22, \22size\22: 8, \22offset\22: 8, \22role\22: \22pointer\22, \22argument\22: 1, \22element\22: \22i32\22, \22access\22: \22stored\22}, {\22name\22: \22arg2\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 16, \22role\22: \22scalar\22, \22argument\22: 2}, {\22name\22: \22arg3\22, \22kind\22: \22i32\22, \22size\22: 4, \22offset\22: 20, \22role\22: \22scalar\22, \22argument\22: 3}], \22param_sizes\22: [8, 8, 4, 4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22pointer\22, \22param\22: 0, \22view\22: {\22extents\22: [null, 100], \22strides\22: [null, 1]}}, {\22name\22: \22arg1\22, \22kind\22: \22pointer\22, \22param\22: 1}, {\22name\22: \22arg2\22, \22kind\22: \22scalar\22, \22param\22: 2}, {\22name\22: \22arg3\22, \22kind\22: \22scalar\22, \22param\22: 3}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 32, \22shared_memory\22: {\22static\22: 0, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.func @k(%a0: !llvm.ptr<1>, %a1: !llvm.ptr<1>, %a2: i32, %a3: i32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 32>} {
    %0 = llvm.mlir.constant(7 : i32) : i32
    %1 = llvm.mlir.constant(8 : i32) : i32
    %2 = llvm.mlir.constant(4 : i32) : i32
    %3 = llvm.mlir.constant(100 : i32) : i32
    %4 = llvm.sext %a3 : i32 to i64
    %5 = llvm.add %a2, %0 : i32
    %6 = llvm.udiv %5, %1 : i32
    %7 = llvm.add %6, %2 : i32
    %8 = llvm.add %a2, %3 : i32
    %9 = llvm.mul %7, %8 : i32
    nvvm.st %a1 values(%9) {space = "global"} : (!llvm.ptr<1>, i32) -> ()
    llvm.return
  }
}

// TMA operations that do not fit their tensor map.
// run: convert-nvgpu-and-gpu-to-nvvm sm_90

// ---- too_few_coordinates
!map = !nvgpu.tensormap.descriptor<tensor = memref<4x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%m: !map, %b: !bar, %s: memref<4x64xf16, 3>, %i: index, %mask: i16, %hint: i64, %p: i1) kernel {
    nvgpu.tma.async.store %s to %m[%i] : memref<4x64xf16, 3> -> !map
    gpu.return
  }
}
// ==>
// too_few_coordinates: error[ir-invalid]: the module does not verify: 'nvgpu.tma.async.store' op needs 2 coordinates for !nvgpu.tensormap.descriptor<tensor = memref<4x64xf16, 3 : i64>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>, got 1

// ---- six_coordinates
// seed: nvgpu-gpu-to-nvvm tma-ranks
!map = !nvgpu.tensormap.descriptor<tensor = memref<1x1x1x1x1x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
gpu.module @m {
  gpu.func @k(%m: !map, %s: memref<1x1x1x1x1x64xf16, 3>, %i: index) kernel {
    nvgpu.tma.async.store %s to %m[%i, %i, %i, %i, %i, %i] : memref<1x1x1x1x1x64xf16, 3> -> !map
    gpu.return
  }
}
// ==>
// six_coordinates: error[ir-invalid]: the module does not verify: 'nvgpu.tma.async.store' op needs 1 to 5 coordinates, got 6

// ---- a_buffer_in_global_memory
!map = !nvgpu.tensormap.descriptor<tensor = memref<4x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%m: !map, %s: memref<4x64xf16>, %i: index) kernel {
    nvgpu.tma.async.store %s to %m[%i, %i] : memref<4x64xf16> -> !map
    gpu.return
  }
}
// ==>
// a_buffer_in_global_memory: error[ir-invalid]: the module does not verify: 'nvgpu.tma.async.store' op buffer must be in shared memory, but got 'memref<4x64xf16>'

// ---- a_tensor_of_dynamic_shape
!map = !nvgpu.tensormap.descriptor<tensor = memref<4x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%g: memref<?x64xf16>, %i: index) kernel {
    %m = nvgpu.tma.create.descriptor %g box[%i, %i] : memref<?x64xf16> -> !map
    gpu.return
  }
}
// ==>
// error[tensor-map-shape]: 'nvgpu.tma.create.descriptor' op needs a tensor of static shape and strides, but got 'memref<?x64xf16>'

// ---- an_unknown_swizzle
gpu.module @m {
  gpu.func @k(%m: !nvgpu.tensormap.descriptor<tensor = memref<4x64xf16, 3>, swizzle = swizzle_7b, l2promo = none, oob = zero, interleave = none>) kernel {

    gpu.return
  }
}
// ==>
// an_unknown_swizzle:2:145: error[ir-invalid]: the module does not verify: swizzle 'swizzle_7b' of a tensor map must be one of none, swizzle_32b, swizzle_64b, swizzle_128b

// ---- rebind_with_a_stride_too_many
// seed: nvgpu-gpu-to-nvvm rebind-sequence rebind-counts
!map = !nvgpu.tensormap.descriptor<tensor = memref<4x64xf16, 3>, swizzle = swizzle_128b, l2promo = none, oob = zero, interleave = none>
!bar = !nvgpu.mbarrier.group<memorySpace = #gpu.address_space<workgroup>>
gpu.module @m {
  gpu.func @k(%m: !map, %g: !llvm.ptr<1>, %i: index) kernel {
    nvgpu.tma.rebind.descriptor %m, %g dims[%i] strides[%i] : !map, !llvm.ptr<1>
    gpu.return
  }
}
// ==>
// rebind_with_a_stride_too_many: error[ir-invalid]: the module does not verify: expected 0 strides, got 1

// ---- rebind_of_a_map_in_parameter_space
gpu.module @m {
  gpu.func @k(%m: !llvm.ptr<101>, %g: !llvm.ptr<1>, %i: index) kernel {
    nvgpu.tma.rebind.descriptor %m, %g dims[%i] strides[] : !llvm.ptr<101>, !llvm.ptr<1>
    gpu.return
  }
}
// ==>
// error[rebind-space]: 'nvgpu.tma.rebind.descriptor' op needs a map in global or shared memory, but got '!llvm.ptr<101>'

// ---- rebind_of_less_than_the_cluster
// seed: nvgpu-gpu-to-nvvm rebind-scope
gpu.module @m {
  gpu.func @k(%m: !llvm.ptr<1>, %g: !llvm.ptr<1>, %x: index) kernel attributes {known_cluster_size = array<i32: 2, 1, 1>} {
    nvgpu.tma.rebind.descriptor %m, %g dims[%x] strides[] {scope = #nvgpu<scope cta>} : !llvm.ptr<1>, !llvm.ptr<1>
    gpu.return
  }
}
// ==>
// error[rebind-scope]: 'nvgpu.tma.rebind.descriptor' op has the scope cta in a kernel of clusters, whose other CTAs would read the map half changed; leave the scope out, or use gpu or sys

// ---- rebind_of_the_fields_for_an_encoder
// seed: nvgpu-gpu-to-nvvm descriptor-hoisted
!map = !nvgpu.tensormap.descriptor<tensor = memref<64x64xf16, 3>, swizzle = none, l2promo = none, oob = zero, interleave = none>
gpu.module @m {
  gpu.func @k(%t: memref<64x64xf16>, %x: index) kernel {
    %m = nvgpu.tma.create.descriptor %t box[%x, %x] : memref<64x64xf16> -> !map
    nvgpu.tma.rebind.descriptor %m, %t dims[%x] strides[] : !map, memref<64x64xf16>
    gpu.return
  }
}
// ==>
// rebind_of_the_fields_for_an_encoder: error[ir-invalid]: the module does not verify: 'nvgpu.tma.rebind.descriptor' op changes maps in memory, not the fields for an encoder

"""The ``nvgpu`` dialect of NVIDIA GPU operations, in MLIR's text form.

``nvgpu.tma.rebind.descriptor``, ``nvgpu.cvt_*`` and ``nvgpu.*.packed.f32x2`` are not in MLIR; their forms are ours.
``nvgpu.warpgroup.mma`` and ``nvgpu.device_async_copy`` have additional operands and attributes for tile kernels;
without these, they are MLIR's.
"""

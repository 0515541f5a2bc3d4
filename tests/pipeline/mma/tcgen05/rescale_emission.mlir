// A sum in tensor memory is scaled where it is: loaded, multiplied and stored in parts.
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_100

// ---- a_tile_is_scaled_where_it_is
!columns = !nv_tileas.tmem<#builtin.int<32>>
!tile = tensor<128x32xf32, #cute.layout<(128,32), (32,4,32):(32,1024,1)>>
nv_tileaa.func @k attributes {num_warps = 4 : i32, shared_bytes = 16 : i32} {
^bb0(%x: f32):
  %all = nv_tileas.create_tmem {shared_offset = 0 : i32} : !columns
  %d = nv_tileas.alloc_tmem %all {column = 0 : i32} : (!columns) -> !columns
  %factors = nv_tileas.splat %x : (f32) -> !tile
  nv_tileas.tmem_scale %d, %factors : (!columns, !tile) -> ()
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_100a\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22f32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}], \22param_sizes\22: [4], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 128, \22shared_memory\22: {\22static\22: 16, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<16 x i8>
  llvm.func @k(%a0: f32) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
    %0 = llvm.mlir.constant(0 : i32) : i32
    %1 = llvm.mlir.constant(-1 : i32) : i32
    %2 = gpu.thread_id x
    %3 = arith.index_cast %2 : index to i32
    %4 = llvm.mlir.constant(5 : i32) : i32
    %5 = llvm.lshr %3, %4 : i32
    %6 = llvm.mlir.constant(32 : i32) : i32
    %7, %8 = gpu.shuffle idx %5, %0, %6 : i32
    %9 = llvm.mlir.constant(3 : i32) : i32
    %10 = llvm.and %7, %9 : i32
    %11 = llvm.mlir.constant(21 : i32) : i32
    %12 = llvm.shl %10, %11 : i32
    %13 = llvm.mlir.constant(8 : i32) : i32
    %14 = llvm.mlir.constant(1 : i32) : i32
    %15 = llvm.mlir.constant(2 : i32) : i32
    %16 = llvm.mlir.constant(4 : i32) : i32
    %17 = llvm.mlir.constant(6 : i32) : i32
    %18 = llvm.mlir.constant(7 : i32) : i32
    %19 = llvm.mlir.undef : vector<2xf32>
    %20 = llvm.mlir.undef : vector<8xi32>
    %21 = llvm.mlir.constant(16 : i32) : i32
    %22 = llvm.mlir.constant(24 : i32) : i32
    %23 = llvm.icmp "eq" %0, %1 : i32
    llvm.cond_br %23, ^bb1, ^bb2
  ^bb1:
    nvvm.intr.trap
    llvm.br ^bb2
  ^bb2:
    nvvm.tcgen05.fence.after_thread_sync
    %24 = llvm.inttoptr %12 : i32 to !llvm.ptr<6>
    %25 = cute_nvgpu.arch.copy.SM100.tmem_load %24 {shape = "32x32b", repetitions = 8 : i64, async} : (!llvm.ptr<6>) -> vector<8xi32>
    nvvm.tcgen05.wait.ld
    %26 = llvm.add %12, %13 : i32
    %27 = llvm.inttoptr %26 : i32 to !llvm.ptr<6>
    %28 = cute_nvgpu.arch.copy.SM100.tmem_load %27 {shape = "32x32b", repetitions = 8 : i64, async} : (!llvm.ptr<6>) -> vector<8xi32>
    %29 = llvm.extractelement %25[%0 : i32] : vector<8xi32>
    %30 = llvm.extractelement %25[%14 : i32] : vector<8xi32>
    %31 = llvm.extractelement %25[%15 : i32] : vector<8xi32>
    %32 = llvm.extractelement %25[%9 : i32] : vector<8xi32>
    %33 = llvm.extractelement %25[%16 : i32] : vector<8xi32>
    %34 = llvm.extractelement %25[%4 : i32] : vector<8xi32>
    %35 = llvm.extractelement %25[%17 : i32] : vector<8xi32>
    %36 = llvm.extractelement %25[%18 : i32] : vector<8xi32>
    %37 = llvm.bitcast %29 : i32 to f32
    %38 = llvm.bitcast %30 : i32 to f32
    %39 = llvm.bitcast %31 : i32 to f32
    %40 = llvm.bitcast %32 : i32 to f32
    %41 = llvm.bitcast %33 : i32 to f32
    %42 = llvm.bitcast %34 : i32 to f32
    %43 = llvm.bitcast %35 : i32 to f32
    %44 = llvm.bitcast %36 : i32 to f32
    %45 = llvm.insertelement %37, %19[%0 : i32] : vector<2xf32>
    %46 = llvm.insertelement %38, %45[%14 : i32] : vector<2xf32>
    %47 = llvm.insertelement %a0, %19[%0 : i32] : vector<2xf32>
    %48 = llvm.insertelement %a0, %47[%14 : i32] : vector<2xf32>
    %49 = llvm.fmul %46, %48 : vector<2xf32>
    %50 = llvm.extractelement %49[%0 : i32] : vector<2xf32>
    %51 = llvm.extractelement %49[%14 : i32] : vector<2xf32>
    %52 = llvm.insertelement %39, %19[%0 : i32] : vector<2xf32>
    %53 = llvm.insertelement %40, %52[%14 : i32] : vector<2xf32>
    %54 = llvm.fmul %53, %48 : vector<2xf32>
    %55 = llvm.extractelement %54[%0 : i32] : vector<2xf32>
    %56 = llvm.extractelement %54[%14 : i32] : vector<2xf32>
    %57 = llvm.insertelement %41, %19[%0 : i32] : vector<2xf32>
    %58 = llvm.insertelement %42, %57[%14 : i32] : vector<2xf32>
    %59 = llvm.fmul %58, %48 : vector<2xf32>
    %60 = llvm.extractelement %59[%0 : i32] : vector<2xf32>
    %61 = llvm.extractelement %59[%14 : i32] : vector<2xf32>
    %62 = llvm.insertelement %43, %19[%0 : i32] : vector<2xf32>
    %63 = llvm.insertelement %44, %62[%14 : i32] : vector<2xf32>
    %64 = llvm.fmul %63, %48 : vector<2xf32>
    %65 = llvm.extractelement %64[%0 : i32] : vector<2xf32>
    %66 = llvm.extractelement %64[%14 : i32] : vector<2xf32>
    %67 = llvm.bitcast %50 : f32 to i32
    %68 = llvm.bitcast %51 : f32 to i32
    %69 = llvm.bitcast %55 : f32 to i32
    %70 = llvm.bitcast %56 : f32 to i32
    %71 = llvm.bitcast %60 : f32 to i32
    %72 = llvm.bitcast %61 : f32 to i32
    %73 = llvm.bitcast %65 : f32 to i32
    %74 = llvm.bitcast %66 : f32 to i32
    %75 = llvm.insertelement %67, %20[%0 : i32] : vector<8xi32>
    %76 = llvm.insertelement %68, %75[%14 : i32] : vector<8xi32>
    %77 = llvm.insertelement %69, %76[%15 : i32] : vector<8xi32>
    %78 = llvm.insertelement %70, %77[%9 : i32] : vector<8xi32>
    %79 = llvm.insertelement %71, %78[%16 : i32] : vector<8xi32>
    %80 = llvm.insertelement %72, %79[%4 : i32] : vector<8xi32>
    %81 = llvm.insertelement %73, %80[%17 : i32] : vector<8xi32>
    %82 = llvm.insertelement %74, %81[%18 : i32] : vector<8xi32>
    cute_nvgpu.arch.copy.SM100.tmem_store %24 registers(%82) {shape = "32x32b", repetitions = 8 : i64, async} : (!llvm.ptr<6>, vector<8xi32>) -> ()
    nvvm.tcgen05.wait.ld
    %83 = llvm.add %12, %21 : i32
    %84 = llvm.inttoptr %83 : i32 to !llvm.ptr<6>
    %85 = cute_nvgpu.arch.copy.SM100.tmem_load %84 {shape = "32x32b", repetitions = 8 : i64, async} : (!llvm.ptr<6>) -> vector<8xi32>
    %86 = llvm.extractelement %28[%0 : i32] : vector<8xi32>
    %87 = llvm.extractelement %28[%14 : i32] : vector<8xi32>
    %88 = llvm.extractelement %28[%15 : i32] : vector<8xi32>
    %89 = llvm.extractelement %28[%9 : i32] : vector<8xi32>
    %90 = llvm.extractelement %28[%16 : i32] : vector<8xi32>
    %91 = llvm.extractelement %28[%4 : i32] : vector<8xi32>
    %92 = llvm.extractelement %28[%17 : i32] : vector<8xi32>
    %93 = llvm.extractelement %28[%18 : i32] : vector<8xi32>
    %94 = llvm.bitcast %86 : i32 to f32
    %95 = llvm.bitcast %87 : i32 to f32
    %96 = llvm.bitcast %88 : i32 to f32
    %97 = llvm.bitcast %89 : i32 to f32
    %98 = llvm.bitcast %90 : i32 to f32
    %99 = llvm.bitcast %91 : i32 to f32
    %100 = llvm.bitcast %92 : i32 to f32
    %101 = llvm.bitcast %93 : i32 to f32
    %102 = llvm.insertelement %94, %19[%0 : i32] : vector<2xf32>
    %103 = llvm.insertelement %95, %102[%14 : i32] : vector<2xf32>
    %104 = llvm.fmul %103, %48 : vector<2xf32>
    %105 = llvm.extractelement %104[%0 : i32] : vector<2xf32>
    %106 = llvm.extractelement %104[%14 : i32] : vector<2xf32>
    %107 = llvm.insertelement %96, %19[%0 : i32] : vector<2xf32>
    %108 = llvm.insertelement %97, %107[%14 : i32] : vector<2xf32>
    %109 = llvm.fmul %108, %48 : vector<2xf32>
    %110 = llvm.extractelement %109[%0 : i32] : vector<2xf32>
    %111 = llvm.extractelement %109[%14 : i32] : vector<2xf32>
    %112 = llvm.insertelement %98, %19[%0 : i32] : vector<2xf32>
    %113 = llvm.insertelement %99, %112[%14 : i32] : vector<2xf32>
    %114 = llvm.fmul %113, %48 : vector<2xf32>
    %115 = llvm.extractelement %114[%0 : i32] : vector<2xf32>
    %116 = llvm.extractelement %114[%14 : i32] : vector<2xf32>
    %117 = llvm.insertelement %100, %19[%0 : i32] : vector<2xf32>
    %118 = llvm.insertelement %101, %117[%14 : i32] : vector<2xf32>
    %119 = llvm.fmul %118, %48 : vector<2xf32>
    %120 = llvm.extractelement %119[%0 : i32] : vector<2xf32>
    %121 = llvm.extractelement %119[%14 : i32] : vector<2xf32>
    %122 = llvm.bitcast %105 : f32 to i32
    %123 = llvm.bitcast %106 : f32 to i32
    %124 = llvm.bitcast %110 : f32 to i32
    %125 = llvm.bitcast %111 : f32 to i32
    %126 = llvm.bitcast %115 : f32 to i32
    %127 = llvm.bitcast %116 : f32 to i32
    %128 = llvm.bitcast %120 : f32 to i32
    %129 = llvm.bitcast %121 : f32 to i32
    %130 = llvm.insertelement %122, %20[%0 : i32] : vector<8xi32>
    %131 = llvm.insertelement %123, %130[%14 : i32] : vector<8xi32>
    %132 = llvm.insertelement %124, %131[%15 : i32] : vector<8xi32>
    %133 = llvm.insertelement %125, %132[%9 : i32] : vector<8xi32>
    %134 = llvm.insertelement %126, %133[%16 : i32] : vector<8xi32>
    %135 = llvm.insertelement %127, %134[%4 : i32] : vector<8xi32>
    %136 = llvm.insertelement %128, %135[%17 : i32] : vector<8xi32>
    %137 = llvm.insertelement %129, %136[%18 : i32] : vector<8xi32>
    cute_nvgpu.arch.copy.SM100.tmem_store %27 registers(%137) {shape = "32x32b", repetitions = 8 : i64, async} : (!llvm.ptr<6>, vector<8xi32>) -> ()
    nvvm.tcgen05.wait.ld
    %138 = llvm.add %12, %22 : i32
    %139 = llvm.inttoptr %138 : i32 to !llvm.ptr<6>
    %140 = cute_nvgpu.arch.copy.SM100.tmem_load %139 {shape = "32x32b", repetitions = 8 : i64, async} : (!llvm.ptr<6>) -> vector<8xi32>
    %141 = llvm.extractelement %85[%0 : i32] : vector<8xi32>
    %142 = llvm.extractelement %85[%14 : i32] : vector<8xi32>
    %143 = llvm.extractelement %85[%15 : i32] : vector<8xi32>
    %144 = llvm.extractelement %85[%9 : i32] : vector<8xi32>
    %145 = llvm.extractelement %85[%16 : i32] : vector<8xi32>
    %146 = llvm.extractelement %85[%4 : i32] : vector<8xi32>
    %147 = llvm.extractelement %85[%17 : i32] : vector<8xi32>
    %148 = llvm.extractelement %85[%18 : i32] : vector<8xi32>
    %149 = llvm.bitcast %141 : i32 to f32
    %150 = llvm.bitcast %142 : i32 to f32
    %151 = llvm.bitcast %143 : i32 to f32
    %152 = llvm.bitcast %144 : i32 to f32
    %153 = llvm.bitcast %145 : i32 to f32
    %154 = llvm.bitcast %146 : i32 to f32
    %155 = llvm.bitcast %147 : i32 to f32
    %156 = llvm.bitcast %148 : i32 to f32
    %157 = llvm.insertelement %149, %19[%0 : i32] : vector<2xf32>
    %158 = llvm.insertelement %150, %157[%14 : i32] : vector<2xf32>
    %159 = llvm.fmul %158, %48 : vector<2xf32>
    %160 = llvm.extractelement %159[%0 : i32] : vector<2xf32>
    %161 = llvm.extractelement %159[%14 : i32] : vector<2xf32>
    %162 = llvm.insertelement %151, %19[%0 : i32] : vector<2xf32>
    %163 = llvm.insertelement %152, %162[%14 : i32] : vector<2xf32>
    %164 = llvm.fmul %163, %48 : vector<2xf32>
    %165 = llvm.extractelement %164[%0 : i32] : vector<2xf32>
    %166 = llvm.extractelement %164[%14 : i32] : vector<2xf32>
    %167 = llvm.insertelement %153, %19[%0 : i32] : vector<2xf32>
    %168 = llvm.insertelement %154, %167[%14 : i32] : vector<2xf32>
    %169 = llvm.fmul %168, %48 : vector<2xf32>
    %170 = llvm.extractelement %169[%0 : i32] : vector<2xf32>
    %171 = llvm.extractelement %169[%14 : i32] : vector<2xf32>
    %172 = llvm.insertelement %155, %19[%0 : i32] : vector<2xf32>
    %173 = llvm.insertelement %156, %172[%14 : i32] : vector<2xf32>
    %174 = llvm.fmul %173, %48 : vector<2xf32>
    %175 = llvm.extractelement %174[%0 : i32] : vector<2xf32>
    %176 = llvm.extractelement %174[%14 : i32] : vector<2xf32>
    %177 = llvm.bitcast %160 : f32 to i32
    %178 = llvm.bitcast %161 : f32 to i32
    %179 = llvm.bitcast %165 : f32 to i32
    %180 = llvm.bitcast %166 : f32 to i32
    %181 = llvm.bitcast %170 : f32 to i32
    %182 = llvm.bitcast %171 : f32 to i32
    %183 = llvm.bitcast %175 : f32 to i32
    %184 = llvm.bitcast %176 : f32 to i32
    %185 = llvm.insertelement %177, %20[%0 : i32] : vector<8xi32>
    %186 = llvm.insertelement %178, %185[%14 : i32] : vector<8xi32>
    %187 = llvm.insertelement %179, %186[%15 : i32] : vector<8xi32>
    %188 = llvm.insertelement %180, %187[%9 : i32] : vector<8xi32>
    %189 = llvm.insertelement %181, %188[%16 : i32] : vector<8xi32>
    %190 = llvm.insertelement %182, %189[%4 : i32] : vector<8xi32>
    %191 = llvm.insertelement %183, %190[%17 : i32] : vector<8xi32>
    %192 = llvm.insertelement %184, %191[%18 : i32] : vector<8xi32>
    cute_nvgpu.arch.copy.SM100.tmem_store %84 registers(%192) {shape = "32x32b", repetitions = 8 : i64, async} : (!llvm.ptr<6>, vector<8xi32>) -> ()
    nvvm.tcgen05.wait.ld
    %193 = llvm.extractelement %140[%0 : i32] : vector<8xi32>
    %194 = llvm.extractelement %140[%14 : i32] : vector<8xi32>
    %195 = llvm.extractelement %140[%15 : i32] : vector<8xi32>
    %196 = llvm.extractelement %140[%9 : i32] : vector<8xi32>
    %197 = llvm.extractelement %140[%16 : i32] : vector<8xi32>
    %198 = llvm.extractelement %140[%4 : i32] : vector<8xi32>
    %199 = llvm.extractelement %140[%17 : i32] : vector<8xi32>
    %200 = llvm.extractelement %140[%18 : i32] : vector<8xi32>
    %201 = llvm.bitcast %193 : i32 to f32
    %202 = llvm.bitcast %194 : i32 to f32
    %203 = llvm.bitcast %195 : i32 to f32
    %204 = llvm.bitcast %196 : i32 to f32
    %205 = llvm.bitcast %197 : i32 to f32
    %206 = llvm.bitcast %198 : i32 to f32
    %207 = llvm.bitcast %199 : i32 to f32
    %208 = llvm.bitcast %200 : i32 to f32
    %209 = llvm.insertelement %201, %19[%0 : i32] : vector<2xf32>
    %210 = llvm.insertelement %202, %209[%14 : i32] : vector<2xf32>
    %211 = llvm.fmul %210, %48 : vector<2xf32>
    %212 = llvm.extractelement %211[%0 : i32] : vector<2xf32>
    %213 = llvm.extractelement %211[%14 : i32] : vector<2xf32>
    %214 = llvm.insertelement %203, %19[%0 : i32] : vector<2xf32>
    %215 = llvm.insertelement %204, %214[%14 : i32] : vector<2xf32>
    %216 = llvm.fmul %215, %48 : vector<2xf32>
    %217 = llvm.extractelement %216[%0 : i32] : vector<2xf32>
    %218 = llvm.extractelement %216[%14 : i32] : vector<2xf32>
    %219 = llvm.insertelement %205, %19[%0 : i32] : vector<2xf32>
    %220 = llvm.insertelement %206, %219[%14 : i32] : vector<2xf32>
    %221 = llvm.fmul %220, %48 : vector<2xf32>
    %222 = llvm.extractelement %221[%0 : i32] : vector<2xf32>
    %223 = llvm.extractelement %221[%14 : i32] : vector<2xf32>
    %224 = llvm.insertelement %207, %19[%0 : i32] : vector<2xf32>
    %225 = llvm.insertelement %208, %224[%14 : i32] : vector<2xf32>
    %226 = llvm.fmul %225, %48 : vector<2xf32>
    %227 = llvm.extractelement %226[%0 : i32] : vector<2xf32>
    %228 = llvm.extractelement %226[%14 : i32] : vector<2xf32>
    %229 = llvm.bitcast %212 : f32 to i32
    %230 = llvm.bitcast %213 : f32 to i32
    %231 = llvm.bitcast %217 : f32 to i32
    %232 = llvm.bitcast %218 : f32 to i32
    %233 = llvm.bitcast %222 : f32 to i32
    %234 = llvm.bitcast %223 : f32 to i32
    %235 = llvm.bitcast %227 : f32 to i32
    %236 = llvm.bitcast %228 : f32 to i32
    %237 = llvm.insertelement %229, %20[%0 : i32] : vector<8xi32>
    %238 = llvm.insertelement %230, %237[%14 : i32] : vector<8xi32>
    %239 = llvm.insertelement %231, %238[%15 : i32] : vector<8xi32>
    %240 = llvm.insertelement %232, %239[%9 : i32] : vector<8xi32>
    %241 = llvm.insertelement %233, %240[%16 : i32] : vector<8xi32>
    %242 = llvm.insertelement %234, %241[%4 : i32] : vector<8xi32>
    %243 = llvm.insertelement %235, %242[%17 : i32] : vector<8xi32>
    %244 = llvm.insertelement %236, %243[%18 : i32] : vector<8xi32>
    cute_nvgpu.arch.copy.SM100.tmem_store %139 registers(%244) {shape = "32x32b", repetitions = 8 : i64, async} : (!llvm.ptr<6>, vector<8xi32>) -> ()
    nvvm.tcgen05.wait.st
    nvvm.tcgen05.fence.before_thread_sync
    llvm.return
  }
}

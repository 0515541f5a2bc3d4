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
    %13 = llvm.mlir.constant(16 : i32) : i32
    %14 = llvm.mlir.constant(1 : i32) : i32
    %15 = llvm.mlir.constant(2 : i32) : i32
    %16 = llvm.mlir.constant(4 : i32) : i32
    %17 = llvm.mlir.constant(6 : i32) : i32
    %18 = llvm.mlir.constant(7 : i32) : i32
    %19 = llvm.mlir.constant(8 : i32) : i32
    %20 = llvm.mlir.constant(9 : i32) : i32
    %21 = llvm.mlir.constant(10 : i32) : i32
    %22 = llvm.mlir.constant(11 : i32) : i32
    %23 = llvm.mlir.constant(12 : i32) : i32
    %24 = llvm.mlir.constant(13 : i32) : i32
    %25 = llvm.mlir.constant(14 : i32) : i32
    %26 = llvm.mlir.constant(15 : i32) : i32
    %27 = llvm.mlir.undef : vector<2xf32>
    %28 = llvm.mlir.undef : vector<16xi32>
    %29 = llvm.icmp "eq" %0, %1 : i32
    llvm.cond_br %29, ^bb1, ^bb2
  ^bb1:
    nvvm.intr.trap
    llvm.br ^bb2
  ^bb2:
    nvvm.tcgen05.fence.after_thread_sync
    %30 = llvm.inttoptr %12 : i32 to !llvm.ptr<6>
    %31 = cute_nvgpu.arch.copy.SM100.tmem_load %30 {shape = "32x32b", repetitions = 16 : i64, async} : (!llvm.ptr<6>) -> vector<16xi32>
    nvvm.tcgen05.wait.ld
    %32 = llvm.add %12, %13 : i32
    %33 = llvm.inttoptr %32 : i32 to !llvm.ptr<6>
    %34 = cute_nvgpu.arch.copy.SM100.tmem_load %33 {shape = "32x32b", repetitions = 16 : i64, async} : (!llvm.ptr<6>) -> vector<16xi32>
    %35 = llvm.extractelement %31[%0 : i32] : vector<16xi32>
    %36 = llvm.extractelement %31[%14 : i32] : vector<16xi32>
    %37 = llvm.extractelement %31[%15 : i32] : vector<16xi32>
    %38 = llvm.extractelement %31[%9 : i32] : vector<16xi32>
    %39 = llvm.extractelement %31[%16 : i32] : vector<16xi32>
    %40 = llvm.extractelement %31[%4 : i32] : vector<16xi32>
    %41 = llvm.extractelement %31[%17 : i32] : vector<16xi32>
    %42 = llvm.extractelement %31[%18 : i32] : vector<16xi32>
    %43 = llvm.extractelement %31[%19 : i32] : vector<16xi32>
    %44 = llvm.extractelement %31[%20 : i32] : vector<16xi32>
    %45 = llvm.extractelement %31[%21 : i32] : vector<16xi32>
    %46 = llvm.extractelement %31[%22 : i32] : vector<16xi32>
    %47 = llvm.extractelement %31[%23 : i32] : vector<16xi32>
    %48 = llvm.extractelement %31[%24 : i32] : vector<16xi32>
    %49 = llvm.extractelement %31[%25 : i32] : vector<16xi32>
    %50 = llvm.extractelement %31[%26 : i32] : vector<16xi32>
    %51 = llvm.bitcast %35 : i32 to f32
    %52 = llvm.bitcast %36 : i32 to f32
    %53 = llvm.bitcast %37 : i32 to f32
    %54 = llvm.bitcast %38 : i32 to f32
    %55 = llvm.bitcast %39 : i32 to f32
    %56 = llvm.bitcast %40 : i32 to f32
    %57 = llvm.bitcast %41 : i32 to f32
    %58 = llvm.bitcast %42 : i32 to f32
    %59 = llvm.bitcast %43 : i32 to f32
    %60 = llvm.bitcast %44 : i32 to f32
    %61 = llvm.bitcast %45 : i32 to f32
    %62 = llvm.bitcast %46 : i32 to f32
    %63 = llvm.bitcast %47 : i32 to f32
    %64 = llvm.bitcast %48 : i32 to f32
    %65 = llvm.bitcast %49 : i32 to f32
    %66 = llvm.bitcast %50 : i32 to f32
    %67 = llvm.insertelement %51, %27[%0 : i32] : vector<2xf32>
    %68 = llvm.insertelement %52, %67[%14 : i32] : vector<2xf32>
    %69 = llvm.insertelement %a0, %27[%0 : i32] : vector<2xf32>
    %70 = llvm.insertelement %a0, %69[%14 : i32] : vector<2xf32>
    %71 = llvm.fmul %68, %70 : vector<2xf32>
    %72 = llvm.extractelement %71[%0 : i32] : vector<2xf32>
    %73 = llvm.extractelement %71[%14 : i32] : vector<2xf32>
    %74 = llvm.insertelement %53, %27[%0 : i32] : vector<2xf32>
    %75 = llvm.insertelement %54, %74[%14 : i32] : vector<2xf32>
    %76 = llvm.fmul %75, %70 : vector<2xf32>
    %77 = llvm.extractelement %76[%0 : i32] : vector<2xf32>
    %78 = llvm.extractelement %76[%14 : i32] : vector<2xf32>
    %79 = llvm.insertelement %55, %27[%0 : i32] : vector<2xf32>
    %80 = llvm.insertelement %56, %79[%14 : i32] : vector<2xf32>
    %81 = llvm.fmul %80, %70 : vector<2xf32>
    %82 = llvm.extractelement %81[%0 : i32] : vector<2xf32>
    %83 = llvm.extractelement %81[%14 : i32] : vector<2xf32>
    %84 = llvm.insertelement %57, %27[%0 : i32] : vector<2xf32>
    %85 = llvm.insertelement %58, %84[%14 : i32] : vector<2xf32>
    %86 = llvm.fmul %85, %70 : vector<2xf32>
    %87 = llvm.extractelement %86[%0 : i32] : vector<2xf32>
    %88 = llvm.extractelement %86[%14 : i32] : vector<2xf32>
    %89 = llvm.insertelement %59, %27[%0 : i32] : vector<2xf32>
    %90 = llvm.insertelement %60, %89[%14 : i32] : vector<2xf32>
    %91 = llvm.fmul %90, %70 : vector<2xf32>
    %92 = llvm.extractelement %91[%0 : i32] : vector<2xf32>
    %93 = llvm.extractelement %91[%14 : i32] : vector<2xf32>
    %94 = llvm.insertelement %61, %27[%0 : i32] : vector<2xf32>
    %95 = llvm.insertelement %62, %94[%14 : i32] : vector<2xf32>
    %96 = llvm.fmul %95, %70 : vector<2xf32>
    %97 = llvm.extractelement %96[%0 : i32] : vector<2xf32>
    %98 = llvm.extractelement %96[%14 : i32] : vector<2xf32>
    %99 = llvm.insertelement %63, %27[%0 : i32] : vector<2xf32>
    %100 = llvm.insertelement %64, %99[%14 : i32] : vector<2xf32>
    %101 = llvm.fmul %100, %70 : vector<2xf32>
    %102 = llvm.extractelement %101[%0 : i32] : vector<2xf32>
    %103 = llvm.extractelement %101[%14 : i32] : vector<2xf32>
    %104 = llvm.insertelement %65, %27[%0 : i32] : vector<2xf32>
    %105 = llvm.insertelement %66, %104[%14 : i32] : vector<2xf32>
    %106 = llvm.fmul %105, %70 : vector<2xf32>
    %107 = llvm.extractelement %106[%0 : i32] : vector<2xf32>
    %108 = llvm.extractelement %106[%14 : i32] : vector<2xf32>
    %109 = llvm.bitcast %72 : f32 to i32
    %110 = llvm.bitcast %73 : f32 to i32
    %111 = llvm.bitcast %77 : f32 to i32
    %112 = llvm.bitcast %78 : f32 to i32
    %113 = llvm.bitcast %82 : f32 to i32
    %114 = llvm.bitcast %83 : f32 to i32
    %115 = llvm.bitcast %87 : f32 to i32
    %116 = llvm.bitcast %88 : f32 to i32
    %117 = llvm.bitcast %92 : f32 to i32
    %118 = llvm.bitcast %93 : f32 to i32
    %119 = llvm.bitcast %97 : f32 to i32
    %120 = llvm.bitcast %98 : f32 to i32
    %121 = llvm.bitcast %102 : f32 to i32
    %122 = llvm.bitcast %103 : f32 to i32
    %123 = llvm.bitcast %107 : f32 to i32
    %124 = llvm.bitcast %108 : f32 to i32
    %125 = llvm.insertelement %109, %28[%0 : i32] : vector<16xi32>
    %126 = llvm.insertelement %110, %125[%14 : i32] : vector<16xi32>
    %127 = llvm.insertelement %111, %126[%15 : i32] : vector<16xi32>
    %128 = llvm.insertelement %112, %127[%9 : i32] : vector<16xi32>
    %129 = llvm.insertelement %113, %128[%16 : i32] : vector<16xi32>
    %130 = llvm.insertelement %114, %129[%4 : i32] : vector<16xi32>
    %131 = llvm.insertelement %115, %130[%17 : i32] : vector<16xi32>
    %132 = llvm.insertelement %116, %131[%18 : i32] : vector<16xi32>
    %133 = llvm.insertelement %117, %132[%19 : i32] : vector<16xi32>
    %134 = llvm.insertelement %118, %133[%20 : i32] : vector<16xi32>
    %135 = llvm.insertelement %119, %134[%21 : i32] : vector<16xi32>
    %136 = llvm.insertelement %120, %135[%22 : i32] : vector<16xi32>
    %137 = llvm.insertelement %121, %136[%23 : i32] : vector<16xi32>
    %138 = llvm.insertelement %122, %137[%24 : i32] : vector<16xi32>
    %139 = llvm.insertelement %123, %138[%25 : i32] : vector<16xi32>
    %140 = llvm.insertelement %124, %139[%26 : i32] : vector<16xi32>
    cute_nvgpu.arch.copy.SM100.tmem_store %30 registers(%140) {shape = "32x32b", repetitions = 16 : i64, async} : (!llvm.ptr<6>, vector<16xi32>) -> ()
    nvvm.tcgen05.wait.ld
    %141 = llvm.extractelement %34[%0 : i32] : vector<16xi32>
    %142 = llvm.extractelement %34[%14 : i32] : vector<16xi32>
    %143 = llvm.extractelement %34[%15 : i32] : vector<16xi32>
    %144 = llvm.extractelement %34[%9 : i32] : vector<16xi32>
    %145 = llvm.extractelement %34[%16 : i32] : vector<16xi32>
    %146 = llvm.extractelement %34[%4 : i32] : vector<16xi32>
    %147 = llvm.extractelement %34[%17 : i32] : vector<16xi32>
    %148 = llvm.extractelement %34[%18 : i32] : vector<16xi32>
    %149 = llvm.extractelement %34[%19 : i32] : vector<16xi32>
    %150 = llvm.extractelement %34[%20 : i32] : vector<16xi32>
    %151 = llvm.extractelement %34[%21 : i32] : vector<16xi32>
    %152 = llvm.extractelement %34[%22 : i32] : vector<16xi32>
    %153 = llvm.extractelement %34[%23 : i32] : vector<16xi32>
    %154 = llvm.extractelement %34[%24 : i32] : vector<16xi32>
    %155 = llvm.extractelement %34[%25 : i32] : vector<16xi32>
    %156 = llvm.extractelement %34[%26 : i32] : vector<16xi32>
    %157 = llvm.bitcast %141 : i32 to f32
    %158 = llvm.bitcast %142 : i32 to f32
    %159 = llvm.bitcast %143 : i32 to f32
    %160 = llvm.bitcast %144 : i32 to f32
    %161 = llvm.bitcast %145 : i32 to f32
    %162 = llvm.bitcast %146 : i32 to f32
    %163 = llvm.bitcast %147 : i32 to f32
    %164 = llvm.bitcast %148 : i32 to f32
    %165 = llvm.bitcast %149 : i32 to f32
    %166 = llvm.bitcast %150 : i32 to f32
    %167 = llvm.bitcast %151 : i32 to f32
    %168 = llvm.bitcast %152 : i32 to f32
    %169 = llvm.bitcast %153 : i32 to f32
    %170 = llvm.bitcast %154 : i32 to f32
    %171 = llvm.bitcast %155 : i32 to f32
    %172 = llvm.bitcast %156 : i32 to f32
    %173 = llvm.insertelement %157, %27[%0 : i32] : vector<2xf32>
    %174 = llvm.insertelement %158, %173[%14 : i32] : vector<2xf32>
    %175 = llvm.fmul %174, %70 : vector<2xf32>
    %176 = llvm.extractelement %175[%0 : i32] : vector<2xf32>
    %177 = llvm.extractelement %175[%14 : i32] : vector<2xf32>
    %178 = llvm.insertelement %159, %27[%0 : i32] : vector<2xf32>
    %179 = llvm.insertelement %160, %178[%14 : i32] : vector<2xf32>
    %180 = llvm.fmul %179, %70 : vector<2xf32>
    %181 = llvm.extractelement %180[%0 : i32] : vector<2xf32>
    %182 = llvm.extractelement %180[%14 : i32] : vector<2xf32>
    %183 = llvm.insertelement %161, %27[%0 : i32] : vector<2xf32>
    %184 = llvm.insertelement %162, %183[%14 : i32] : vector<2xf32>
    %185 = llvm.fmul %184, %70 : vector<2xf32>
    %186 = llvm.extractelement %185[%0 : i32] : vector<2xf32>
    %187 = llvm.extractelement %185[%14 : i32] : vector<2xf32>
    %188 = llvm.insertelement %163, %27[%0 : i32] : vector<2xf32>
    %189 = llvm.insertelement %164, %188[%14 : i32] : vector<2xf32>
    %190 = llvm.fmul %189, %70 : vector<2xf32>
    %191 = llvm.extractelement %190[%0 : i32] : vector<2xf32>
    %192 = llvm.extractelement %190[%14 : i32] : vector<2xf32>
    %193 = llvm.insertelement %165, %27[%0 : i32] : vector<2xf32>
    %194 = llvm.insertelement %166, %193[%14 : i32] : vector<2xf32>
    %195 = llvm.fmul %194, %70 : vector<2xf32>
    %196 = llvm.extractelement %195[%0 : i32] : vector<2xf32>
    %197 = llvm.extractelement %195[%14 : i32] : vector<2xf32>
    %198 = llvm.insertelement %167, %27[%0 : i32] : vector<2xf32>
    %199 = llvm.insertelement %168, %198[%14 : i32] : vector<2xf32>
    %200 = llvm.fmul %199, %70 : vector<2xf32>
    %201 = llvm.extractelement %200[%0 : i32] : vector<2xf32>
    %202 = llvm.extractelement %200[%14 : i32] : vector<2xf32>
    %203 = llvm.insertelement %169, %27[%0 : i32] : vector<2xf32>
    %204 = llvm.insertelement %170, %203[%14 : i32] : vector<2xf32>
    %205 = llvm.fmul %204, %70 : vector<2xf32>
    %206 = llvm.extractelement %205[%0 : i32] : vector<2xf32>
    %207 = llvm.extractelement %205[%14 : i32] : vector<2xf32>
    %208 = llvm.insertelement %171, %27[%0 : i32] : vector<2xf32>
    %209 = llvm.insertelement %172, %208[%14 : i32] : vector<2xf32>
    %210 = llvm.fmul %209, %70 : vector<2xf32>
    %211 = llvm.extractelement %210[%0 : i32] : vector<2xf32>
    %212 = llvm.extractelement %210[%14 : i32] : vector<2xf32>
    %213 = llvm.bitcast %176 : f32 to i32
    %214 = llvm.bitcast %177 : f32 to i32
    %215 = llvm.bitcast %181 : f32 to i32
    %216 = llvm.bitcast %182 : f32 to i32
    %217 = llvm.bitcast %186 : f32 to i32
    %218 = llvm.bitcast %187 : f32 to i32
    %219 = llvm.bitcast %191 : f32 to i32
    %220 = llvm.bitcast %192 : f32 to i32
    %221 = llvm.bitcast %196 : f32 to i32
    %222 = llvm.bitcast %197 : f32 to i32
    %223 = llvm.bitcast %201 : f32 to i32
    %224 = llvm.bitcast %202 : f32 to i32
    %225 = llvm.bitcast %206 : f32 to i32
    %226 = llvm.bitcast %207 : f32 to i32
    %227 = llvm.bitcast %211 : f32 to i32
    %228 = llvm.bitcast %212 : f32 to i32
    %229 = llvm.insertelement %213, %28[%0 : i32] : vector<16xi32>
    %230 = llvm.insertelement %214, %229[%14 : i32] : vector<16xi32>
    %231 = llvm.insertelement %215, %230[%15 : i32] : vector<16xi32>
    %232 = llvm.insertelement %216, %231[%9 : i32] : vector<16xi32>
    %233 = llvm.insertelement %217, %232[%16 : i32] : vector<16xi32>
    %234 = llvm.insertelement %218, %233[%4 : i32] : vector<16xi32>
    %235 = llvm.insertelement %219, %234[%17 : i32] : vector<16xi32>
    %236 = llvm.insertelement %220, %235[%18 : i32] : vector<16xi32>
    %237 = llvm.insertelement %221, %236[%19 : i32] : vector<16xi32>
    %238 = llvm.insertelement %222, %237[%20 : i32] : vector<16xi32>
    %239 = llvm.insertelement %223, %238[%21 : i32] : vector<16xi32>
    %240 = llvm.insertelement %224, %239[%22 : i32] : vector<16xi32>
    %241 = llvm.insertelement %225, %240[%23 : i32] : vector<16xi32>
    %242 = llvm.insertelement %226, %241[%24 : i32] : vector<16xi32>
    %243 = llvm.insertelement %227, %242[%25 : i32] : vector<16xi32>
    %244 = llvm.insertelement %228, %243[%26 : i32] : vector<16xi32>
    cute_nvgpu.arch.copy.SM100.tmem_store %33 registers(%244) {shape = "32x32b", repetitions = 16 : i64, async} : (!llvm.ptr<6>, vector<16xi32>) -> ()
    nvvm.tcgen05.wait.st
    nvvm.tcgen05.fence.before_thread_sync
    llvm.return
  }
}

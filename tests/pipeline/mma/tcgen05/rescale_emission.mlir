// A sum in tensor memory is scaled where it is: loaded, multiplied and stored in parts, unless all factors of a warp are 1.
// run: convert-nv-tile-func-to-llvm emit-global-smem convert-tile-as-to-llvm sm_100

// ---- a_tile_is_scaled_where_it_is
!columns = !nv_tileas.tmem<#builtin.int<32>>
!tile = tensor<128x32xf32, #cute.layout<(128,32), (32,4,32):(32,1024,1)>>
nv_tileaa.func @k attributes {num_warps = 4 : i32, shared_bytes = 16 : i32} {
^bb0(%x: f32, %on: i1):
  %all = nv_tileas.create_tmem {shared_offset = 0 : i32} : !columns
  %d = nv_tileas.alloc_tmem %all {column = 0 : i32} : (!columns) -> !columns
  %factors = nv_tileas.splat %x : (f32) -> !tile
  nv_tileas.tmem_scale %d, %factors enabled(%on) : (!columns, !tile, i1) -> ()
  nv_tileaa.return
}
// ==>
gpu.module @kernels attributes {tileiras.manifest = "{\22version\22: 2, \22target\22: \22sm_100a\22, \22kernels\22: {\22k\22: {\22params\22: [{\22name\22: \22arg0\22, \22kind\22: \22f32\22, \22size\22: 4, \22offset\22: 0, \22role\22: \22scalar\22, \22argument\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22i1\22, \22size\22: 1, \22offset\22: 4, \22role\22: \22scalar\22, \22argument\22: 1}], \22param_sizes\22: [4, 1], \22arguments\22: [{\22name\22: \22arg0\22, \22kind\22: \22scalar\22, \22param\22: 0}, {\22name\22: \22arg1\22, \22kind\22: \22scalar\22, \22param\22: 1}], \22grid\22: {\22axes\22: []}, \22threads_per_cta\22: 128, \22shared_memory\22: {\22static\22: 16, \22dynamic\22: 0}, \22cluster\22: [1, 1, 1], \22tensor_maps\22: []}}}"} {
  llvm.mlir.global internal @global_smem() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<16 x i8>
  llvm.func @k(%a0: f32, %a1: i8) attributes {nvvm.kernel, nvvm.reqntid = array<i32: 128>} {
    %0 = llvm.mlir.constant(0 : i8) : i8
    %1 = llvm.icmp "ne" %a1, %0 : i8
    %2 = llvm.mlir.constant(1.000000e+00 : f32) : f32
    %3 = llvm.mlir.constant(-1 : i32) : i32
    %4 = llvm.mlir.constant(true) : i1
    %5 = gpu.thread_id x
    %6 = arith.index_cast %5 : index to i32
    %7 = llvm.mlir.constant(5 : i32) : i32
    %8 = llvm.lshr %6, %7 : i32
    %9 = llvm.mlir.constant(0 : i32) : i32
    %10 = llvm.mlir.constant(32 : i32) : i32
    %11, %12 = gpu.shuffle idx %8, %9, %10 : i32
    %13 = llvm.mlir.constant(3 : i32) : i32
    %14 = llvm.and %11, %13 : i32
    %15 = llvm.mlir.constant(21 : i32) : i32
    %16 = llvm.shl %14, %15 : i32
    %17 = llvm.mlir.constant(16 : i32) : i32
    %18 = llvm.mlir.constant(1 : i32) : i32
    %19 = llvm.mlir.constant(2 : i32) : i32
    %20 = llvm.mlir.constant(4 : i32) : i32
    %21 = llvm.mlir.constant(6 : i32) : i32
    %22 = llvm.mlir.constant(7 : i32) : i32
    %23 = llvm.mlir.constant(8 : i32) : i32
    %24 = llvm.mlir.constant(9 : i32) : i32
    %25 = llvm.mlir.constant(10 : i32) : i32
    %26 = llvm.mlir.constant(11 : i32) : i32
    %27 = llvm.mlir.constant(12 : i32) : i32
    %28 = llvm.mlir.constant(13 : i32) : i32
    %29 = llvm.mlir.constant(14 : i32) : i32
    %30 = llvm.mlir.constant(15 : i32) : i32
    %31 = llvm.mlir.undef : vector<2xf32>
    %32 = llvm.mlir.undef : vector<16xi32>
    %33 = llvm.fcmp "oeq" %a0, %2 : f32
    %34 = nvvm.vote.all.sync %3, %33 : (i32, i1) -> i1
    %35 = llvm.xor %34, %4 : i1
    %36 = llvm.and %35, %1 : i1
    llvm.cond_br %36, ^bb1, ^bb2
  ^bb1:
    nvvm.tcgen05.fence.after_thread_sync
    %37 = llvm.inttoptr %16 : i32 to !llvm.ptr<6>
    %38 = cute_nvgpu.arch.copy.SM100.tmem_load %37 {shape = "32x32b", repetitions = 16 : i64, async} : (!llvm.ptr<6>) -> vector<16xi32>
    nvvm.tcgen05.wait.ld
    %39 = llvm.add %16, %17 : i32
    %40 = llvm.inttoptr %39 : i32 to !llvm.ptr<6>
    %41 = cute_nvgpu.arch.copy.SM100.tmem_load %40 {shape = "32x32b", repetitions = 16 : i64, async} : (!llvm.ptr<6>) -> vector<16xi32>
    %42 = llvm.extractelement %38[%9 : i32] : vector<16xi32>
    %43 = llvm.extractelement %38[%18 : i32] : vector<16xi32>
    %44 = llvm.extractelement %38[%19 : i32] : vector<16xi32>
    %45 = llvm.extractelement %38[%13 : i32] : vector<16xi32>
    %46 = llvm.extractelement %38[%20 : i32] : vector<16xi32>
    %47 = llvm.extractelement %38[%7 : i32] : vector<16xi32>
    %48 = llvm.extractelement %38[%21 : i32] : vector<16xi32>
    %49 = llvm.extractelement %38[%22 : i32] : vector<16xi32>
    %50 = llvm.extractelement %38[%23 : i32] : vector<16xi32>
    %51 = llvm.extractelement %38[%24 : i32] : vector<16xi32>
    %52 = llvm.extractelement %38[%25 : i32] : vector<16xi32>
    %53 = llvm.extractelement %38[%26 : i32] : vector<16xi32>
    %54 = llvm.extractelement %38[%27 : i32] : vector<16xi32>
    %55 = llvm.extractelement %38[%28 : i32] : vector<16xi32>
    %56 = llvm.extractelement %38[%29 : i32] : vector<16xi32>
    %57 = llvm.extractelement %38[%30 : i32] : vector<16xi32>
    %58 = llvm.bitcast %42 : i32 to f32
    %59 = llvm.bitcast %43 : i32 to f32
    %60 = llvm.bitcast %44 : i32 to f32
    %61 = llvm.bitcast %45 : i32 to f32
    %62 = llvm.bitcast %46 : i32 to f32
    %63 = llvm.bitcast %47 : i32 to f32
    %64 = llvm.bitcast %48 : i32 to f32
    %65 = llvm.bitcast %49 : i32 to f32
    %66 = llvm.bitcast %50 : i32 to f32
    %67 = llvm.bitcast %51 : i32 to f32
    %68 = llvm.bitcast %52 : i32 to f32
    %69 = llvm.bitcast %53 : i32 to f32
    %70 = llvm.bitcast %54 : i32 to f32
    %71 = llvm.bitcast %55 : i32 to f32
    %72 = llvm.bitcast %56 : i32 to f32
    %73 = llvm.bitcast %57 : i32 to f32
    %74 = llvm.insertelement %58, %31[%9 : i32] : vector<2xf32>
    %75 = llvm.insertelement %59, %74[%18 : i32] : vector<2xf32>
    %76 = llvm.insertelement %a0, %31[%9 : i32] : vector<2xf32>
    %77 = llvm.insertelement %a0, %76[%18 : i32] : vector<2xf32>
    %78 = llvm.fmul %75, %77 : vector<2xf32>
    %79 = llvm.extractelement %78[%9 : i32] : vector<2xf32>
    %80 = llvm.extractelement %78[%18 : i32] : vector<2xf32>
    %81 = llvm.insertelement %60, %31[%9 : i32] : vector<2xf32>
    %82 = llvm.insertelement %61, %81[%18 : i32] : vector<2xf32>
    %83 = llvm.fmul %82, %77 : vector<2xf32>
    %84 = llvm.extractelement %83[%9 : i32] : vector<2xf32>
    %85 = llvm.extractelement %83[%18 : i32] : vector<2xf32>
    %86 = llvm.insertelement %62, %31[%9 : i32] : vector<2xf32>
    %87 = llvm.insertelement %63, %86[%18 : i32] : vector<2xf32>
    %88 = llvm.fmul %87, %77 : vector<2xf32>
    %89 = llvm.extractelement %88[%9 : i32] : vector<2xf32>
    %90 = llvm.extractelement %88[%18 : i32] : vector<2xf32>
    %91 = llvm.insertelement %64, %31[%9 : i32] : vector<2xf32>
    %92 = llvm.insertelement %65, %91[%18 : i32] : vector<2xf32>
    %93 = llvm.fmul %92, %77 : vector<2xf32>
    %94 = llvm.extractelement %93[%9 : i32] : vector<2xf32>
    %95 = llvm.extractelement %93[%18 : i32] : vector<2xf32>
    %96 = llvm.insertelement %66, %31[%9 : i32] : vector<2xf32>
    %97 = llvm.insertelement %67, %96[%18 : i32] : vector<2xf32>
    %98 = llvm.fmul %97, %77 : vector<2xf32>
    %99 = llvm.extractelement %98[%9 : i32] : vector<2xf32>
    %100 = llvm.extractelement %98[%18 : i32] : vector<2xf32>
    %101 = llvm.insertelement %68, %31[%9 : i32] : vector<2xf32>
    %102 = llvm.insertelement %69, %101[%18 : i32] : vector<2xf32>
    %103 = llvm.fmul %102, %77 : vector<2xf32>
    %104 = llvm.extractelement %103[%9 : i32] : vector<2xf32>
    %105 = llvm.extractelement %103[%18 : i32] : vector<2xf32>
    %106 = llvm.insertelement %70, %31[%9 : i32] : vector<2xf32>
    %107 = llvm.insertelement %71, %106[%18 : i32] : vector<2xf32>
    %108 = llvm.fmul %107, %77 : vector<2xf32>
    %109 = llvm.extractelement %108[%9 : i32] : vector<2xf32>
    %110 = llvm.extractelement %108[%18 : i32] : vector<2xf32>
    %111 = llvm.insertelement %72, %31[%9 : i32] : vector<2xf32>
    %112 = llvm.insertelement %73, %111[%18 : i32] : vector<2xf32>
    %113 = llvm.fmul %112, %77 : vector<2xf32>
    %114 = llvm.extractelement %113[%9 : i32] : vector<2xf32>
    %115 = llvm.extractelement %113[%18 : i32] : vector<2xf32>
    %116 = llvm.bitcast %79 : f32 to i32
    %117 = llvm.bitcast %80 : f32 to i32
    %118 = llvm.bitcast %84 : f32 to i32
    %119 = llvm.bitcast %85 : f32 to i32
    %120 = llvm.bitcast %89 : f32 to i32
    %121 = llvm.bitcast %90 : f32 to i32
    %122 = llvm.bitcast %94 : f32 to i32
    %123 = llvm.bitcast %95 : f32 to i32
    %124 = llvm.bitcast %99 : f32 to i32
    %125 = llvm.bitcast %100 : f32 to i32
    %126 = llvm.bitcast %104 : f32 to i32
    %127 = llvm.bitcast %105 : f32 to i32
    %128 = llvm.bitcast %109 : f32 to i32
    %129 = llvm.bitcast %110 : f32 to i32
    %130 = llvm.bitcast %114 : f32 to i32
    %131 = llvm.bitcast %115 : f32 to i32
    %132 = llvm.insertelement %116, %32[%9 : i32] : vector<16xi32>
    %133 = llvm.insertelement %117, %132[%18 : i32] : vector<16xi32>
    %134 = llvm.insertelement %118, %133[%19 : i32] : vector<16xi32>
    %135 = llvm.insertelement %119, %134[%13 : i32] : vector<16xi32>
    %136 = llvm.insertelement %120, %135[%20 : i32] : vector<16xi32>
    %137 = llvm.insertelement %121, %136[%7 : i32] : vector<16xi32>
    %138 = llvm.insertelement %122, %137[%21 : i32] : vector<16xi32>
    %139 = llvm.insertelement %123, %138[%22 : i32] : vector<16xi32>
    %140 = llvm.insertelement %124, %139[%23 : i32] : vector<16xi32>
    %141 = llvm.insertelement %125, %140[%24 : i32] : vector<16xi32>
    %142 = llvm.insertelement %126, %141[%25 : i32] : vector<16xi32>
    %143 = llvm.insertelement %127, %142[%26 : i32] : vector<16xi32>
    %144 = llvm.insertelement %128, %143[%27 : i32] : vector<16xi32>
    %145 = llvm.insertelement %129, %144[%28 : i32] : vector<16xi32>
    %146 = llvm.insertelement %130, %145[%29 : i32] : vector<16xi32>
    %147 = llvm.insertelement %131, %146[%30 : i32] : vector<16xi32>
    cute_nvgpu.arch.copy.SM100.tmem_store %37 registers(%147) {shape = "32x32b", repetitions = 16 : i64, async} : (!llvm.ptr<6>, vector<16xi32>) -> ()
    nvvm.tcgen05.wait.ld
    %148 = llvm.extractelement %41[%9 : i32] : vector<16xi32>
    %149 = llvm.extractelement %41[%18 : i32] : vector<16xi32>
    %150 = llvm.extractelement %41[%19 : i32] : vector<16xi32>
    %151 = llvm.extractelement %41[%13 : i32] : vector<16xi32>
    %152 = llvm.extractelement %41[%20 : i32] : vector<16xi32>
    %153 = llvm.extractelement %41[%7 : i32] : vector<16xi32>
    %154 = llvm.extractelement %41[%21 : i32] : vector<16xi32>
    %155 = llvm.extractelement %41[%22 : i32] : vector<16xi32>
    %156 = llvm.extractelement %41[%23 : i32] : vector<16xi32>
    %157 = llvm.extractelement %41[%24 : i32] : vector<16xi32>
    %158 = llvm.extractelement %41[%25 : i32] : vector<16xi32>
    %159 = llvm.extractelement %41[%26 : i32] : vector<16xi32>
    %160 = llvm.extractelement %41[%27 : i32] : vector<16xi32>
    %161 = llvm.extractelement %41[%28 : i32] : vector<16xi32>
    %162 = llvm.extractelement %41[%29 : i32] : vector<16xi32>
    %163 = llvm.extractelement %41[%30 : i32] : vector<16xi32>
    %164 = llvm.bitcast %148 : i32 to f32
    %165 = llvm.bitcast %149 : i32 to f32
    %166 = llvm.bitcast %150 : i32 to f32
    %167 = llvm.bitcast %151 : i32 to f32
    %168 = llvm.bitcast %152 : i32 to f32
    %169 = llvm.bitcast %153 : i32 to f32
    %170 = llvm.bitcast %154 : i32 to f32
    %171 = llvm.bitcast %155 : i32 to f32
    %172 = llvm.bitcast %156 : i32 to f32
    %173 = llvm.bitcast %157 : i32 to f32
    %174 = llvm.bitcast %158 : i32 to f32
    %175 = llvm.bitcast %159 : i32 to f32
    %176 = llvm.bitcast %160 : i32 to f32
    %177 = llvm.bitcast %161 : i32 to f32
    %178 = llvm.bitcast %162 : i32 to f32
    %179 = llvm.bitcast %163 : i32 to f32
    %180 = llvm.insertelement %164, %31[%9 : i32] : vector<2xf32>
    %181 = llvm.insertelement %165, %180[%18 : i32] : vector<2xf32>
    %182 = llvm.fmul %181, %77 : vector<2xf32>
    %183 = llvm.extractelement %182[%9 : i32] : vector<2xf32>
    %184 = llvm.extractelement %182[%18 : i32] : vector<2xf32>
    %185 = llvm.insertelement %166, %31[%9 : i32] : vector<2xf32>
    %186 = llvm.insertelement %167, %185[%18 : i32] : vector<2xf32>
    %187 = llvm.fmul %186, %77 : vector<2xf32>
    %188 = llvm.extractelement %187[%9 : i32] : vector<2xf32>
    %189 = llvm.extractelement %187[%18 : i32] : vector<2xf32>
    %190 = llvm.insertelement %168, %31[%9 : i32] : vector<2xf32>
    %191 = llvm.insertelement %169, %190[%18 : i32] : vector<2xf32>
    %192 = llvm.fmul %191, %77 : vector<2xf32>
    %193 = llvm.extractelement %192[%9 : i32] : vector<2xf32>
    %194 = llvm.extractelement %192[%18 : i32] : vector<2xf32>
    %195 = llvm.insertelement %170, %31[%9 : i32] : vector<2xf32>
    %196 = llvm.insertelement %171, %195[%18 : i32] : vector<2xf32>
    %197 = llvm.fmul %196, %77 : vector<2xf32>
    %198 = llvm.extractelement %197[%9 : i32] : vector<2xf32>
    %199 = llvm.extractelement %197[%18 : i32] : vector<2xf32>
    %200 = llvm.insertelement %172, %31[%9 : i32] : vector<2xf32>
    %201 = llvm.insertelement %173, %200[%18 : i32] : vector<2xf32>
    %202 = llvm.fmul %201, %77 : vector<2xf32>
    %203 = llvm.extractelement %202[%9 : i32] : vector<2xf32>
    %204 = llvm.extractelement %202[%18 : i32] : vector<2xf32>
    %205 = llvm.insertelement %174, %31[%9 : i32] : vector<2xf32>
    %206 = llvm.insertelement %175, %205[%18 : i32] : vector<2xf32>
    %207 = llvm.fmul %206, %77 : vector<2xf32>
    %208 = llvm.extractelement %207[%9 : i32] : vector<2xf32>
    %209 = llvm.extractelement %207[%18 : i32] : vector<2xf32>
    %210 = llvm.insertelement %176, %31[%9 : i32] : vector<2xf32>
    %211 = llvm.insertelement %177, %210[%18 : i32] : vector<2xf32>
    %212 = llvm.fmul %211, %77 : vector<2xf32>
    %213 = llvm.extractelement %212[%9 : i32] : vector<2xf32>
    %214 = llvm.extractelement %212[%18 : i32] : vector<2xf32>
    %215 = llvm.insertelement %178, %31[%9 : i32] : vector<2xf32>
    %216 = llvm.insertelement %179, %215[%18 : i32] : vector<2xf32>
    %217 = llvm.fmul %216, %77 : vector<2xf32>
    %218 = llvm.extractelement %217[%9 : i32] : vector<2xf32>
    %219 = llvm.extractelement %217[%18 : i32] : vector<2xf32>
    %220 = llvm.bitcast %183 : f32 to i32
    %221 = llvm.bitcast %184 : f32 to i32
    %222 = llvm.bitcast %188 : f32 to i32
    %223 = llvm.bitcast %189 : f32 to i32
    %224 = llvm.bitcast %193 : f32 to i32
    %225 = llvm.bitcast %194 : f32 to i32
    %226 = llvm.bitcast %198 : f32 to i32
    %227 = llvm.bitcast %199 : f32 to i32
    %228 = llvm.bitcast %203 : f32 to i32
    %229 = llvm.bitcast %204 : f32 to i32
    %230 = llvm.bitcast %208 : f32 to i32
    %231 = llvm.bitcast %209 : f32 to i32
    %232 = llvm.bitcast %213 : f32 to i32
    %233 = llvm.bitcast %214 : f32 to i32
    %234 = llvm.bitcast %218 : f32 to i32
    %235 = llvm.bitcast %219 : f32 to i32
    %236 = llvm.insertelement %220, %32[%9 : i32] : vector<16xi32>
    %237 = llvm.insertelement %221, %236[%18 : i32] : vector<16xi32>
    %238 = llvm.insertelement %222, %237[%19 : i32] : vector<16xi32>
    %239 = llvm.insertelement %223, %238[%13 : i32] : vector<16xi32>
    %240 = llvm.insertelement %224, %239[%20 : i32] : vector<16xi32>
    %241 = llvm.insertelement %225, %240[%7 : i32] : vector<16xi32>
    %242 = llvm.insertelement %226, %241[%21 : i32] : vector<16xi32>
    %243 = llvm.insertelement %227, %242[%22 : i32] : vector<16xi32>
    %244 = llvm.insertelement %228, %243[%23 : i32] : vector<16xi32>
    %245 = llvm.insertelement %229, %244[%24 : i32] : vector<16xi32>
    %246 = llvm.insertelement %230, %245[%25 : i32] : vector<16xi32>
    %247 = llvm.insertelement %231, %246[%26 : i32] : vector<16xi32>
    %248 = llvm.insertelement %232, %247[%27 : i32] : vector<16xi32>
    %249 = llvm.insertelement %233, %248[%28 : i32] : vector<16xi32>
    %250 = llvm.insertelement %234, %249[%29 : i32] : vector<16xi32>
    %251 = llvm.insertelement %235, %250[%30 : i32] : vector<16xi32>
    cute_nvgpu.arch.copy.SM100.tmem_store %40 registers(%251) {shape = "32x32b", repetitions = 16 : i64, async} : (!llvm.ptr<6>, vector<16xi32>) -> ()
    nvvm.tcgen05.wait.st
    nvvm.tcgen05.fence.before_thread_sync
    llvm.br ^bb2
  ^bb2:
    llvm.return
  }
}

#ifndef @@_HPP
#define @@_HPP

/*
 * @.h for C++17 and later: a library that closes itself, arrays with types, and errors as exceptions or as values.
 *
 *     auto library = @::library::open_file("@{file}@");
 *     library.load_all();
 *     library.<kernel>({4, 1, 1}, stream, @::tensor<const float, 1>(x, {1000}), ...);      // throws @::error
 *     auto status = library.try_<kernel>(...);                                             // never throws
 *
 * An array is a tensor (a device pointer, lengths, and strides where it is not contiguous), a std::span, or anything that has
 * data_handle(), extent(i), stride(i) and rank(), as std::mdspan. What it holds is checked when the program is compiled:
 * a kernel that writes takes no array of const. Where exceptions are off (or @@_NO_EXCEPTIONS is defined) there are the
 * try_ functions alone. Threads: as @.h says.
 */

#include "@.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#if !defined(@@_NO_EXCEPTIONS) && !defined(__cpp_exceptions) && !defined(_CPPUNWIND)
#define @@_NO_EXCEPTIONS
#endif
#ifndef @@_NO_EXCEPTIONS
#include <stdexcept>
#endif

namespace @ {

/* What went wrong; false where nothing did. */
class [[nodiscard]] status {
public:
    status() noexcept = default;
    explicit status(CUresult code) : code_(code)
    {
        if (code)
            message_ = @_error_string(code);
    }
    CUresult code() const noexcept { return code_; }
    const std::string &message() const noexcept { return message_; }
    explicit operator bool() const noexcept { return code_ != CUDA_SUCCESS; }

private:
    CUresult code_ = CUDA_SUCCESS;
    std::string message_;
};

#ifndef @@_NO_EXCEPTIONS
/* A status that is not CUDA_SUCCESS. */
class error : public std::runtime_error {
public:
    explicit error(const status &what) : std::runtime_error(what.message()), code_(what.code()) {}
    CUresult code() const noexcept { return code_; }

private:
    CUresult code_;
};

inline void require(const status &found)
{
    if (found)
        throw error(found);
}
#endif

/* An array in the GPU's memory; strides are in elements. */
template <class T, std::size_t Rank> struct tensor {
    using lengths = std::array<std::int64_t, Rank>;

    T *data = nullptr;
    lengths shape{}, strides{};

    tensor() = default;
    tensor(T *data_, const lengths &shape_) : data(data_), shape(shape_), strides(contiguous(shape_)) {}
    tensor(T *data_, const lengths &shape_, const lengths &strides_) : data(data_), shape(shape_), strides(strides_) {}

    /* The last dimension is the fastest. */
    static lengths contiguous(const lengths &shape)
    {
        lengths made{};
        std::int64_t step = 1;
        for (std::size_t axis = Rank; axis-- > 0; step *= shape[axis])
            made[axis] = step;
        return made;
    }
};

/* Elements that have no type of their own in C++: their bits. */
struct f16 { std::uint16_t bits; };
struct bf16 { std::uint16_t bits; };
struct f8 { std::uint8_t bits; };

/* What a kernel takes memory for. */
enum class kind { i1, i8, i16, i32, i64, f16, bf16, f32, f64, f8, bits };

/* Whether memory of T holds elements of a kind: true for other types where a program specializes it so. */
template <class T, kind K>
inline constexpr bool holds =
    K == kind::bits ? sizeof(T) == 1
    : K == kind::f32 ? std::is_same_v<T, float>
    : K == kind::f64 ? std::is_same_v<T, double>
    : K == kind::f16 ? std::is_same_v<T, f16>
    : K == kind::bf16 ? std::is_same_v<T, bf16>
    : K == kind::f8 ? std::is_same_v<T, f8>
    : (K == kind::i1 || K == kind::i8) ? (std::is_integral_v<T> && sizeof(T) == 1)
    : (K == kind::i16) ? (std::is_integral_v<T> && sizeof(T) == 2)
    : (K == kind::i32) ? (std::is_integral_v<T> && sizeof(T) == 4)
                       : (std::is_integral_v<T> && sizeof(T) == 8);
#ifdef __CUDA_FP16_TYPES_EXIST__
template <> inline constexpr bool holds<__half, kind::f16> = true;
#endif
#ifdef __CUDA_BF16_TYPES_EXIST__
template <> inline constexpr bool holds<__nv_bfloat16, kind::bf16> = true;
#endif

namespace detail {

template <class X, class = void> struct is_mdspan : std::false_type {};
template <class X>
struct is_mdspan<X, std::void_t<decltype(std::declval<const X &>().data_handle()), decltype(X::rank())>> : std::true_type {};
template <class X, class = void> struct is_span : std::false_type {};
template <class X>
struct is_span<X, std::void_t<decltype(std::declval<const X &>().data()), decltype(std::declval<const X &>().size())>>
    : std::true_type {};

template <class T, std::size_t Rank> tensor<T, Rank> view(const tensor<T, Rank> &given) { return given; }

template <class X, std::enable_if_t<is_mdspan<X>::value, int> = 0> auto view(const X &given)
{
    using element = std::remove_pointer_t<decltype(given.data_handle())>;
    tensor<element, X::rank()> made;
    made.data = given.data_handle();
    for (std::size_t axis = 0; axis < X::rank(); ++axis) {
        made.shape[axis] = static_cast<std::int64_t>(given.extent(axis));
        made.strides[axis] = static_cast<std::int64_t>(given.stride(axis));
    }
    return made;
}

template <class X, std::enable_if_t<is_span<X>::value && !is_mdspan<X>::value, int> = 0> auto view(const X &given)
{
    using element = std::remove_pointer_t<decltype(given.data())>;
    return tensor<element, 1>(given.data(), {static_cast<std::int64_t>(given.size())});
}

inline CUdeviceptr address(const void *data) { return static_cast<CUdeviceptr>(reinterpret_cast<std::uintptr_t>(data)); }

template <class T, std::size_t Rank, kind K, bool Written, std::size_t Wanted> constexpr void check()
{
    static_assert(Rank == Wanted, "the array has another rank than the kernel was built for");
    static_assert(holds<std::remove_cv_t<T>, K>, "the array holds other elements than the kernel was built for");
    static_assert(!Written || !std::is_const_v<T>, "the kernel writes the array, which is const");
}

} // namespace detail

/* An argument that is an array; made from whatever is one. */
template <kind K, std::size_t Rank, bool Written> class array {
public:
    template <class X> array(const X &given)
    {
        const auto seen = detail::view(given);
        take(seen);
    }
    template <class C> C as() const
    {
        C made;
        made.pointer = pointer_;
        if constexpr (Rank > 0)
            for (std::size_t axis = 0; axis < Rank; ++axis)
                made.shape[axis] = shape_[axis], made.strides[axis] = strides_[axis];
        return made;
    }

private:
    template <class T, std::size_t Given> void take(const tensor<T, Given> &seen)
    {
        detail::check<T, Given, K, Written, Rank>();
        if constexpr (Given == Rank) {
            pointer_ = detail::address(seen.data);
            shape_ = seen.shape;
            strides_ = seen.strides;
        }
    }
    CUdeviceptr pointer_ = 0;
    std::array<std::int64_t, Rank> shape_{}, strides_{};
};

/* An argument that is an address. */
template <kind K, bool Written> class pointer {
public:
    template <class T> pointer(T *data) : value(detail::address(data))
    {
        if constexpr (!std::is_void_v<T>)
            detail::check<T, 0, K, Written, 0>();
    }
    explicit pointer(CUdeviceptr address) : value(address) {}
    CUdeviceptr value;
};

using grid = @_grid;

/* A library of kernels. */
class library {
public:
    library() noexcept = default;
    library(library &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    library &operator=(library &&other) noexcept
    {
        std::swap(handle_, other.handle_);
        return *this;
    }
    library(const library &) = delete;
    library &operator=(const library &) = delete;
    ~library() { @_close(handle_); }

    @_library *get() const noexcept { return handle_; }

    [[nodiscard]] status try_open(const void *image, std::size_t size) { return opened(@_open, image, size); }
    [[nodiscard]] status try_open_file(const char *path) { return opened(@_open_file, path); }
    [[nodiscard]] status try_load_all() const { return status(@_load_all(handle_)); }
#ifndef @@_NO_EXCEPTIONS
    static library open(const void *image, std::size_t size)
    {
        library made;
        require(made.try_open(image, size));
        return made;
    }
    static library open_file(const std::string &path)
    {
        library made;
        require(made.try_open_file(path.c_str()));
        return made;
    }
    /* Needs @_image.c. */
    static library open_embedded()
    {
        library made;
        require(made.opened(@_open_embedded));
        return made;
    }
    void load_all() const { require(try_load_all()); }
#endif

@{functions}@

private:
    template <class Open, class... Arguments> status opened(Open how, Arguments... arguments)
    {
        @_library *made = nullptr;
        const status found(how(&made, arguments...));
        if (!found)
            @_close(std::exchange(handle_, made));
        return found;
    }
    @_library *handle_ = nullptr;
};

} // namespace @

#endif

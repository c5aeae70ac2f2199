/**
 * @brief All extensions of standard C++ that the plugin uses, for loops over wide vectors.
 *
 * The plugin is standard C++17, and these extensions, which GCC >= 10 and clang >= 14 have.
 *
 * `XDCC_TARGET_CLONES` compiles a function several times, for several instruction sets. The
 * function is called through `XDCC_BEST_CLONE`, which chooses what this machine has. Only for
 * functions whose result does not depend on the choice: exact sums, and scores that are recomputed
 * in double precision before they decide.
 *
 * None of these vectors has 64 bytes: where registers hold 32, GCC keeps wider ones in memory,
 * which has cost up to eighteen times the time of two of 32 bytes.
 */
#ifndef XDCC_MULTILABEL_VECTORISED_H_
#define XDCC_MULTILABEL_VECTORISED_H_

#include <cstddef>  // for size_t
#include <cstdint>  // for int32_t

#if !defined(__GNUC__)
#error "The multi-label plugin needs GCC or clang."
#endif

// GCC 12 does this by itself. The thread sanitizer is not initialised yet when the loaded library
// chooses.
#if defined(__x86_64__) && !defined(__clang__) && __GNUC__ >= 12 && defined(__GLIBC__) && \
    !defined(__SANITIZE_THREAD__)
#define XDCC_TARGET_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#define XDCC_BEST_CLONE(...) (&__VA_ARGS__)
// Clang does not clone templates: the function is inlined into callers with an instruction set.
#elif defined(__x86_64__) && defined(__clang__)
#define XDCC_TARGET_CLONES XDCC_INLINE
#define XDCC_BEST_CLONE(...) (&::xgboost::multilabel::Clones<&__VA_ARGS__>::Call)
#else
#define XDCC_TARGET_CLONES
#define XDCC_BEST_CLONE(...) (&__VA_ARGS__)
#endif

// For functions that take or return vectors: they are compiled for the instruction set of their
// caller, and how vectors are passed does not matter. `XDCC_INLINE_LAMBDA` follows the parameters
// of a lambda expression.
#define XDCC_INLINE inline __attribute__((always_inline))
#define XDCC_INLINE_LAMBDA __attribute__((always_inline))
#pragma GCC diagnostic ignored "-Wpsabi"

// The loop that follows has at most `n` passes, a number that is known when it is compiled.
#define XDCC_PRAGMA(text) _Pragma(#text)
#if defined(__clang__)
#define XDCC_UNROLL(n) XDCC_PRAGMA(clang loop unroll(full))
#else
#define XDCC_UNROLL(n) XDCC_PRAGMA(GCC unroll n)
#endif

// Eight lanes of two vectors, by number: 0 to 7 are the first one's. XDCC_SWAP_LANES: what is
// `distance` (1, 2 or 4) lanes away takes each lane's place.
#if defined(__clang__)
#define XDCC_SHUFFLE(x, y, ...) __builtin_shufflevector(x, y, __VA_ARGS__)
#define XDCC_SWAP_LANES(x, distance)                              \
  ((distance) == 4   ? XDCC_SHUFFLE(x, x, 4, 5, 6, 7, 0, 1, 2, 3) \
   : (distance) == 2 ? XDCC_SHUFFLE(x, x, 2, 3, 0, 1, 6, 7, 4, 5) \
                     : XDCC_SHUFFLE(x, x, 1, 0, 3, 2, 5, 4, 7, 6))
#else
#define XDCC_SHUFFLE(x, y, ...) __builtin_shuffle(x, y, ::xgboost::multilabel::Int8{__VA_ARGS__})
#define XDCC_SWAP_LANES(x, distance) \
  __builtin_shuffle(x, ::xgboost::multilabel::Int8{0, 1, 2, 3, 4, 5, 6, 7} ^ (distance))
#endif

namespace xgboost::multilabel {
typedef std::int32_t Int8 __attribute__((vector_size(32)));
typedef std::int64_t Long4 __attribute__((vector_size(32)));
typedef float Float8 __attribute__((vector_size(32)));
typedef float Float4 __attribute__((vector_size(16)));
typedef double Double8 __attribute__((vector_size(64)));
typedef double Double4 __attribute__((vector_size(32)));
typedef double Double2 __attribute__((vector_size(16)));

#if defined(__x86_64__) && defined(__clang__)
#define XDCC_AVX2 "avx2,fma,bmi,bmi2"
#define XDCC_AVX512 XDCC_AVX2 ",avx512f,avx512bw,avx512cd,avx512dq,avx512vl"
/** @brief 1 with AVX2, 2 with AVX-512; else, and before the library is loaded, 0. */
inline int const kVectorLevel = [] {
  bool const avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                    __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  bool const avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                      __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                      __builtin_cpu_supports("avx512vl");
  return avx2 ? avx512 ? 2 : 1 : 0;
}();

/** @brief A function that is inlined here, for each instruction set. */
template <auto kFunction>
struct Clones;
template <typename Result, typename... Args, Result (*kFunction)(Args...)>
struct Clones<kFunction> {
  static Result Call(Args... args) {
    return kVectorLevel == 2   ? WithAvx512(args...)
           : kVectorLevel == 1 ? WithAvx2(args...)
                               : kFunction(args...);
  }

 private:
  __attribute__((target(XDCC_AVX512))) static Result WithAvx512(Args... args) {
    return kFunction(args...);
  }
  __attribute__((target(XDCC_AVX2))) static Result WithAvx2(Args... args) {
    return kFunction(args...);
  }
};
#undef XDCC_AVX512
#undef XDCC_AVX2
#endif

/** @brief Begin to fetch memory that is going to be read. */
XDCC_INLINE void Prefetch(void const* begin, std::size_t n_bytes) {
  constexpr std::size_t kCacheLine = 64;
  for (std::size_t at = 0; at < n_bytes; at += kCacheLine) {
    __builtin_prefetch(static_cast<char const*>(begin) + at);
  }
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_VECTORISED_H_

/**
 * @brief One portable library that uses wide vectors where the machine has them.
 *
 * `XDCC_TARGET_CLONES` compiles a function several times and chooses when the library is loaded.
 * Only for functions whose result does not depend on the choice: exact sums, and scores that are
 * recomputed in double precision before they decide.
 *
 * None of these vectors has 64 bytes: where registers hold 32, GCC keeps wider ones in memory,
 * which has cost up to eighteen times the time of two of 32 bytes.
 */
#ifndef XDCC_MULTILABEL_VECTORISED_H_
#define XDCC_MULTILABEL_VECTORISED_H_

#include <cstddef>  // for size_t
#include <cstdint>  // for int32_t

// The thread sanitizer is not there yet when the library is loaded and chooses.
#if defined(__GNUC__) && __GNUC__ >= 12 && !defined(__clang__) && defined(__x86_64__) && \
    defined(__GLIBC__) && !defined(__SANITIZE_THREAD__)
#define XDCC_TARGET_CLONES \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define XDCC_TARGET_CLONES
#endif

namespace xgboost::multilabel {
typedef std::int32_t Int8 __attribute__((vector_size(32)));
typedef float Float8 __attribute__((vector_size(32)));
typedef float Float4 __attribute__((vector_size(16)));
typedef double Double4 __attribute__((vector_size(32)));

/** @brief Begin to fetch memory that is going to be read. */
inline __attribute__((always_inline)) void Prefetch(void const* begin, std::size_t n_bytes) {
  constexpr std::size_t kCacheLine = 64;
  for (std::size_t at = 0; at < n_bytes; at += kCacheLine) {
    __builtin_prefetch(static_cast<char const*>(begin) + at);
  }
}
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_VECTORISED_H_

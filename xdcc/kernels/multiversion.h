/**
 * @brief Functions that are compiled for several instruction sets.
 *
 * One version is chosen when the module is loaded. All give equal results: integers are summed, or
 * doubles in a fixed order, and nothing is contracted.
 */
#ifndef XDCC_KERNELS_MULTIVERSION_H_
#define XDCC_KERNELS_MULTIVERSION_H_

#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define XDCC_MULTIVERSION __attribute__((target_clones("avx512f", "avx2", "default"), flatten))
/** Without AVX-512, with which vectors of bytes are slower. */
#define XDCC_MULTIVERSION_AVX2 __attribute__((target_clones("avx2", "default"), flatten))
#else
#define XDCC_MULTIVERSION
#define XDCC_MULTIVERSION_AVX2
#endif

#endif  // XDCC_KERNELS_MULTIVERSION_H_

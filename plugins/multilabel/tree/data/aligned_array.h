/**
 * @brief Arrays for vector instructions, and a pool of arrays to use again.
 */
#ifndef XDCC_MULTILABEL_ALIGNED_ARRAY_H_
#define XDCC_MULTILABEL_ALIGNED_ARRAY_H_

#include <algorithm>  // for fill_n, min_element
#include <cstddef>    // for size_t
#include <cstdint>    // for int32_t, uintptr_t
#include <iterator>   // for next
#include <memory>     // for allocator
#include <mutex>      // for lock_guard, mutex
#include <new>        // for operator new
#include <utility>    // for forward, move
#include <vector>     // for vector

#if defined(__linux__)
#include <sys/mman.h>  // for madvise
#endif

namespace xgboost::multilabel {
/** @brief Ask for large pages if the system has them: their addresses are found faster. */
inline void AskForLargePages(void* memory, std::size_t n_bytes) {
#if defined(__linux__)
  constexpr std::size_t kLargePage = std::size_t{1} << 21;
  auto const address = reinterpret_cast<std::uintptr_t>(memory);
  auto const begin = (address + kLargePage - 1) / kLargePage * kLargePage;
  auto const end = (address + n_bytes) / kLargePage * kLargePage;
  if (begin < end) {
    madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);  // no more than a hint
  }
#endif
}

/** @brief An array of numbers that begins at a cache line. */
template <typename T>
class AlignedArray {
  static constexpr std::size_t kPerLine = 64 / sizeof(T);
  struct alignas(64) Line {
    T values[kPerLine];
  };
  /** @brief Does not initialise new lines, which are overwritten anyway. */
  template <typename U>
  struct Unset : std::allocator<U> {
    template <typename V>
    struct rebind {
      using other = Unset<V>;
    };
    Unset() = default;
    template <typename V>
    Unset(Unset<V> const&) {}
    template <typename V>
    void construct(V* at) {
      ::new (static_cast<void*>(at)) V;
    }
    template <typename V, typename... Args>
    void construct(V* at, Args&&... args) {
      ::new (static_cast<void*>(at)) V(std::forward<Args>(args)...);
    }
  };
  std::vector<Line, Unset<Line>> lines_;

 public:
  void Assign(std::size_t n, T value) {
    Line line;
    std::fill_n(line.values, kPerLine, value);
    lines_.assign((n + kPerLine - 1) / kPerLine, line);
  }
  /** @brief Make room for numbers that are all to be written. */
  void Resize(std::size_t n) {
    auto const n_lines = (n + kPerLine - 1) / kPerLine;
    if (n_lines > lines_.capacity()) {
      lines_.clear();  // nothing to copy
      lines_.reserve(n_lines);
      AskForLargePages(lines_.data(), n_lines * sizeof(Line));
    }
    lines_.resize(n_lines);
  }
  [[nodiscard]] std::size_t Size() const { return lines_.size() * kPerLine; }
  [[nodiscard]] std::size_t Capacity() const { return lines_.capacity() * kPerLine; }
  [[nodiscard]] T* Data() { return lines_.empty() ? nullptr : lines_.front().values; }
  [[nodiscard]] T const* Data() const { return lines_.empty() ? nullptr : lines_.front().values; }
};

/** @brief Memory to use again: page faults of new memory cost more than filling it. */
template <typename T>
class MemoryPool {
  std::vector<AlignedArray<T>> spare_;
  std::mutex lock_;

 public:
  /** @brief The smallest array with room for `n` numbers, else the largest one there is. */
  [[nodiscard]] AlignedArray<T> Take(std::size_t n) {
    std::lock_guard<std::mutex> guard{lock_};
    auto const best =
        std::min_element(spare_.rbegin(), spare_.rend(), [n](auto const& l, auto const& r) {
          bool const l_fits = l.Capacity() >= n, r_fits = r.Capacity() >= n;
          return l_fits != r_fits ? l_fits : (l.Capacity() < r.Capacity()) == l_fits;
        });
    AlignedArray<T> memory;
    if (best != spare_.rend()) {
      memory = std::move(*best);
      spare_.erase(std::next(best).base());
    }
    return memory;
  }
  void Clear() { spare_.clear(); }
  void GiveBack(AlignedArray<T> memory) {
    std::lock_guard<std::mutex> guard{lock_};
    spare_.push_back(std::move(memory));
  }
};
}  // namespace xgboost::multilabel
#endif  // XDCC_MULTILABEL_ALIGNED_ARRAY_H_

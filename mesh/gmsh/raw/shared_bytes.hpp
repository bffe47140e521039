#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

// Numbers, texts and arrays on their way from one process to another, in memory that both can see.

namespace femcg::mesh {

/// Appends to a file in memory. Every item begins at a multiple of 8 bytes.
class SharedWriter {
 public:
  explicit SharedWriter(int descriptor) : descriptor_(descriptor) {}

  void number(std::int64_t value) { bytes(&value, sizeof value); }
  void text(std::string_view text) { array(std::span(text)); }
  template <class T>
  void array(std::span<T> values) {
    number(static_cast<std::int64_t>(values.size()));
    bytes(values.data(), values.size_bytes());
  }
  /// Takes back all that was written.
  void restart();
  /// To be called at the end. Throws std::bad_alloc where the memory is not to be had, as the others do.
  void flush();

 private:
  void bytes(const void* data, std::size_t size);
  void write_through(const char* data, std::size_t size);

  int descriptor_;
  std::vector<char> buffer_;
};

/// Reads what a SharedWriter wrote, in the same order. What is not there throws std::runtime_error: the writer may have
/// been in any state.
class SharedReader {
 public:
  explicit SharedReader(std::string_view bytes) : rest_(bytes) {}

  std::int64_t number();
  std::string text();
  /// In place: no longer than the bytes.
  template <class T>
  requires std::is_arithmetic_v<T> std::span<const T> array() {
    const std::size_t count = count_of(sizeof(T));
    return {reinterpret_cast<const T*>(take(count * sizeof(T))), count};
  }
  /// A count of items of which each has at least `least_bytes`.
  std::size_t count_of(std::size_t least_bytes);

 private:
  const char* take(std::size_t size);

  std::string_view rest_;
};

}  // namespace femcg::mesh

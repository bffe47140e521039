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

// Serialises numbers, texts and arrays in memory shared by two processes.

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
  /// Discards everything written so far.
  void restart();
  /// To be called at the end. Like the others, throws std::bad_alloc if memory runs out.
  void flush();

 private:
  void bytes(const void* data, std::size_t size);
  void write_through(const char* data, std::size_t size);

  int descriptor_;
  std::vector<char> buffer_;
};

/// Reads the items of a SharedWriter in the same order. Throws std::runtime_error for a missing item: the writer may
/// have stopped at any point.
class SharedReader {
 public:
  explicit SharedReader(std::string_view bytes) : rest_(bytes) {}

  std::int64_t number();
  std::string text();
  /// View of the array in place.
  template <class T>
  requires std::is_arithmetic_v<T> std::span<const T> array() {
    const std::size_t count = count_of(sizeof(T));
    return {reinterpret_cast<const T*>(take(count * sizeof(T))), count};
  }
  /// Reads a count of items with at least `least_bytes` each; throws if it exceeds the remaining bytes.
  std::size_t count_of(std::size_t least_bytes);

 private:
  const char* take(std::size_t size);

  std::string_view rest_;
};

}  // namespace femcg::mesh

// Views of the callers' arrays, and arrays that kernels allocate. Builds with ODL_CHECKED (Debug) throw an exception
// for an index outside an array; other builds do not check.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <tuple>
#include <type_traits>
#include <utility>

// A function is compiled a second time for processors with AVX2, where the loader can choose between both. Its loops then
// take twice as many numbers at once. Operations and their order are the same, and so are results.
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && !defined(__clang__)
#define ODL_AVX2 __attribute__((target_clones("avx2", "default")))
#else
#define ODL_AVX2
#endif

namespace odl {

inline void check_place(std::int64_t place, std::int64_t size) {
#ifdef ODL_CHECKED
    if (place < 0 || place >= size) throw std::out_of_range("a kernel reads or writes outside an array");
#else
    (void) place, (void) size;
#endif
}

// View of an array with one axis.
template <class T> struct Span {
    static constexpr int axes = 1;
    using Entry = T;
    T *data = nullptr;
    std::int64_t length = 0;

    Span() = default;
    Span(T *data, std::int64_t length) : data(data), length(length) {}
    Span(T *data, const std::int64_t *shape) : data(data), length(shape[0]) {}
    template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
    Span(const Span<U> &other) : data(other.data), length(other.length) {}

    std::int64_t size() const { return length; }
    T &operator[](std::int64_t place) const {
        check_place(place, length);
        return data[place];
    }
    T *begin() const { return data; }
    T *end() const { return data + length; }
    Span part(std::int64_t first, std::int64_t last) const {
        check_place(first, length + 1), check_place(last - first, length - first + 1);
        return {data + first, last - first};
    }
    Span from(std::int64_t first) const { return part(first, length); }
    void fill(T value) const { std::fill(begin(), end(), value); }
};

// View of an array with two axes, row after row.
template <class T> struct Table {
    static constexpr int axes = 2;
    using Entry = T;
    T *data = nullptr;
    std::int64_t rows = 0, columns = 0;

    Table() = default;
    Table(T *data, std::int64_t rows, std::int64_t columns) : data(data), rows(rows), columns(columns) {}
    Table(T *data, const std::int64_t *shape) : data(data), rows(shape[0]), columns(shape[1]) {}
    template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
    Table(const Table<U> &other) : data(other.data), rows(other.rows), columns(other.columns) {}

    std::int64_t size() const { return rows; }
    T &operator()(std::int64_t row, std::int64_t column) const {
        check_place(row, rows), check_place(column, columns);
        return data[row * columns + column];
    }
    Span<T> operator[](std::int64_t row) const {
        check_place(row, rows);
        return {data + row * columns, columns};
    }
    void fill(T value) const { std::fill(data, data + rows * columns, value); }
};

// View of an array with three axes: a table behind the other.
template <class T> struct Tables {
    static constexpr int axes = 3;
    using Entry = T;
    T *data = nullptr;
    std::int64_t count = 0, rows = 0, columns = 0;

    Tables() = default;
    Tables(T *data, const std::int64_t *shape) : data(data), count(shape[0]), rows(shape[1]), columns(shape[2]) {}
    template <class U, class = std::enable_if_t<std::is_same_v<const U, T>>>
    Tables(const Tables<U> &other)
        : data(other.data), count(other.count), rows(other.rows), columns(other.columns) {}

    std::int64_t size() const { return count; }
    bool empty() const { return count * rows * columns == 0; }
    T &operator()(std::int64_t table, std::int64_t row, std::int64_t column) const {
        check_place(table, count), check_place(row, rows), check_place(column, columns);
        return data[(table * rows + row) * columns + column];
    }
    Table<T> operator[](std::int64_t table) const {
        check_place(table, count);
        return {data + table * rows * columns, rows, columns};
    }
};

// Initial values of an array: zeros, or anything if every entry is written before it is read.
enum class Begin { zeros, anything };

// An array with one axis that owns its memory.
template <class T> struct Vector : Span<T> {
    std::unique_ptr<T[]> memory;

    Vector() = default;
    explicit Vector(std::int64_t length, Begin begin = Begin::zeros)
        : memory(begin == Begin::zeros ? new T[length]() : new T[length]) {
        this->data = memory.get(), this->length = length;
    }
    Vector(Vector &&other) noexcept : Span<T>(other), memory(std::move(other.memory)) {}
    Vector &operator=(Vector &&other) noexcept {
        static_cast<Span<T> &>(*this) = other, memory = std::move(other.memory);
        return *this;
    }
    const std::int64_t *shape() const { return &this->length; }
    // Remove the entries from `to` on.
    void shorten(std::int64_t to) { this->length = to; }
    // Append zeros until the length is `to`.
    void lengthen(std::int64_t to) {
        Vector longer(to);
        std::copy(this->begin(), this->end(), longer.data);
        *this = std::move(longer);
    }
};

// An array with two axes that owns its memory.
template <class T> struct Matrix : Table<T> {
    std::unique_ptr<T[]> memory;

    Matrix() = default;
    Matrix(std::int64_t rows, std::int64_t columns, Begin begin = Begin::zeros)
        : memory(begin == Begin::zeros ? new T[rows * columns]() : new T[rows * columns]) {
        this->data = memory.get(), this->rows = rows, this->columns = columns;
    }
    Matrix(Matrix &&other) noexcept : Table<T>(other), memory(std::move(other.memory)) {}
    Matrix &operator=(Matrix &&other) noexcept {
        static_cast<Table<T> &>(*this) = other, memory = std::move(other.memory);
        return *this;
    }
    const std::int64_t *shape() const { return &this->rows; }  // `columns` is behind it
};

// An array with three axes that owns its memory.
template <class T> struct Matrices : Tables<T> {
    std::unique_ptr<T[]> memory;

    Matrices(std::int64_t count, std::int64_t rows, std::int64_t columns) : memory(new T[count * rows * columns]()) {
        this->data = memory.get(), this->count = count, this->rows = rows, this->columns = columns;
    }
    const std::int64_t *shape() const { return &this->count; }
};

// Rows of a sparse matrix: entries of row i are starts[i]..starts[i + 1] - 1 of indices and values.
struct Rows {
    Span<const std::int64_t> starts;
    Span<const std::uint32_t> indices;
    Span<const double> values;
    static constexpr auto members() { return std::tuple{&Rows::starts, &Rows::indices, &Rows::values}; }

    std::int64_t size() const { return starts.size() - 1; }
};

}  // namespace odl

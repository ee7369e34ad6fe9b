// Conversion of arrays and records between Python and C++. An argument must have exactly the expected dtype, number of
// axes and C order; otherwise a TypeError says what was given. Arrays of kernels become NumPy arrays without a copy.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/tuple.h>

#include <string>

#include "arrays.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace odl {

// Release the GIL while a kernel runs.
using release = nb::call_guard<nb::gil_scoped_release>;

template <class T> constexpr const char *name_of() {
    using U = std::remove_const_t<T>;
    if constexpr (std::is_same_v<U, bool>) return "bool";
    else if constexpr (std::is_same_v<U, double>) return "float64";
    else if constexpr (std::is_same_v<U, float>) return "float32";
    else if constexpr (std::is_same_v<U, std::int64_t>) return "int64";
    else if constexpr (std::is_same_v<U, std::int32_t>) return "int32";
    else if constexpr (std::is_same_v<U, std::uint32_t>) return "uint32";
    else if constexpr (std::is_same_v<U, std::uint8_t>) return "uint8";
}

inline std::string described(nb::handle given) {
    if (!nb::hasattr(given, "dtype") || !nb::hasattr(given, "shape"))
        return std::string("an object of type ") + nb::type_name(given.type()).c_str();
    auto part = [&](const char *name) { return std::string(nb::str(nb::object(given.attr(name))).c_str()); };
    std::string text = part("dtype") + " array of shape " + part("shape");
    if (nb::hasattr(given, "flags")) {
        nb::object flags = given.attr("flags");
        if (!nb::cast<bool>(flags["C_CONTIGUOUS"])) text += ", not row after row";
        if (!nb::cast<bool>(flags["WRITEABLE"])) text += ", read-only";
    }
    return text;
}

template <class T> [[noreturn]] void refuse_array(nb::handle given, int axes) {
    std::string wanted = std::is_const_v<T> ? "an array of " : "a writable array of ";
    wanted += std::string() + name_of<T>() + " with " + std::to_string(axes);
    wanted += axes == 1 ? " axis" : " axes";
    throw nb::type_error((described(given) + " for a kernel; expected " + wanted).c_str());
}

template <class T, class = void> struct is_view : std::false_type {};
template <class T> struct is_view<Span<T>> : std::true_type {};
template <class T> struct is_view<Table<T>> : std::true_type {};
template <class T> struct is_view<Tables<T>> : std::true_type {};

template <class T> struct is_made : std::false_type {};
template <class T> struct is_made<Vector<T>> : std::true_type {};
template <class T> struct is_made<Matrix<T>> : std::true_type {};
template <class T> struct is_made<Matrices<T>> : std::true_type {};

template <class T, class = void> struct is_record : std::false_type {};
template <class T> struct is_record<T, std::void_t<decltype(T::members())>> : std::true_type {};

}  // namespace odl

namespace nanobind::detail {

// Views: `odl::Span`, `odl::Table`, `odl::Tables`.
template <class View> struct type_caster<View, enable_if_t<odl::is_view<View>::value>> {
    using Entry = typename View::Entry;
    using Given = ndarray<Entry, ndim<View::axes>, c_contig, device::cpu>;
    NB_TYPE_CASTER(View, make_caster<Given>::Name)

    bool from_python(handle given, uint32_t, cleanup_list *cleanup) {
        if (!array.from_python(given, 0, cleanup)) odl::refuse_array<Entry>(given, View::axes);
        value = View(array.value.data(), array.value.shape_ptr());
        return true;
    }

    make_caster<Given> array;
};

// Records of views and numbers, from tuples.
template <class Record> struct type_caster<Record, enable_if_t<odl::is_record<Record>::value>> {
    template <class... Members> static std::tuple<make_caster<Members>...> casters_of(std::tuple<Members Record::*...>);
    using Casters = decltype(casters_of(Record::members()));
    static constexpr size_t n_members = std::tuple_size_v<Casters>;
    NB_TYPE_CASTER(Record, const_name("tuple"))

    bool from_python(handle given, uint32_t flags, cleanup_list *cleanup) {
        return read(given, flags, cleanup, std::make_index_sequence<n_members>{});
    }

    template <size_t... I>
    bool read(handle given, uint32_t flags, cleanup_list *cleanup, std::index_sequence<I...>) {
        if (!isinstance<nanobind::tuple>(given) || len(given) != n_members)
            throw type_error((odl::described(given) + " for a kernel; expected a tuple of " +
                              std::to_string(n_members)).c_str());
        nanobind::tuple parts = borrow<nanobind::tuple>(given);
        bool fits = (std::get<I>(casters).from_python(parts[I], flags, cleanup) && ...);
        if (fits) ((value.*std::get<I>(Record::members()) = std::get<I>(casters).value), ...);
        return fits;
    }

    Casters casters;
};

// Arrays that a kernel returns: `odl::Vector`, `odl::Matrix`, `odl::Matrices`.
template <class Made> struct type_caster<Made, enable_if_t<odl::is_made<Made>::value>> {
    using Entry = typename Made::Entry;
    using Given = ndarray<numpy, Entry, ndim<Made::axes>, c_contig>;
    static constexpr auto Name = make_caster<Given>::Name;
    template <typename T> using Cast = Made;

    static handle from_cpp(Made &&made, rv_policy, cleanup_list *cleanup) {
        size_t shape[Made::axes];
        for (int axis = 0; axis < Made::axes; axis++) shape[axis] = static_cast<size_t>(made.shape()[axis]);
        Entry *data = made.memory.get();
        capsule owner(data, [](void *memory) noexcept { delete[] static_cast<Entry *>(memory); });
        made.memory.release();
        return make_caster<Given>::from_cpp(Given(data, Made::axes, shape, owner), rv_policy::automatic, cleanup);
    }
};

}  // namespace nanobind::detail

// Groups of atoms by Ward merging (ward_merging.h): repeatedly merge the two groups with the smallest cost
//
//     (1 - cosine)^2 n m / (n + m)      for groups of n and m documents.
#include "ward_merging.h"

#include "bindings.h"

namespace odl {

namespace {

using std::int64_t;

Vector<int64_t> group(const ward::Merging &atoms, int64_t target) {
    int64_t n_atoms = atoms.documents.size();
    Vector<int64_t> owner(n_atoms), right(atoms.stamp.size());
    Matrix<int64_t> merged(2, n_atoms);
    for (int64_t i = 0; i < n_atoms; i++) owner[i] = i;
    for (int64_t time = 0; time < n_atoms - target; time++) {
        int64_t j = ward::cheapest(atoms);
        int64_t gone = std::min(j, atoms.partner(j, 0)), kept = std::max(j, atoms.partner(j, 0));
        if (atoms.documents[gone] > atoms.documents[kept]) std::swap(gone, kept);
        for (int64_t i : {gone, kept}) {  // the merges since row i was right
            Span<float> row = atoms.gram[i];
            for (int64_t since = right[i]; since < time; since++) row[merged(1, since)] += row[merged(0, since)];
        }
        merged(0, time) = gone, merged(1, time) = kept, owner[gone] = kept, right[kept] = time + 1;
        atoms.stamp[gone] = ward::NEVER;  // so that a price with it as partner is a bound
        ward::merge(gone, kept, atoms);
        atoms.partner(gone, 0) = ward::NOBODY;
        ward::set_price(gone, ward::INFINITE, atoms);
    }
    for (int64_t i = 0; i < n_atoms; i++) {
        int64_t last = i;
        while (owner[last] != last) last = owner[last];
        owner[i] = last;
    }
    return owner;
}

}  // namespace

void bind_ward_merging(nb::module_ &kernels) {
    auto module = kernels.def_submodule("ward_merging", "Lazy Ward merging of atoms.");
    module.attr("ATOMS") = int{ward::ATOMS};
    module.attr("BLOCK") = ward::BLOCK;
    module.attr("CANDIDATES") = ward::CANDIDATES;
    module.attr("UNKNOWN") = ward::UNKNOWN;
    module.attr("NEVER") = ward::NEVER;
    module.def("search_changed", &ward::search_changed, "atoms"_a, release(),
               "Search the rows of atoms (`Merging`) that have changed since this was done.");
    module.def("group", &group, "atoms"_a, "target"_a, release(),
               R"(Merge groups, at first of one atom each, until `target` are left, the two that are cheapest first.

Parameters
----------
atoms : Merging
    Changed.
target : int
    At least 1.

Returns
-------
ndarray of int64, shape (k,)
    The atom whose group each atom is in at last: the one of most documents when groups were merged.)");
}

}  // namespace odl

// Groups of atoms by Ward merging (ward_merging.h): repeatedly merge the two groups with the smallest cost
//
//     (1 - cosine)^2 n m / (n + m)      for groups of n and m documents.
#include "ward_merging.h"

#include <vector>

#include "bindings.h"

namespace odl {

namespace {

using std::int64_t;

// Rows of groups of two or more atoms. `gram` itself does not change: it is larger than the caches, and most of its rows
// are read only once.
class GroupRows {
  public:
    explicit GroupRows(ward::Merging &atoms) : atoms(atoms), width((atoms.gram.columns / 16 | 1) * 16 + 16) {
        int64_t most = atoms.gram.rows / 2 + 1, size = most * width;
        static thread_local Vector<float> memory;  // stays allocated, since new pages are slow
        if (memory.size() < size) memory = Vector<float>(size, Begin::anything);
        for (int64_t row = most; row-- > 0;) spare.push_back(memory.data + row * width);
        atoms.moved.assign(atoms.documents.size(), nullptr);
    }

    // Give an atom a row of its own, and complete it.
    void take(int64_t j) {
        if (!atoms.moved[j]) {
            Span<const float> row = atoms.gram[j];
            std::copy(row.begin(), row.end(), spare.back());
            atoms.moved[j] = spare.back();
            spare.pop_back();
        }
        ward::complete(j, atoms);
    }

    void release(int64_t j) {
        spare.push_back(atoms.moved[j]);
        atoms.moved[j] = nullptr;
    }

  private:
    ward::Merging &atoms;
    int64_t width;
    std::vector<float *> spare;
};

Vector<int64_t> group(const ward::Merging &given, int64_t target) {
    ward::Merging atoms = given;
    GroupRows rows(atoms);
    int64_t n_atoms = atoms.documents.size();
    Vector<int64_t> owner(n_atoms);
    for (int64_t i = 0; i < n_atoms; i++) owner[i] = i;
    for (int64_t n_groups = n_atoms; n_groups > target; n_groups--) {
        int64_t j = ward::cheapest(atoms);
        int64_t gone = std::min(j, atoms.partner(j, 0)), kept = std::max(j, atoms.partner(j, 0));
        if (atoms.documents[gone] > atoms.documents[kept]) std::swap(gone, kept);
        rows.take(gone), rows.take(kept);
        owner[gone] = kept;
        atoms.stamp[gone] = ward::NEVER;  // a price with it as partner becomes a lower bound
        ward::merge(gone, kept, atoms);
        rows.release(gone);
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

void prepare(const ward::Merging &atoms) {
    ward::search_changed(atoms);
    ward::complete_all(atoms);
}

}  // namespace

void bind_ward_merging(nb::module_ &kernels) {
    auto module = kernels.def_submodule("ward_merging", "Lazy Ward merging of atoms.");
    module.attr("ATOMS") = int{ward::ATOMS};
    module.attr("BLOCK") = ward::BLOCK;
    module.attr("CANDIDATES") = ward::CANDIDATES;
    module.attr("UNKNOWN") = ward::UNKNOWN;
    module.attr("NEVER") = ward::NEVER;
    module.def("prepare", &prepare, "atoms"_a, release(),
               "Bring the products and merging costs of atoms (`Merging`) up to date, in place.");
    module.def("group", &group, "atoms"_a, "target"_a, release(),
               R"(Merge the two groups with the smallest cost until `target` groups remain; at first each atom is a group.

Parameters
----------
atoms : Merging
    From `prepare`; changed, but for `gram`.
target : int
    At least 1.

Returns
-------
ndarray of int64, shape (k,)
    The atom that names the group of each atom. When groups merge, the name of the group with more documents is used;
    for ties, that of the later group.)");
}

}  // namespace odl

// Groups of atoms by Ward merging (ward_merging.h): repeatedly merge the two groups with the smallest cost
//
//     (1 - cosine)^2 n m / (n + m)      for groups of n and m documents.
#include "ward_merging.h"

#include <vector>

#include "bindings.h"

namespace odl {

namespace {

using std::int64_t;

// Groups of atoms while they merge. The row of a group is the sum of the rows of its atoms in `gram`, so it has inner
// products with single atoms. The product with another group is the sum over the atoms of that group.
class Groups final : public ward::GroupRows {
  public:
    explicit Groups(const ward::Merging &atoms)
        : atoms(atoms), n_atoms(atoms.documents.size()), sums(n_atoms, nullptr), members(n_atoms), spans(n_atoms, 2),
          products(n_atoms) {
        int64_t most = n_atoms / 2 + 1;  // groups of two or more atoms, at any time
        static thread_local Vector<float> memory;  // stays allocated, since new pages are slow
        if (memory.size() < most * n_atoms) memory = Vector<float>(most * n_atoms, Begin::anything);
        for (int64_t row = most; row-- > 0;) spare.push_back(memory.data + row * n_atoms);
        for (int64_t j = 0; j < n_atoms; j++) {
            members[j] = static_cast<std::uint32_t>(j);
            spans(j, 0) = j, spans(j, 1) = j + 1;
        }
    }

    Span<const float> row(int64_t j) const override {
        if (!sums[j]) return atoms.gram[j];
        std::copy(sums[j], sums[j] + n_atoms, products.data);
        for (int64_t other : larger)  // later changes are not compared with j
            if (atoms.stamp[other] < atoms.stamp[j]) products[other] = product(other, sums[j]);
        return products;
    }

    // Return the sum of inner products with the atoms of a group.
    float product(int64_t group, const float *row) const {
        float total = 0.0f;
        for (int64_t at = spans(group, 0); at < spans(group, 1); at++) total += row[members[at]];
        return total;
    }

    // Add the atoms of a group to those of another one; return the inner product of both.
    double merge(int64_t gone, int64_t kept) {
        const float *row = row_of(kept);
        double both = product(gone, row);
        float *target = sums[kept] ? sums[kept] : spare.back();
        ward::add_rows(row, row_of(gone), n_atoms, target);
        if (!sums[kept]) spare.pop_back(), larger.push_back(kept);
        if (sums[gone]) spare.push_back(sums[gone]), larger.erase(std::find(larger.begin(), larger.end(), gone));
        sums[kept] = target, sums[gone] = nullptr;
        int64_t begin = static_cast<int64_t>(members.size());
        for (int64_t group : {kept, gone})
            for (int64_t at = spans(group, 0); at < spans(group, 1); at++) members.push_back(members[at]);
        spans(kept, 0) = begin, spans(kept, 1) = static_cast<int64_t>(members.size());
        return both;
    }

  private:
    const float *row_of(int64_t j) const { return sums[j] ? sums[j] : atoms.gram[j].data; }

    const ward::Merging &atoms;
    int64_t n_atoms;
    std::vector<float *> sums;     // rows of groups of two or more atoms
    std::vector<float *> spare;    // unused rows
    std::vector<std::uint32_t> members;  // atoms, those of each group together
    Matrix<int64_t> spans;         // first member of each group, and the member after its last one
    std::vector<int64_t> larger;   // groups of two or more atoms
    Vector<float> products;        // result of `row`
};

Vector<int64_t> group(const ward::Merging &given, int64_t target) {
    ward::Merging atoms = given;
    Groups groups(atoms);
    atoms.groups = &groups;
    int64_t n_atoms = atoms.documents.size();
    Vector<int64_t> owner(n_atoms);
    for (int64_t i = 0; i < n_atoms; i++) owner[i] = i;
    for (int64_t n_groups = n_atoms; n_groups > target; n_groups--) {
        int64_t j = ward::cheapest(atoms);
        int64_t gone = std::min(j, atoms.partner(j, 0)), kept = std::max(j, atoms.partner(j, 0));
        if (atoms.documents[gone] > atoms.documents[kept]) std::swap(gone, kept);
        owner[gone] = kept;
        ward::join(gone, kept, groups.merge(gone, kept), atoms);
        atoms.stamp[gone] = ward::NEVER;  // prices of atoms with this partner become lower bounds
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

using Change = std::tuple<Vector<int64_t>, Vector<int64_t>>;

// Return the slot of an atom's group: the atom that names it, or a slot of its own after these.
int64_t slot_of(int64_t j, Span<const int64_t> group, int64_t n_slots) {
    return group[j] >= 0 ? group[j] : n_slots / 2 + j;
}

Change update_groups(Span<const int64_t> group, Span<const int64_t> before, Span<const int64_t> changed,
                     Span<const double> documents, Span<const int64_t> used, Span<double> group_documents,
                     Span<int64_t> group_used) {
    int64_t n_slots = group_documents.size(), count = 0;
    Vector<int64_t> place(n_slots), columns(n_slots), owner(group.size());
    for (int64_t j : changed) {
        place[slot_of(j, group, n_slots)] = 1;
        if (j < before.size()) place[slot_of(j, before, n_slots)] = 1;
    }
    for (int64_t slot = 0; slot < n_slots; slot++) {
        bool is_changed = place[slot] == 1;
        place[slot] = is_changed ? count : -1;
        if (is_changed) columns[count++] = slot, group_documents[slot] = 0.0, group_used[slot] = -1;
    }
    columns.shorten(count);
    for (int64_t j = 0; j < group.size(); j++) {
        int64_t slot = slot_of(j, group, n_slots);
        owner[j] = place[slot];
        if (owner[j] < 0) continue;
        group_documents[slot] += documents[j];
        group_used[slot] = std::max(group_used[slot], used[j]);
    }
    return {std::move(columns), std::move(owner)};
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
               R"(Merge the two groups with the smallest cost until `target` groups remain.

At first each atom is a group.

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
    module.def("update_groups", &update_groups, "group"_a, "before"_a, "changed"_a, "documents"_a, "used"_a,
               "group_documents"_a, "group_used"_a, release(),
               R"(Count the documents of groups with changed atoms, and find their last document.

Group g of n_slots / 2 possible ones has slot g; an atom j without a group (-1) has slot n_slots / 2 + j.

Parameters
----------
group, before : ndarray of int64
    Group of each atom, now and before the change, when there may have been fewer atoms.
changed : ndarray of int64
    Atoms that changed.
documents, used : ndarray of float64 and int64, shape (n_atoms,)
    Number of documents of each atom, and number of the last one.
group_documents, group_used : ndarray of float64 and int64, shape (n_slots,), changed
    The same of each group.

Returns
-------
slots : ndarray of int64
    Slots of groups that changed, sorted.
owner : ndarray of int64, shape (n_atoms,)
    Position in `slots` of each atom's group; -1 for a group that did not change.)");
}

}  // namespace odl

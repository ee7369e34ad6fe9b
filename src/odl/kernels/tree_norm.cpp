// Prox, value and dual norm of the penalty of a tree (tree_norm.h), for each row of a matrix.
#include "tree_norm.h"

#include "bindings.h"

namespace odl {

namespace {

using std::int64_t;

void prox_rows(Table<double> V, TreeLayout layout, Span<const double> lam, bool infinity, bool positive) {
    Vector<double> norm(V.columns), factor(V.columns);
    for (int64_t row = 0; row < V.rows; row++)
        tree_prox(V[row], layout, lam[row], infinity, positive, {norm, factor});
}

Vector<double> value_rows(Table<const double> V, TreeLayout layout, bool infinity) {
    Vector<double> norm(V.columns), values(V.rows);
    for (int64_t row = 0; row < V.rows; row++) values[row] = tree_value(V[row], layout, infinity, norm);
    return values;
}

double dual_norm(Span<const double> z, TreeLayout layout, double lam, bool infinity) {
    Vector<double> norm(z.size()), slope(z.size());
    return tree_dual_norm(z, layout, lam, infinity, {norm, slope});
}

}  // namespace

void bind_tree_norm(nb::module_ &kernels) {
    auto module = kernels.def_submodule("tree_norm", "Penalty of a tree: sum over its groups of ||v_g||.");
    module.def("prox_rows", &prox_rows, "V"_a, "layout"_a, "lam"_a, "infinity"_a, "positive"_a, release(),
               R"(Replace every row v of V by argmin_u 1/2 ||u - v||^2 + lam sum_g ||u_g||.

Parameters
----------
V : ndarray of float64, shape (n_rows, n_atoms), changed
    Atoms in preorder.
layout : tuple of ndarray of int64
    End of the group of each atom, and its parent, -1 for a root.
lam : ndarray of float64, shape (n_rows,)
infinity : bool
    Whether the norm of a group is l-infinity instead of l2.
positive : bool
    Whether to minimise over u >= 0 only.)");
    module.def("value_rows", &value_rows, "V"_a, "layout"_a, "infinity"_a, release(),
               R"(Return sum_g ||v_g|| of every row v of V.

Parameters
----------
V, layout, infinity
    As in prox_rows; V is not changed.

Returns
-------
ndarray of float64, shape (n_rows,))");
    module.def("dual_norm", &dual_norm, "z"_a, "layout"_a, "lam"_a, "infinity"_a, release(),
               R"(Return an upper bound of max(lam, dual norm of z).

Parameters
----------
z : ndarray of float64, shape (n_atoms,)
    Atoms in preorder.
layout, infinity
    As in prox_rows.
lam : float

Returns
-------
float
    Larger than the dual norm by at most a twentieth of the distance between dual norm and lam; infinite if no finite
    bound is found.)");
}

}  // namespace odl

// The extension module odl.kernels._kernels, with one submodule per subject.
#include <nanobind/nanobind.h>

namespace odl {

#define ODL_SUBJECTS(DO) \
    DO(adapt_then_combine) \
    DO(agent_descent) \
    DO(atom_clusters) \
    DO(block_descent) \
    DO(dictionary_step) \
    DO(edge_following) \
    DO(fixed_point) \
    DO(inverted_lists) \
    DO(known_pieces) \
    DO(lars_path) \
    DO(simplex_projection) \
    DO(tree_codes) \
    DO(tree_norm) \
    DO(ward_merging)

#define ODL_DECLARE(subject) void bind_##subject(nanobind::module_ &);
ODL_SUBJECTS(ODL_DECLARE)

}  // namespace odl

NB_MODULE(_kernels, module) {
    nanobind::set_leak_warnings(false);  // they are printed at exit and are of no use to users
#define ODL_BIND(subject) odl::bind_##subject(module);
    ODL_SUBJECTS(ODL_BIND)
}

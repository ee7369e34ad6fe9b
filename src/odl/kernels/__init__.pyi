from odl.kernels import (
    adapt_then_combine as adapt_then_combine,
)
from odl.kernels import (
    agent_descent as agent_descent,
)
from odl.kernels import (
    atom_clusters as atom_clusters,
)
from odl.kernels import (
    block_descent as block_descent,
)
from odl.kernels import (
    dictionary_step as dictionary_step,
)
from odl.kernels import (
    edge_following as edge_following,
)
from odl.kernels import (
    fixed_point as fixed_point,
)
from odl.kernels import (
    inverted_lists as inverted_lists,
)
from odl.kernels import (
    known_pieces as known_pieces,
)
from odl.kernels import (
    lars_path as lars_path,
)
from odl.kernels import (
    simplex_projection as simplex_projection,
)
from odl.kernels import (
    tree_codes as tree_codes,
)
from odl.kernels import (
    tree_norm as tree_norm,
)
from odl.kernels import (
    ward_merging as ward_merging,
)

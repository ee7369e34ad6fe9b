// Parameters of diffusion over a network, and its fixed point (fixed_point.cpp).
#pragma once

#include "dual_coefficients.h"

namespace odl {

struct Diffusion {
    Span<const std::int64_t> owner;               // agent of each atom
    Span<const std::int64_t> starts, neighbours;  // agent k and its neighbours: starts[k]..starts[k + 1] - 1
    Span<const double> weights;                   // combination weights of the neighbours
    Span<const double> shares;                    // 1/|N_I| for agents that observe the documents, else 0
    double mu;                    // step size
    std::int64_t iterations;      // largest number of iterations
    double tolerance;             // relative change of the dual variables at which to stop; 0: never
    std::int64_t check;           // iterations between two tests of the stopping rule
    Tables<const double> spread;  // from `spread`, to start at the fixed point; empty: start at 0
    static constexpr auto members() {
        return std::tuple{&Diffusion::owner,  &Diffusion::starts, &Diffusion::neighbours, &Diffusion::weights,
                          &Diffusion::shares, &Diffusion::mu,     &Diffusion::iterations, &Diffusion::tolerance,
                          &Diffusion::check,  &Diffusion::spread};
    }

    std::int64_t n_agents() const { return shares.size(); }
};

// Set the dual variables to the fixed point; terms that are clipped there become plain (dual_coefficients.h).
//
// `pull` is mu c_f / N.
void start_at_fixed_point(DualBasis &basis, Duals &duals, const AgentModel &model, const Diffusion &diffusion,
                          double pull);

}  // namespace odl

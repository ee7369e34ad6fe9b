// Diffusion over a network, and its fixed point solved directly: see fixed_point.cpp.
#pragma once

#include "dual_coefficients.h"

namespace odl {

struct Diffusion {
    Span<const std::int64_t> owner;               // agent of each atom
    Span<const std::int64_t> starts, neighbours;  // of agent k, itself among them: starts[k]..starts[k + 1] - 1
    Span<const double> weights;                   // of the neighbours
    Span<const double> shares;                    // 1/|N_I| for an agent that sees the documents, else 0
    double mu;
    std::int64_t iterations;      // at most
    double tolerance;             // of the dual variables' last move, relative to their norm; 0: never stop early
    std::int64_t check;           // iterations from one test of the stopping rule to the next
    Tables<const double> spread;  // as `spread` returns it; empty: iterate from the start
    static constexpr auto members() {
        return std::tuple{&Diffusion::owner,  &Diffusion::starts, &Diffusion::neighbours, &Diffusion::weights,
                          &Diffusion::shares, &Diffusion::mu,     &Diffusion::iterations, &Diffusion::tolerance,
                          &Diffusion::check,  &Diffusion::spread};
    }

    std::int64_t n_agents() const { return shares.size(); }
};

// Start the dual variables at the fixed point; terms that turn out to be clipped there become plain.
//
// `pull` is mu c_f / N.
void start_at_fixed_point(DualBasis &basis, Duals &duals, const AgentModel &model, const Diffusion &diffusion,
                          double pull);

}  // namespace odl

"""Alerts against brute force, limiting cases, and the promise of a budget."""

import numpy as np
import pytest
from scipy import sparse
from scipy.sparse.linalg import norm

from odl import novelty
from odl.alerts import calibration, reasons
from odl.errors import ParameterError
from odl.files import escaping


def test_tail_probability_counts(rng):
    scores, recent = rng.integers(0, 9, 40) / 8.0, rng.integers(0, 9, 25) / 8.0
    expected = [(1 + sum(other >= score for other in recent)) / 26 for score in scores]
    assert np.allclose(calibration.tail_probability(scores, recent), expected)
    assert np.array_equal(calibration.tail_probability([0.3], []), [1.0])
    assert np.array_equal(
        calibration.tail_probability(scores, recent),
        calibration.tail_probability(scores**3 + 2, recent**3 + 2),
    )


def tails(batches, window):
    """Return the tail probabilities of batches one after the other, as a stream has them."""
    recent, probabilities = np.empty(0), []
    for batch in batches:
        scored = novelty.Novelty(
            *[None] * 3, 0.0, score=batch, empty=np.zeros(len(batch), dtype=bool)
        )
        probabilities.append(calibration.tails(scored, recent)[0])
        recent = calibration.recent_after(recent, scored, window)
    return probabilities


@pytest.mark.parametrize("budget", [0.01, 0.05, 0.2])
def test_a_budget_is_kept_without_novelty_and_in_spite_of_drift(rng, budget):
    batches = [rng.gamma(2.0, 1.0, 500) for _ in range(200)]
    share = np.mean(np.concatenate(tails(batches, 1000)[3:]) <= budget)
    assert abs(share - budget) < 0.2 * budget + 0.001
    drifting = [batch + 0.02 * t for t, batch in enumerate(batches)]
    raw = np.mean(
        np.concatenate(drifting[100:]) >= np.quantile(np.concatenate(drifting[:3]), 1 - budget)
    )
    share = np.mean(np.concatenate(tails(drifting, 1000)[100:]) <= budget)
    assert raw > 2 * budget > share


def test_calibration_looks_at_the_past_only(rng):
    batches = [rng.random(30) for _ in range(6)]
    whole = tails(batches, 50)
    changed = tails([*batches[:4], batches[4] + 7, batches[5]], 50)
    assert all(
        np.array_equal(first, second) for first, second in zip(whole[:4], changed[:4], strict=True)
    )
    assert np.array_equal(whole[0], np.ones(30))
    last = np.concatenate(batches[:5])[-50:]
    assert np.array_equal(whole[5], calibration.tail_probability(batches[5], last))


def test_titles_are_one_line_without_lines_drawn_of_signs():
    assert (
        escaping.heading("scipy.fft:\n=======\nDiscrete\x1b ======= transforms")
        == "scipy.fft: Discrete\\u001b transforms"
    )
    turned = "\u202a\u200fשלום\u202c Four\u00adnaise می\u200cخواهم \u2067\u202ex"
    assert (
        escaping.heading(turned) == "\u200fשלום Fournaise می\u200cخواهم x"
    )  # a mark alone turns nothing outside
    assert (
        escaping.isolated("\u200f1, 2") == "\u2068\u200f1, 2\u2069"
        and escaping.visible("\u202e") == "\\u202e"
    )
    assert (
        escaping.heading("-----") == "-----" and escaping.heading("a == b ... c") == "a == b ... c"
    )


@pytest.mark.parametrize("sign", [*"=+-@\t\r", *"＝＋－＠"])
def test_cells_that_a_spreadsheet_would_run_begin_with_an_apostrophe(sign):
    for cell in (f"{sign}x", f"  {sign}x" if sign.strip() else f"{sign} x", f"'{sign}x"):
        assert (
            escaping.guarded(cell).startswith("'")
            and escaping.unguarded(escaping.guarded(cell)) == cell
        )
    assert escaping.guarded(f"x;{sign}x") == f"x;'{sign}x"
    for plain in ("a=b", "a - b", "it's", "'a'", "2026-01-05", "", -1.5, None):
        assert escaping.guarded(plain) == plain


def test_nearest_atoms_are_those_of_sorting_all_of_them(rng):
    P = sparse.random_array((50, 20), density=0.2, rng=rng, format="csr")
    A = sparse.random_array((20, 30), density=0.2, rng=rng, format="csc")
    A = sparse.csc_array(
        sparse.hstack([A, A[:, ::-1], sparse.csc_array((20, 3))], format="csc")
    )  # each atom twice
    A.data = np.where(np.arange(A.nnz) % 3 == 0, -A.data, A.data)
    products, sizes, lengths = (P @ A).toarray(), norm(A, axis=0), norm(P, axis=1)
    for most in (1, 2, 40):
        atoms, near = reasons.nearest_atoms(P, A, most)
        assert (atoms >= 0).any() and (atoms < 0).any()
        for row, listed in enumerate(atoms >= 0):
            cosines = products[row] / np.maximum(lengths[row] * sizes, 1e-300)
            best = [
                int(atom) for atom in np.lexsort((np.arange(63), -cosines)) if cosines[atom] > 0
            ][:most]
            assert atoms[row, listed].tolist() == best
            np.testing.assert_allclose(near[row, listed], cosines[best], rtol=1e-12)


def test_scores_that_are_none_are_refused():
    for scores, recent in (([np.nan], [1.0]), ([1.0], [np.nan])):
        with pytest.raises(ParameterError):
            calibration.tail_probability(scores, recent)

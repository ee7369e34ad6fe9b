"""Settings of the inpainting experiment, the Gaussian estimate and sizes beside the table, on planted patches."""

import numpy as np
import pytest
from experimented import TREES, archive, planted, settings_of, smooth

from odl.errors import ConfigError
from odl.files.tables import read_table
from odl.papers import experiments, reconstruction
from odl.papers.experiments import inpainting
from odl.papers.reconstruction import parse_tree


@pytest.fixture
def images(rng, tmp_path):
    """Two images of smooth noise, in an archive."""
    return archive(tmp_path / "images.tar.gz", smooth(rng))


class TestScale:
    def test_sides_grow_and_a_ramp_stays_a_ramp(self):
        image = np.add.outer(0.01 * np.arange(40), 0.02 * np.arange(30))
        found = reconstruction.resize_image(image, 1.5)
        assert found.shape == (60, 45) and found.dtype == np.float64
        inside = found[6:-6, 6:-6]  # bicubic reproduces planes away from the edge
        np.testing.assert_allclose(np.diff(inside, axis=0), 0.01 / 1.5, atol=1e-6)
        np.testing.assert_allclose(np.diff(inside, axis=1), 0.02 / 1.5, atol=1e-6)

    def test_it_is_bicubic(self, rng):
        """Keys' kernel with a = -1/2 at the places where pixels of the larger image lie."""
        line = rng.random(20)
        found = reconstruction.resize_image(np.tile(line, (4, 1)), 2.0)[4]
        for place in range(10, 30):
            at = (place + 0.5) / 2 - 0.5
            near = np.abs(np.arange(20) - at)
            inner, outer = (
                1.5 * near**3 - 2.5 * near**2 + 1,
                -0.5 * near**3 + 2.5 * near**2 - 4 * near + 2,
            )
            weights = np.where(near <= 1, inner, np.where(near < 2, outer, 0.0))
            assert found[place] == pytest.approx(line @ weights, abs=1e-6)

    def test_1_changes_nothing(self, rng):
        image = rng.random((9, 7))
        assert reconstruction.resize_image(image, 1.0) is image

    def test_the_experiment_draws_from_enlarged_images(self, images):
        sizes = {**TREES, "patch": 4}
        plain, large = (
            reconstruction.draw_parts(settings_of("inpainting", **sizes, scale=scale), [images])
            for scale in (1.0, 2.0)
        )
        rough = [np.mean(np.diff(X.reshape(-1, 4, 4), axis=2) ** 2) for X in (plain, large)]
        assert rough[1] < 0.7 * rough[0]


class TestContrast:
    @pytest.mark.parametrize("share", [0.2, 0.8])
    def test_the_bound_leaves_out_that_share_of_all_places(self, rng, share):
        images = [rng.random((20, 15)) * scale + 5.0 for scale in (0.1, 1.0)]
        lengths = []
        for image in images:
            windows = np.lib.stride_tricks.sliding_window_view(image, (4, 4)).reshape(-1, 16)
            lengths += list(np.linalg.norm(windows - windows.mean(axis=1, keepdims=True), axis=1))
        bound = reconstruction.contrast(images, 4, share)
        assert np.mean(np.array(lengths) < bound) == pytest.approx(share, abs=0.01)
        assert reconstruction.contrast(images, 4, 0.0) == 0.0

    def test_patches_below_the_bound_are_drawn_again(self, rng):
        flat, strong = 0.01 * rng.random((12, 12)), rng.random((12, 12))
        bound = reconstruction.contrast([flat, strong], 4, 0.5)
        found = reconstruction.draw([flat, strong], 4, 60, rng, bound)
        windows = np.lib.stride_tricks.sliding_window_view(strong, (4, 4)).reshape(-1, 16)
        windows = windows - windows.mean(axis=1, keepdims=True)
        windows /= np.linalg.norm(windows, axis=1, keepdims=True)
        assert np.allclose(
            (found @ windows.T).max(axis=1), 1.0
        )  # all of them from the strong image

    def test_the_experiment_draws_by_it(self, images):
        given = {**TREES, "patch": 4, "train": 100}
        every = reconstruction.draw_parts(settings_of("inpainting", **given), [images])
        again = reconstruction.draw_parts(
            settings_of("inpainting", **given, min_contrast=0.0), [images]
        )
        strong = reconstruction.draw_parts(
            settings_of("inpainting", **given, min_contrast=0.8), [images]
        )
        assert (
            np.array_equal(every, again)
            and every.shape == strong.shape
            and not np.array_equal(every, strong)
        )

    def test_all_of_it_cannot_be_left_out(self):
        with pytest.raises(ConfigError, match=r"inpainting.min_contrast is 1"):
            settings_of("inpainting", min_contrast=1)


class TestStop:
    def test_the_rule_of_the_paper_ends_above_the_optimum_with_shorter_codes(self, rng):
        P, D = rng.normal(size=(40, 16)), rng.normal(size=(16, 121))
        P, D = P / np.linalg.norm(P, axis=1, keepdims=True), D / np.linalg.norm(D, axis=0)
        gap, decrease = (
            reconstruction.make_problem(
                settings_of("inpainting", stop=stop), "flat", parse_tree("40,2"), -7
            ).codes(P, D)
            for stop in ("gap", "decrease")
        )
        assert (gap.gap <= 0.01 * (gap.residual + gap.penalty)).all()
        assert np.mean(decrease.gap > 0.01 * (decrease.residual + decrease.penalty)) > 0.5
        lengths = [np.linalg.norm(codes.X.toarray(), axis=1).mean() for codes in (gap, decrease)]
        assert lengths[1] < 0.9 * lengths[0]

    def test_it_decides_what_is_learned(self, images):
        found = [
            reconstruction.measure(
                settings_of("inpainting", **TREES, seeds=[0], stop=stop), [images]
            )
            for stop in ("gap", "decrease")
        ]
        assert found[0]["test"][0]["error"] != found[1]["test"][0]["error"]
        assert found[0]["gaussian"] == found[1]["gaussian"]  # no dictionary in it

    def test_another_rule_is_refused(self):
        with pytest.raises(
            ConfigError, match=r"inpainting.stop is 'time'; expected one of gap, decrease"
        ):
            settings_of("inpainting", stop="time")


class TestGaussian:
    def test_moments_are_those_of_numpy(self, rng):
        X = rng.normal(size=(500, 4)) @ rng.normal(size=(4, 4)) + 3.0
        mean, covariance = reconstruction.gaussian_moments(X)
        np.testing.assert_allclose(mean, X.mean(axis=0))
        np.testing.assert_allclose(covariance, np.cov(X.T, bias=True))

    def test_estimates_are_conditional_means(self):
        """Of three entries with a known covariance, worked out on paper."""
        covariance = np.array([[2.0, 1.0, 0.5], [1.0, 2.0, 1.0], [0.5, 1.0, 2.0]])
        mean = np.array([1.0, 0.0, -1.0])
        known = np.array([[True, False, True], [False, True, False]])
        found = reconstruction.gaussian_estimates(
            np.array([[3.0, 99.0, 0.0], [99.0, 2.0, 99.0]]), known, mean, covariance
        )
        # row 0: (1, 1) [[2, .5], [.5, 2]]^-1 (2, 1) = (1, 1) (14/15, 4/15) = 1.2; row 1: halves of
        # 2
        np.testing.assert_allclose(found, [[3.0, 1.2, 0.0], [2.0, 2.0, 0.0]], atol=1e-6)

    def test_it_is_the_regression_on_the_known_entries(self, rng):
        """The conditional mean is the least squares prediction from the known entries, which numpy finds by itself."""
        X = rng.normal(size=(4000, 6)) @ rng.normal(size=(6, 6))
        mask = np.array([True, False, True, True, False, True])
        mean, covariance = reconstruction.gaussian_moments(X)
        found = reconstruction.gaussian_estimates(X[:50], np.tile(mask, (50, 1)), mean, covariance)
        inputs = np.column_stack([np.ones(len(X)), X[:, mask]])
        weights = np.linalg.lstsq(inputs, X[:, ~mask], rcond=None)[0]
        np.testing.assert_allclose(found[:, ~mask], inputs[:50] @ weights, atol=1e-5)
        assert np.array_equal(found[:, mask], X[:50, mask])

    def test_known_entries_may_depend_on_each_other(self, rng):
        """As those of centred patches do: two of the three are the same, and either says it all."""
        covariance = np.array([[1.0, 1.0, 0.5], [1.0, 1.0, 0.5], [0.5, 0.5, 1.0]])
        found = reconstruction.gaussian_estimates(
            np.full((1, 3), 2.0), np.array([[True, True, False]]), np.zeros(3), covariance
        )
        np.testing.assert_allclose(found, [[2.0, 2.0, 1.0]], atol=1e-6)
        X = rng.normal(size=(100, 5))
        X -= X.mean(axis=1, keepdims=True)
        assert reconstruction.gaussian_errors(
            X, np.ones(X.shape, bool), *reconstruction.gaussian_moments(X)
        ) == (
            0.0,
            0.0,
        )


class TestBeside:
    def test_flat_of_equal_size_has_the_atoms_of_the_chosen_tree(self, rng):
        P, _ = planted(rng, parse_tree("5,2,2"), 300)
        given = {
            "trees": ["2", "5,2,2"],
            "lam_train": [-4],
            "lam_test": [-7, -5],
            "missing": [50],
            "epochs": 1,
        }
        settings = settings_of("inpainting", **given)
        bench = reconstruction.Bench(settings, 0, P[:200], P[200:250], P[250:])
        for row in reconstruction.search_penalty(bench, "flat")[1]:
            same = reconstruction._equal(bench, {**row, "penalty": "tree"})
            assert same == row  # flat at its own size
            other = reconstruction._equal(bench, {**row, "tree": "2", "atoms": 3})
            assert (other["penalty"], other["atoms"], other["missing"]) == ("flat", 3, 50)
            assert other["error"] > row["error"]

    def test_summary_pairs_the_seeds(self):
        def rows(errors, **more):
            common = {"missing": 90, "atoms": 401, "missing_pixels": 1.0, **more}
            return [{**common, "seed": seed, "error": error} for seed, error in enumerate(errors)]

        found = {"test": rows((70.0, 72.0), penalty="tree") + rows((71.0, 70.0), penalty="flat")}
        found |= {"equal": rows((78.0, 71.0)), "gaussian": rows((67.0, 69.0))}
        (row,) = inpainting.summarise(found)
        assert (row["atoms"], row["flat_equal"], row["difference_equal"], row["gaussian"]) == (
            401,
            74.5,
            -3.5,
            68.0,
        )
        assert (
            row["difference_equal_sd"] == pytest.approx(np.std([-8.0, 1.0], ddof=1))
            and row["better_equal"] == 1
        )

    def test_page_and_tables_show_them(self, images, tmp_path):
        experiments.run("inpainting", tmp_path / "run", {**TREES, "seeds": [0, 1]}, [images])
        _, _, parts = experiments.section(tmp_path / "run")
        shown = "".join(parts)
        assert "linear Gaussian" in shown and "equal size" in shown
        rows = read_table(tmp_path / "run" / "equal.tsv")
        assert [(row["missing"], row["seed"], row["penalty"]) for row in rows] == [
            (missing, seed, "flat") for seed in (0, 1) for missing in (50, 90)
        ]
        flat = [
            row for row in read_table(tmp_path / "run" / "test.tsv") if row["penalty"] == "flat"
        ]
        assert [row["error"] for row in rows] == [
            row["error"] for row in flat
        ]  # one tree only: one size

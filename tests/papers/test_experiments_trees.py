"""Experiments with trees of atoms, on planted data: what a tree, a mask or a class was made of is found again."""

import os
from itertools import product

import numpy as np
import pytest
from experimented import TREES, archive, planted, settings_of, smooth
from scipy import sparse

from odl import trees
from odl.dictionary import structured
from odl.errors import ConfigError, DataError, ParameterError
from odl.files.documents import Documents
from odl.files.tables import read_table
from odl.papers import experiments, reconstruction, twogroups
from odl.papers.experiments import classification, inpainting, topic_tree
from odl.papers.reconstruction import parse_tree


@pytest.fixture
def images(rng, tmp_path):
    """Two images of smooth noise."""
    found = smooth(rng)
    return archive(tmp_path / "images.tar.gz", found), found


# Patches


class TestPatches:
    def test_images_of_an_archive_come_back(self, images):
        path, known = images
        for found, image in zip(reconstruction.read_images([path]), known, strict=True):
            np.testing.assert_allclose(found, image / 255.0)

    def test_sample_images_are_grey_and_need_no_file(self):
        found = reconstruction.read_images([])
        assert [image.shape for image in found] == [(427, 640)] * 2
        assert all(image.min() >= 0 and image.max() <= 1 for image in found)

    def test_an_archive_without_images_is_refused(self, tmp_path):
        with pytest.raises(DataError, match="no PNG image"):
            reconstruction.read_images([archive(tmp_path / "none.tar.gz", [])])

    def test_patches_are_places_of_the_images_centred_and_of_unit_length(self, rng):
        image = rng.random((9, 7))
        every = {}
        for row in range(7):
            for column in range(5):
                patch = image[row : row + 3, column : column + 3].ravel()
                patch = patch - patch.mean()
                every[tuple(np.round(patch / np.linalg.norm(patch), 9))] = (row, column)
        drawn = reconstruction.draw([image], 3, 35, rng)
        assert {every[tuple(np.round(patch, 9))] for patch in drawn} == set(
            every.values()
        )  # all, none twice

    def test_constant_patches_are_left_out(self, rng):
        image = np.zeros((8, 8))
        image[0, 0] = 1.0  # one window of 4 x 4 holds it
        assert len(reconstruction.draw([image], 4, 1, rng)) == 1
        with pytest.raises(ParameterError, match="lower train"):
            reconstruction.draw([image], 4, 2, rng)

    def test_pixels_are_missing_at_the_rate_asked_for_and_one_is_always_known(self, rng):
        known = reconstruction.hide(4000, 64, 0.9, rng)
        assert abs(known.mean() - 0.1) < 0.002
        assert reconstruction.hide(500, 4, 0.99, rng).any(axis=1).all()


# Inpainting


class TestInpainting:
    def test_the_tree_wins_where_codes_are_subtrees(self, rng):
        P, D = planted(rng, parse_tree("5,2,2"), 150)
        settings = settings_of("inpainting", lam_train=[-4], lam_test=[-6, -4], missing=[70])
        bench = reconstruction.Bench(settings, 0, P[:50], P[50:100], P[100:])
        for penalty in reconstruction.PENALTIES:
            bench.dictionaries[penalty, "5,2,2", -4, 50] = D
        flat, tree = (
            bench.error("test", 70, name, *bench.select(70, name, ["5,2,2"]))
            for name in reconstruction.PENALTIES
        )
        assert tree < 0.7 * flat

    def test_error_is_that_of_whole_patches_from_known_pixels(self, rng):
        P, D = planted(rng, parse_tree("2,2"), 60)
        settings = settings_of("inpainting", missing=[50], tolerance=1e-6, iterations=5000)
        bench = reconstruction.Bench(settings, 3, P[:20], P[20:40], P[40:])
        bench.dictionaries["flat", "2,2", -4, 20] = D
        known, total, hidden = bench.known["test", 50], 0.0, 0.0
        for patch, mask in zip(
            P[40:], known, strict=True
        ):  # cut the rows out instead of masking them
            problem = reconstruction.make_problem(settings, "flat", parse_tree("2,2"), -6)
            code = problem.codes(patch[None, mask], D[mask]).X.toarray()[0]
            total += np.sum((patch - D @ code) ** 2)
            hidden += np.sum((patch - D @ code)[~mask] ** 2)
        assert bench.error("test", 50, "flat", "2,2", (-4, -6)) == pytest.approx(
            100 * total / 20, rel=1e-3
        )
        key = bench.key("test", 50, "flat", "2,2", (-4, -6))
        assert (
            bench.missing_errors[key] == pytest.approx(100 * hidden / 20, rel=1e-3)
            and hidden < 0.999 * total
        )

    def test_validation_patches_choose(self, rng):
        P, D = planted(rng, parse_tree("2,2"), 60)
        settings = settings_of(
            "inpainting", lam_train=[-5, -4], lam_test=[-8, -2], missing=[50], refine=1
        )
        bench = reconstruction.Bench(settings, 0, P[:20], P[20:40], P[40:])
        for exponent in np.arange(-6, -3, 0.25):
            for count in range(7, 21):
                bench.dictionaries["flat", "2,2", exponent, count] = (
                    D if exponent <= -4.5 else -D[:, ::-1] + 0.3
                )
        shape, exponents = bench.select(50, "flat", ["2,2"], 1)
        errors = {key[3:5]: value for key, value in bench.errors.items()}
        assert errors[shape, exponents] == min(errors.values())
        assert exponents[0] <= -4.5 and exponents[1] in (-8.25, -8.0, -7.75)
        assert not any(key[0] == "test" for key in bench.errors)

    def test_a_race_takes_the_better_quarter_to_more_patches_and_to_the_same_cell(self, rng):
        P, D = planted(rng, parse_tree("2,2"), 400)
        grids = {
            "lam_train": [-8, -7, -6, -5, -4, -3],
            "lam_test": [-9, -8, -6, -5, -4, -2],
            "missing": [50],
        }
        noise, found = rng.normal(size=D.shape), {}
        for screen in (0, 20):
            settings = settings_of("inpainting", **grids, screen=screen)
            bench = reconstruction.Bench(settings, 0, P[:200], P[200:330], P[330:])
            for exponent, count in product(grids["lam_train"], range(7, 201)):
                bench.dictionaries["flat", "2,2", exponent, count] = (
                    D + 0.1 * (exponent + 5) ** 2 * noise
                )
            found[screen] = bench.select(50, "flat", ["2,2"]), bench
        (cell, whole), (searched, bench) = found.values()
        assert cell == searched and cell[1][0] == -5
        tried = {}
        for key, error in bench.errors.items():
            tried.setdefault(key[5], {})[key[4]] = error
        assert list(tried) == [20, 80, 130] and len(tried[20]) == 36
        ranked = list(dict.fromkeys(first for first, _ in sorted(tried[20], key=tried[20].get)))
        assert {first for first, _ in tried[80]} == set(ranked[:2])
        assert (
            all(abs(second - cell[1][1]) <= 1 for _, second in tried[130]) and len(tried[130]) < 4
        )
        assert len(whole.errors) == 36 and {key[5] for key in whole.errors} == {130}

    def test_a_race_learns_from_as_large_a_share_of_the_training_patches(self, rng, monkeypatch):
        P, _ = planted(rng, parse_tree("2,2"), 100)
        counts = []

        def learn(problem, X, D, rng, **options):
            counts.append(len(X))
            return D, None, None

        monkeypatch.setattr(structured, "learn_online", learn)
        settings = settings_of(
            "inpainting", lam_train=[-6, -4, -2], lam_test=[-4], missing=[50], screen=4
        )
        monkeypatch.setattr(reconstruction, "MIN_PATCHES", 1)
        reconstruction.Bench(settings, 0, P[:40], P[40:72], P[72:]).select(50, "tree", ["2,2"])
        assert counts == [7, 7, 7, 20, 40]  # an eighth is 5, fewer than one an atom
        counts.clear()
        monkeypatch.setattr(reconstruction, "MIN_PATCHES", 4)
        reconstruction.Bench(settings, 0, P[:40], P[40:72], P[72:]).select(50, "tree", ["2,2"])
        assert counts == [28, 28, 28, 40]  # four an atom, until a share is more

    def test_flat_dictionaries_of_as_many_atoms_are_one(self, rng, monkeypatch):
        P, _ = planted(rng, parse_tree("2,2"), 60)
        learned = []
        learn = structured.learn_online
        monkeypatch.setattr(
            structured, "learn_online", lambda *given, **o: learned.append(1) or learn(*given, **o)
        )
        settings = settings_of("inpainting", **{**TREES, "trees": ["2,2", "6"], "patch": 8})
        bench = reconstruction.Bench(settings, 0, P[:40], P[40:50], P[50:])
        for penalty, count in (("flat", 1), ("tree", 2)):
            learned.clear()
            found = [row["error"] for row in reconstruction.search_penalty(bench, penalty)[2]]
            assert len(learned) == count and (found[0] == found[1]) == (penalty == "flat")

    def test_flat_and_tree_start_alike_and_seeds_differ(self, rng, monkeypatch):
        P, _ = planted(rng, parse_tree("2,2"), 60)
        starts = []
        monkeypatch.setattr(
            structured,
            "learn_online",
            lambda problem, X, D, rng, **options: (starts.append(D), D)[1:],
        )
        for seed in (0, 1):
            bench = reconstruction.Bench(
                settings_of("inpainting", missing=[50]), seed, P[:40], P[40:50], P[50:]
            )
            for penalty in reconstruction.PENALTIES:
                bench.dictionary(penalty, "2,2", -4)
        assert np.array_equal(starts[0], starts[1]) and not np.array_equal(starts[0], starts[2])

    def test_summary_pairs_the_seeds(self):
        rows = [
            {
                "missing": 50,
                "seed": seed,
                "penalty": penalty,
                "atoms": 9,
                "error": error,
                "missing_pixels": error / 2,
            }
            for penalty, errors in (("flat", (20.0, 22.0)), ("tree", (19.0, 23.0)))
            for seed, error in enumerate(errors)
        ]
        (row,) = inpainting.summarise({"test": rows, "equal": rows[:2], "gaussian": rows[:2]})
        assert (row["difference"], row["better"]) == (0.0, 1)
        assert row["difference_sd"] == pytest.approx(np.sqrt(2))
        assert (row["flat_paper"], row["tree_paper"]) == (19.3, 18.6)
        assert (row["flat_missing_pixels"], row["tree_missing_pixels"]) == (10.5, 10.5)

    def test_depths_tell_what_is_like_its_parent(self, rng):
        tree = parse_tree("4,4")
        D = rng.normal(size=(64, 21))
        for node in range(5, 21):
            D[:, node] = D[:, tree.parents[node]] + 0.1 * D[:, node]
        rows = inpainting.depths(tree, D, 8)
        assert [row["atoms"] for row in rows] == [1, 4, 16]
        assert rows[2]["parent"] > 0.95 > 0.6 > rows[2]["others"]
        smooth = inpainting.depths(
            parse_tree("1"), np.stack([np.ones(64), np.tile([1, -1], 32)], axis=1), 8
        )
        assert smooth[0]["roughness"] == 0 < smooth[1]["roughness"]

    def test_nodes_of_the_picture_lie_apart_and_the_root_in_the_middle(self):
        spots = inpainting.lay_out(parse_tree("10,2,2"))
        assert np.allclose(spots[0], 0)
        apart = np.linalg.norm(spots[:, None] - spots[None], axis=2) + np.eye(len(spots)) * 9
        assert apart.min() > 0.4
        assert (np.hypot(*inpainting.lay_out(trees.balanced((2,), 3)).T) >= 0.9).all()

    @pytest.mark.slow
    def test_runs_and_is_the_same_twice(self, images, tmp_path):
        for name in ("a", "b"):
            experiments.run("inpainting", tmp_path / name, {**TREES, "seeds": [0, 1]}, [images[0]])
        names = {
            "validation.tsv",
            "test.tsv",
            "structures.tsv",
            "summary.tsv",
            "depths.tsv",
            "settings.json",
        }
        names |= {"equal.tsv", "gaussian.tsv"}
        names |= {
            f"{figure}.{end}" for figure in ("structures", "dictionary") for end in ("png", "svg")
        }
        assert set(os.listdir(tmp_path / "a")) == names
        for name in names:
            assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), (
                name
            )
        _, title, parts = experiments.section(tmp_path / "a")
        assert title == inpainting.TITLE and "72.1" in "".join(parts)

    def test_a_wrong_tree_is_refused_before_anything_is_read(self, tmp_path):
        with pytest.raises(
            ConfigError, match=r"inpainting.trees\[0\] is 'ten,2'; expected text matching"
        ):
            experiments.run("inpainting", tmp_path, {"trees": ["ten,2"]}, [])


# Topics


def corpus_of(counts, topics, vocabulary=None):
    n, m = counts.shape
    return Documents(
        counts=sparse.csr_array(counts),
        vocabulary=vocabulary or [f"w{term}" for term in range(m)],
        ids=[str(row) for row in range(n)],
        times=np.zeros(n, np.int64),
        topics=topics,
        titles=[""] * n,
    )


class TestTopicTree:
    def test_common_words_come_to_the_root_and_fields_below(self, rng, tmp_path, monkeypatch):
        field = rng.integers(3, size=150)
        rates = np.full((150, 40), 0.02)
        rates[:, :4] = 6.0
        for kind in range(3):
            rates[field == kind, 10 * (kind + 1) : 10 * (kind + 1) + 5] = 4.0
        counts = rng.poisson(rates)
        monkeypatch.setattr(
            topic_tree.nips, "read", lambda files, options: corpus_of(counts, [()] * 150)
        )
        for name, value in {"BRANCHING": (3,), "LAM": 2.0**-8, "OCCURRENCES": 3}.items():
            monkeypatch.setattr(topic_tree, name, value)
        experiments.run("topic_tree", tmp_path, {"seeds": [0, 1, 2]})
        rows = read_table(tmp_path / "topics.tsv")
        words = [set(row["words"].split()[:4]) for row in rows]
        assert words[0] == {"w0", "w1", "w2", "w3"}
        fields = [{int(word[1:]) // 10 for word in below} for below in words[1:]]
        assert sorted(map(min, fields)) == [1, 2, 3] and all(len(kinds) == 1 for kinds in fields)
        texts = list(topic_tree.draw_tree(rows).axes[0].texts)
        assert [text.get_text() for text in texts] == [
            ", ".join(row["words"].split()[:5]) for row in rows
        ]
        assert [text.get_position() for text in texts] == [(0, 1), (1, 2), (1, 1), (1, 0)]
        assert "<img" in experiments.section(tmp_path)[2] and (tmp_path / "tree.svg").exists()

    def test_rare_words_go_and_rows_sum_to_one(self):
        counts = np.array([[9, 1, 0, 5], [2, 0, 9, 5]])
        words, kept = topic_tree.frequent(corpus_of(counts, [()] * 2), 10)
        assert kept == ["w0", "w3"]
        np.testing.assert_allclose(words.toarray(), [[9 / 14, 5 / 14], [2 / 7, 5 / 7]])


# Classification


def two_classes(rng, n=240):
    """Two groups of documents (and a third) that differ in some words."""
    group = rng.integers(3, size=n)
    rates = np.full((n, 30), 0.5)
    for kind in range(3):
        rates[group == kind, 8 * kind : 8 * kind + 8] = 3.0
    names = np.array(["alt.atheism", "talk.religion.misc", "sci.space"])
    return corpus_of(rng.poisson(rates), [(name,) for name in names[group]])


class TestClassification:
    def settings(self, **given):
        return settings_of(
            "classification", **{"train": 90, "test": 40, "topics": [3], "lam": [-20, -2], **given}
        )

    @pytest.mark.slow
    def test_every_representation_tells_planted_classes_apart(self, rng, tmp_path, monkeypatch):
        documents = two_classes(rng)
        monkeypatch.setattr(twogroups.news20, "read", lambda files, options: documents)
        chosen = {
            "train": 90,
            "test": 40,
            "splits": [0, 1],
            "topics": [3],
            "lam": [-20, -2],
            "svm": [-1, 0],
        }
        experiments.run("classification", tmp_path, chosen)
        parts = [tmp_path / "parts" / f"{split}.json" for split in chosen["splits"]]
        for split, part in zip(chosen["splits"], parts, strict=True):
            experiments.measure("classification", part, split, chosen)
        experiments.run("classification", tmp_path / "parts" / "whole", chosen, parts=parts)
        for name in ("accuracy.tsv", "corpus.tsv", "summary.tsv", "accuracy.png"):
            assert (tmp_path / name).read_bytes() == (
                tmp_path / "parts" / "whole" / name
            ).read_bytes()
        rows = read_table(tmp_path / "accuracy.tsv")
        assert {row["method"] for row in rows} == {*twogroups.METHODS, *twogroups.RAW} and len(
            rows
        ) == 48
        assert all(row["accuracy"] > 90 for row in rows if row["chosen"])
        assert all(
            row["lam"] == -20 for row in rows if row["method"] in twogroups.LEARNED
        )  # -2 codes nothing
        (corpus,) = read_table(tmp_path / "corpus.tsv")
        assert corpus["documents"] == sum(topics[0] != "sci.space" for topics in documents.topics)
        page = experiments.section(tmp_path)[2]
        assert "90.9" in page and all(text in page for text in classification.SCALED.values())

    @pytest.mark.slow
    def test_labels_that_mean_nothing_are_not_learned(self, rng):
        counts, labels = twogroups.two_groups(two_classes(rng), self.settings())
        rows = twogroups.split_rows(
            counts, rng.permutation(labels), self.settings(methods=["pca", "tree"]), 0
        )
        assert all(row["accuracy"] < 75 for row in rows)

    def test_words_are_judged_by_the_norm_of_a_post(self, rng):
        counts = sparse.csr_array(rng.integers(1, 9, size=(7, 5)).astype(float))
        for power in (1, 2):
            rows = twogroups.rows_of_norm(counts, power).toarray()
            np.testing.assert_allclose(np.linalg.norm(rows, power, axis=1), 1.0)
            np.testing.assert_allclose(
                rows * np.linalg.norm(counts.toarray(), power, axis=1)[:, None], counts.toarray()
            )
        given = []

        class Judge:
            def __init__(self, *_):
                pass

            def evaluate(self, candidates):
                given.append(candidates[0][1])
                return [
                    {
                        "lam": None,
                        "scaling": "none",
                        "C": 0,
                        "validation": 0.0,
                        "accuracy": 0.0,
                        "chosen": 1,
                    }
                ]

        counts, labels = twogroups.two_groups(two_classes(rng), self.settings())
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(twogroups, "SelectedSvm", Judge)
            rows = twogroups.split_rows(counts, labels, self.settings(methods=["pca"]), 0)
        assert [row["method"] for row in rows] == [*twogroups.RAW, "pca"]
        for matrix, power in zip(given, (1, None, 2), strict=False):
            sizes = (
                np.linalg.norm(matrix.toarray(), power, axis=1)
                if power
                else matrix.toarray().sum(axis=1)
            )
            assert np.allclose(sizes, 1.0) == (power is not None)

    def test_words_are_counted_in_the_whole_corpus(self):
        counts = np.array([[9, 5, 0], [0, 5, 0], [1, 0, 20]])
        documents = corpus_of(counts, [("alt.atheism",), ("talk.religion.misc",), ("sci.space",)])
        found, labels = twogroups.two_groups(documents, settings_of("classification"))
        assert found.toarray()[0].tolist() == [9, 5] and labels.tolist() == [True, False]

    def test_topics_are_learned_without_labels_and_test_documents(self, rng):
        counts, _ = twogroups.two_groups(two_classes(rng), self.settings())
        settings = self.settings(lam=[-20])
        for method in twogroups.METHODS:
            ((_, train, _),) = twogroups.represent(
                method, 3, counts[:60], counts[60:80], settings, 0
            )
            ((_, again, test),) = twogroups.represent(
                method, 3, counts[:60], counts[80:90], settings, 0
            )
            assert np.array_equal(train, again) and test.shape == (10, 3), method

    def test_an_accuracy_is_that_of_the_chosen_svm(self, rng):
        from sklearn.svm import SVC

        X, y = rng.normal(size=(120, 5)), rng.random(120) < 0.5
        X[y, 0] += 1.5
        judge = twogroups.SelectedSvm(
            y, np.arange(80), np.arange(80, 120), self.settings(scaling=["each"])
        )
        (row,) = judge.evaluate([(None, X[:80], X[80:])])
        size = X[:80].std(axis=0)
        model = SVC(C=4.0 ** row["C"], kernel="linear").fit(X[:80] / size, y[:80])
        assert row["accuracy"] == pytest.approx(100 * model.score(X[80:] / size, y[80:]))

    def test_nothing_is_chosen_by_the_test_part(self, rng):
        """Scaling helps where one feature is large and says nothing; the labels of the test part change no choice."""
        X, y = rng.normal(size=(200, 4)) * [1.0, 1.0, 1.0, 40.0], rng.random(200) < 0.5
        X[y, 0] += 3.0
        train, test = np.arange(120), np.arange(120, 200)
        settings = self.settings(scaling=["one", "each"])
        found = [
            twogroups.SelectedSvm(labels, train, test, settings).evaluate(
                [(-20, 0 * X[:120], 0 * X[120:]), (-2, X[:120], X[120:])]
            )
            for labels in (y, np.concatenate((y[:120], ~y[120:])))
        ]
        assert [(row["lam"], row["scaling"], row["chosen"]) for row in found[0]] == [
            (-2, "one", 0),
            (-2, "each", 1),
        ]
        for one, other in zip(*found, strict=True):
            assert {**one, "accuracy": None} == {**other, "accuracy": None}
            assert one["accuracy"] == pytest.approx(100 - other["accuracy"])

    def test_features_of_scaling_none_go_into_the_svm_as_they_are(self, rng):
        """Features so small that no C of the grid separates them, and as large as the others once they are scaled."""
        from sklearn.svm import SVC

        X, y = rng.normal(size=(120, 3)), np.arange(120) % 3 > 0
        X[y, 0] += 5.0
        X *= 1e-3
        rows = twogroups.SelectedSvm(
            y, np.arange(80), np.arange(80, 120), self.settings()
        ).evaluate([(None, X[:80], X[80:])])
        by = {row["scaling"]: row for row in rows}
        assert (
            list(by) == ["each", "one", "none"]
            and by["one"]["accuracy"] > 90
            and not by["none"]["chosen"]
        )
        model = SVC(C=4.0 ** by["none"]["C"], kernel="linear").fit(X[:80], y[:80])
        assert (
            by["none"]["accuracy"] == pytest.approx(100 * model.score(X[80:], y[80:]))
            and by["none"]["accuracy"] < 75
        )

    def test_of_equal_scalings_that_of_the_first_candidate_is_chosen_then_the_first(
        self, rng, monkeypatch
    ):
        X, y = rng.normal(size=(40, 2)), np.arange(40) % 2 > 0
        judge = twogroups.SelectedSvm(y, np.arange(30), np.arange(30, 40), self.settings(svm=[0]))
        validated = {"each": [70.0, 80.0], "one": [80.0, 80.0], "none": [80.0, 75.0]}
        order = iter([score for scaling in ("each", "one", "none") for score in validated[scaling]])
        monkeypatch.setattr(judge, "_cross_validate", lambda inner: np.array([next(order)]))
        rows = judge.evaluate([(-3, X[:30], X[30:]), (-9, X[:30], X[30:])])
        assert [(row["lam"], row["chosen"]) for row in rows] == [(-9, 0), (-3, 1), (-3, 0)]

    def test_scaling_is_the_same_for_sparse_and_dense_features(self, rng):
        X = np.maximum(rng.normal(size=(30, 6)) * [1, 2, 3, 4, 5, 0], 0)
        for scaling in twogroups.SCALINGS:
            dense = twogroups.kernels(X[:20], X[20:], scaling)
            thin = twogroups.kernels(sparse.csr_array(X[:20]), sparse.csr_array(X[20:]), scaling)
            for one, other in zip(dense, thin, strict=True):
                np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)
        size = np.where(X[:20].std(axis=0) > 0, X[:20].std(axis=0), 1)
        np.testing.assert_allclose(
            twogroups.kernels(X[:20], X[20:], "each")[1], X[20:] / size**2 @ X[:20].T
        )
        assert np.trace(twogroups.kernels(X[:20], X[20:], "one")[0]) == pytest.approx(20)

    def test_the_choice_is_that_of_a_search_over_pipelines(self, rng):
        """Features, folds and grid in the hands of scikit-learn: the same C, accuracies and predictions."""
        from sklearn.model_selection import GridSearchCV, PredefinedSplit
        from sklearn.svm import SVC

        X, y = np.maximum(rng.normal(size=(260, 8)) + 0.5, 0), rng.random(260) < 0.45
        X[y, :3] += 0.4
        settings = self.settings(scaling=["one"], svm=[1, -3, -1, -2, 0])
        judge = twogroups.SelectedSvm(y, np.arange(180), np.arange(180, 260), settings)
        (found,) = judge.evaluate([(-7, X[:180], X[180:])])
        size = np.sqrt((X[:180] ** 2).sum() / 180)
        grid = {"C": [4.0**exponent for exponent in (-3, -2, -1, 0, 1)]}
        search = GridSearchCV(
            SVC(kernel="linear", tol=twogroups.COARSE), grid, cv=PredefinedSplit(np.arange(180) % 5)
        )
        search.fit(X[:180] / size, y[:180])
        assert 4.0 ** found["C"] == search.best_params_["C"] and found["lam"] == -7
        assert found["validation"] == pytest.approx(100 * search.best_score_)
        final = SVC(kernel="linear", C=4.0 ** found["C"]).fit(X[:180] / size, y[:180])
        assert found["accuracy"] == pytest.approx(100 * final.score(X[180:] / size, y[180:]))
        assert len(set(search.cv_results_["mean_test_score"])) > 1  # there was something to choose

    def test_an_svm_of_one_class_says_that_class(self):
        for label in (True, False):
            assert (
                twogroups.predict_classes(np.eye(3), np.full(3, label), np.ones((2, 3)), 0) == label
            ).all()

    def test_rounds_end_when_the_objective_hardly_falls(self, rng):
        counts, _ = twogroups.two_groups(two_classes(rng), self.settings())
        part = counts[:60] / 20.0
        found = {
            (rounds, decrease): twogroups.codes(
                "flat", 3, part, part, self.settings(rounds=rounds, decrease=decrease), 0, -20
            )[0]
            for rounds, decrease in ((1, 0.0), (30, 0.999), (30, 0.0))
        }
        assert np.array_equal(found[1, 0.0], found[30, 0.999])
        assert not np.allclose(found[1, 0.0], found[30, 0.0])

    def test_summary_pairs_tree_and_flat(self):
        rows = [
            {
                "split": split,
                "method": method,
                "topics": 3,
                "accuracy": value,
                "scaling": scaling,
                "chosen": best,
            }
            for method, values in (("flat", (80.0, 84.0)), ("tree", (81.0, 83.0)))
            for split, value in enumerate(values)
            for scaling, best, value in (("none", split, value), ("one", 1 - split, value - 10))
        ]
        found = classification.summarise(rows)
        assert [row["scaling"] for row in found] == [
            "chosen",
            "chosen",
            "none",
            "none",
            "one",
            "one",
        ]
        assert [row["mean"] for row in found] == [77, 77, 82, 82, 72, 72] and {
            row["splits"] for row in found
        } == {2}
        flat, tree = found[2:4]
        assert (flat["mean"], tree["mean"], tree["difference"]) == (82, 82, 0)
        assert tree["difference_sd"] == pytest.approx(np.sqrt(2))

    def test_too_many_documents_and_unknown_groups_are_refused(self, rng, tmp_path, monkeypatch):
        monkeypatch.setattr(twogroups.news20, "read", lambda files, options: two_classes(rng))
        with pytest.raises(ConfigError, match="expected at most"):
            experiments.run("classification", tmp_path, {})
        with pytest.raises(DataError, match="no newsgroup"):
            experiments.run("classification", tmp_path, {"groups": ["alt.atheism", "sci.spice"]})

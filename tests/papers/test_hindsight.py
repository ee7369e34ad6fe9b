"""Measured regret: the best fixed dictionary against a linear program, violations against dense online ADMM, bounds."""

import json

import numpy as np
import pytest
from called import odl
from reference import best_dictionary, oiadmm
from scipy import sparse

from odl import learners
from odl.config.sections import Batches, Order
from odl.errors import ConfigError, DataError, ParameterError, StorageError
from odl.evaluation.study import load_plan, write_plan
from odl.files import checkpoints
from odl.files.tables import read_table, write_table
from odl.jobs import runs, update
from odl.learners import State
from odl.papers import hindsight
from odl.stream import batchfile, batching, features


def made(rng, T=6, n=8, m=12, sizes=None):
    """Batches of documents from a few overlapping word lists, rows of mass 1; the vocabulary grows by one a batch."""
    lists = [rng.choice(m - T, 4, replace=False) for _ in range(4)]
    found = []
    for t in range(T + 1):
        counts = np.zeros((n if sizes is None else sizes[t], m - T + t))
        for row in range(len(counts)):
            np.add.at(counts[row], rng.choice(lists[row % 4], 9), 1.0)
            counts[row, -1] += rng.random() < 0.2
        found.append(sparse.csr_array(counts / counts.sum(axis=1, keepdims=True)))
    return found


def run(learner, batches, n_atoms, rng, code=None):
    """The timesteps of a run as `hindsight.measure` takes them; `code` makes other codes than the learner's."""
    state, steps = learner.start(batches[0], n_atoms, rng), []
    for P in batches[1:]:
        state = learner.fit_terms(state, P.shape[1])
        X = learner.score(state, P).codes if code is None else code(P)
        after = learner.learn(state, P, X)
        steps.append(
            hindsight.OnlineStep(P, X, state.dictionary, after.dictionary, state.arrays.get("dual"))
        )
        state = after
    return steps


def random_codes(rng, n_atoms):
    return lambda P: sparse.random_array((P.shape[0], n_atoms), density=0.4, rng=rng, format="csr")


def best(steps):
    """min over A >= 0 with columns of mass at most 1 of the summed loss, as one linear program on all entries."""
    m = steps[-1].P.shape[1]
    P = np.vstack([np.pad(step.P.toarray(), ((0, 0), (0, m - step.P.shape[1]))) for step in steps])
    X = np.vstack([step.X.toarray() for step in steps])
    return best_dictionary(P, X)[0]


@pytest.mark.parametrize("algorithm", hindsight.algorithms())
def test_regret_is_that_of_the_linear_program(algorithm, rng):
    learner = learners.make(algorithm, rounds=3)
    steps = run(learner, made(rng), 3, rng)
    assert any(step.X.nnz for step in steps)
    rows, _ = hindsight.measure(steps, learner, tolerance=1e-6, iterations=20000)
    online = 0.0
    for T, row in enumerate(rows, start=1):
        step = steps[T - 1]
        online += np.abs(step.P.toarray() - step.X.toarray() @ step.before.toarray().T).sum()
        optimum = best(steps[:T])
        assert row["hindsight_low"] - 1e-9 <= optimum <= row["hindsight"] + 1e-9
        assert row["hindsight"] - row["hindsight_low"] <= 1.1e-6 * row["hindsight"]
        assert row["online"] == pytest.approx(online, rel=1e-12)
        assert row["regret"] - 1e-9 <= online - optimum <= row["regret_high"] + 1e-9


def test_a_fit_that_stops_early_bounds_the_regret_from_both_sides(rng):
    learner = learners.make("projected_gradient", rounds=0)
    steps = run(learner, made(rng), 4, rng, random_codes(rng, 4))
    (row,) = (
        row
        for row in hindsight.measure(steps, learner, timesteps=1, iterations=3)[0]
        if "regret" in row
    )
    true = row["online"] - best(steps)
    assert row["regret"] < true - 1e-4 and true <= row["regret_high"]


def test_fits_for_some_numbers_of_timesteps(rng):
    assert hindsight.choose_timesteps(5, 0) == [1, 2, 3, 4, 5] == hindsight.choose_timesteps(5, 9)
    assert hindsight.choose_timesteps(84, 1) == [84] and hindsight.choose_timesteps(1, 0) == [1]
    grid = hindsight.choose_timesteps(84, 6)
    assert (
        grid[0] == 1 and grid[-1] == 84 and len(grid) == 6 and (np.diff(np.sqrt(grid)) > 1.3).all()
    )
    with pytest.raises(ParameterError, match="timesteps is -1"):
        hindsight.choose_timesteps(5, -1)
    learner = learners.make("dual_averaging", rounds=1)
    steps = run(learner, made(rng), 3, rng)
    rows, _ = hindsight.measure(steps, learner, timesteps=2)
    assert [row["t"] for row in rows if "regret" in row] == [1, 6]
    assert not any("bound_regret" in row for row in rows) and np.isnan(rows[0]["violation_sum"])


def dense_admm(batches, codes, A, beta, tau, positions):
    """Online ADMM by its equations on padded dense batches: violation of the constraint at each timestep."""
    m = batches[-1].shape[1]
    A = np.pad(A, ((0, m - A.shape[0]), (0, 0)))
    dual, found = np.zeros((positions, m)), []
    for P, X in zip(batches, codes, strict=True):
        P = np.pad(P.toarray(), ((0, positions - P.shape[0]), (0, m - P.shape[1])))
        X = np.pad(X.toarray(), ((0, positions - X.shape[0]), (0, 0)))
        A, gamma, dual = oiadmm(P, X, A, dual, beta, tau or np.inf)
        found.append(np.sum((gamma - (P - X @ A.T)) ** 2))
    return found, A


@pytest.mark.parametrize("tau", [0.0, 0.02])
def test_violations_are_those_of_dense_online_admm(tau, rng):
    batches = made(rng, sizes=[20, 8, 8, 5, 8, 3, 7])
    learner = learners.make("online_admm", rounds=2, beta=30.0, tau=tau, dual_terms=0)
    start = rng.bit_generator.state
    steps = run(learner, batches, 4, rng, random_codes(rng, 4))
    rng.bit_generator.state = start
    first = learner.start(batches[0], 4, rng).dictionary.toarray()
    found, A = dense_admm(batches[1:], [step.X for step in steps], first, 30.0, tau, 8)
    rows, _ = hindsight.measure(steps, learner, timesteps=1)
    np.testing.assert_allclose([row["violation"] for row in rows], found, rtol=1e-9)
    np.testing.assert_allclose(rows[-1]["violation_sum"], np.sum(found), rtol=1e-9)
    np.testing.assert_allclose(steps[-1].after.toarray(), A, atol=1e-13)


def test_a_whole_dual_gives_the_violation_as_its_own_change(rng):
    """Gamma - (P - X A^T) is (D_t - D_{t+1})/beta; exactly so only where the dual is neither cut nor rounded."""
    for dual_terms, close in ((0, True), (3, False)):
        learner = learners.make("online_admm", rounds=0, beta=7.0, dual_terms=dual_terms)
        steps = run(learner, made(rng), 3, rng, random_codes(rng, 3))
        duals = [step.dual for step in steps]
        for step, after in zip(steps, duals[1:], strict=False):
            change = after.toarray() - np.pad(step.dual.toarray(), [(0, a - b) for a, b in zip(
                after.shape, step.dual.shape, strict=True)])  # fmt: skip
            assert (abs(np.sum(change**2) / 49 - hindsight.violation(step, 7.0)) < 1e-12) == close


@pytest.mark.parametrize("seed", range(25))
def test_the_theorems_bound_runs_that_keep_their_conditions(seed):
    """Any codes, any beta: Theorem B.5 (doubled) and B.6, and the inequalities of their proofs at every T."""
    rng = np.random.default_rng(seed)
    T, k = int(rng.integers(3, 9)), int(rng.integers(2, 5))
    batches = made(rng, T=T, m=14, sizes=rng.integers(5, 12, size=T + 1))
    draw = [random_codes(rng, k)(P) * rng.uniform(0.2, 2) for P in batches[1:]]
    psi = max(np.linalg.eigvalsh((X.T @ X).toarray())[-1] for X in draw)
    settings = {
        "rounds": int(rng.integers(0, 3)),
        "dual_terms": 0,
        "tau": rng.uniform(0.2, 1) / (2 * psi),
    }
    beta = 10 ** rng.uniform(0, 2)
    for _ in range(2):  # any beta, then the one of the theorem
        codes, learner = iter(draw), learners.make("online_admm", beta=beta, **settings)
        steps = run(
            learner, batches, k, np.random.default_rng(seed), lambda P, codes=codes: next(codes)
        )
        rows, found = hindsight.measure(steps, learner, tolerance=1e-7, iterations=5000)
        assert found["refused"] is None and found["tau_wanted"] == learner.tau
        for row in rows:
            assert row["regret"] <= row["bound_regret"] and row["theorem_regret"] <= row[
                "bound_regret"
            ] * (1 + 1e-12)
            assert 0 < row["violation_sum"] <= row["bound_violation"]
        wanted = found["phi"] / found["distance"] * np.sqrt(learner.tau * T)
        assert found["beta_wanted"] == pytest.approx(wanted, rel=1e-12)
        beta = found["beta_wanted"]
    assert rows[-1]["regret_high"] - rows[-1]["regret"] < 1e-2
    near = rows[-1]["bound_regret"] / rows[-1]["theorem_regret"]
    assert 1 - 1e-12 <= near < 1.5  # the constants move with beta, the codes do not


def test_the_printed_half_of_the_bound_is_none():
    """One document, one atom: the proof's two terms are equal at the best beta, and both count."""
    found = hindsight.bounds(9, phi=2.0, distance=0.5, tau=0.25, beta=2.0 / 0.5 * 1.5, upsilon=3.0)
    assert found.theorem_regret == pytest.approx(2 * 0.5 * 3 / 0.5) == found.bound_regret
    assert found.theorem_violation == pytest.approx(2 * 0.25 / 0.25 + 4 * 3 * 0.5 * 3 / (2 * 0.5))
    assert found.bound_violation == pytest.approx(found.theorem_violation)
    assert (
        hindsight.bounds(9, phi=2.0, distance=0.5, tau=0.25, beta=3.0, upsilon=3.0).bound_regret
        > found.bound_regret
    )


@pytest.mark.parametrize(
    ("algorithm", "settings", "reason"),
    [
        ("projected_gradient", {}, "online ADMM"),
        ("online_admm", {"dual_terms": 0}, "tau is 0"),
        ("online_admm", {"dual_terms": 0, "tau": 1e6}, "above 1/(2 Psi_max)"),
        ("online_admm", {"tau": 1e-4}, "truncated to 500 terms"),
        ("online_admm", {"tau": 1e-4, "dual_terms": 0, "carry": True}, "initial dual is not zero"),
        ("online_admm", {"tau": 1e-4, "dual_terms": 0}, None),
    ],
)
def test_no_bound_is_claimed_where_a_condition_fails(algorithm, settings, reason, rng):
    learner = learners.make(algorithm, rounds=2, **settings)
    rows, found = hindsight.measure(run(learner, made(rng), 3, rng, random_codes(rng, 3)), learner)
    assert (found["refused"] is None) == (reason is None) == ("bound_regret" in rows[-1])
    assert reason is None or reason in found["refused"]
    assert (reason or "regret at most") in hindsight.describe(rows, found, "x")


def test_batches_without_codes_are_skipped(rng):
    """Psi_max = 0: the dictionary stays, nothing is regretted, and no limit on tau follows."""
    learner = learners.make("online_admm", rounds=1, dual_terms=0, tau=0.3)
    batches = made(rng)
    steps = run(learner, batches, 3, rng, lambda P: sparse.csr_array((P.shape[0], 3)))
    assert all((step.after - step.before).count_nonzero() == 0 for step in steps)
    rows, found = hindsight.measure(steps, learner)
    assert found["psi_max"] == 0 and found["tau_most"] == np.inf and found["refused"] is None
    assert all(
        abs(row["regret"]) + row["distance"] < 1e-12 and row["loss"] == pytest.approx(8)
        for row in rows
    )
    assert all(row["violation_sum"] >= 0 for row in rows)


def test_tau_is_a_limit_of_the_step(rng):
    P, X = made(rng)[0], random_codes(rng, 3)(made(rng)[0])
    psi = np.linalg.eigvalsh((X.T @ X).toarray())[-1]

    def after(**settings):
        learner = learners.make("online_admm", rounds=0, **settings)
        state = State(sparse.csc_array(P[:3].T), learner.fresh(sparse.csc_array(P[:3].T)).arrays)
        return learner.learn(state, P, X)

    free, limited, loose = after(), after(tau=0.1 / psi), after(tau=1 / psi)
    assert (free.dictionary != loose.dictionary).nnz == 0
    assert abs(limited.dictionary - P[:3].T).sum() < abs(free.dictionary - P[:3].T).sum()
    assert (
        after(dual_terms=0).arrays["dual"].dtype == np.float64
        and free.arrays["dual"].dtype == np.float32
    )


# Files, command and table


@pytest.fixture(scope="module")
def chain(tmp_path_factory):
    """The files of a run of online ADMM that keeps the conditions, of one of projected gradient, and of a plan."""
    root = tmp_path_factory.mktemp("regret")
    rng, lines = np.random.default_rng(3), []
    for number in range(60):
        words = [f"{'abcd'[number % 4]}{'efghij'[i]}x" for i in rng.integers(0, 6, size=8)]
        lines.append(
            json.dumps({"id": f"d{number:02d}", "time": 1900 + number, "text": " ".join(words)})
        )
    (root / "mine.jsonl").write_text("\n".join(lines))
    assert (
        odl("step", "read", "documents", root / "d.h5", "--source", root / "mine.jsonl").returncode
        == 0
    )
    stream = Order(ties="source", batches=Batches(documents=10, initial=20))
    batching.index(root / "d.h5", root / "i.tsv", root / "o.h5", seed=0, stream=stream)
    settings = {"pg": {"algorithm": "projected_gradient", "rounds": 2, "eta": 0.05}}
    settings["theorem"] = {
        "algorithm": "online_admm",
        "rounds": 2,
        "beta": 20.0,
        "tau": 0.01,
        "dual_terms": 0,
    }
    for t in range(5):
        batchfile.cut(root / "d.h5", root / "o.h5", root / f"b{t}.h5", t)
        features.advance(root / f"f{t}.h5", root / f"b{t}.h5", root / f"f{t - 1}.h5" if t else None)
        for name, learner in settings.items():
            held = {
                "corpus": "mine",
                "seed": 0,
                "run": name,
                "atoms": 4,
                "learner": learner,
                "features": {},
            }
            written = [root / name / f"{t}{ending}" for ending in (".h5", "s.h5", ".tsv")]
            before = root / name / f"{t - 1}.h5" if t else None
            update.update(
                root / f"f{t}.h5", *written, run=runs.parse(held), before=runs.Before(before)
            )
    entry = {
        "corpus": "mine",
        "reader": "documents",
        "protocol": "by-date",
        "k": 4,
        "timesteps": list(range(5)),
    }
    plan = []
    for name, learner in settings.items():
        parameters = {key: value for key, value in learner.items() if key != "algorithm"}
        held = {
            "run": name,
            "algorithm": learner["algorithm"],
            "parameters": parameters,
            "folder": str(root / name),
        }
        plan += [{**entry, **held, "seed": seed} for seed in (0, 1)]
        files = [[root / name / f"{t}.h5" for t in range(5)], [root / f"f{t}.h5" for t in range(5)]]
        hindsight.write(root / name / "regret.tsv", *files)
    write_plan(root / "plan.json", plan)
    return root


def files(root, name="theorem", steps=range(5)):
    return ["--checkpoints", *(root / name / f"{t}.h5" for t in steps), "--features",
            *(root / f"f{t}.h5" for t in steps)]  # fmt: skip


def test_the_command_writes_what_the_checkpoints_say(chain, tmp_path):
    found = odl(
        "step", "regret", tmp_path / "r.tsv", "--options", '{"timesteps": 2}', *files(chain)
    )
    assert found.returncode == 0, found.stderr
    assert (
        "the best beta for Theorem B.5 is" in found.stdout
        and "regret at most" in found.stdout
        and "CPU s" in found.stdout
    )
    rows, whole = read_table(tmp_path / "r.tsv"), read_table(chain / "theorem" / "regret.tsv")
    assert tuple(rows[0]) == hindsight.REGRET_COLUMNS and [row["t"] for row in rows] == [1, 2, 3, 4]
    assert [np.isnan(row["regret"]) for row in rows] == [False, True, True, False]
    P = features.read(chain / "f3.h5").weighed(norm="l1")[:].toarray()
    before, after = (checkpoints.read_checkpoint(chain / "theorem" / f"{t}.h5") for t in (2, 3))
    loss = np.abs(P - after.codes.toarray() @ before.dictionary.toarray().T).sum()
    assert rows[2]["loss"] == whole[2]["loss"] == pytest.approx(loss, abs=1e-6)
    change = after.arrays["dual"].toarray() - before.arrays["dual"].toarray()
    assert whole[2]["violation"] == pytest.approx(np.sum(change**2) / 400, rel=1e-4)
    assert all(
        row["regret"] <= row["bound_regret"] and row["violation_sum"] <= row["bound_violation"]
        for row in whole
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (lambda root: files(root, steps=[0]), "at least two"),
        (lambda root: files(root, steps=[0, 2]), "is of timestep 2; expected timestep 1"),
        (lambda root: [*files(root)[:6], *files(root, "pg")[6:], "--options", '{"timestep": 1}'], "'timesteps'?"),
        (lambda root: [*files(root), "--options", '{"tolerance": -1}'], "tolerance"),
        (lambda root: [*files(root), "--options", '{"timesteps": -2}'], "timesteps is -2"),
        (lambda root: [*files(root)[:6], "--features", *(root / f"f{t}.h5" for t in (0, 2, 1, 3, 4))], "are not consecutive"),
        (lambda root: ["--checkpoints", root / "pg/0.h5", root / "theorem/1.h5", "--features", root / "f0.h5",
                       root / "f1.h5"], "belongs to another chain"),
        (lambda root: ["--checkpoints", root / "f0.h5", root / "f1.h5", "--features", root / "f0.h5", root / "f1.h5"],
         "checkpoint"),
    ],
)  # fmt: skip
def test_wrong_files_and_options_are_one_sentence(arguments, message, chain, tmp_path):
    found = odl("step", "regret", tmp_path / "r.tsv", *arguments(chain))
    assert found.returncode == 1 and message in found.stderr, found.stderr
    assert "Traceback" not in found.stderr and len(found.stderr.strip().splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


def test_other_algorithms_are_refused(chain, tmp_path):
    held = checkpoints.read_checkpoint(chain / "pg" / "0.h5")
    held.chain["learner"]["algorithm"] = "batch"
    checkpoints.write(tmp_path / "0.h5", held)
    with pytest.raises(
        DataError, match="regret of batch is not defined; expected a run of dual_averaging"
    ):
        hindsight.read_steps([tmp_path / "0.h5"] * 2, [chain / "f0.h5"] * 2)


def test_the_table_over_seeds(chain, tmp_path):
    options = json.dumps({"runs": ["pg", "theorem"], "sizes": []})
    found = odl(
        "step", "regrets", chain / "plan.json", tmp_path / "regret.tsv", "--options", options
    )
    assert found.returncode == 0, found.stderr
    rows = read_table(tmp_path / "regret.tsv")
    assert len(rows) == 8 and all(row["seeds"] == 2 for row in rows)
    one = {row["t"]: row for row in read_table(chain / "theorem" / "regret.tsv")}
    for row in rows:
        assert np.isnan(row["bound_regret"]) == (row["run"] == "pg")
        if row["run"] == "theorem":
            assert row["regret_mean"] == one[row["t"]]["regret"] and row["tau"] == 0.01
            assert row["phi"] == max(held["phi"] for held in one.values())
    with pytest.raises(ConfigError, match="the plan has no run for"):
        hindsight.gather_regret(chain / "plan.json", tmp_path / "x.tsv", runs=["other"])
    plan = [{**load_plan(chain / "plan.json")[0], "run": "none", "folder": str(tmp_path)}]
    write_table(tmp_path / "regret.tsv", [], hindsight.REGRET_COLUMNS)
    with pytest.raises(StorageError, match="regret of none has no row"):
        hindsight.gather_regret(plan, tmp_path / "x.tsv", runs=["none"])

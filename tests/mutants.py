"""Mutation run: wrong edits, each of which the tests of its module have to see.

``make mutants`` applies every edit of `EDITS`, one at a time, to a copy of the tree, runs the tests of its module there
with ``-x`` and prints which edits were killed. ``--sample N --seed S`` takes N of them, ``--only`` those of some
test files, ``--list`` only looks for them.
An edit is found by its text, wherever under src/odl or workflow/rules that stands: code may move, but the text has to
be there once. An edit that changes no result says so, with the reason; it is not run.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import SimpleQueue
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
COPIED = ("src", "tests", "workflow", "config", "data", "docs", "profiles", "benchmarks")
PLACES = ("src/odl", "workflow/rules")
SHARE = 0.95  # of the edits that have to be killed
PATIENCE = 900  # seconds for the tests of one edit, compilation included; an edit that takes longer is killed


class Edit(NamedTuple):
    """A wrong edit: the text, what it becomes, the test files that have to see it, why it may survive."""

    old: str
    new: str
    tests: str
    equivalent: str = ""


EDITS = [
    # Other methods and views
    Edit("counts = batch.counts[max(0, batch.counts.shape[0] - documents) :]", "counts = batch.counts[:documents]",
         "rivals baselines"),
    Edit("self.total = kept * self.total + counts.shape[0]", "self.total = self.total + counts.shape[0]", "rivals"),
    Edit("% self.BUCKET] = before + row", "% self.BUCKET] = row", "rivals"),
    Edit("bound += gammaln(alpha * self.TOPICS)", "bound -= gammaln(alpha * self.TOPICS)", "rivals"),
    Edit("if _agreement(words, meaning) < AGREEMENT:", "if _agreement(words, meaning) > AGREEMENT:", "views"),
    Edit("own[np.arange(len(rows)), rows] = True", "own[np.arange(len(rows)), rows] = False", "views"),
    Edit("scaled.any(axis=1, keepdims=True), scaled - mean, 0.0", "scaled.any(axis=1, keepdims=True), scaled, 0.0",
         "dense"),
    Edit("past = total(before.raw_vectors)\n", "past = np.zeros(vectors.shape[1])\n", "dense"),
    Edit("np.lexsort((terms, frequencies, last))", "np.lexsort((terms, last, frequencies))", "bounded"),
    Edit("np.arange(self.n_numbered, self.n_numbered + more)", "np.arange(len(self.terms), len(self.terms) + more)",
         "bounded"),
    Edit('"size": size * norms', '"size": size', "bounded"),
    Edit('np.frombuffer(digests, dtype="<u8")', 'np.frombuffer(digests, dtype=">u8")', "buckets"),
    Edit("np.maximum(2 * documents[words] - total, 0)", "documents[words]", "buckets"),
    Edit("elif lead > held or not self.words[bucket]:", "elif lead >= held or not self.words[bucket]:", "buckets"),
    Edit("self.words[bucket], self.lead[bucket] = word, lead - held",
         "self.words[bucket], self.lead[bucket] = word, lead", "buckets"),
    Edit("(2 * lead <= frequencies) & (frequencies > 0)", "(lead < frequencies) & (frequencies > 0)", "buckets"),
    Edit("left[bucket] = left.get(bucket, 0) - count", "left[bucket] = left.get(bucket, 0)", "buckets"),
    Edit("used = np.flatnonzero(documents)\n", "used = np.arange(len(words))\n", "buckets"),
    Edit("found.sum_duplicates()", "found.sort_indices()", "buckets"),
    Edit("if data.hash_terms != run.hash_terms:", "if data.hash_terms < run.hash_terms:", "buckets"),
    Edit('"there": ~there, "words"', '"there": there, "words"', "simulation"),
    # Kernels
    Edit("if 2.0 * inside[j] > mass[j] + lam:", "if 2.0 * inside[j] > mass[j]:", "coding_exact",
         "a screening of atoms that cannot enter a code: atoms kept without need get the weight 0"),
    Edit("if 2.0 * inside[j] > mass[j] + lam:", "if 1.5 * inside[j] > mass[j] + lam:", "coding_exact"),
    Edit("rest += values[position]", "rest -= values[position]", "coding_exact"),
    Edit("primal += work.cost[j] * work.code[j]", "primal -= work.cost[j] * work.code[j]", "coding_exact"),
    Edit("slope += 2.0 * abs(work.speed[i])", "slope += abs(work.speed[i])", "coding_exact",
         "the slope only says which of several residuals that are zero at once flip: another path to the same vertex"),
    Edit("_add_row(i, 2.0 * work.side[i], work)\n                work.side[i]",
         "_add_row(i, work.side[i], work)\n                work.side[i]", "coding_exact"),
    Edit("if total > 1.0 + count * epsilon:", "if total > 1.5 + count * epsilon:", "prox"),
    Edit("place[atom] = 1 if 2.0 * inside[atom] > total[atom] else -1",
         "place[atom] = 1 if 1.0 * inside[atom] > total[atom] else -1", "fitting"),
    Edit("if not total > 1.0 + 1e-14 or speed == 0.0:", "if not total > 1.1 + 1e-14 or speed == 0.0:", "fitting"),
    Edit("values[pair] = value if value > 0.0 else 0.0", "values[pair] = value", "fitting"),
    Edit("loss += abs(residual)", "loss += residual", "fitting"),
    Edit("if loss < lowest:", "if loss > lowest:", "fitting"),
    Edit("pivot -= value * value", "pivot += value * value", "coding_lars"),
    Edit("margin = 1.0 - work.beta[j]", "margin = 1.0 + work.beta[j]", "coding_lars"),
    Edit("beta[j] += turn * gram[row, j]", "beta[j] -= turn * gram[row, j]", "coding_lars"),
    Edit("inside += rest * rest", "inside += rest", "tree_prox"),
    Edit("if total <= radius:", "if total <= 2.0 * radius:", "tree_prox"),
    Edit("if level <= 0.0:", "if level <= 0.1:", "tree_prox"),
    Edit("total += left\n", "total -= left\n", "tree_prox"),
    # Prox and coding
    Edit("return Z - np.clip(Z, -threshold, threshold)", "return Z - np.clip(Z, 0, threshold)", "coding_admm"),
    Edit("return 0.0 if feasible else np.inf", "return 0.0", "prox"),
    Edit("feasible = (matrix.data >= -tolerance).all() and", "feasible = True and", "prox"),
    Edit("return not len(indices) or bool(indices.min() >= 0 and indices.max() < size)",
         "return not len(indices) or bool(indices.min() >= 0 and indices.max() <= size)", "coding coding_exact"),
    # Learners
    Edit("weights = 1.0 / np.arange(1, self.nearest + 1)", "weights = 1.0 / np.arange(2, self.nearest + 2)",
         "learner_adaptive"),
    Edit("kept = 0.5 ** (batch.shape[0] / self.half_life) if self.half_life else 1.0",
         "kept = 0.5 ** (batch.shape[0] / self.half_life) if self.half_life else 0.5", "learner_adaptive"),
    Edit("1.0 / np.maximum(cohesion, 1e-12) ** self.cohesion", "1.0 / np.maximum(cohesion, 1e-12)",
         "learner_adaptive"),
    Edit("return replace(self.learn(nothing, P, None), updates=0)", "return self.learn(nothing, P, None)",
         "learners learner_adaptive"),
    Edit('self.gamma if self.step == "gamma_over_sqrt_t" else 1.0 / self.gamma',
         'self.gamma if self.step == "gamma_over_sqrt_t" else self.gamma', "learners"),
    Edit("return total[0] / total[1] if self.per_document else total[0]", "return total[0]", "learners"),
    Edit("signs = np.sign(np.where(np.abs(residual.data) > ROUNDING, residual.data, 0.0))",
         "signs = np.sign(residual.data)", "learners"),
    Edit("return total[0] + part[0], total[1] + part[1]", "return total[0] + part[0], total[1]", "learners"),
    Edit("inverse = max(2.0 * psi_max, 1.0 / self.tau if self.tau else 0.0)",
         "inverse = max(psi_max, 1.0 / self.tau if self.tau else 0.0)", "learners"),
    Edit("self._cut(sparse.csr_array(self.beta * (clipped - X @ change.T)))",
         "self._cut(sparse.csr_array(self.beta * (clipped + X @ change.T)))", "learners"),
    Edit("return holds @ atom.toarray().ravel() > (1.0 + lam) / 2.0",
         "return holds @ atom.toarray().ravel() > (1.0 - lam) / 2.0", "learner_batch"),
    Edit("if not value <= trace[-1] + slack:", "if not value <= np.inf:", "learner_batch"),
    Edit("return (P @ atom).toarray().ravel() > self.lam * norms", "return (P @ atom).toarray().ravel() > 0 * norms",
         "learner_batch_l2"),
    Edit("if on_demand else n_atoms) <= len(filled):", "if on_demand else n_atoms) <= len(filled) + 1:", "learners"),
    # Levels, peers, boilerplate, costs
    Edit("explained += weight * found", "explained += found / 2 if weight < 1 else found", "learner_levels"),
    Edit("if before == 0 or seen - before >= REGROUP:", "if before == 0 or seen - before >= 2 * REGROUP:",
         "learner_levels"),
    Edit('group[arrays["birth"] >= int(state.arrays["seen"][0])] = -1', "pass", "learner_levels"),
    Edit("np.where(group >= 0, group, k + np.arange(k))", "np.where(group >= 0, group, np.arange(k))",
         "learner_levels"),
    Edit("owner[names[gone]] = names[kept]", "owner[names[kept]] = names[gone]", "learner_levels"),
    Edit("documents[gone], partner[gone, 0] = np.inf, prices.NOBODY", "partner[gone, 0] = prices.NOBODY",
         "learner_levels",
         "its stamp keeps a group that is gone from being found: only memory is not moved together"),
    Edit("row[j] = other[places[j]]", "row[j] = other[j]", "learner_levels"),
    Edit("related = -(own * near).mean()", "related = (own * near).mean()", "learner_levels"),
    Edit("((1.0 - share) * own + share * np.where(sums > 0, told, own))",
         "((1.0 - share) * own + share * np.where(sums > 0, told, 0 * own))", "learner_levels"),
    Edit("return with_data(P, (1.0 - self.context) * words)", "return with_data(P, words)",
         "learner_levels detector_contract"),
    Edit("ALONE * own.n_documents))", "ALONE))", "boilerplate"),
    Edit("many = total >= UNIT * max(FEWEST, SHARE * n_documents)", "many = total >= UNIT * FEWEST", "boilerplate"),
    Edit("left.data = np.maximum(left.data, 0)\n", "pass\n", "boilerplate",
         "what is taken out was counted in the same document, so nothing is left below 0"),
    # Metrics, baselines, alerts
    Edit("return float(int(twice) / (2 * len(novel) * len(known)))",
         "return float(1 - int(twice) / (2 * len(novel) * len(known)))", "metrics"),
    Edit("twice = times @ at_most[0:-1:2] + times @ at_most[1::2]", "twice = 2 * times @ at_most[1::2]", "metrics"),
    Edit("tail = (1 - level) / 2", "tail = 1 - level", "metrics"),
    Edit("def interval(values: ArrayLike, level: float = 0.95)",
         "def interval(values: ArrayLike, level: float = 0.9)", "metrics tables"),
    Edit("known = rng.integers(0, n_known, size=(rows, n_known))",
         "known = np.tile(np.arange(n_known), (rows, 1))", "metrics"),
    Edit("return auc(scores, labels) - auc(others, labels), low, high",
         "return auc(others, labels) - auc(scores, labels), low, high", "metrics"),
    Edit('scores[f"nearest-{name}"] = 1.0 - cosines[:, -1]', 'scores[f"nearest-{name}"] = 1.0 - cosines[:, 0]',
         "baselines"),
    Edit("(np.asarray(batch.frequencies) == 0)", "(np.asarray(batch.frequencies) <= 1)", "baselines"),
    Edit("room = max(1, math.ceil(round(budget * len(scores), 9)))", "room = max(1, int(budget * len(scores)))",
         "alerts"),
    Edit("first[4] = position - first[1] + 1", "first[4] = position - first[1]", "alerts"),
    Edit("above, tied = scores > edge, scores == edge", "above, tied = scores >= edge, scores == edge", "alerts",
         "the tied ones are counted with those above and taken off again by their mean"),
    Edit("(room - above.sum()) * (labels[tied] == 1).mean()", "(labels[tied] == 1).mean()", "alerts"),
    # Tables
    Edit("return mean([aucs[t] for t in steps])", "return mean(list(aucs.values()))", "means tables"),
    Edit("else novel >= min_novel and known >= min_known", "else novel >= min_novel", "means tables"),
    Edit('"novel": int((labels == 1).sum()),', '"novel": int((labels >= 0).sum()),', "tables"),
    Edit('return text.removesuffix("T00:00:00")', "return text", "tables"),
    Edit("if len(set(steps)) != len(steps) or len(names) > 1:", "if len(names) > 1:", "tables"),
    # Stream
    Edit("if ties == \"source\":", "if ties != \"source\":", "stream"),
    Edit("if 0 < missing < len(times):\n        first", "if 0 < missing < 0:\n        first", "stream"),
    Edit("return self.first + int(draw(seed, \"entry\", topic) * (self.last - self.first + 1))",
         "return self.first + int(draw(seed, \"entry\", topic) * (self.last - self.first))", "stream"),
    Edit("stamps = times + (3 * 86_400_000 if period == \"week\" else 0)", "stamps = times", "stream"),
    Edit("return np.append(recent, found.score[~found.empty])[-window:]",
         "return np.append(recent, found.score)[-window:]", "detector_contract"),
    Edit("waits = len(recent) < warm_up", "waits = len(recent) <= warm_up", "detector_text"),
    Edit("if level < 1 / (1 + window):", "if level <= 1 / (1 + window):", "alerts_chain"),
    Edit("self.born[self.starts[-2] :, 0] < self.t", "self.born[self.starts[-2] :, 0] <= self.t", "detector_text"),
    Edit("return any(self.entries[topic] > batch for topic in self.topics[row])",
         "return any(self.entries[topic] >= batch for topic in self.topics[row])", "stream"),
    Edit("data *= (np.log((1.0 + n_documents) / (1.0 + frequencies)) + 1.0)",
         "data *= (np.log((1.0 + n_documents) / (1.0 + frequencies)))", "features"),
    Edit("counts = drop_columns(counts, frequencies >= min_df)", "counts = drop_columns(counts, frequencies > min_df)",
         "features"),
    Edit("data = 1.0 + np.log(data)", "data = np.log1p(data)", "features"),
    Edit("else KNOWN if any(name in seen for name in topics) else NOVEL",
         "else KNOWN if all(name in seen for name in topics) else NOVEL", "features"),
    # Files
    Edit("os.replace(temporary, path)", "shutil.copy(temporary, path)", "documents faults_files checkpoints"),
    Edit("if found != (kind, FORMAT):", "if found[0] != kind:", "documents checkpoints fuzz_readers"),
    Edit("if data.dtype.kind == \"f\" and not np.isfinite(data).all():", "if False:", "documents checkpoints shards "
         "fuzz_readers"),
    Edit("if len(strings) != length:", "if len(strings) < 0:", "documents checkpoints fuzz_readers"),
    Edit("if layout == h5py.h5d.VIRTUAL or made.get_external_count() or len(set(files)) > 1:",
         "if layout == h5py.h5d.VIRTUAL:", "fuzz_bombs"),
    Edit(" or first % BLOCK:\n                raise", ":\n                raise", "shards"),
    Edit("if first != P.shape[0]:", "if first > P.shape[0]:", "shards"),
    # Ranks
    Edit("if (hosts[rank], core) not in taken]", "if core not in taken]", "mpi"),
    Edit("others[: max(0, 2 - len(found))]", "others[:0]", "mpi"),
    # Rules and configuration
    Edit("attempt: 2 ** (attempt - 1)\n", "attempt: 1\n", "resources"),
    Edit("* int(base + per_mb * times(wildcards) * megabytes(input))", "* int(base + per_mb * megabytes(input))",
         "resources"),
    Edit("(len(files) - len(sizes)) * max(sizes, default=0)", "max(sizes, default=0)", "resources"),
    Edit('return -(-config["shards"]["documents"] // BLOCK) * BLOCK', 'return config["shards"]["documents"] // BLOCK * '
         'BLOCK', "shards"),
]  # fmt: skip


def found(edit):
    """Return the file that holds the text of an edit, below the root; refuse a text that is not there once."""
    files = [path for place in PLACES for path in sorted((ROOT / place).rglob("*")) if path.suffix in (".py", ".smk")]
    holding = [path.relative_to(ROOT) for path in files if edit.old in path.read_text(encoding="utf-8")]
    times = sum((ROOT / path).read_text(encoding="utf-8").count(edit.old) for path in holding)
    if times != 1:
        where = ", ".join(map(str, holding)) or "nowhere"
        raise LookupError(f"the text {edit.old!r} stands {times} times ({where}); it has to stand once: correct EDITS")
    return holding[0]


def tested(folder, tests):
    """Run test files in a copy of the tree; return what became of them: passed, failed, timed out or broken."""
    files = [f"tests/test_{name}.py" for name in tests.split()]
    command = [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *files]
    variables = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(
            command, cwd=folder, env=variables, capture_output=True, text=True, timeout=PATIENCE, start_new_session=True
        )
    except subprocess.TimeoutExpired:
        return "timed out"
    if done.returncode < 0:  # ended by a signal: the edit was seen
        return "failed"
    return {0: "passed", 1: "failed", 2: "failed"}.get(done.returncode, "broken: " + done.stdout[-300:])


def judged(edit, copies):
    """Apply an edit to a free copy of the tree, run its tests, take it back; return (outcome, seconds)."""
    folder, start = copies.get(), time.monotonic()
    path = folder / found(edit)
    whole = path.read_text(encoding="utf-8")
    try:
        path.write_text(whole.replace(edit.old, edit.new), encoding="utf-8")
        outcome = tested(folder, edit.tests)
    finally:
        path.write_text(whole, encoding="utf-8")
        copies.put(folder)
    return {"passed": "survived", "failed": "killed", "timed out": "killed"}.get(outcome, outcome), (
        time.monotonic() - start
    )


def copied(folder):
    """Copy what tests need into a new folder; caches of compiled code come along."""
    for name in COPIED:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("*.egg-info"))
    for path in ROOT.iterdir():
        if path.is_file() and not path.name.startswith("."):
            shutil.copy2(path, folder / path.name)
    return folder


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sample", type=int, default=0, help="so many edits, drawn by --seed; 0: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[], metavar="TESTS", help="those of some test files, as levels")
    parser.add_argument("--list", action="store_true", help="look for the texts and end")
    args = parser.parse_args()
    wrong = []
    for edit in EDITS:
        try:
            found(edit)
        except LookupError as error:
            wrong.append(str(error))
    print(f"{len(EDITS)} edits, {sum(bool(edit.equivalent) for edit in EDITS)} of them equivalent")
    if wrong or args.list:
        return "\n".join(wrong) or 0
    edits = [edit for edit in EDITS if not edit.equivalent]
    edits = [edit for edit in edits if not args.only or any(name in edit.tests for name in args.only)]
    edits = random.Random(args.seed).sample(edits, args.sample) if args.sample else edits
    with tempfile.TemporaryDirectory() as place, ThreadPoolExecutor(2) as pool:
        copies = SimpleQueue()
        for number in range(2):
            copies.put(copied(Path(place) / str(number)))
        # What fails without any edit would kill every edit.
        plain = {edit.tests: Edit("", "", edit.tests) for edit in edits}
        for outcome, tests in zip(pool.map(lambda tests: unharmed(tests, copies), plain), plain, strict=True):
            if outcome != "passed":
                return f"the tests {tests} have to pass without an edit: {outcome}"
        counts = report(edits, pool.map(lambda edit: judged(edit, copies), edits))
    share = counts["killed"] / len(edits)
    print(f"{counts['killed']} of {len(edits)} killed ({share:.1%}), at least {SHARE:.0%} wanted")
    return 0 if share >= SHARE else 1


def unharmed(tests, copies):
    """Run tests in a free copy as it is."""
    folder = copies.get()
    try:
        return tested(folder, tests)
    finally:
        copies.put(folder)


def report(edits, judgements):
    """Print a line for each edit as it ends; return how many had each outcome."""
    counts = Counter()
    for edit, (outcome, seconds) in zip(edits, judgements, strict=True):
        counts[outcome] += 1
        print(f"{outcome:9} {seconds:5.0f} s  {found(edit)}: {edit.old.strip()!r} -> {edit.new.strip()!r}", flush=True)
    return counts


if __name__ == "__main__":
    sys.exit(main())

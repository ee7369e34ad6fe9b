# Inputs of rules that read all timesteps of a chain or all chains of the study: scores, tables,
# topics, alerts.


def evaluation_options(wildcards):
    return json.dumps(
        {
            **config["evaluate"],
            "timesteps": config["corpora"][wildcards.corpus]["timesteps"],
        }
    )


def score_files(wildcards):
    """Return the score files of a run after the initialisation, which is not evaluated."""
    return [
        f"{RUN}/scores/{t}.h5".format(**wildcards) for t in timesteps(wildcards) if t
    ]


def baseline_files(wildcards):
    return [
        f"{STREAM}/baselines/{t}.h5".format(**wildcards)
        for t in timesteps(wildcards)
        if t
    ]


def evaluated(pattern):
    """Return an input function: the files of all timesteps after the initialisation."""
    return lambda wildcards: [
        pattern.format(**{**wildcards, "t": t}) for t in timesteps(wildcards) if t
    ]


def streams():
    """Return (corpus, seed) of each order of a stream."""
    return [
        (corpus, seed)
        for corpus in config["streams"]
        for seed in sorted(
            {chains.order_seed(config, corpus, seed) for seed in config["seeds"]}
        )
    ]


def plan_entries(wildcards):
    """Return the plan of the study; the numbers of timesteps are those of the index files."""
    lengths = {}
    for corpus, seed in streams():
        lengths[corpus, seed] = len(index(SimpleNamespace(corpus=corpus, seed=seed)))
    return chains.plan(config, lengths)


def results_of(*names):
    return lambda wildcards: [
        f"{entry['folder']}/{name}"
        for entry in plan_entries(wildcards)
        for name in names
    ]


def timing_files(wildcards):
    """Return the inputs of the timing table: timings and costs of each job."""
    return [
        f"{entry['folder']}/{kind}/{t}.tsv"
        for entry in plan_entries(wildcards)
        for kind in (
            ["benchmarks"]
            if entry["algorithm"] == "baseline"
            else ["timings", "benchmarks"]
        )
        for t in entry["timesteps"]
        if t or entry["algorithm"] != "baseline"
    ]


def entries_with_topics(wildcards):
    """Return the entries of the plan for which emerging topics are computed."""
    return [
        entry
        for entry in plan_entries(wildcards)
        if entry["run"] in config["runs"]
        and entry["k"] in chains.emerging_of(config, entry["run"])
    ]


def emerging_tables(wildcards):
    return [
        f"{entry['folder']}/emerging.tsv" for entry in entries_with_topics(wildcards)
    ]


def emerging_files(wildcards):
    """Return the files of emerging topics of the seed that the report shows."""
    return [
        f"{entry['folder']}/emerging/{t}.h5"
        for entry in entries_with_topics(wildcards)
        if entry["seed"] == config["report"]["seed"]
        for t in entry["timesteps"]
        if t
    ]


def alerts_of_stream(corpus):
    """Return the alerts of each timestep of a stream; [] if `alerts.run` is not set."""
    chain = chains.alerts_of(config)
    if not chain:
        return []
    run, k, seed = chain
    return [
        f"{ROOT}/{corpus}/seed{seed}/{run}/k{k}/alerts/{t}.h5"
        for t in timesteps(SimpleNamespace(corpus=corpus, seed=seed))
    ]


def newest_features(corpus):
    """Return the features of the last timestep of a stream with alerts."""
    *_, seed = chains.alerts_of(config)
    stream = SimpleNamespace(corpus=corpus, seed=seed)
    return f"{stream_of(stream)}/features/{max(timesteps(stream))}.h5"


def alert_files(wildcards):
    """Return the alerts of all timesteps of all streams."""
    return [path for corpus in config["streams"] for path in alerts_of_stream(corpus)]


def report_settings():
    """Return the settings of the report as JSON, under the names that the figures use."""
    settings = config["report"]
    return json.dumps(
        {
            "runs": settings["runs"],
            "run": settings["run"],
            "k": settings["atoms"],
            "seed": settings["seed"],
            "topics": config["evaluate"]["topics"],
        }
    )

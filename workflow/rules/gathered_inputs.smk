# What is read of all timesteps of a chain, or of all chains of the study: scores, tables, topics, alerts.


def evaluation(wildcards):
    return json.dumps(
        {
            **config["evaluate"],
            "timesteps": config["corpora"][wildcards.corpus]["timesteps"],
        }
    )


def scored(wildcards):
    """Score files of a run after the initialisation, which is not evaluated."""
    return [
        f"{RUN}/scores/{t}.h5".format(**wildcards) for t in timesteps(wildcards) if t
    ]


def compared(wildcards):
    return [
        f"{STREAM}/baselines/{t}.h5".format(**wildcards)
        for t in timesteps(wildcards)
        if t
    ]


def evaluated(pattern):
    """A file of every timestep after the initialisation."""
    return lambda wildcards: [
        pattern.format(**{**wildcards, "t": t}) for t in timesteps(wildcards) if t
    ]


def streams():
    """Every corpus with the seeds that order it."""
    return [
        (corpus, seed)
        for corpus in config["streams"]
        for seed in sorted(
            {chains.order_seed(config, corpus, seed) for seed in config["seeds"]}
        )
    ]


def entries(wildcards):
    """The plan of the study, once the indices say how many timesteps there are."""
    lengths = {}
    for corpus, seed in streams():
        lengths[corpus, seed] = len(index(SimpleNamespace(corpus=corpus, seed=seed)))
    return chains.plan(config, lengths)


def results_of(*names):
    return lambda wildcards: [
        f"{entry['folder']}/{name}" for entry in entries(wildcards) for name in names
    ]


def clocks(wildcards):
    """What the timing table is made from: every job's own clock and Snakemake's."""
    return [
        f"{entry['folder']}/{kind}/{t}.tsv"
        for entry in entries(wildcards)
        for kind in (
            ["benchmarks"]
            if entry["algorithm"] == "baseline"
            else ["timings", "benchmarks"]
        )
        for t in entry["timesteps"]
        if t or entry["algorithm"] != "baseline"
    ]


def with_topics(wildcards):
    """The entries of the plan whose emerging topics are looked for."""
    return [
        entry
        for entry in entries(wildcards)
        if entry["run"] in config["runs"]
        and entry["k"] in chains.emerging_of(config, entry["run"])
    ]


def emerging_tables(wildcards):
    return [f"{entry['folder']}/emerging.tsv" for entry in with_topics(wildcards)]


def emerging_files(wildcards):
    """The files of emerging topics that the page may show: those of the report's seed."""
    return [
        f"{entry['folder']}/emerging/{t}.h5"
        for entry in with_topics(wildcards)
        if entry["seed"] == config["report"]["seed"]
        for t in entry["timesteps"]
        if t
    ]


def alerts_of_stream(corpus):
    """The alerts of every timestep of a stream; none where no run is named for them."""
    followed = chains.alerts_of(config)
    if not followed:
        return []
    run, k, seed = followed
    return [
        f"{ROOT}/{corpus}/seed{seed}/{run}/k{k}/alerts/{t}.h5"
        for t in timesteps(SimpleNamespace(corpus=corpus, seed=seed))
    ]


def newest_features(corpus):
    """The features of the last timestep of a stream whose alerts are followed."""
    *_, seed = chains.alerts_of(config)
    stream = SimpleNamespace(corpus=corpus, seed=seed)
    return f"{stream_of(stream)}/features/{max(timesteps(stream))}.h5"


def alert_files(wildcards):
    """The alerts of every timestep of the streams."""
    return [path for corpus in config["streams"] for path in alerts_of_stream(corpus)]


def shown():
    """Report settings under the names that the figures use."""
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

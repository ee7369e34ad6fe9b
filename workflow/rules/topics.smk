# Emerging topics: one job a timestep groups the most novel documents; then a table of each run beside the truth.
# REQUIRED INPUTS: {run}/k{k}/scores/{t}.h5, features/{t}.h5
# OUTPUTS: {run}/k{k}/emerging/{t}.h5, {run}/k{k}/emerging.tsv


def evaluated(pattern):
    """A file of every timestep after the initialisation."""
    return lambda wildcards: [
        pattern.format(**{**wildcards, "t": t}) for t in timesteps(wildcards) if t
    ]


def with_topics(wildcards):
    """The entries of the plan whose emerging topics are looked for."""
    return [
        entry
        for entry in entries(wildcards)
        if entry["run"] in config["runs"]
        and entry["k"] in study.emerging_of(config, entry["run"])
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


rule topics:
    input:
        scores=RUN + "/scores/{t}.h5",
        features=lambda wildcards: f"{stream_of(wildcards)}/features/{wildcards.t}.h5",
        corpus=last_features,
        kernels=ROOT + "/kernels/topics.done",
    output:
        RUN + "/emerging/{t}.h5",
    log:
        ROOT + "/logs/{corpus}/seed{seed}/{run}/k{k}/emerging/{t}.log",
    benchmark:
        RUN + "/benchmarks/emerging/{t}.tsv"
    group:
        block("learn")
    conda:
        "../envs/odl.yaml"
    resources:
        mem_mb=memory(40),
        runtime=minutes(0.5),
    params:
        code=code("topics"),
        settings=json.dumps(
            {name: config["emerging"][name] for name in KNOWN["emerging"]}
        ),
        weighting=lambda wildcards: json.dumps(study.features_of(config, wildcards.run)),
        corpus=previous_option("--corpus-features", "corpus"),
    shell:
        "odl topics {input.scores:q} {input.features:q} --output {output:q} {params.corpus}"
        " --settings {params.settings:q} --weighting {params.weighting:q} > {log:q} 2>&1"


rule emerging:
    input:
        scores=evaluated(RUN + "/scores/{t}.h5"),
        files=evaluated(RUN + "/emerging/{t}.h5"),
    output:
        RUN + "/emerging.tsv",
    log:
        ROOT + "/logs/{corpus}/seed{seed}/{run}/k{k}/emerging.log",
    group:
        bundle("evaluation")
    conda:
        "../envs/odl.yaml"
    resources:
        mem_mb=memory(10),
        runtime=minutes(0.1),
    params:
        code=code("emerging"),
        topics=config["evaluate"]["topics"],
    shell:
        "odl emerging {output:q} --topics {params.topics} --files {input.files:q} --scores {input.scores:q}"
        " > {log:q} 2>&1"

# Experiments: studies of a method other than those of streams. Each is one job that writes its
# tables and figures, after a job for each of its parts (seeds, splits), if it has parts.
# REQUIRED INPUTS: files of data/corpora.csv, {corpus}/documents.h5 or folders of other experiments
# OUTPUTS: parts/{experiment}/{part}.json,
# experiments/{experiment}/{*.tsv,*.png,*.svg,settings.json}
EXPERIMENT_FOLDERS = expand(
    ROOT + "/experiments/{experiment}", experiment=config["experiments"]
)
EXPERIMENTS_WITH_PARTS = "|".join(
    name
    for name, entry in config["experiments"].items()
    if "part" in FACTS["experiments"][entry["experiment"]]
)


rule measure:
    input:
        files=experiment_files,
    output:
        ROOT + "/parts/{experiment}/{part}.json",
    log:
        ROOT + "/logs/experiments/{experiment}/{part}.log",
    benchmark:
        ROOT + "/benchmarks/experiments/{experiment}/{part}.tsv"
    wildcard_constraints:
        experiment=EXPERIMENTS_WITH_PARTS or "(?!)",
    resources:
        mem_mb=memory(20, base=4000),
        runtime=minutes(1, base=240),
    params:
        code=lambda wildcards: code(
            "measure",
            experiment_facts(wildcards)["part"]["measured_by"],
            *[
                f"learners/{name}"
                for name in experiment_facts(wildcards)["algorithms"]
            ],
        ),
        kind=experiment_kind,
        settings=part_settings,
    shell:
        "odl step measure {params.kind:q} {output:q} --part {wildcards.part:q} --settings {params.settings:q}"
        " --files {input.files:q} > {log:q} 2>&1"


rule experiment:
    input:
        files=experiment_files,
        parts=part_files,
    output:
        directory(ROOT + "/experiments/{experiment}"),
    log:
        ROOT + "/logs/experiments/{experiment}.log",
    benchmark:
        ROOT + "/benchmarks/experiments/{experiment}.tsv"
    resources:
        mem_mb=memory(20, base=4000),
        runtime=minutes(1, base=240),
    params:
        code=lambda wildcards: code(
            "experiment",
            f"papers/experiments/{experiment_kind(wildcards)}",
            *[
                f"learners/{name}"
                for name in experiment_facts(wildcards)["algorithms"]
            ],
        ),
        kind=experiment_kind,
        settings=lambda wildcards: json.dumps(
            chains.experiment_of(config, wildcards.experiment)
        ),
        study=lambda wildcards: json.dumps(
            chains.study_of(config, wildcards.experiment)
        ),
    shell:
        "odl step experiment {params.kind:q} {output:q} --settings {params.settings:q}"
        " --study {params.study:q} --files {input.files:q} --parts {input.parts:q} > {log:q} 2>&1"

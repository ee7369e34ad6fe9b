# Experiments: studies of a method beside the streams, each one job that writes its tables and figures.
# REQUIRED INPUTS: the files of data/corpora.csv, {corpus}/documents.h5, folders of other experiments, as it names them
# OUTPUTS: experiments/{experiment}/, with {*.tsv,*.png,*.svg,settings.json}
DONE = expand(ROOT + "/experiments/{experiment}", experiment=config["experiments"])


def kind(wildcards):
    return config["experiments"][wildcards.experiment]["experiment"]


def used(wildcards):
    """What an experiment works on, in the order in which it gets them."""
    entry = config["experiments"][wildcards.experiment]
    return [
        *[f"data/{file}" for file in entry.get("files", [])],
        *[f"{ROOT}/{stream}/documents.h5" for stream in entry.get("streams", [])],
        *[f"{ROOT}/experiments/{name}" for name in entry.get("experiments", [])],
    ]


rule experiment:
    input:
        files=used,
        kernels=lambda wildcards: [
            f"{ROOT}/kernels/{algorithm}.done"
            for algorithm in EXPERIMENTS[kind(wildcards)]["kernels"]
        ],
    output:
        report(
            directory(ROOT + "/experiments/{experiment}"),
            patterns=["{figure}.png"],
            category="Experiments",
            caption="../report/experiments.rst",
        ),
    log:
        ROOT + "/logs/experiments/{experiment}.log",
    benchmark:
        ROOT + "/benchmarks/experiments/{experiment}.tsv"
    conda:
        "../envs/odl.yaml"
    resources:
        mem_mb=memory(20, base=4000),
        runtime=minutes(1, base=240),
    params:
        code=lambda wildcards: code("experiment", *EXPERIMENTS[kind(wildcards)]["code"]),
        kind=kind,
        settings=lambda wildcards: json.dumps(
            study.experiment_of(config, wildcards.experiment)
        ),
        study=lambda wildcards: json.dumps(study.study_of(config, wildcards.experiment)),
    shell:
        "odl experiment {params.kind} {output:q} --settings {params.settings:q}"
        " --study {params.study:q} --files {input.files:q} > {log:q} 2>&1"

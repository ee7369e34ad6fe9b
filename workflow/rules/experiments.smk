# Experiments: studies of a method beside the streams, each one job that writes its tables and figures.
# REQUIRED INPUTS: the files of data/corpora.csv that it names
# OUTPUTS: experiments/{experiment}/, with {*.tsv,*.png,*.svg,settings.json}
DONE = expand(ROOT + "/experiments/{experiment}", experiment=config["experiments"])


def kind(wildcards):
    return config["experiments"][wildcards.experiment]["experiment"]


rule experiment:
    input:
        files=lambda wildcards: [
            f"data/{file}"
            for file in config["experiments"][wildcards.experiment].get("files", [])
        ],
        kernels=lambda wildcards: [
            f"{ROOT}/kernels/{algorithm}.done"
            for algorithm in EXPERIMENTS[kind(wildcards)]["kernels"]
        ],
        code=lambda wildcards: sources(
            "experiment", *EXPERIMENTS[kind(wildcards)]["code"]
        ),
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
    params:
        kind=kind,
        settings=lambda wildcards: json.dumps(
            study.experiment_of(config, wildcards.experiment)
        ),
    shell:
        "odl experiment {params.kind} {output:q} --settings {params.settings:q} --files {input.files:q} > {log:q} 2>&1"

# Experiments: studies of a method beside the streams, each one job that writes its tables and figures, after one job
# for each part where it falls into parts (seeds, splits).
# REQUIRED INPUTS: the files of data/corpora.csv, {corpus}/documents.h5, folders of other experiments, as it names them
# OUTPUTS: parts/{experiment}/{part}.json, experiments/{experiment}/, with {*.tsv,*.png,*.svg,settings.json}
DONE = expand(ROOT + "/experiments/{experiment}", experiment=config["experiments"])
PARTED = "|".join(
    name
    for name, entry in config["experiments"].items()
    if "part" in KNOWN["experiments"][entry["experiment"]]
)


def kind(wildcards):
    return config["experiments"][wildcards.experiment]["experiment"]


def known(wildcards):
    """What the experiment's module says of it."""
    return KNOWN["experiments"][kind(wildcards)]


def used(wildcards):
    """What an experiment works on, in the order in which it gets them."""
    entry = config["experiments"][wildcards.experiment]
    return [
        *[f"data/{file}" for file in entry.get("files", [])],
        *[f"{ROOT}/{stream}/documents.h5" for stream in entry.get("streams", [])],
        *[f"{ROOT}/experiments/{name}" for name in entry.get("experiments", [])],
    ]


def kernels(wildcards):
    return [
        f"{ROOT}/kernels/{algorithm}.done"
        for algorithm in known(wildcards)["algorithms"]
    ]


def parts(wildcards):
    """What is measured before, a file for each value of a setting; nothing where there are no parts."""
    if "part" not in known(wildcards):
        return []
    values = whole(wildcards)[known(wildcards)["part"]["setting"]]
    return [f"{ROOT}/parts/{wildcards.experiment}/{value}.json" for value in values]


def whole(wildcards):
    """Settings with the defaults of those left out."""
    return study.whole_experiment_of(config, wildcards.experiment, SCHEMA)


def measured(wildcards):
    """Settings of every part: without the list that it has one value of, and without those of pictures."""
    part, settings = known(wildcards)["part"], whole(wildcards)
    left_out = [part["setting"], *part["unmeasured"]]
    return json.dumps({key: settings[key] for key in settings if key not in left_out})


rule measure:
    input:
        files=used,
        kernels=kernels,
    output:
        ROOT + "/parts/{experiment}/{part}.json",
    log:
        ROOT + "/logs/experiments/{experiment}/{part}.log",
    benchmark:
        ROOT + "/benchmarks/experiments/{experiment}/{part}.tsv"
    wildcard_constraints:
        experiment=PARTED or "(?!)",
    conda:
        "../envs/odl.yaml"
    resources:
        mem_mb=memory(20, base=4000),
        runtime=minutes(1, base=240),
    params:
        code=lambda wildcards: code(
            "measure",
            known(wildcards)["part"]["measured_by"],
            *[f"learners/{name}" for name in known(wildcards)["algorithms"]],
        ),
        kind=kind,
        settings=measured,
    shell:
        "odl measure {params.kind} {output:q} --part {wildcards.part} --settings {params.settings:q}"
        " --files {input.files:q} > {log:q} 2>&1"


rule experiment:
    input:
        files=used,
        parts=parts,
        kernels=kernels,
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
        code=lambda wildcards: code(
            "experiment",
            f"experiments/{kind(wildcards)}",
            *[f"learners/{name}" for name in known(wildcards)["algorithms"]],
        ),
        kind=kind,
        settings=lambda wildcards: json.dumps(
            study.experiment_of(config, wildcards.experiment)
        ),
        study=lambda wildcards: json.dumps(study.study_of(config, wildcards.experiment)),
    shell:
        "odl experiment {params.kind} {output:q} --settings {params.settings:q}"
        " --study {params.study:q} --files {input.files:q} --parts {input.parts:q} > {log:q} 2>&1"

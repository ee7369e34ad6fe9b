# Report: figures (PNG and SVG) and a page in one file.
# REQUIRED INPUTS: plan.json, tables/*.tsv, scores of the runs that it shows
# OUTPUTS: figures/{corpus}-{name}.{png,svg}, report.html
FIGURE_FILES = expand(
    ROOT + "/figures/{corpus}-{name}.{form}",
    corpus=config["streams"],
    name=FACTS["figures"],
    form=["png", "svg"],
)
FIGURE_LISTS = expand(ROOT + "/figures/{corpus}-figures.json", corpus=config["streams"])


rule figures:
    input:
        plan=ROOT + "/plan.json",
        tables=expand(ROOT + "/tables/{name}.tsv", name=TABLES),
    output:
        FIGURE_FILES,
        FIGURE_LISTS,
    log:
        ROOT + "/logs/figures.log",
    resources:
        mem_mb=memory(20, base=1000),
        runtime=minutes(0.1, base=5),
    params:
        code=code("figures", *FACTS["figures"].values()),
        settings=report_settings(),
        tables=lambda wildcards, input: os.path.dirname(input.tables[0]),
        folder=lambda wildcards, output: os.path.dirname(output[0]),
    shell:
        "odl step figures {input.plan:q} {params.tables:q} {params.folder:q}"
        " --settings {params.settings:q} > {log:q} 2>&1"


# The report of a study without streams is about its experiments only.
HAS_STREAMS = bool(config["streams"])


rule page:
    input:
        plan=ROOT + "/plan.json" if HAS_STREAMS else [],
        tables=expand(ROOT + "/tables/{name}.tsv", name=TABLES) if HAS_STREAMS else [],
        figures=FIGURE_FILES + FIGURE_LISTS,
        emerging=EMERGING_TABLE if HAS_STREAMS else [],
        clusters=emerging_files if HAS_STREAMS else [],
        experiments=EXPERIMENT_FOLDERS,
    output:
        ROOT + "/report.html",
    log:
        ROOT + "/logs/page.log",
    resources:
        mem_mb=memory(20),
        runtime=minutes(0.1),
    params:
        code=code(
            "page",
            *(["papers/emergingfiles"] if EMERGING_TABLE else []),
            *(["papers/experiments/__init__"] if EXPERIMENT_FOLDERS else []),
        ),
        optional=options(emerging="--emerging"),
        settings=report_settings(),
        tables=lambda wildcards, input: [
            os.path.dirname(file) for file in input.tables[:1]
        ],
        figures=lambda wildcards, input: [
            os.path.dirname(file) for file in input.figures[:1]
        ],
        config=json.dumps(
            {
                key: value
                for key, value in config.items()
                if key not in ("mirror", "ranks", "block", "checkpoints", "alerts")
            }
        ),
    shell:
        "odl step page {output:q} {input.plan:q} {params.tables:q} {params.figures:q} {params.optional:q} --experiments {input.experiments:q}"
        " --settings {params.settings:q} --config {params.config:q} > {log:q} 2>&1"

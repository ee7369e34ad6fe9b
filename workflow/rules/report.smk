# Report: figures (PNG and SVG) and a page in one file.
# REQUIRED INPUTS: plan.json, tables/*.tsv, scores of the runs that it shows
# OUTPUTS: figures/{corpus}-{name}.{png,svg}, report.html
DRAWN = expand(
    ROOT + "/figures/{corpus}-{name}.{form}",
    corpus=config["streams"],
    name=KNOWN["figures"],
    form=["png", "svg"],
)
HELD = expand(ROOT + "/figures/{corpus}-figures.json", corpus=config["streams"])


rule figures:
    input:
        plan=ROOT + "/plan.json",
        tables=expand(ROOT + "/tables/{name}.tsv", name=TABLES),
    output:
        DRAWN,
        HELD,
    log:
        ROOT + "/logs/figures.log",
    resources:
        mem_mb=memory(20, base=1000),
        runtime=minutes(0.1, base=5),
    params:
        code=code("figures", *KNOWN["figures"].values()),
        settings=shown(),
        tables=lambda wildcards, input: os.path.dirname(input.tables[0]),
        folder=lambda wildcards, output: os.path.dirname(output[0]),
    shell:
        "odl step figures {input.plan:q} {params.tables:q} {params.folder:q}"
        " --settings {params.settings:q} > {log:q} 2>&1"


# The report of a study without streams is about its experiments only.
STREAMED = bool(config["streams"])


rule page:
    input:
        plan=ROOT + "/plan.json" if STREAMED else [],
        tables=expand(ROOT + "/tables/{name}.tsv", name=TABLES) if STREAMED else [],
        figures=DRAWN + HELD,
        emerging=EMERGING if STREAMED else [],
        clusters=emerging_files if STREAMED else [],
        experiments=DONE,
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
            *(["papers/emergingfiles"] if EMERGING else []),
            *(["papers/experiments/__init__"] if DONE else []),
        ),
        optional=options(emerging="--emerging"),
        settings=shown(),
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

# Alerts: one job per timestep computes items, topics and reasons from the scores of one run
# (docs/alerts.md).
# REQUIRED INPUTS: features/{t}.h5, batches/{t}.h5, {run}/k{k}/scores/{t}.h5, {t-1}.h5, {t}.h5,
# alerts/{t-1}.h5
# OUTPUTS: {run}/k{k}/alerts/{t}.h5, of the run that `alerts` names and the seed of the report; page
# and feeds: new.html, new.atom and new.json, or new-{corpus}.html ... for several streams


rule alerts:
    input:
        features=lambda wildcards: f"{stream_of(wildcards)}/features/{wildcards.t}.h5",
        batch=lambda wildcards: f"{stream_of(wildcards)}/batches/{wildcards.t}.h5",
        scores=RUN + "/scores/{t}.h5",
        state=RUN + "/{t}.h5",
        known=file_before(RUN + "/{t}.h5"),
        previous=file_before(RUN + "/alerts/{t}.h5"),
        corpus=last_features,
    output:
        alerts=RUN + "/alerts/{t}.h5",
        costs=RUN + "/benchmarks/alerts/{t}.tsv",
    log:
        ROOT + "/logs/{corpus}/seed{seed}/{run}/k{k}/alerts/{t}.log",
    group:
        block("learn")
    resources:
        mem_mb=memory(40),
        runtime=minutes(0.2),
    params:
        code=lambda wildcards: code("alerts", f"learners/{algorithm(wildcards)}"),
        run=chain_of,
        settings=json.dumps(sections.Alerts.part(config["alerts"])),
        optional=options(
            known="--known",
            previous="--previous",
            corpus="--corpus-features",
        ),
    shell:
        "odl step alerts --code {params.code:q} {input.features:q} {input.scores:q} {input.state:q} {output.alerts:q} --batch {input.batch:q}"
        " {params.optional:q} --run {params.run:q} --settings {params.settings:q}"
        " --costs {output.costs:q} > {log:q} 2>&1"


# A folder of `odl init` has the page and feedback.csv next to odl.yaml, a study next to its
# results.
IS_USER_FOLDER = os.path.exists("odl.yaml")
FEEDBACK_FOLDER, PAGE_PREFIX = (".", "new") if IS_USER_FOLDER else (ROOT, ROOT + "/new")
# Suffix of the name of a page -> stream
PAGE_STREAMS = (
    {
        f"-{corpus}" if len(config["streams"]) > 1 else "": corpus
        for corpus in config["streams"]
    }
    if chains.alerts_of(config)
    else {}
)


rule newpage:
    input:
        alerts=lambda wildcards: alerts_of_stream(PAGE_STREAMS[wildcards.suffix]),
        documents=lambda wildcards: expand(
            ROOT + "/{corpus}/documents.h5", corpus=PAGE_STREAMS[wildcards.suffix]
        ),
        features=lambda wildcards: newest_features(PAGE_STREAMS[wildcards.suffix]),
        feedback=[
            path
            for path in [f"{FEEDBACK_FOLDER}/feedback.csv"]
            if os.path.exists(path)
        ],
    output:
        page=PAGE_PREFIX + "{suffix}.html",
        atom=PAGE_PREFIX + "{suffix}.atom",
        feed=PAGE_PREFIX + "{suffix}.json",
    log:
        ROOT + "/logs/new{suffix}.log",
    wildcard_constraints:
        suffix=f"(?:{'|'.join(map(re.escape, PAGE_STREAMS))})",
    resources:
        mem_mb=memory(20),
        runtime=minutes(0.1),
    params:
        code=code("newpage"),
        folder=lambda wildcards, input: os.path.dirname(input.alerts[0]),
        home=lambda wildcards: FEEDBACK_FOLDER,
        study=["--study", ROOT + "/report.html"] if not IS_USER_FOLDER else [],
    shell:
        "odl step newpage --code {params.code:q} {output.page:q} {params.folder:q} --atom {output.atom:q} --feed {output.feed:q} --home {params.home:q} {params.study:q} > {log:q} 2>&1"

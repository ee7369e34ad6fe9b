# Evaluation: AUC of each timestep and its average, with intervals; means and deviations over seeds.
# REQUIRED INPUTS: {run}/k{k}/scores/{t}.h5, baselines/{t}.h5
# OUTPUTS: {run}/k{k}/{auc,summary}.tsv, baselines/{auc,summary}.tsv, tables/*.tsv
TABLES = [
    *["averages", "summary", "timesteps", "novel", "published"],
    *["timing", "costs"],
]


rule evaluate:
    input:
        scores=score_files,
    output:
        auc=RUN + "/auc.tsv",
        summary=RUN + "/summary.tsv",
    log:
        ROOT + "/logs/{corpus}/seed{seed}/{run}/k{k}/evaluate.log",
    resources:
        mem_mb=memory(10),
        runtime=minutes(0.1),
    params:
        code=code("evaluate"),
        options=evaluation_options,
    shell:
        "odl step evaluate {output.auc:q} {output.summary:q} --options {params.options:q} --scores {input.scores:q}"
        " > {log:q} 2>&1"


use rule evaluate as evaluate_baselines with:
    input:
        scores=baseline_files,
    output:
        auc=STREAM + "/baselines/auc.tsv",
        summary=STREAM + "/baselines/summary.tsv",
    log:
        ROOT + "/logs/{corpus}/seed{seed}/baselines/evaluate.log",


rule plan:
    input:
        tables=[f"{ROOT}/{corpus}/seed{seed}/index.tsv" for corpus, seed in streams()],
    output:
        ROOT + "/plan.json",
    log:
        ROOT + "/logs/plan.log",
    resources:
        mem_mb=memory(10),
        runtime=minutes(0),
    params:
        code=code("plan"),
        config=json.dumps({name: config[name] for name in sections.PLANNED}),
    shell:
        "odl step plan {output:q} --config {params.config:q} > {log:q} 2>&1"


rule tables:
    input:
        plan=ROOT + "/plan.json",
        results=results_of("auc.tsv", "summary.tsv"),
        measured=timing_files,
    output:
        expand(ROOT + "/tables/{name}.tsv", name=TABLES),
    log:
        ROOT + "/logs/tables.log",
    resources:
        mem_mb=memory(10),
        runtime=minutes(0.1),
    params:
        code=code("summarise"),
        folder=lambda wildcards, output: os.path.dirname(output[0]),
    shell:
        "odl step summarise {input.plan:q} {params.folder:q} > {log:q} 2>&1"

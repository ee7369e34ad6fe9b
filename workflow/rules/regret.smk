# Regret: the loss of a run minus that of the best fixed dictionary in hindsight, with its bounds.
# REQUIRED INPUTS: {run}/k{k}/{t}.h5 and features/{t}.h5 of all timesteps, plan.json
# OUTPUTS: {run}/k{k}/regret.tsv, tables/regret.tsv
REGRET = config["regret"]
REGRET_TABLE = [f"{ROOT}/tables/regret.tsv"] if REGRET["enabled"] else []


rule regret:
    input:
        checkpoints=lambda wildcards: [
            f"{RUN}/{t}.h5".format(**wildcards) for t in timesteps(wildcards)
        ],
        features=lambda wildcards: [
            f"{stream_of(wildcards)}/features/{t}.h5" for t in timesteps(wildcards)
        ],
    output:
        RUN + "/regret.tsv",
    log:
        ROOT + "/logs/{corpus}/seed{seed}/{run}/k{k}/regret.log",
    benchmark:
        RUN + "/benchmarks/regret.tsv"
    resources:
        mem_mb=memory(40),
        runtime=minutes(5, base=60),
    params:
        code=code("regret"),
        options=json.dumps(sections.BestFixed.part(REGRET)),
    shell:
        "odl step regret {output:q} --options {params.options:q} --checkpoints {input.checkpoints:q}"
        " --features {input.features:q} > {log:q} 2>&1"


rule regrets:
    input:
        plan=ROOT + "/plan.json",
        tables=[
            f"{ROOT}/{corpus}/seed{seed}/{run}/k{k}/regret.tsv"
            for corpus in config["streams"]
            for seed in config["seeds"]
            for run in REGRET["runs"]
            for k in chains.regret_of(config, run)
        ],
    output:
        ROOT + "/tables/regret.tsv",
    log:
        ROOT + "/logs/regret.log",
    resources:
        mem_mb=memory(10),
        runtime=minutes(0),
    params:
        code=code("regrets"),
        options=json.dumps({key: REGRET[key] for key in ("runs", "sizes")}),
    shell:
        "odl step regrets {input.plan:q} {output:q} --options {params.options:q} > {log:q} 2>&1"

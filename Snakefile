# Online dictionary learning for novel documents: corpus -> batches -> features -> dictionaries and scores -> report.
import os
import platform
import sys
import threading
from snakemake.utils import min_version

min_version("9.8")
# Snakemake walks a chain of timesteps by recursion, two calls for each; the C stack holds some 10,000 timesteps.
sys.setrecursionlimit(13_000)
# Jobs on this host end when this process is gone (a submitted job reads this file where it runs), and they find this interpreter's odl first, so no environment need be activated.
os.environ.update(
    ODL_PARENT=str(os.getpid()),
    ODL_HOST=platform.node(),
    PATH=os.path.dirname(sys.executable)
    + os.pathsep
    + os.environ.get("PATH", os.defpath),
)


configfile: "config/config.yaml"


include: "workflow/rules/common.smk"
include: "workflow/rules/resources.smk"
include: "workflow/rules/corpus.smk"
include: "workflow/rules/features.smk"
include: "workflow/rules/learn.smk"
include: "workflow/rules/ranks.smk"
include: "workflow/rules/topics.smk"
include: "workflow/rules/evaluate.smk"
include: "workflow/rules/regret.smk"
include: "workflow/rules/experiments.smk"
include: "workflow/rules/report.smk"


rule all:
    default_target: True
    input:
        f"{ROOT}/report.html",
        # What the page is made of is kept: Snakemake does not miss a file that only an up-to-date one was made from.
        rules.page.input.tables,
        rules.page.input.figures,
        DONE,


def drop_timers():
    """The scheduler's pending timers (profiles/default) would delay the end by up to their timespan."""
    for timer in threading.enumerate():
        if isinstance(timer, threading.Timer):
            timer.cancel()


onstart:
    refuse_unwritable()


onsuccess:
    drop_timers()


onerror:
    drop_timers()

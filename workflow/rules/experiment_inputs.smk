# What experiments, and the parts that are measured before, work on.


def kind(wildcards):
    return config["experiments"][wildcards.experiment]["experiment"]


def known(wildcards):
    """What the experiment's module says of it."""
    return KNOWN["experiments"][kind(wildcards)]


def whole(wildcards):
    """Settings with the defaults of those left out."""
    return chains.whole_experiment_of(config, wildcards.experiment, SCHEMA)


def used(wildcards):
    """What an experiment works on, in the order in which it gets them."""
    entry = config["experiments"][wildcards.experiment]
    return [
        *[f"data/{file}" for file in entry.get("files", [])],
        *[f"{ROOT}/{stream}/documents.h5" for stream in entry.get("streams", [])],
        *[f"{ROOT}/experiments/{name}" for name in entry.get("experiments", [])],
    ]


def parts(wildcards):
    """What is measured before, a file for each value of a setting; nothing where there are no parts."""
    if "part" not in known(wildcards):
        return []
    values = whole(wildcards)[known(wildcards)["part"]["setting"]]
    return [f"{ROOT}/parts/{wildcards.experiment}/{value}.json" for value in values]


def part_settings(wildcards):
    """Settings of every part: without the list that it has one value of, and without those of pictures."""
    part, settings = known(wildcards)["part"], whole(wildcards)
    left_out = [part["setting"], *part["unmeasured"]]
    return json.dumps({key: settings[key] for key in settings if key not in left_out})

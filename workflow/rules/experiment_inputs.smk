# Inputs and settings of experiments and of their parts.


def experiment_kind(wildcards):
    return config["experiments"][wildcards.experiment]["experiment"]


def experiment_facts(wildcards):
    """Return the entry of the experiment in the registry."""
    return FACTS["experiments"][experiment_kind(wildcards)]


def complete_settings(wildcards):
    """Return the settings of an experiment with all defaults."""
    return chains.complete_experiment_of(config, wildcards.experiment, SCHEMA)


def experiment_files(wildcards):
    """Return the input files of an experiment, in the order of its arguments."""
    entry = config["experiments"][wildcards.experiment]
    return [
        *[f"data/{file}" for file in entry.get("files", [])],
        *[f"{ROOT}/{stream}/documents.h5" for stream in entry.get("streams", [])],
        *[f"{ROOT}/experiments/{name}" for name in entry.get("experiments", [])],
    ]


def part_files(wildcards):
    """Return the files of the parts of an experiment, one for each value of a setting."""
    if "part" not in experiment_facts(wildcards):
        return []
    values = complete_settings(wildcards)[
        experiment_facts(wildcards)["part"]["setting"]
    ]
    return [f"{ROOT}/parts/{wildcards.experiment}/{value}.json" for value in values]


def part_settings(wildcards):
    """Return the settings of all parts, without the list of parts and settings of figures."""
    part, settings = experiment_facts(wildcards)["part"], complete_settings(wildcards)
    excluded = [part["setting"], *part["unmeasured"]]
    return json.dumps({key: settings[key] for key in settings if key not in excluded})

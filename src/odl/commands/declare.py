"""How a subcommand of ``odl`` is declared: beside the function that it calls, with its arguments."""

COMMANDS = {}  # name -> (function, help, arguments), in the order of their declaration


def command(help, *arguments, name=None):
    """Declare a function of the parsed arguments as the subcommand of its name, or of another."""

    def declared(function):
        COMMANDS[name or function.__name__] = (function, help, arguments)
        return function

    return declared


def argument(*flags, **options):
    """Describe an argument, as for `argparse.ArgumentParser.add_argument`."""
    return flags, options


def begins_in(*files):
    """Say where the code of a result begins, for a subcommand that imports more or less than makes it.

    It is read, not called: `odl.registry` tells the rules, which follow the imports from there (`odl.config.sources`).
    """
    return lambda function: function

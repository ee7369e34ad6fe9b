"""Parameters of estimators: checks, seeds, and hyper-parameters of the learner."""

import numbers
from contextlib import contextmanager
from typing import Any, Self

import numpy as np
from sklearn.utils import check_random_state

from odl import learners
from odl.errors import ParameterError, advice
from odl.learners.base import parameters

SETTINGS_PREFIX = "settings__"


class LearnerSettings:
    """Base class of estimators with the parameters `learner` and `settings`.

    `settings` is a dict of the hyper-parameters that differ from their defaults.
    `get_params(deep=True)` lists every hyper-parameter as `settings__NAME`, so that a grid search
    can set it. `set_params` replaces `settings` by a new dict.
    """

    learner: str
    settings: dict[str, Any] | None
    _cached_model = "", None  # (parameters, learner that has them)

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters of the estimator.

        If `deep` is true, they include those of the learner, named `settings__NAME`.

        Parameters
        ----------
        deep : bool, default=True

        Returns
        -------
        dict

        Examples
        --------
        >>> from odl import NoveltyDetector
        >>> NoveltyDetector(settings={"lam": 0.2}).get_params()["settings__lam"]
        0.2
        """
        params = super().get_params(deep=False)  # type: ignore[misc]  # of BaseEstimator
        if deep:
            changed = self.settings if isinstance(self.settings, dict) else {}
            default = {name: entry.default for name, entry in self._hyperparameters().items()}
            params |= {
                f"{SETTINGS_PREFIX}{name}": value for name, value in {**default, **changed}.items()
            }
        return params

    def set_params(self, **params: Any) -> Self:
        """Set parameters; hyper-parameters of the learner are named `settings__NAME`.

        `learner` is set first, because the valid names depend on it.

        Parameters
        ----------
        **params

        Returns
        -------
        The estimator.

        Examples
        --------
        >>> from odl import NoveltyDetector
        >>> NoveltyDetector().set_params(learner="adaptive", settings__nearest=3).settings
        {'nearest': 3}
        """
        nested = {
            key.removeprefix(SETTINGS_PREFIX): params.pop(key)
            for key in [*params]
            if key.startswith(SETTINGS_PREFIX)
        }
        super().set_params(**params)  # type: ignore[misc]
        if nested:
            names = self._hyperparameters()
            for name in nested.keys() - names.keys():
                raise ParameterError(
                    f"{SETTINGS_PREFIX}{name} for the learner {self.learner!r}",
                    ", ".join(names),
                    advice(name, names),
                )
            self.settings = {**(self.settings or {}), **nested}
        return self

    def _hyperparameters(self):
        """Return {name: dataclass field} of the hyper-parameters of the learner.

        The result is empty if the learner does not exist; `fit` then raises the error.
        """
        try:
            return parameters(learners.learner_class(self.learner))
        except ParameterError:
            return {}

    def _model(self):
        """Return the learner with checked hyper-parameters.

        The learner is cached until `learner` or `settings` change.
        """
        key = repr((self.learner, self.settings))
        if key != self._cached_model[0]:
            self._cached_model = key, self._make_model()
        return self._cached_model[1]

    def _make_model(self):
        """Create the learner of `learner` and `settings`; raise ParameterError if invalid."""
        if not isinstance(self.settings, dict | None):
            raise ParameterError(
                f"settings is {self.settings!r}", "a dict of hyper-parameters", "pass a dict"
            )
        with naming(f"learner={self.learner!r}", None):
            learners.learner_class(self.learner)
        with naming(f"learner={self.learner!r}, settings={self.settings!r}", "correct settings"):
            return learners.make(self.learner, **(self.settings or {}))


def seed_of(random_state):
    """Return an integer seed: `random_state` itself, or a number drawn from it.

    Parameters
    ----------
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None
    """
    if isinstance(random_state, numbers.Integral) and not isinstance(random_state, bool):
        return int(random_state)
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**63))
    try:
        return int(check_random_state(random_state).randint(np.iinfo(np.int32).max))
    except ValueError as error:
        raise ParameterError(
            f"random_state is {random_state!r}",
            "an integer, a RandomState, a Generator or None",
            "pass a seed",
        ) from error


def check_integer(name, value, minimum):
    """Raise ParameterError unless a parameter is an integer of at least `minimum`."""
    if not isinstance(value, numbers.Integral) or isinstance(value, bool) or value < minimum:
        raise ParameterError(
            f"{name} is {value!r}", f"an integer of at least {minimum}", f"correct {name}"
        )


@contextmanager
def naming(parameters, todo):
    """Prepend `parameters` to the message of a ParameterError (context manager).

    `todo`, unless None, replaces the advice of the error.
    """
    try:
        yield
    except ParameterError as error:
        raise ParameterError(
            f"{parameters}: {error.given}", error.expected, todo or error.todo
        ) from error

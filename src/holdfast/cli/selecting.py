"""Gives a command the arguments and options that say which jobs it means."""

from collections.abc import Callable
from inspect import Parameter, Signature, signature
from typing import TYPE_CHECKING, Any

from holdfast.cli import options
from holdfast.cli.running import reported

if TYPE_CHECKING:
    from holdfast.engine.selection import Selection


def _selection(
    ids: options.JobIds = None,
    state: options.State = None,
    pipeline: options.PipelineName = None,
    in_phase: options.InPhase = None,
    component: options.Component = None,
    category: options.CategoryName = None,
    org: options.Organisation = None,
    platform: options.Platform = None,
    retryable: options.Retryable = None,
    fingerprint: options.Fingerprint = None,
    everything: options.Everything = False,
) -> "Selection":
    from holdfast.engine.selection import Selection

    return Selection(
        ids=tuple(ids or ()),
        state=state,
        pipeline=pipeline,
        phase=in_phase,
        component=component,
        category=category,
        organisation=org,
        platform=platform,
        retryable=retryable,
        fingerprint=fingerprint,
        everything=everything,
    )


def selecting(command: Callable[..., None]) -> Callable[..., None]:
    """The command with these options added; it gets them as its first argument, one Selection."""
    chosen = signature(_selection).parameters
    _, *own = signature(command).parameters.values()

    def selected(**given: Any) -> None:
        with reported(as_json=bool(given["as_json"])):
            selection = _selection(**{name: given.pop(name) for name in chosen})
        command(selection, **given)

    _describe(selected, like=command, parameters=[*chosen.values(), *own])
    return selected


def _describe(function: Callable[..., None], *, like: Callable[..., None], parameters: list[Parameter]) -> None:
    """What the command line library reads: name, help text, parameters and their types."""
    function.__name__ = like.__name__
    function.__doc__ = like.__doc__
    function.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    vars(function)["__signature__"] = Signature(parameters)

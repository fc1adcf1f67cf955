"""A little curve of what happened lately: how many completed, and how many failed, in each stretch of time."""

from collections.abc import Sequence

from markupsafe import Markup

from holdfast.dashboard.markup import tag

WIDTH, HEIGHT = 120, 28


def sparkline(completed: Sequence[int], failed: Sequence[int], *, caption: str) -> Markup:
    """Bars side by side, the oldest first, failures on top of completions. `caption` is read where none is seen."""
    most = max((done + bad for done, bad in zip(completed, failed, strict=True)), default=0)
    step = WIDTH / max(len(completed), 1)
    bars = [
        bar
        for place, (done, bad) in enumerate(zip(completed, failed, strict=True))
        for bar in _bars(place * step, step * 0.8, done=done, bad=bad, most=most)
    ]
    return tag(
        "svg",
        tag("title", caption),
        bars,
        class_="sparkline",
        viewBox=f"0 0 {WIDTH} {HEIGHT}",
        preserveAspectRatio="none",
        role="img",
    )


def _bars(left: float, width: float, *, done: int, bad: int, most: int) -> list[Markup]:
    if done + bad == 0:
        return [_bar("none", left, HEIGHT - 1, width, 1)]
    high, low = HEIGHT * (done + bad) / most, HEIGHT * done / most
    bars = [_bar("done", left, HEIGHT - low, width, low)] if done else []
    return bars + ([_bar("bad", left, HEIGHT - high, width, max(high - low, 1.5))] if bad else [])


def _bar(kind: str, left: float, top: float, width: float, height: float) -> Markup:
    return tag(
        "rect", class_=kind, x=f"{left:.1f}", y=f"{top:.1f}", width=f"{width:.1f}", height=f"{height:.1f}", rx="0.8"
    )

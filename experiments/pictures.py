"""The drawings of docs/explanation. Writes docs/images/loop.svg, one-ask.svg and components.svg.

    python experiments/pictures.py

Colours are readable on light and on dark pages, and grounds are transparent.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import bosquet as bq

IMAGES = Path(__file__).resolve().parent.parent / "docs" / "images"
KEYS = {"a": "x", "b": "y"}  # the variable of each branch
GREY, BLUE, ORANGE, GREEN = "#7d8590", "#3b82c4", "#d9822b", "#3a9a63"


def svg(width: int, height: int, parts: Sequence[str], title: str) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" font-family="sans-serif" font-size="13">'
    )
    return "\n".join([head, f"<title>{title}</title>", *parts, "</svg>", ""])


def text(x: float, y: float, words: str, colour: str = GREY, anchor: str = "middle") -> str:
    return f'<text x="{x:g}" y="{y:g}" fill="{colour}" text-anchor="{anchor}">{words}</text>'


def box(x: float, y: float, width: float, height: float, colour: str) -> str:
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" rx="6" '
        f'fill="{colour}" fill-opacity="0.12" stroke="{colour}"/>'
    )


def line(points: Sequence[tuple[float, float]], colour: str, more: str = "") -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    return f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.6" {more}/>'


def arrow(x1: float, y1: float, x2: float, y2: float) -> list[str]:
    angle = math.atan2(y2 - y1, x2 - x1)
    wings = [(x2 - 7 * math.cos(angle + s), y2 - 7 * math.sin(angle + s)) for s in (0.4, -0.4)]
    head = " ".join(f"{x:.1f},{y:.1f}" for x, y in [(x2, y2), *wings])
    return [line([(x1, y1), (x2, y2)], GREY), f'<polygon points="{head}" fill="{GREY}"/>']


def loop() -> str:
    """From the trials so far to the next one, and around."""
    steps = [
        ("trials so far", "configurations, values, failures", BLUE),
        ("encode", "unit vectors, and what is active", GREY),
        ("fit", "a sum of components", GREY),
        ("posterior", "mean and variance by branch", GREEN),
        ("search", "highest expected improvement", GREY),
        ("next trial", "a plain dict of what is active", ORANGE),
    ]
    parts = []
    for i, (name, what, colour) in enumerate(steps):
        row, column = divmod(i, 3)
        column = column if row == 0 else 2 - column
        x, y = 20 + 250 * column, 20 + 110 * row
        parts += [box(x, y, 220, 60, colour), text(x + 110, y + 26, name, colour)]
        parts.append(text(x + 110, y + 46, what))
        if i < 2:
            parts += arrow(x + 220, y + 30, x + 250, y + 30)
        elif i == 2:
            parts += arrow(x + 110, y + 60, x + 110, y + 110)
        elif i < 5:
            parts += arrow(x, y + 30, x - 30, y + 30)
    parts += arrow(130, 130, 130, 82)
    parts.append(text(142, 110, "evaluate, tell", anchor="start"))
    return svg(760, 210, parts, "From the trials so far to the next trial, and around")


def one_ask() -> str:
    """The model of `add-tree` on two branches after ten trials, and where it looks next."""
    branches = {"a": {"x": bq.Float(0, 1)}, "b": {"y": bq.Float(0, 1)}}
    space = bq.Space({"branch": bq.Choice(branches)})

    def objective(config: dict[str, float]) -> float:
        if "x" in config:
            return 0.55 + 0.4 * math.sin(7 * config["x"]) * (1 - config["x"])
        return 0.35 + 1.6 * (config["y"] - 0.7) ** 2

    # What reports show averages over hyper-parameters, the strategy takes the best ones: a seed on
    # which both want the same place.
    for seed in range(100):
        optimizer = bq.Optimizer(space, strategy="add-tree", seed=seed)
        for _ in range(9):
            trial = optimizer.ask()
            optimizer.tell(trial, objective(trial.config))
        model, chosen = optimizer.model(), optimizer.ask()
        trials = optimizer.history.complete
        best = float(model.predict([t.config for t in trials])[0].min())
        grid = np.linspace(0, 1, 101)
        moments = {
            name: model.predict([{"branch": name, key: float(u)} for u in grid])
            for name, key in KEYS.items()
        }
        gains = {name: _expected_improvement(best - m, s) for name, (m, s) in moments.items()}
        highest = max(float(gain.max()) for gain in gains.values())
        branch = chosen.config["branch"]
        near = round(100 * chosen.config[KEYS[branch]])
        if gains[branch][near] > 0.95 * highest:
            break
    parts: list[str] = []
    for column, (name, key) in enumerate(KEYS.items()):
        left = 60 + 350 * column
        mean, sd = moments[name]
        xs = left + 300 * grid

        def height(value: float) -> float:
            return 190 - 160 * (value - 0.1) / 1.1

        band = [(x, height(m + 2 * s)) for x, m, s in zip(xs, mean, sd, strict=True)]
        band += [(x, height(m - 2 * s)) for x, m, s in zip(xs, mean, sd, strict=True)][::-1]
        inside = " ".join(f"{x:.1f},{min(max(y, 20), 205):.1f}" for x, y in band)
        parts.append(f'<polygon points="{inside}" fill="{BLUE}" fill-opacity="0.18"/>')
        parts.append(line([(x, height(m)) for x, m in zip(xs, mean, strict=True)], BLUE))
        for trial in optimizer.history.complete:
            if trial.config["branch"] == name and trial.value is not None:
                x, y = left + 300 * trial.config[key], height(trial.value)
                parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="4" fill="{GREY}"/>')
        gain = [(x, 290 - 60 * g / highest) for x, g in zip(xs, gains[name], strict=True)]
        parts.append(line(gain, GREEN))
        parts.append(line([(left, 290), (left + 300, 290)], GREY))
        parts.append(text(left + 150, 16, f"branch {name}"))
        parts.append(text(left + 150, 308, key))
        if chosen.config["branch"] == name:
            x = left + 300 * chosen.config[key]
            parts.append(line([(x, 24), (x, 290)], ORANGE, 'stroke-dasharray="4 3"'))
            parts.append(text(x, 326, "tried next", ORANGE))
    parts.append(text(8, 110, "value", BLUE, "start"))
    parts.append(text(8, 262, "gain", GREEN, "start"))
    return svg(
        740, 336, parts, "Two branches: what the model believes, and what it expects to gain"
    )


def _expected_improvement(gain: np.ndarray, sd: np.ndarray) -> np.ndarray:
    sd = np.maximum(sd, 1e-9)
    z = gain / sd
    density = np.exp(-0.5 * z**2) / math.sqrt(2 * math.pi)
    below = 0.5 * (1 + np.vectorize(math.erf)(z / math.sqrt(2)))
    return np.asarray(gain * below + sd * density)


def components() -> str:
    """Which components two configurations share."""
    parts = []
    nodes = {
        "root": (300, 20, "lr", GREEN),
        "svm": (80, 110, "C", GREY),
        "trees": (520, 110, "trees", BLUE),
        "forest": (400, 200, "depth", GREY),
        "boosting": (640, 200, "eta", ORANGE),
    }
    edges = [("root", "svm"), ("root", "trees"), ("trees", "forest"), ("trees", "boosting")]
    for above, below in edges:
        (x1, y1, *_), (x2, y2, *_) = nodes[above], nodes[below]
        parts += arrow(x1 + 60, y1 + 44, x2 + 60, y2)
    labels = {"svm": "model = svm", "forest": "forest", "boosting": "boosting"}
    labels |= {"root": "everywhere", "trees": "forest | boosting"}
    for name, (x, y, parameter, colour) in nodes.items():
        parts.append(box(x, y, 120, 44, colour))
        parts.append(text(x + 60, y + 18, labels[name], colour))
        parts.append(text(x + 60, y + 36, f"k({parameter}, {parameter}&#8242;)", colour))
    parts.append(text(20, 275, "svm and boosting share", anchor="start"))
    parts.append(text(185, 275, "the root", GREEN, "start"))
    parts.append(text(20, 298, "forest and boosting share", anchor="start"))
    parts.append(text(200, 298, "the root and trees", BLUE, "start"))
    parts.append(text(20, 321, "two boosting trials share", anchor="start"))
    parts.append(text(200, 321, "the root, trees and eta", ORANGE, "start"))
    return svg(
        790, 335, parts, "A component at every node; two configurations share those above both"
    )


def main() -> None:
    for name, drawing in (("loop", loop), ("one-ask", one_ask), ("components", components)):
        (IMAGES / f"{name}.svg").write_text(drawing(), encoding="utf-8")
        print(IMAGES / f"{name}.svg")


if __name__ == "__main__":
    main()

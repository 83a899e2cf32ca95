"""A space drawn as a tree of text."""

from __future__ import annotations

import html
from collections.abc import Sequence

from bosquet.space.constraints import Constraint, Forbid
from bosquet.space.parameter import Choice, Parameter
from bosquet.space.tree import Parameters, option_label
from bosquet.text import listed, printable


def tree_text(
    parameters: Parameters, constraints: Sequence[Forbid | Constraint], n_paths: int
) -> str:
    lines = [f"Space with {n_paths} path{'s' * (n_paths != 1)}"]
    lines += _indent(_entries(parameters))
    if constraints:
        lines.append("such that " + "; ".join(str(constraint) for constraint in constraints))
    return "\n".join(map(printable, lines))


def as_html(text: str) -> str:
    return f'<pre style="line-height:1.2">{html.escape(text)}</pre>'


def _entries(parameters: Parameters) -> list[tuple[str, list[str]]]:
    """(heading, lines below it) of every parameter."""
    width = max((len(name) for name, _ in parameters), default=0)
    return [
        (f"{name:<{width}}  {_summary(parameter)}".rstrip(), _branches(parameter))
        for name, parameter in parameters
    ]


def _summary(parameter: Parameter) -> str:
    if not (isinstance(parameter, Choice) and parameter.branches):
        return parameter.describe()
    return parameter.details.lstrip()


def _branches(parameter: Parameter) -> list[str]:
    if not isinstance(parameter, Choice) or not parameter.branches:
        return []
    labels = [option_label(option) for option in parameter.options]
    below: dict[tuple[int, ...], Parameters] = {(i,): () for i in range(len(labels))}
    below |= dict(parameter.branches)
    return _indent(
        [
            (listed((labels[i] for i in members), separator=" | "), _indent(_entries(named)))
            for members, named in below.items()
        ]
    )


def _indent(entries: Sequence[tuple[str, list[str]]]) -> list[str]:
    lines = []
    for position, (heading, below) in enumerate(entries):
        last = position == len(entries) - 1
        lines.append(("└── " if last else "├── ") + heading)
        lines += [("    " if last else "│   ") + line for line in below]
    return lines

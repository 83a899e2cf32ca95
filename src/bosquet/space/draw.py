"""A space drawn as a tree of text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from bosquet.space.constraints import Constraint, Forbid
from bosquet.space.parameter import Choice, Parameter
from bosquet.space.tree import Parameters, name_label, option_label
from bosquet.text import listed, printable

Note = Callable[[str, tuple[int, ...]], str]
"""What to write behind options of a choice: of its qualified name and their positions."""


def no_note(choice: str, options: tuple[int, ...]) -> str:
    del choice, options
    return ""


def tree_text(
    parameters: Parameters,
    constraints: Sequence[Forbid | Constraint],
    n_paths: int,
    note: Note = no_note,
) -> str:
    lines = [f"Space with {n_paths} path{'s' * (n_paths != 1)}"]
    lines += _indent(_entries(parameters, note, ""))
    if constraints:
        lines.append("such that " + "; ".join(str(constraint) for constraint in constraints))
    return "\n".join(map(printable, lines))


def _entries(parameters: Parameters, note: Note, prefix: str) -> list[tuple[str, list[str]]]:
    """(heading, lines below it) of every parameter."""
    width = max((len(name) for name, _ in parameters), default=0)
    return [
        (
            f"{name:<{width}}  {_summary(parameter)}".rstrip(),
            _branches(parameter, note, prefix + name_label(name)),
        )
        for name, parameter in parameters
    ]


def _summary(parameter: Parameter) -> str:
    if not (isinstance(parameter, Choice) and parameter.branches):
        return parameter.describe()
    return parameter.details.lstrip()


def _branches(parameter: Parameter, note: Note, qualified: str) -> list[str]:
    if not isinstance(parameter, Choice) or not parameter.branches:
        return []
    labels = [option_label(option) for option in parameter.options]
    below: dict[tuple[int, ...], Parameters] = {(i,): () for i in range(len(labels))}
    below |= dict(parameter.branches)
    entries = []
    for members, named in below.items():
        own = [labels[i] for i in members]
        remark = note(qualified, members)
        heading = listed(own, separator=" | ") + (f"  [{remark}]" if remark else "")
        inside = _entries(named, note, f"{qualified}={'|'.join(own)}/")
        entries.append((heading, _indent(inside)))
    return _indent(entries)


def _indent(entries: Sequence[tuple[str, list[str]]]) -> list[str]:
    lines = []
    for position, (heading, below) in enumerate(entries):
        last = position == len(entries) - 1
        lines.append(("└── " if last else "├── ") + heading)
        lines += [("    " if last else "│   ") + line for line in below]
    return lines

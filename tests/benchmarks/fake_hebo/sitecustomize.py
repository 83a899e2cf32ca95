"""The part of HEBO, pandas and PyTorch that the server of the peer uses."""

import math
import os
import random
import sys
from importlib import metadata
from types import ModuleType, SimpleNamespace
from typing import Any


class DesignSpace:
    def parse(self, parameters):
        assert not any(path.endswith("benchmarks") for path in sys.path)  # it has a hebo.py
        self.paras = {parameter["name"]: parameter for parameter in parameters}
        return self


class HEBO:
    def __init__(self, space, scramble_seed):
        self.space, self.rng = space, random.Random(scramble_seed)

    def suggest(self, n_suggestions):
        assert n_suggestions == 1
        sys.stdout.write("HEBO prints what it does\n")
        return {name: self.column(parameter) for name, parameter in self.space.paras.items()}

    def column(self, parameter):
        import numpy as np

        return SimpleNamespace(iloc=np.array([self.draw(**parameter)]))

    def draw(self, name, type, categories=(), lb=0, ub=0):
        if type == "cat":
            return self.rng.choice(categories)
        if type == "int":
            return self.rng.randint(lb, ub)
        if type == "num":
            return self.rng.uniform(lb, ub)
        drawn = math.exp(self.rng.uniform(math.log(lb), math.log(ub)))
        return round(drawn) if type == "pow_int" else drawn

    def observe(self, proposal, values):
        assert values.shape == (1, 1)
        if values[0, 0] == 13:
            raise ZeroDivisionError("bad luck")
        if "FAKE_HEBO_TOLD" in os.environ:
            with open(os.environ["FAKE_HEBO_TOLD"], "a") as file:
                file.write(f"{values[0, 0]}\n")


def module(name: str, **content: Any) -> None:
    sys.modules[name] = made = ModuleType(name)
    vars(made).update(content)


module("hebo.design_space.design_space", DesignSpace=DesignSpace)
module("hebo.optimizers.hebo", HEBO=HEBO)
module("torch", manual_seed=lambda seed: None, set_num_threads=lambda n: None)
metadata.version = lambda distribution_name: f"{distribution_name} 1.0"

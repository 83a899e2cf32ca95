"""Spaces in files."""

import pytest

from bosquet import Float, Space
from bosquet.study.files import load_space


def test_a_dict_in_a_python_file_is_a_space_as_in_minimize(tmp_path):
    """Files of their own: modules are kept by the names of theirs."""
    file = tmp_path / "dict_of_parameters.py"
    file.write_text("import bosquet as bq\nspace = {'x': bq.Float(0, 1)}\nwrong = {'x': 1}\n")
    assert load_space(f"{file}:space") == Space({"x": Float(0, 1)})
    with pytest.raises(ValueError, match=r"parameters.py:wrong: a space: 'x' must be a Float"):
        load_space(f"{file}:wrong")

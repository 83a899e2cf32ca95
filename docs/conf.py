"""How the site is built: `make docs`, or `sphinx-build -W -n docs build/docs`.

The pages are plain Markdown, which a code forge shows as it is: no directive is needed to write
one. What Sphinx wants beyond that, `_ext/forge_pages.py` adds while it reads them.
"""

import sys
from pathlib import Path

from sphinx.ext.napoleon import GoogleDocstring

import bosquet

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "bosquet"
author = "The bosquet developers"
copyright = "the bosquet developers"
version = release = bosquet.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "forge_pages",
]
exclude_patterns = ["_ext", "_static"]

# Markdown as forges have it: anchors of headings, pictures in HTML. No formulas: what draws them
# would come from the network.
myst_enable_extensions = ["html_image"]
myst_heading_anchors = 4
suppress_warnings = ["myst.header"]  # release notes and results may skip a level of headings

# The reference comes from docstrings, whose names in single backticks are code.
default_role = "literal"
add_module_names = False
autodoc_member_order = "bysource"
autodoc_typehints = "description"
autodoc_typehints_description_target = "documented_params"
autodoc_mock_imports = ["botorch", "gpytorch", "ray", "torch"]  # environments of their own
autodoc_preserve_defaults = True
napoleon_google_docstring = True
napoleon_numpy_docstring = False
# The text of an attribute is a sentence: what stands before a colon in it is no type.
assert hasattr(GoogleDocstring, "_consume_inline_attribute")
GoogleDocstring._consume_inline_attribute = lambda text: ("", text._consume_to_end())
python_maximum_signature_line_length = 80
python_use_unqualified_type_names = True
# Links into other libraries would need their index, from the network; and type aliases of ours
# are documented where they are used. Names of our own must lead somewhere.
nitpick_ignore_regex = [
    (r"py:.*", r"(?!bosquet\.).*"),
    (r"py:.*", r"bosquet\..*\b(Array|Bools|Index|Config|Objective|Callback|By|Method|Rng|P)"),
    (r"py:.*", r"bosquet\.(models|space\.tree|strategies\.candidates|data\.history)\..*"),
    (r"py:.*", r"bosquet\.[a-z_.]+\.[A-Z]\w*(Name|Model|Kind|Features|Offsets|Steps|Sees)"),
]

html_theme = "furo"
html_title = f"bosquet {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sphinx = False
html_copy_source = False
html_theme_options = {"navigation_with_keys": True}
copybutton_exclude = ".linenos, .gp, .go"
pygments_style = "friendly"
pygments_dark_style = "github-dark"

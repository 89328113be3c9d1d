"""Settings of the site. Everything it shows is made from this checkout; nothing is fetched, now or when it is read."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import convexdesign

DOCS = Path(__file__).parent
sys.path.insert(0, str(DOCS / "_ext"))

project = "convexdesign"
author = "The convexdesign authors"
copyright = "the convexdesign authors, MIT licence"
version = release = convexdesign.__version__

extensions = [
    "myst_nb",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    "numpydoc",
    # Our own, in _ext:
    "plain_docstrings",
    "plain_signatures",
    "api_pages",
    "command_line_page",
    "gallery_pages",
    "downloads",
    "local_mathjax",
]
exclude_patterns = ["_build", "_ext", "**/README.md"]
# Cells that were not run (the tests leave them out) have no language yet.
suppress_warnings = ["myst-nb.lexer"]
language = "en"

# --------------------------------------------------------------------- notebooks
# Every cell runs at every build: a number on a page is never older than the page. While writing, give
# `-D nb_execution_mode=cache` to run only what changed.
nb_execution_mode = "force"
nb_execution_timeout = 300
nb_execution_raise_on_error = True
nb_execution_in_temp = True
nb_execution_show_tb = True
nb_execution_cache_path = str(DOCS / "_build" / "cells")
# A warning printed by a cell that was not expected is a warning of the build, hence an error.
nb_output_stderr = "remove-warn"
nb_number_source_lines = False
nb_merge_streams = True
nb_code_prompt_show = "Show the code"
nb_code_prompt_hide = "Hide the code"

myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "deflist", "dollarmath"]
smartquotes = False  # a prime is not a quotation mark
myst_heading_anchors = 3
myst_dmath_double_inline = True

# Pictures in all pages look alike, and none is drawn by a user's own settings.
IPYTHON = DOCS / "_build" / "ipython"
(IPYTHON / "profile_default").mkdir(parents=True, exist_ok=True)
(IPYTHON / "profile_default" / "ipython_kernel_config.py").write_text(
    "c = get_config()\n"
    "c.InlineBackend.figure_formats = {'svg'}\n"
    "c.InlineBackend.print_figure_kwargs = {'bbox_inches': 'tight', 'metadata': {'Date': None}}\n"
    "c.HistoryManager.enabled = False\n"
    "c.IPKernelApp.log_level = 40\n"  # its transport is this machine's own business
)
os.environ["IPYTHONDIR"] = str(IPYTHON)
os.environ["MATPLOTLIBRC"] = str(DOCS / "matplotlibrc")
# Where pages find what long runs have recorded.
os.environ["CONVEXDESIGN_RECORDED"] = str(DOCS / "validation")
os.environ["PYTHONWARNINGS"] = "ignore::DeprecationWarning"
for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS"):
    os.environ[name] = "1"

# --------------------------------------------------------------------- reference
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 60
toc_object_entries_show_parents = "hide"
add_module_names = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

# --------------------------------------------------------------------- pages
html_theme = "pydata_sphinx_theme"
html_title = "convexdesign"
html_static_path = ["_static"]
html_css_files = ["site.css"]
# Notebooks, scripts and data beside the pages they belong to, written by _ext.
DOWNLOADS = DOCS / "_build" / "downloads"
DOWNLOADS.mkdir(parents=True, exist_ok=True)
html_extra_path = ["_build/downloads"]
html_copy_source = False
html_show_sourcelink = False
html_last_updated_fmt = None
mathjax_path = "mathjax/tex-chtml.js"
html_theme_options = {
    "logo": {"text": "convexdesign"},
    "navbar_end": ["theme-switcher"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "header_links_before_dropdown": 5,
    "show_toc_level": 2,
    # Pages of tables need the room; their headings are few.
    "secondary_sidebar_items": {
        **{place: ["page-toc"] for place in ("*", "lessons/*", "gallery/*", "api/*")},
        **{place: [] for place in ("validation/*", "benchmarks/*")},
    },
    "navigation_with_keys": False,
    "show_nav_level": 1,
    "back_to_top_button": False,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
# Only lessons and reference have neighbours worth a list of their own.
html_sidebars = {"*": [], "gallery/*": [], "validation/*": [], "benchmarks/*": []}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

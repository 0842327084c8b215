# SPDX-License-Identifier: Apache-2.0
"""The data in pages that geiger html writes."""

import base64
import gzip
import json
import pathlib
import re
import subprocess


def page_data(geiger, path, *options):
    """Writes the page of a profile beside it, and returns its data."""
    subprocess.run([geiger, "html", path, "--quiet", "-o", path + ".html", *options], check=True)
    text = pathlib.Path(path + ".html").read_text(encoding="utf-8")
    packed = re.search(r'id="geiger-data">([A-Za-z0-9+/=]*)</script>', text).group(1)
    return json.loads(gzip.decompress(base64.b64decode(packed)))

"""``python -m tests.docs``: write what is generated in the documentation anew."""

import sys

from tests.docs.pages import PAGES, ROOT, UnexpectedExit, refreshed

failed = False
for page in PAGES:
    before = page.read_text("utf-8")
    try:
        after = refreshed(before)
    except UnexpectedExit as error:
        print(f"left as it was: {page.relative_to(ROOT)}: {error}", file=sys.stderr)
        failed = True
        continue
    if after != before:
        page.write_text(after, "utf-8")
        print(f"changed: {page.relative_to(ROOT)}")
sys.exit(failed)

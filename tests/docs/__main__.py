"""``python -m tests.docs``: write what is generated in the documentation anew."""

from tests.docs.pages import PAGES, ROOT, refreshed

for page in PAGES:
    before = page.read_text("utf-8")
    after = refreshed(before)
    if after != before:
        page.write_text(after, "utf-8")
        print(f"changed: {page.relative_to(ROOT)}")

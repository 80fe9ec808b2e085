"""The tools that keep the corpus: nobody edits its index by hand."""

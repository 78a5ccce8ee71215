"""Schedule traces as data: read, rewritten and checked without TVM."""

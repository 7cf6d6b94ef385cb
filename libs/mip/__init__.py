"""Mixed-integer programs: blocks of columns and rows are joined into a sparse matrix and solved by HiGHS."""

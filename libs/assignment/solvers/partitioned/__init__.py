"""A problem in parts that are solved on their own (POP): who goes where, what each may use, and back together."""

"""Why an assignment is as it is, and why not otherwise: in numbers and in words, by the names of specs."""

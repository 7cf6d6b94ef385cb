"""Steps on the counts of a lowered problem: k objects of a class at once, every change of the cost exact."""

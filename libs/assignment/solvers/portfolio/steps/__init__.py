"""Make steps on the counts of a lowered problem: k objects of a class at once, with the exact change of cost."""

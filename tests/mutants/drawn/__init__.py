"""Mechanical mutants: small changes of the syntax tree, drawn by a seed over all modules of the product.

Chosen mutants (``mutants.catalogue``) say how well the faults that the authors thought of are noticed; drawn ones say
how well any fault is. ``make mutants-drawn SEED=1 N=300`` draws, plants and judges them.
"""

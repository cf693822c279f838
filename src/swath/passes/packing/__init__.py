"""The parts of the pass `pack`, in the order in which it uses them:

kinds       which nodes are the same computation on other data
seeds       where values come together: concatenations, long sums, lookups
recipes     the batched form of a group of such nodes, op by op
plan        which groups are worth it
emitter     adds nodes, with the views simplified and equal nodes shared
rewrite     the new graph by the plan
"""

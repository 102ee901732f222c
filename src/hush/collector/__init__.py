"""The collector: a service that takes reports over HTTP, counts each of them once, and shows estimates.

`hush serve plan.json` runs it. The pieces, from the inside: `vectors` (tallies as arrays), `submissions` (checked
input), `stores` (databases), `intake` (many submissions, one commit), `http` (the interface). It needs
`hush-ldp[collector]`.
"""

"""The collector: a service that takes reports over HTTP, counts each of them once, and shows estimates.

`hush serve plan.json` runs it. The pieces, from the inside: `vectors` (tallies as arrays), `submissions` (what
arrives), `stores` (where it is kept), `intake` (many submissions, one commit), `app` (HTTP). It needs
`hush-ldp[collector]`.
"""

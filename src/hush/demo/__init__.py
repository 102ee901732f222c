"""See it work: a collector, a made-up country that answers it over HTTP, and the truth beside the estimates.

`make demo` and `hush demo` run it. The people come from a statistical generator with a seed, so that the truth is known
and the same each time. Their noise is drawn from the operating system, as always, so the estimates differ from
run to run. It needs `pip install 'hush-ldp[demo]'`.
"""

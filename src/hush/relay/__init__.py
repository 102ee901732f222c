"""The relay: it stands between devices and a collector, and mixes sealed reports into batches.

It needs `pip install 'hush-ldp[collector]'`, and is run by `hush relay`. The relay sees addresses and no reports; the
collector sees reports and no addresses. If the two do not work together, a batch hides who sent which of its reports.
"""

"""Planning a collection before anybody is asked: predictions, laws, summaries and audits of a plan."""

"""The HTTP side of the collector: protocol, application, views and pages."""

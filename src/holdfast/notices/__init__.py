"""Telling others what happened: to webhooks and by mail, and alerting when something should be looked at."""

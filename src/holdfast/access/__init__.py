"""Who may come in from outside, and to whose documents."""

"""`python -m holdfast.cli`, the same as the installed command."""

from holdfast.cli.main import main

main()

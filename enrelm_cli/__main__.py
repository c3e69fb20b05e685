"""`python -m enrelm_cli` and the console script `enrelm`."""

from enrelm_cli.cli.app import main

if __name__ == "__main__":
    main()

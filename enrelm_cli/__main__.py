"""`python -m enrelm_cli` and the console script `enrelm`."""

from enrelm_cli.cli import startup


def main() -> None:
    startup.take_over()
    from enrelm_cli.cli.app import main as run

    run()


if __name__ == "__main__":
    main()

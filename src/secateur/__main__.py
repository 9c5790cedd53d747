"""``python -m secateur``: the command line, where the program itself is not on the path."""

from secateur.cli.main import start

if __name__ == "__main__":
    start()

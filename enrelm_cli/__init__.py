"""enrelm: non-linear regression from the shell, by the Effective Non-Random Extreme Learning Machine."""

__version__ = "0.1.0"

"""Options from elsewhere than the line: run files (TOML) and the environment, and the command that writes run files."""

"""The command line: one file per command, each parses, asks the brain once, and renders."""

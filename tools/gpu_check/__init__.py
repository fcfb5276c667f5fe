"""The parts of tools/gpu-check. Standard library only: a bundle runs where nothing can be installed."""

"""Figures for every claim that the README makes, from commands that anybody can run."""

"""Bundled evaluation plans; this file lets the folder be installed as privacy_eval.conf."""

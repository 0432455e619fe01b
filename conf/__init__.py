"""Bundled evaluation protocols; this file lets the folder be installed as privacy_eval.conf."""

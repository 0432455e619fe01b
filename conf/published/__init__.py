"""Published results; this file lets the folder be installed as privacy_eval.conf.published."""

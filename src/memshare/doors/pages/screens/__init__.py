"""The screens: every module here is found by itself."""

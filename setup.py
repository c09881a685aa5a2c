"""A package without code that requires the program in the version of this repository, so that pre-commit compiles nothing."""

import pathlib
import re

import setuptools

workspace = pathlib.Path(__file__).with_name("Cargo.toml").read_text().split("[workspace.package]")[1]
version = re.search(r'^version = "(.+)"$', workspace, re.MULTILINE)[1]
setuptools.setup(
    name="kubefoundry-pre-commit",
    version=version,
    install_requires=[f"kubefoundry=={version}"],
    py_modules=[],
)

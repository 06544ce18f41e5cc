"""The register's rules and spellings: pure functions and values, without any request.

A rule names in brackets the section of the register's API description, version 2.5, on which it
stands: [Lists of identifiers], [Counts], [Codelists], [Details], [Errors]. Behind "observed" are
replies of the live register, on which the description is silent; "ours" is a choice of the package
where both are.
"""

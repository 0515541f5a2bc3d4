from ..deferral import is_deferring

if is_deferring():
    from .assembly_formats import defer_formats

    defer_formats()

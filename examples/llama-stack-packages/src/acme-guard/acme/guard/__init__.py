"""A safety provider that refuses messages with certain words."""


async def get_provider_impl(config, deps):
    from .guard import Guard

    impl = Guard(config)
    await impl.initialize()
    return impl

//! The `kubefoundry` command.
fn main() {}

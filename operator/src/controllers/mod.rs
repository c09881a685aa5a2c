//! Controllers: each looks at one deployment at a time, and brings what it is responsible for to where it should be.

pub(crate) mod provider;

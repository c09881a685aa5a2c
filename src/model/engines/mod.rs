//! Inference engines: their flags and how a deployment becomes them.
pub mod flags;

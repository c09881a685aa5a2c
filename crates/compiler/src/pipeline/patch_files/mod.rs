//! Patches that are files of their own or stand in kustomizations.

pub(crate) mod kustomization_patches;
pub(crate) mod kustomizations;
pub(crate) mod patch_operations;

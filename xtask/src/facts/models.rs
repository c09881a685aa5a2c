//! Joins the sources of facts about models.
//!
//! The first source that has a fact about a model decides it; a later one must agree. `key!=value` replaces a fact of an
//! earlier source, which must differ. `like=ID` says that a model is a fine-tuned or quantized version of another one: it
//! then has the structure of that one, but not its quantization, its size or the length of its context.

use std::path::Path;

use super::source::{self, Record};
use super::unmet;
use crate::Failure;

/// The sources, in the order in which they decide.
pub(crate) const FILES: &[&str] = &[
    "aiconfigurator-core.txt",
    "kaito.txt",
    "torchtune.txt",
    "recorded.txt",
    "versions.txt",
    "gated.txt",
    "tool-parsers.txt",
    "reasoning-parsers.txt",
];

/// The keys of a line in their order. Any other key is a mistake: the crate would not read it.
pub(crate) const KEYS: &[&str] = &[
    "architectures",
    "heads",
    "kvHeads",
    "headDim",
    "valueHeadDim",
    "fullKvHeads",
    "fullHeadDim",
    "slidingKvHeads",
    "slidingHeadDim",
    "layers",
    "fullLayers",
    "hybrid",
    "slidingWindow",
    "mlaRank",
    "mlaRopeDim",
    "mlaNopeDim",
    "mlaQueryRank",
    "hidden",
    "intermediate",
    "moeIntermediate",
    "ungated",
    "moeHidden",
    "experts",
    "expertsPerToken",
    "sharedExperts",
    "sharedIntermediate",
    "denseLayers",
    "moeLayers",
    "mtpLayers",
    "vocab",
    "tied",
    "maxPosition",
    "ropeScaling",
    "dtype",
    "quantization",
    "quantizationFormat",
    "block",
    "group",
    "kvCacheQuantization",
    "expertDtype",
    "ignored",
    "fileBytes",
    "gated",
    "toolParser",
    "reasoningParser",
];

/// The last key of the structure that a version of a model shares with it.
const LAST_STRUCTURAL_KEY: &str = "tied";

/// Returns one record for each model.
pub(crate) fn join(sources: &Path) -> Result<Vec<Record>, Failure> {
    let mut models: Vec<Record> = Vec::new();
    for file in FILES {
        let path = sources.join("models").join(file);
        for record in source::read(&path)? {
            add(&mut models, record).map_err(|error| unmet(&path, error))?;
        }
    }
    finish(models).map_err(|error| unmet(&sources.join("models"), error))
}

/// Adds the facts of a record to those of its model.
pub(crate) fn add(models: &mut Vec<Record>, record: Record) -> Result<(), String> {
    let Some(model) = models.iter_mut().find(|model| model.sort_key() == record.sort_key()) else {
        if let Some((key, _)) = record.pairs.iter().find(|(key, _)| key.ends_with('!')) {
            return Err(format!("{}: `{key}` replaces nothing", record.name));
        }
        models.push(record);
        return Ok(());
    };
    for (key, value) in record.pairs {
        let replaced = key.strip_suffix('!');
        let key = replaced.unwrap_or(&key);
        match (model.pairs.iter_mut().find(|(other, _)| other == key), replaced.is_some()) {
            (Some((_, old)), true) if *old != value => *old = value,
            (Some((_, old)), false) if *old == value => {}
            (None, false) => model.pairs.push((key.to_owned(), value)),
            (Some((_, old)), false) => {
                return Err(format!("{}: {key}={value}, but {} says {old}", record.name, model.source));
            }
            (_, true) => return Err(format!("{}: `{key}!` replaces nothing", record.name)),
        }
    }
    if !model.source.split('+').any(|source| source == record.source) {
        model.source = format!("{}+{}", model.source, record.source);
    }
    Ok(())
}

/// Copies the structure that versions share, and puts the keys into their order.
pub(crate) fn finish(models: Vec<Record>) -> Result<Vec<Record>, String> {
    let originals = models.clone();
    models.into_iter().map(|model| complete(model, &originals)).collect()
}

fn complete(mut model: Record, originals: &[Record]) -> Result<Record, String> {
    let like = model.pairs.iter().position(|(key, _)| key == "like").map(|at| model.pairs.remove(at).1);
    if let Some(like) = like {
        let original = originals
            .iter()
            .find(|original| original.name == like && original.get("like").is_none())
            .ok_or_else(|| format!("{}: there is no model {like} that is not like another", model.name))?;
        let structural = KEYS.iter().take_while(|key| **key != LAST_STRUCTURAL_KEY).chain([&LAST_STRUCTURAL_KEY]);
        for key in structural {
            match (model.get(key), original.get(key)) {
                // A version for images and text may have another class than the one for text alone.
                (Some(own), Some(value)) if own != value && *key != "architectures" => {
                    return Err(format!("{}: {key}={own}, but {like} has {value}", model.name));
                }
                (None, Some(value)) => model.pairs.push(((*key).to_owned(), value.to_owned())),
                _ => {}
            }
        }
        model.source = format!("{}+like:{like}", model.source);
    }
    let position = |key: &str| KEYS.iter().position(|known| *known == key);
    if let Some((key, _)) = model.pairs.iter().find(|(key, _)| position(key).is_none()) {
        return Err(format!("{}: unknown key `{key}`", model.name));
    }
    model.pairs.sort_by_key(|(key, _)| position(key));
    Ok(model)
}

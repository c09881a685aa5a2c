//! GPUs and instance types: recorded by hand with units, generated in bytes.

use std::path::Path;

use super::source::{self, Record};
use super::unmet;
use crate::Failure;

/// The part of its nominal memory that a GPU surely reports, in percent, if the figure is not known.
const REPORTED_PERCENT: u64 = 93;

/// Returns the GPUs.
pub(crate) fn gpus(sources: &Path) -> Result<Vec<Record>, Failure> {
    let path = sources.join("gpus.txt");
    source::read(&path)?.into_iter().map(|record| gpu(record).map_err(|error| unmet(&path, error))).collect()
}

/// Replaces `reported` and `nominal` by bytes.
pub(crate) fn gpu(record: Record) -> Result<Record, String> {
    let name = &record.name;
    let nominal = bytes(record.get("nominal").ok_or_else(|| format!("{name}: no `nominal`"))?)
        .ok_or_else(|| format!("{name}: `nominal` is not a size"))?;
    let reported = match record.get("reported") {
        Some(size) => bytes(size).ok_or_else(|| format!("{name}: `reported` is not a size"))?,
        None => nominal / 100 * REPORTED_PERCENT,
    };
    if reported > nominal {
        return Err(format!("{name}: it reports more than the nominal size"));
    }
    let mut pairs = Vec::new();
    for (key, value) in &record.pairs {
        match key.as_str() {
            "nominal" => {
                pairs.push(("minMemory".to_owned(), reported.to_string()));
                pairs.push(("maxMemory".to_owned(), nominal.to_string()));
            }
            "reported" => {}
            "resource" | "capability" | "labels" | "perNode" => pairs.push((key.clone(), value.clone())),
            _ => return Err(format!("{name}: unknown key `{key}`")),
        }
    }
    Ok(Record { pairs, ..record })
}

/// Returns the instance types, whose GPUs must be known.
pub(crate) fn instance_types(sources: &Path, gpus: &[Record]) -> Result<Vec<Record>, Failure> {
    let path = sources.join("instance-types.txt");
    let records = source::read(&path)?.into_iter();
    records.map(|record| instance_type(record, gpus).map_err(|error| unmet(&path, error))).collect()
}

/// Adds the memory of all GPUs.
pub(crate) fn instance_type(record: Record, gpus: &[Record]) -> Result<Record, String> {
    let name = &record.name;
    let text = |key: &str| record.get(key).ok_or_else(|| format!("{name}: no `{key}`"));
    let count: u64 = text("gpus")?.parse().map_err(|_| format!("{name}: `gpus` is not a number"))?;
    let gpu = text("gpu")?;
    let memory = gpus
        .iter()
        .find(|known| known.name == gpu)
        .and_then(|known| known.get("maxMemory")?.parse::<u64>().ok())
        .ok_or_else(|| format!("{name}: there is no GPU {gpu}"))?;
    let pair = |key: &str, value: String| (key.to_owned(), value);
    let pairs = vec![
        pair("cloud", text("cloud")?.to_owned()),
        pair("gpus", count.to_string()),
        pair("gpuMemory", (count * memory).to_string()),
        pair("gpu", gpu.to_owned()),
    ];
    if record.pairs.len() != 3 {
        return Err(format!("{name}: expected the keys cloud, gpus and gpu alone"));
    }
    Ok(Record { pairs, ..record })
}

/// Reads `46068Mi` or `24Gi`.
fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|c: char| !c.is_ascii_digit())?);
    let shift = match unit {
        "Mi" => 20,
        "Gi" => 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(1 << shift)
}

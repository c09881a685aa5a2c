//! How grave a change is: what whoever applies it, and the upstream controller, make of it.

use std::cmp::Ordering;
use std::fmt;

use serde::Serialize;
use serde_json::Value;

use super::rendered_change::RenderedChange;
use kubefoundry_kubernetes::quantity;
use kubefoundry_model::provider::{Behavior, Reaction};

/// Who brings the objects into the cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Applier {
    /// kubectl, Argo CD or Flux: every change is a patch, and upstream reacts.
    #[default]
    Apply,
    /// The kubefoundry operator: a change of identity (OP-3.1), and one of which upstream refuses or ignores a part,
    /// deletes the main object and makes it anew.
    Operator,
}

/// What becomes of what runs, the least grave first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum ChangeClass {
    /// Metadata, or nothing at all: what runs goes on as it is.
    None,
    /// Applied to what runs.
    InPlace,
    /// Pods are replaced one after the other.
    RollingRestart,
    /// Accepted and ignored: what runs is not what is written.
    NoEffect,
    /// A second cluster is started beside the first: for a while there are twice as many GPUs. It is made from all of the
    /// object, also from what would be ignored without it.
    BlueGreen,
    /// A controller that this program knows nothing about decides.
    Unknown,
    /// Another object takes the place of the one that served.
    Recreate,
    /// The apiserver or a webhook rejects it.
    Refused,
}

impl ChangeClass {
    /// Every class, the least grave first.
    pub const ALL: [Self; 8] = [
        Self::None,
        Self::InPlace,
        Self::RollingRestart,
        Self::NoEffect,
        Self::BlueGreen,
        Self::Unknown,
        Self::Recreate,
        Self::Refused,
    ];

    /// Its name, as in reports.
    ///
    /// ```
    /// use kubefoundry_compiler::plan::ChangeClass;
    /// assert_eq!(ChangeClass::RollingRestart.as_str(), "rolling-restart");
    /// assert!(ChangeClass::NoEffect < ChangeClass::Recreate);
    /// ```
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::InPlace => "in-place",
            Self::RollingRestart => "rolling-restart",
            Self::BlueGreen => "blue-green",
            Self::NoEffect => "no-effect",
            Self::Unknown => "unknown",
            Self::Recreate => "recreate",
            Self::Refused => "refused",
        }
    }

    /// What it means, in a few words.
    pub const fn meaning(self) -> &'static str {
        match self {
            Self::None => "nothing that runs changes",
            Self::InPlace => "applied to what runs",
            Self::RollingRestart => "pods are replaced one after the other",
            Self::BlueGreen => "a second cluster is started, and takes over once it serves",
            Self::NoEffect => "accepted, and without effect on what runs",
            Self::Unknown => "a controller that is not known here decides",
            Self::Recreate => "another object takes the place of the one that serves",
            Self::Refused => "rejected: nothing changes",
        }
    }
}

impl fmt::Display for ChangeClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A class, and how it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Classification {
    pub(super) class: ChangeClass,
    pub(super) source: &'static str,
}

const fn verdict(class: ChangeClass, source: &'static str) -> Classification {
    Classification { class, source }
}

/// What upstream makes of a movement, by a provider's table; none given for a provider that is not of this program.
pub(super) fn judge(movement: &RenderedChange, behaviors: Option<&[Behavior]>) -> Classification {
    if movement.is_whole() {
        return whole(movement);
    }
    let Some(behaviors) = behaviors else {
        return verdict(ChangeClass::Unknown, "its controller is not known here");
    };
    let Some(row) = Behavior::find(behaviors, &movement.object.kind, &movement.path) else {
        return verdict(ChangeClass::Unknown, "the provider's table says nothing about the field");
    };
    let class = match row.reaction {
        Reaction::None => ChangeClass::None,
        Reaction::InPlace => ChangeClass::InPlace,
        Reaction::Grows => grown(movement.before.as_ref(), movement.after.as_ref()),
        Reaction::RollingRestart => ChangeClass::RollingRestart,
        Reaction::BlueGreen => ChangeClass::BlueGreen,
        Reaction::NoEffect => ChangeClass::NoEffect,
        Reaction::Refused => ChangeClass::Refused,
    };
    verdict(class, row.source)
}

/// An object that came or went.
fn whole(movement: &RenderedChange) -> Classification {
    let is_claim = &*movement.object.kind == "PersistentVolumeClaim";
    match (movement.is_main, movement.after.is_some()) {
        (true, true) => verdict(ChangeClass::Recreate, "another object takes the place of the one that served"),
        (true, false) => verdict(
            ChangeClass::Recreate,
            "it is not generated any more: until it is deleted or pruned it runs beside the new one",
        ),
        (false, true) => verdict(ChangeClass::InPlace, "a new object beside the others"),
        (false, false) if is_claim => verdict(
            ChangeClass::InPlace,
            "it is not generated any more: it stays with its data until it is deleted; pruning it deletes the data",
        ),
        (false, false) => {
            verdict(ChangeClass::InPlace, "it is not generated any more: it stays until it is deleted or pruned")
        }
    }
}

/// What becomes of a quantity that may only grow.
fn grown(before: Option<&Value>, after: Option<&Value>) -> ChangeClass {
    let text = |value: Option<&Value>| value.and_then(Value::as_str).map(str::to_owned);
    match text(before).zip(text(after)).and_then(|(before, after)| quantity::compare(&before, &after)) {
        Some(Ordering::Less) => ChangeClass::InPlace,
        // Written in another way.
        Some(Ordering::Equal) => ChangeClass::None,
        Some(Ordering::Greater) | None => ChangeClass::Refused,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use kubefoundry_model::providers::PROVIDERS;

    #[test]
    fn a_claim_grows_and_never_shrinks() {
        let class = |before: &str, after: &str| grown(Some(&json!(before)), Some(&json!(after)));
        assert_eq!(class("10Gi", "20Gi"), ChangeClass::InPlace);
        assert_eq!(class("20Gi", "10Gi"), ChangeClass::Refused);
        assert_eq!(class("1Gi", "1024Mi"), ChangeClass::None);
        assert_eq!(grown(Some(&json!("1Gi")), None), ChangeClass::Refused);
    }

    /// Two rows about one field would leave open which of them holds.
    #[test]
    fn no_table_speaks_twice_of_a_field() {
        for provider in PROVIDERS {
            let mut seen = std::collections::BTreeSet::new();
            for behavior in provider.info().behaviors {
                assert!(seen.insert((behavior.kind, behavior.path)), "{behavior:?}");
                assert!(!behavior.source.is_empty(), "{behavior:?}");
            }
        }
    }
}

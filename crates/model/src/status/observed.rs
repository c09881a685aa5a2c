//! An object as the apiserver gives it, and the parts of its status that all providers share.

use serde_json::Value;

use super::{Condition, Replicas, Status, StatusError, StatusPart, UnrecognizedValue};
use crate::wire::Phase;
use kubefoundry_kubernetes::wire::{ConditionStatus, StringEnum as _};
use kubefoundry_transform::Endpoint;
use kubefoundry_yaml::text::one_line;

/// The objects of a provider that say how a model runs.
#[derive(Debug, Clone, Copy)]
pub struct StatusSource {
    /// The provider's name in messages.
    pub(crate) provider: &'static str,
    /// The API group.
    pub(crate) group: &'static str,
    /// The versions that are read.
    pub(crate) versions: &'static [&'static str],
    /// The kinds.
    pub(crate) kinds: &'static [&'static str],
}

/// A provider's object.
#[derive(Debug)]
pub struct ObservedObject<'o> {
    pub(crate) object: &'o Value,
    pub(crate) version: &'o str,
    pub(crate) kind: &'o str,
    pub(crate) name: &'o str,
    pub(crate) conditions: Vec<Condition>,
    generation: Option<i64>,
    /// The generation that the controller saw last.
    observed_generation: Option<i64>,
    unrecognized: Vec<UnrecognizedValue>,
}

/// What a provider makes of an object.
#[derive(Debug, Default)]
pub struct ProviderState {
    pub(crate) phase: Option<Phase>,
    pub(crate) message: String,
    pub(crate) replicas: Option<Replicas>,
    pub(crate) endpoint: Option<Endpoint>,
    pub(crate) parts: Vec<StatusPart>,
    /// The provider's condition that stands for `Ready`.
    pub(crate) ready: &'static str,
}

impl<'o> ObservedObject<'o> {
    /// Looks at an object that one of `source` should be.
    pub(crate) fn parse(object: &'o Value, source: &StatusSource) -> Result<Self, StatusError> {
        let (api_version, kind) = (text_or_empty(object, "/apiVersion"), text_or_empty(object, "/kind"));
        let (group, version) = api_version.rsplit_once('/').unwrap_or(("", api_version));
        let found = || one_line(&format!("{api_version} {kind}"));
        if group != source.group || !source.kinds.contains(&kind) {
            let StatusSource { provider, group, kinds, .. } = source;
            let expected = format!("{} of {group}", kinds.join(" or "));
            return Err(StatusError::UnexpectedKind { provider, found: found(), expected });
        }
        if !source.versions.contains(&version) {
            return Err(StatusError::UnsupportedVersion { found: found(), expected: source.versions.join(" or ") });
        }
        let mut observed = Self {
            object,
            version,
            kind,
            name: text_or_empty(object, "/metadata/name"),
            conditions: Vec::new(),
            generation: integer_at(object, "/metadata/generation"),
            observed_generation: integer_at(object, "/status/observedGeneration"),
            unrecognized: Vec::new(),
        };
        observed.read_conditions();
        Ok(observed)
    }

    fn read_conditions(&mut self) {
        let status = self.object.get("status").filter(|status| !status.is_null());
        let conditions = status.and_then(|status| status.get("conditions")).filter(|conditions| !conditions.is_null());
        match (status, conditions) {
            (Some(status), _) if !status.is_object() => self.note_unrecognized("status", status.clone()),
            (_, Some(conditions)) if !conditions.is_array() => {
                self.note_unrecognized("status.conditions", conditions.clone())
            }
            _ => {}
        }
        for (position, condition) in conditions.and_then(Value::as_array).into_iter().flatten().enumerate() {
            let text = |field: &str| text_or_empty(condition, field).to_owned();
            let word = condition.get("status").cloned().unwrap_or_default();
            let known = ConditionStatus::VARIANTS.iter().find(|(known, _)| word.as_str() == Some(known));
            let Some((_, status)) = known else {
                self.note_unrecognized(format!("status.conditions[{position}].status"), word);
                continue;
            };
            self.conditions.push(Condition {
                condition_type: text("/type"),
                status: *status,
                reason: text("/reason"),
                message: text("/message"),
                last_transition_time: Some(text("/lastTransitionTime")).filter(|time| !time.is_empty()),
                observed_generation: integer_at(condition, "/observedGeneration"),
            });
        }
    }

    /// Whether the controller has written nothing yet.
    pub(crate) fn has_no_status(&self) -> bool {
        let status = self.object.get("status");
        status.is_none_or(|status| status.is_null() || status.as_object().is_some_and(serde_json::Map::is_empty))
    }

    /// A condition by its type.
    pub(crate) fn condition(&self, condition_type: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.condition_type == condition_type)
    }

    /// Whether a condition holds.
    pub(crate) fn is_true(&self, condition_type: &str) -> bool {
        self.condition(condition_type).is_some_and(|condition| condition.status == ConditionStatus::True)
    }

    /// The reason of a condition that does not hold.
    pub(crate) fn reason_if_false(&self, condition_type: &str) -> Option<&str> {
        let condition = self.condition(condition_type)?;
        (condition.status == ConditionStatus::False).then_some(condition.reason.as_str())
    }

    /// What a condition says to people, unless that is nothing.
    pub(crate) fn condition_message(&self, condition_type: &str) -> Option<&str> {
        let said = self.condition(condition_type)?.message.as_str();
        (!said.is_empty()).then_some(said)
    }

    /// Whether the controller has not yet seen the last change.
    pub(crate) fn is_outdated(&self) -> bool {
        matches!((self.generation, self.observed_generation), (Some(now), Some(seen)) if seen < now)
    }

    /// A word of the status. A value that is no string is not known.
    pub(crate) fn read_string_enum(&mut self, field: &str) -> Option<&'o str> {
        let value = self.object.get("status")?.get(field)?;
        match value {
            Value::String(word) => Some(word),
            Value::Null => None,
            other => {
                self.note_unrecognized(format!("status.{field}"), other.clone());
                None
            }
        }
    }

    /// Notes a word that is not known here.
    pub(crate) fn note_unrecognized(&mut self, path: impl Into<String>, value: impl Into<Value>) {
        self.unrecognized.push(UnrecognizedValue { path: path.into(), value: value.into() });
    }

    /// Whether a word was met that is not known here.
    pub(crate) fn has_unrecognized(&self) -> bool {
        !self.unrecognized.is_empty()
    }

    /// The status, with what is the same for every provider: what is deleted terminates, a state that is not known has
    /// no phase and says so, and the unified conditions follow from the phase.
    pub(crate) fn into_status(self, reading: ProviderState) -> Status {
        let ProviderState { phase, message, replicas, endpoint, parts, ready } = reading;
        let deletion = text_or_empty(self.object, "/metadata/deletionTimestamp");
        let (phase, message) = if deletion.is_empty() {
            (phase, self.message(phase, message))
        } else {
            (Some(Phase::Terminating), self.deletion_message(deletion))
        };
        let conditions = self.unified_conditions(phase, &message, ready);
        Status {
            phase,
            message,
            replicas,
            endpoint,
            conditions,
            provider_conditions: self.conditions,
            parts,
            generation: self.generation,
            observed_generation: self.observed_generation,
            unrecognized: self.unrecognized,
        }
    }

    fn message(&self, phase: Option<Phase>, message: String) -> String {
        let mut said: Vec<String> = Vec::new();
        if phase.is_none() {
            said.extend(self.unrecognized.iter().map(ToString::to_string));
        }
        if self.is_outdated() {
            let (seen, now) = (self.observed_generation.unwrap_or_default(), self.generation.unwrap_or_default());
            said.push(format!("the controller has seen generation {seen} of {now}"));
        }
        said.extend(Some(message).filter(|message| !message.is_empty()));
        if said.is_empty() && self.has_no_status() {
            return "no status yet".to_owned();
        }
        said.join("; ")
    }

    fn deletion_message(&self, deletion: &str) -> String {
        let finalizers = self.object.pointer("/metadata/finalizers").and_then(Value::as_array);
        let finalizers: Vec<&str> = finalizers.into_iter().flatten().filter_map(Value::as_str).collect();
        let waits =
            if finalizers.is_empty() { String::new() } else { format!(", waits for {}", finalizers.join(", ")) };
        format!("being deleted since {deletion}{waits}")
    }

    fn unified_conditions(&self, phase: Option<Phase>, message: &str, ready: &str) -> Vec<Condition> {
        let created = text_or_empty(self.object, "/metadata/creationTimestamp");
        let created = Condition {
            condition_type: "ResourceCreated".to_owned(),
            status: ConditionStatus::True,
            reason: "ResourceCreated".to_owned(),
            message: format!("{} {} exists", self.kind, self.name),
            last_transition_time: Some(created.to_owned()).filter(|time| !time.is_empty()),
            observed_generation: self.generation,
        };
        let status = match phase {
            Some(Phase::Running) => ConditionStatus::True,
            Some(Phase::Pending | Phase::Deploying | Phase::Failed | Phase::Terminating) => ConditionStatus::False,
            None => ConditionStatus::Unknown,
        };
        // The provider's own reason and time hold where its condition says the same.
        let own = self.condition(ready).filter(|own| own.status == status && phase != Some(Phase::Terminating));
        let reason = own.map(|own| own.reason.clone()).filter(|reason| !reason.is_empty());
        let reason = reason.unwrap_or_else(|| phase.map_or("UnknownState", Phase::as_str).to_owned());
        let ready = Condition {
            condition_type: "Ready".to_owned(),
            status,
            reason,
            message: message.to_owned(),
            last_transition_time: own.and_then(|own| own.last_transition_time.clone()),
            observed_generation: self.observed_generation,
        };
        vec![created, ready]
    }
}

/// The text at a JSON pointer; empty when there is none.
pub fn text_or_empty<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// The integer at a JSON pointer.
pub fn integer_at(value: &Value, pointer: &str) -> Option<i64> {
    value.pointer(pointer).and_then(Value::as_i64)
}

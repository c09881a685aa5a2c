//! A provider's object from the API server, and the parts of its status that are common to all providers.

use serde_json::Value;

use super::{Condition, Replicas, Status, StatusError, StatusPart, UnrecognizedValue};
use kubefoundry_deployment::wire::Phase;
use kubefoundry_kubernetes::wire::ConditionStatus;
use kubefoundry_transform::Endpoint;
use kubefoundry_yaml::text::one_line;

/// The kinds and versions of a provider's main objects.
#[derive(Debug, Clone, Copy)]
pub struct StatusSource {
    /// The provider's name in messages.
    pub provider: &'static str,
    /// The API group.
    pub group: &'static str,
    /// The supported versions.
    pub versions: &'static [&'static str],
    /// The supported kinds.
    pub kinds: &'static [&'static str],
}

/// A provider's object with its status.
#[derive(Debug)]
pub struct ObservedObject<'o> {
    /// The object as the API server returns it.
    pub object: &'o Value,
    /// The version of its API, without the group.
    pub version: &'o str,
    /// Its kind.
    pub kind: &'o str,
    /// Its name.
    pub name: &'o str,
    /// Its conditions.
    pub conditions: Vec<Condition>,
    generation: Option<i64>,
    /// The generation that the controller observed last.
    observed_generation: Option<i64>,
    unrecognized: Vec<UnrecognizedValue>,
}

/// The state of an object as its provider interprets it.
#[derive(Debug, Default)]
pub struct ProviderState {
    /// The phase, if the state is a known one.
    pub phase: Option<Phase>,
    /// What a user reads about it; may be empty.
    pub message: String,
    /// The replicas, where they can be counted.
    pub replicas: Option<Replicas>,
    /// What answers requests.
    pub endpoint: Option<Endpoint>,
    /// The parts of the object that have a state of their own.
    pub parts: Vec<StatusPart>,
    /// The type of the provider's condition that corresponds to `Ready`.
    pub ready_condition: &'static str,
}

impl<'o> ObservedObject<'o> {
    /// Creates a view of an object, or fails if it is not one of `source`.
    pub fn parse(object: &'o Value, source: &StatusSource) -> Result<Self, StatusError> {
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

    /// Reads the conditions. An entry with an unknown status is recorded as unrecognized.
    fn read_conditions(&mut self) {
        let status = self.object.get("status").filter(|status| !status.is_null());
        let conditions = status.and_then(|status| status.get("conditions")).filter(|conditions| !conditions.is_null());
        match (status, conditions) {
            (Some(status), _) if !status.is_object() => self.note_unrecognized("status", status.clone()),
            (_, Some(conditions)) if !conditions.is_array() => {
                self.note_unrecognized("status.conditions", conditions.clone());
            }
            _ => {}
        }
        for (position, condition) in conditions.and_then(Value::as_array).into_iter().flatten().enumerate() {
            if let Some(condition) = Condition::read(condition) {
                self.conditions.push(condition);
            } else {
                let word = condition.get("status").cloned().unwrap_or_default();
                self.note_unrecognized(format!("status.conditions[{position}].status"), word);
            }
        }
    }

    /// Returns whether the controller has not written a status yet.
    pub fn has_no_status(&self) -> bool {
        let status = self.object.get("status");
        status.is_none_or(|status| status.is_null() || status.as_object().is_some_and(serde_json::Map::is_empty))
    }

    /// Finds a condition by its type.
    pub fn condition(&self, condition_type: &str) -> Option<&Condition> {
        self.conditions.iter().find(|condition| condition.condition_type == condition_type)
    }

    /// Returns whether a condition is `True`.
    pub fn is_true(&self, condition_type: &str) -> bool {
        self.condition(condition_type).is_some_and(|condition| condition.status == ConditionStatus::True)
    }

    /// Returns the reason of a condition that is `False`.
    pub fn reason_if_false(&self, condition_type: &str) -> Option<&str> {
        let condition = self.condition(condition_type)?;
        (condition.status == ConditionStatus::False).then_some(condition.reason.as_str())
    }

    /// Returns the message of a condition, if it is not empty.
    pub fn condition_message(&self, condition_type: &str) -> Option<&str> {
        let message = self.condition(condition_type)?.message.as_str();
        (!message.is_empty()).then_some(message)
    }

    /// Returns whether the controller has not yet observed the last change.
    pub fn is_outdated(&self) -> bool {
        self.outdated_generations().is_some()
    }

    /// Returns the generation that the controller has observed and the newer one of the last change, if it has not yet
    /// observed that.
    fn outdated_generations(&self) -> Option<(i64, i64)> {
        self.observed_generation.zip(self.generation).filter(|(seen, now)| seen < now)
    }

    /// Returns a string field of the status. A value of another type is noted as unrecognized.
    pub fn read_string_enum(&mut self, field: &str) -> Option<&'o str> {
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

    /// Records a value that this version does not know.
    pub fn note_unrecognized(&mut self, path: impl Into<String>, value: impl Into<Value>) {
        self.unrecognized.push(UnrecognizedValue { path: path.into(), value: value.into() });
    }

    /// Returns whether an unknown value has been recorded.
    pub fn has_unrecognized(&self) -> bool {
        !self.unrecognized.is_empty()
    }

    /// Completes the status with the parts that are common to all providers: an object that is being deleted is
    /// `Terminating`, an unknown state has no phase but a message, and the unified conditions follow from the phase.
    pub fn into_status(self, state: ProviderState) -> Status {
        let ProviderState { phase, message, replicas, endpoint, parts, ready_condition } = state;
        let (phase, message) = match deletion_message(self.object) {
            None => (phase, self.compose_message(phase, message)),
            Some(message) => (Some(Phase::Terminating), message),
        };
        let conditions = self.unified_conditions(phase, &message, ready_condition);
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

    fn compose_message(&self, phase: Option<Phase>, message: String) -> String {
        let mut sentences: Vec<String> = Vec::new();
        if phase.is_none() {
            sentences.extend(self.unrecognized.iter().map(ToString::to_string));
        }
        if let Some((seen, now)) = self.outdated_generations() {
            sentences.push(format!("the controller has seen generation {seen} of {now}"));
        }
        sentences.extend(Some(message).filter(|message| !message.is_empty()));
        if sentences.is_empty() && self.has_no_status() {
            return "no status yet".to_owned();
        }
        sentences.join("; ")
    }

    fn unified_conditions(&self, phase: Option<Phase>, message: &str, ready_condition: &str) -> Vec<Condition> {
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
        // The provider's reason and time are kept where its condition has the same status.
        let own =
            self.condition(ready_condition).filter(|own| own.status == status && phase != Some(Phase::Terminating));
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

/// Returns the message about an object that is being deleted: since when, and the finalizers that it waits for. Returns
/// `None` for other objects.
///
/// ```
/// use kubefoundry_provider::status::deletion_message;
/// let metadata = serde_json::json!({"deletionTimestamp": "2026-01-30T10:00:00Z", "finalizers": ["a/b"]});
/// let message = deletion_message(&serde_json::json!({"metadata": metadata}));
/// assert_eq!(message.as_deref(), Some("being deleted since 2026-01-30T10:00:00Z, waits for a/b"));
/// ```
pub fn deletion_message(object: &Value) -> Option<String> {
    let deletion = text_or_empty(object, "/metadata/deletionTimestamp");
    let finalizers = object.pointer("/metadata/finalizers").and_then(Value::as_array);
    let finalizers: Vec<&str> = finalizers.into_iter().flatten().filter_map(Value::as_str).collect();
    let waits = if finalizers.is_empty() { String::new() } else { format!(", waits for {}", finalizers.join(", ")) };
    (!deletion.is_empty()).then(|| format!("being deleted since {deletion}{waits}"))
}

/// Returns the string at a JSON pointer, or an empty string.
pub fn text_or_empty<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

/// Returns the integer at a JSON pointer.
pub fn integer_at(value: &Value, pointer: &str) -> Option<i64> {
    value.pointer(pointer).and_then(Value::as_i64)
}

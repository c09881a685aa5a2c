//! Replaces references to variables in command lines, `$(NAME)`, by their values, as the kubelet does. A
//! ModelDeployment cannot express such references.

use std::borrow::Cow;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

use kubefoundry_engines::{escape_expansion, expand_variables, script_item};
use kubefoundry_provider::draft::{items_at, string_at};
use serde_json::Value;

/// The most bytes by which references may extend one object. Further references stay.
const MAX_RESOLVED_BYTES: usize = 1 << 20;

/// A variable with a value that is part of the input.
#[derive(Debug, Clone)]
struct KnownVariable {
    value: String,
    /// The ConfigMap that has the value.
    config_map: Option<String>,
}

/// The variables of a container by name. `None` stands for one whose value is not part of the input.
type Variables = BTreeMap<String, Option<KnownVariable>>;

/// Replaces the references in the command lines of an object. `config_maps` are those of its namespace. Returns a
/// sentence about each variable that was replaced.
pub(super) fn resolve_references(object: &mut Value, config_maps: &[&Value]) -> Vec<String> {
    let mut resolver = Resolver { config_maps, budget: MAX_RESOLVED_BYTES, replaced: BTreeSet::new() };
    resolver.visit(object, &Variables::new());
    resolver.replaced.into_iter().collect()
}

struct Resolver<'o> {
    config_maps: &'o [&'o Value],
    budget: usize,
    replaced: BTreeSet<String>,
}

impl Resolver<'_> {
    /// Visits a value. `inherited` are the variables of the objects around it: Dynamo's `envs` of a service apply to
    /// the container in it.
    fn visit(&mut self, value: &mut Value, inherited: &Variables) {
        match value {
            Value::Object(_) => {
                let own = self.variables(value);
                let merged;
                let variables = if own.is_empty() {
                    inherited
                } else {
                    merged = inherited.clone().into_iter().chain(own).collect();
                    &merged
                };
                let script = script_item(value);
                let Some(fields) = value.as_object_mut() else { return };
                for (key, field) in fields {
                    if matches!(key.as_str(), "command" | "args") && !variables.is_empty() {
                        let words = field.as_array_mut().into_iter().flatten();
                        for (index, word) in words.enumerate() {
                            self.resolve_word(word, variables);
                            if script == Some((key.as_str(), index)) {
                                self.expand_script(word, variables);
                            }
                        }
                    } else {
                        self.visit(field, variables);
                    }
                }
            }
            Value::Array(items) => items.iter_mut().for_each(|item| self.visit(item, inherited)),
            _ => {}
        }
    }

    /// Returns the variables that an object declares. As in Kubernetes, `env` wins over `envFrom`.
    fn variables(&self, object: &Value) -> Variables {
        let mut variables = Variables::new();
        for source in items_at(object, "/envFrom") {
            let Some(name) = string_at(source, "/configMapRef/name") else { continue };
            let prefix = string_at(source, "/prefix").unwrap_or_default();
            let data = self.config_map(name).and_then(|it| it.get("data")?.as_object());
            for (key, value) in data.into_iter().flatten() {
                if let Some(value) = value.as_str() {
                    variables.insert(format!("{prefix}{key}"), known(value, Some(name)));
                }
            }
        }
        for variable in items_at(object, "/envs").iter().chain(items_at(object, "/env")) {
            let Some(name) = string_at(variable, "/name") else { continue };
            let value = match (string_at(variable, "/value"), string_at(variable, "/valueFrom/configMapKeyRef/name")) {
                (Some(value), _) => known(value, None),
                (None, Some(config_map)) => self.config_map(config_map).and_then(|it| {
                    let key = string_at(variable, "/valueFrom/configMapKeyRef/key")?;
                    known(it.get("data")?.get(key)?.as_str()?, Some(config_map))
                }),
                (None, None) => None,
            };
            variables.insert(name.to_owned(), value);
        }
        variables
    }

    fn config_map(&self, name: &str) -> Option<&Value> {
        self.config_maps.iter().copied().find(|it| string_at(it, "/metadata/name") == Some(name))
    }

    fn resolve_word(&mut self, word: &mut Value, variables: &Variables) {
        let Some(text) = word.as_str().filter(|text| text.contains("$(")) else { return };
        let mut resolved = String::new();
        let mut rest = text;
        while let Some(start) = rest.find('$') {
            let (before, from) = rest.split_at(start);
            resolved.push_str(before);
            let (taken, value) = self.take_reference(from, variables);
            resolved.push_str(&value);
            rest = from.get(taken..).unwrap_or_default();
        }
        resolved.push_str(rest);
        *word = Value::from(resolved);
    }

    /// Replaces the variables in a script that a shell runs. The script sees the values that the container starts with,
    /// unless it sets a variable itself.
    fn expand_script(&mut self, word: &mut Value, variables: &Variables) {
        let Some(script) = word.as_str() else { return };
        let mut replaced: Vec<String> = Vec::new();
        let mut budget = self.budget;
        let expanded = {
            let (replaced, budget) = (RefCell::new(&mut replaced), RefCell::new(&mut budget));
            expand_variables(script, |name| {
                let variable = variables.get(name)?.as_ref().filter(|_| !names_outside_references(script, name))?;
                let mut budget = budget.borrow_mut();
                **budget = budget.checked_sub(variable.value.len())?;
                replaced.borrow_mut().push(sentence(&format!("${name}"), variable));
                Some(variable.value.clone())
            })
        };
        if expanded != *script {
            self.budget = budget;
            self.replaced.extend(replaced);
            *word = Value::from(expanded);
        }
    }

    /// Reads what starts with `$`. Returns how many bytes it has, and what takes its place.
    fn take_reference<'t>(&mut self, text: &'t str, variables: &Variables) -> (usize, Cow<'t, str>) {
        // `$$` is an escaped dollar sign.
        let length = if text.starts_with("$$") { 2 } else { 1 };
        let unchanged = (length, Cow::Borrowed(text.get(..length).unwrap_or(text)));
        let Some((name, _)) = text.strip_prefix("$(").and_then(|rest| rest.split_once(')')) else { return unchanged };
        let Some(Some(variable)) = variables.get(name) else { return unchanged };
        let value = escape_expansion(&variable.value).into_owned();
        let Some(budget) = self.budget.checked_sub(value.len()) else { return unchanged };
        self.budget = budget;
        self.replaced.insert(sentence(&format!("$({name})"), variable));
        (name.len() + "$()".len(), Cow::Owned(value))
    }
}

/// Returns a sentence about a reference that was replaced.
fn sentence(reference: &str, variable: &KnownVariable) -> String {
    match &variable.config_map {
        Some(config_map) => {
            format!("{reference} in the arguments is replaced by its value from ConfigMap {config_map}")
        }
        None => format!("{reference} in the arguments is replaced by its value"),
    }
}

/// Returns whether a script names a variable other than by a reference, as a command does that sets it.
fn names_outside_references(script: &str, name: &str) -> bool {
    let is_part = |character: char| character.is_ascii_alphanumeric() || character == '_';
    script.match_indices(name).any(|(start, _)| {
        let (before, from) = script.split_at(start);
        let after = from.get(name.len()..).unwrap_or_default();
        let is_word = !before.ends_with(is_part) && !after.starts_with(is_part);
        is_word && !before.ends_with(['$']) && !before.ends_with("${")
    })
}

/// Returns a variable with a value. A value that refers to other variables counts as unknown.
fn known(value: &str, config_map: Option<&str>) -> Option<KnownVariable> {
    let variable = KnownVariable { value: value.to_owned(), config_map: config_map.map(str::to_owned) };
    (!value.contains("$(")).then_some(variable)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn replaces_references_as_the_kubelet_does() {
        let config_map = json!({"metadata": {"name": "c"}, "data": {"spec": "{\"a\": 1}", "FLAG": "f"}});
        let mut object = json!({
            "envs": [{"name": "OUTER", "value": "o"}, {"name": "SHADOWED", "value": "x"}],
            "container": {
                "envFrom": [{"configMapRef": {"name": "c"}, "prefix": "P_"}],
                "env": [
                    {"name": "SPEC", "valueFrom": {"configMapKeyRef": {"name": "c", "key": "spec"}}},
                    {"name": "SHADOWED", "valueFrom": {"secretKeyRef": {"name": "s", "key": "k"}}},
                    {"name": "NESTED", "value": "$(SPEC)"},
                    {"name": "DOLLAR", "value": "a$b"},
                ],
                "args": [
                    "--spec=$(SPEC)", "$(OUTER)$(P_FLAG)", "$(SHADOWED) $(NESTED) $(ABSENT) $(", "$$(SPEC)", "$(DOLLAR)",
                ],
            },
            "sibling": {"args": ["$(SPEC)"]},
        });
        let replaced = resolve_references(&mut object, &[&config_map]);
        assert_eq!(
            object["container"]["args"],
            json!(["--spec={\"a\": 1}", "of", "$(SHADOWED) $(NESTED) $(ABSENT) $(", "$$(SPEC)", "a$b"])
        );
        assert_eq!(object["sibling"]["args"], json!(["$(SPEC)"]));
        assert_eq!(
            replaced,
            [
                "$(DOLLAR) in the arguments is replaced by its value",
                "$(OUTER) in the arguments is replaced by its value",
                "$(P_FLAG) in the arguments is replaced by its value from ConfigMap c",
                "$(SPEC) in the arguments is replaced by its value from ConfigMap c",
            ]
        );
    }

    #[test]
    fn replaces_the_variables_of_scripts() {
        let script = "export SET=b\nexec python3 -m x --m \"${MODEL}\" --n $SET --o '$MODEL' --p $UNKNOWN";
        let mut object = json!({
            "env": [{"name": "MODEL", "value": "org/m"}, {"name": "SET", "value": "a"}],
            "command": ["sh", "-c", script],
        });
        let replaced = resolve_references(&mut object, &[]);
        assert_eq!(
            object["command"][2],
            "export SET=b\nexec python3 -m x --m \"org/m\" --n $SET --o '$MODEL' --p $UNKNOWN"
        );
        assert_eq!(replaced, ["$MODEL in the arguments is replaced by its value"]);
        // Without a shell, nothing reads such references.
        let mut object = json!({"env": [{"name": "MODEL", "value": "m"}], "command": ["python3", "-c", "$MODEL"]});
        assert_eq!(resolve_references(&mut object, &[]), [] as [&str; 0]);
    }

    #[test]
    fn an_object_grows_by_a_limited_amount() {
        let value = "x".repeat(MAX_RESOLVED_BYTES / 2);
        let mut object = json!({"env": [{"name": "X", "value": value}], "args": ["$(X)$(X)$(X)$(X)"]});
        resolve_references(&mut object, &[]);
        let resolved = object["args"][0].as_str().unwrap();
        assert_eq!(resolved.len(), MAX_RESOLVED_BYTES + "$(X)$(X)".len());
    }
}

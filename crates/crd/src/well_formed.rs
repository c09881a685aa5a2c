//! Checks that every keyword of a schema has a value of the right type. A dump from a cluster always passes; a
//! handwritten file may not, and the mistake must be reported before objects are checked against it.

use serde_json::Value;

/// Keywords whose value is a list of schemas.
const JUNCTORS: [&str; 3] = ["allOf", "anyOf", "oneOf"];

/// Checks a schema and its subschemas.
///
/// # Errors
/// The problem with the first keyword that cannot be used.
pub(super) fn check(schema: &Value) -> Result<(), String> {
    for (keyword, value) in schema.as_object().into_iter().flatten() {
        match keyword.as_str() {
            "enum" => check_keyword_type(value.is_array(), "array")?,
            "required" => {
                check_keyword_type(value.is_array(), "array")?;
                check_keyword_type(value.as_array().into_iter().flatten().all(Value::is_string), "string")?;
            }
            "pattern" | "format" => check_keyword_type(value.is_string(), "string")?,
            "uniqueItems" => check_keyword_type(value.is_boolean(), "boolean")?,
            "minimum" | "maximum" => check_keyword_type(value.is_number(), "number")?,
            "multipleOf" => {
                check_keyword_type(value.is_number(), "number")?;
                if value.as_f64().is_none_or(|factor| factor <= 0.0) {
                    return Err("value is less than or equal to the minimum of 0".to_owned());
                }
            }
            "maxItems" | "maxLength" | "maxProperties" | "minItems" | "minLength" | "minProperties" => {
                check_keyword_type(value.as_number().is_some_and(super::number::is_whole), "integer")?;
                if value.as_f64().is_none_or(|limit| limit < 0.0) {
                    return Err("value is less than the minimum of 0".to_owned());
                }
            }
            "properties" => value.as_object().into_iter().flatten().try_for_each(|(_, schema)| check(schema))?,
            "items" | "additionalProperties" | "not" => check(value)?,
            junctor if JUNCTORS.contains(&junctor) => {
                if value.as_array().is_some_and(Vec::is_empty) {
                    return Err("value has less than 1 item".to_owned());
                }
                value.as_array().into_iter().flatten().try_for_each(check)?;
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_keyword_type(is_valid: bool, kind: &str) -> Result<(), String> {
    if is_valid { Ok(()) } else { Err(format!("value is not of type {kind:?}")) }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn finds_a_keyword_of_a_wrong_type_at_any_depth() {
        for (keyword, wrong) in [
            ("enum", json!("a")),
            ("required", json!([1])),
            ("required", json!("a")),
            ("pattern", json!(1)),
            ("uniqueItems", json!("true")),
            ("minimum", json!("1")),
            ("multipleOf", json!(0)),
            ("maxLength", json!(-1)),
            ("minItems", json!(1.5)),
            ("anyOf", json!([])),
        ] {
            let schema = json!({keyword: wrong});
            for schema in [
                json!({"properties": {"a": schema}}),
                json!({"items": {"additionalProperties": schema}}),
                json!({"allOf": [{"not": schema}]}),
            ] {
                assert!(check(&schema).is_err(), "{schema}");
            }
        }
        assert_eq!(check(&json!({"maxLength": 2.0, "enum": [], "properties": {"enum": {"type": "string"}}})), Ok(()));
    }
}

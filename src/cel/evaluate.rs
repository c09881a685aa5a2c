//! The value of a rule for one input.

use std::collections::BTreeMap;

use serde_json::Value as Json;

use super::bounded::Budget;
use super::error::{EvaluationError, EvaluationErrorKind, Span, shorten};
use super::syntax::{Kind, Macro, MacroKind, Node};
use super::value::{List, Map, Text, Value};

pub(super) type Evaluated<'v> = Result<Value<'v>, EvaluationError>;

/// One evaluation: what the rule sees and what it may still use up.
///
/// It works by recursion; the parser bounds the height of the tree.
pub(super) struct Evaluation<'v> {
    pub(super) input: &'v Json,
    pub(super) locals: Vec<(&'v str, Value<'v>)>,
    pub(super) budget: Budget,
}

impl<'v> Evaluation<'v> {
    /// The value of a whole rule.
    pub(super) fn rule(&mut self, node: &'v Node) -> Result<bool, EvaluationError> {
        match self.value(node)? {
            Value::Bool(value) => Ok(value),
            other => {
                let message = format!("a rule is true or false; this is a value of type {}", other.type_name());
                Err(EvaluationError::new(EvaluationErrorKind::NotBoolean, node.span, message))
            }
        }
    }

    pub(super) fn value(&mut self, node: &'v Node) -> Evaluated<'v> {
        self.budget.spend(1, node.span)?;
        let value = match &node.kind {
            Kind::Null => Value::Null,
            Kind::Bool(value) => Value::Bool(*value),
            Kind::Int(value) => Value::Int(*value),
            Kind::Double(value) => Value::Double(*value),
            Kind::Text(text) => Value::Text(Text::Borrowed(text)),
            Kind::Variable(name) => self.variable(name, node.span)?,
            Kind::List(elements) => {
                self.budget.make_elements(elements.len(), node.span)?;
                let elements: Result<Vec<_>, _> = elements.iter().map(|element| self.value(element)).collect();
                Value::List(List::Made(elements?.into()))
            }
            Kind::Map(entries) => self.map(entries, node.span)?,
            Kind::Select { operand, field, field_span, test } => {
                let container = self.value(operand)?;
                select(&container, field, *field_span, *test)?
            }
            Kind::Index { operand, index } => {
                let (container, key) = (self.value(operand)?, self.value(index)?);
                self.index(&container, &key, index.span)?
            }
            Kind::Not(operand) => Value::Bool(!self.condition(operand)?),
            Kind::Negate(operand) => match self.value(operand)? {
                Value::Int(value) => Value::Int(value.checked_neg().ok_or_else(|| overflow(node.span))?),
                Value::Double(value) => Value::Double(-value),
                other => return Err(mismatch(operand.span, "`-` takes a number", &other)),
            },
            Kind::Binary { operator, left, right } => {
                let (left, right) = (self.value(left)?, self.value(right)?);
                self.binary(*operator, &left, &right, node.span)?
            }
            Kind::Logic { or, terms } => Value::Bool(self.logic(terms.iter(), *or)?),
            Kind::Conditional(parts) => {
                let [condition, then, otherwise] = &**parts;
                if self.condition(condition)? { self.value(then)? } else { self.value(otherwise)? }
            }
            Kind::Call(call) => self.call(call, node.span)?,
            Kind::Macro(parts) => self.comprehension(parts, node.span)?,
        };
        Ok(match value {
            #[expect(clippy::cast_precision_loss, reason = "a JSON integer in a field that is a double")]
            Value::Int(value) if node.double => Value::Double(value as f64),
            other => other,
        })
    }

    fn condition(&mut self, node: &'v Node) -> Result<bool, EvaluationError> {
        match self.value(node)? {
            Value::Bool(value) => Ok(value),
            other => Err(mismatch(node.span, "a condition is true or false", &other)),
        }
    }

    /// `&&` and `||`: an operand that decides the result hides the errors of the others, on either side of it.
    fn logic(&mut self, terms: impl Iterator<Item = &'v Node>, deciding: bool) -> Result<bool, EvaluationError> {
        let mut failed = None;
        for term in terms {
            match self.condition(term) {
                Ok(value) if value == deciding => return Ok(deciding),
                Ok(_) => {}
                Err(error) if error.is_limit() => return Err(error),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(!deciding), Err)
    }

    fn variable(&self, name: &str, span: Span) -> Evaluated<'v> {
        if let Some((_, value)) = self.locals.iter().rev().find(|(local, _)| *local == name) {
            return Ok(value.clone());
        }
        self.input.get(name).map(Value::from).ok_or_else(|| {
            let message = format!("no value was given for `{}`", shorten(name));
            EvaluationError::new(EvaluationErrorKind::MissingVariable, span, message)
        })
    }

    fn map(&mut self, entries: &'v [(Node, Node)], span: Span) -> Evaluated<'v> {
        self.budget.make_elements(entries.len().saturating_mul(2), span)?;
        let mut made = BTreeMap::new();
        for (key, value) in entries {
            let found = self.value(key)?;
            if let Value::Text(text) = &found {
                self.budget.make_text(text.as_str().len(), key.span)?;
            }
            let Some(found_key) = found.to_key() else {
                return Err(mismatch(key.span, "a map key is a string, int or bool", &found));
            };
            let value = self.value(value)?;
            if made.insert(found_key, value).is_some() {
                let message = "the map has this key twice";
                return Err(EvaluationError::new(EvaluationErrorKind::RepeatedKey, key.span, message));
            }
        }
        Ok(Value::Map(Map::Made(made.into())))
    }

    fn index(&mut self, container: &Value<'v>, key: &Value<'v>, span: Span) -> Evaluated<'v> {
        match (container, key) {
            (Value::List(elements), Value::Int(position)) => {
                let found = usize::try_from(*position).ok().and_then(|position| elements.get(position));
                found.ok_or_else(|| {
                    let message = format!("no element {position} in a list of {}", elements.len());
                    EvaluationError::new(EvaluationErrorKind::IndexOutOfRange, span, message)
                })
            }
            (Value::List(_), _) => Err(mismatch(span, "a list is indexed by an int", key)),
            (Value::Map(entries), _) => {
                if let Value::Text(text) = key {
                    self.budget.spend_text(text.as_str().len(), span)?;
                }
                entries.get(key).ok_or_else(|| {
                    let name = match key {
                        Value::Text(text) => format!("{:?}", shorten(text.as_str())),
                        Value::Int(value) => value.to_string(),
                        Value::Bool(value) => value.to_string(),
                        other => other.type_name().to_owned(),
                    };
                    EvaluationError::new(EvaluationErrorKind::NoSuchField, span, format!("no such key: {name}"))
                })
            }
            _ => Err(mismatch(span, "only lists and maps can be indexed", container)),
        }
    }

    fn comprehension(&mut self, parts: &'v Macro, span: Span) -> Evaluated<'v> {
        let elements = match self.value(&parts.range)? {
            Value::List(elements) => elements,
            Value::Map(entries) => {
                self.budget.make_elements(entries.len(), span)?;
                entries.keys()
            }
            other => return Err(mismatch(parts.range.span, "only lists and maps can be gone through", &other)),
        };
        let depth = self.locals.len();
        let result = self.go_through(parts, &elements, span);
        self.locals.truncate(depth);
        result
    }

    fn go_through(&mut self, parts: &'v Macro, elements: &List<'v>, span: Span) -> Evaluated<'v> {
        let mut failed = None;
        let mut matches = 0_usize;
        let mut made = Vec::new();
        let depth = self.locals.len();
        for element in elements.iter() {
            self.locals.truncate(depth);
            self.locals.push((&parts.variable, element.clone()));
            match parts.kind {
                MacroKind::All | MacroKind::Exists => {
                    let deciding = parts.kind == MacroKind::Exists;
                    match self.condition(&parts.body) {
                        Ok(value) if value == deciding => return Ok(Value::Bool(deciding)),
                        Ok(_) => {}
                        Err(error) if error.is_limit() => return Err(error),
                        Err(error) => failed = failed.or(Some(error)),
                    }
                }
                MacroKind::ExistsOne => matches += usize::from(self.condition(&parts.body)?),
                MacroKind::Filter => {
                    if self.condition(&parts.body)? {
                        self.budget.make_elements(1, span)?;
                        made.push(element);
                    }
                }
                MacroKind::Map => {
                    let taken = match &parts.filter {
                        Some(filter) => self.condition(filter)?,
                        None => true,
                    };
                    if taken {
                        self.budget.make_elements(1, span)?;
                        made.push(self.value(&parts.body)?);
                    }
                }
            }
        }
        match (parts.kind, failed) {
            (_, Some(error)) => Err(error),
            (MacroKind::All, None) => Ok(Value::Bool(true)),
            (MacroKind::Exists, None) => Ok(Value::Bool(false)),
            (MacroKind::ExistsOne, None) => Ok(Value::Bool(matches == 1)),
            (MacroKind::Filter | MacroKind::Map, None) => Ok(Value::List(List::Made(made.into()))),
        }
    }
}

fn select<'v>(container: &Value<'v>, field: &str, span: Span, test: bool) -> Evaluated<'v> {
    let Value::Map(entries) = container else {
        return Err(mismatch(span, "only objects and maps have fields", container));
    };
    let found = entries.field(field);
    if test {
        return Ok(Value::Bool(found.is_some()));
    }
    found.ok_or_else(|| {
        let message = format!("no such field: `{}`; test it with has() first", shorten(field));
        EvaluationError::new(EvaluationErrorKind::NoSuchField, span, message)
    })
}

pub(super) fn mismatch(span: Span, expected: &str, found: &Value<'_>) -> EvaluationError {
    let message = format!("{expected}; found a value of type {}", found.type_name());
    EvaluationError::new(EvaluationErrorKind::TypeMismatch, span, message)
}

pub(super) fn overflow(span: Span) -> EvaluationError {
    EvaluationError::new(EvaluationErrorKind::Overflow, span, "the result does not fit into a 64-bit integer")
}

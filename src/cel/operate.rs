//! Operators and functions on values.

use super::error::{EvaluationError, EvaluationErrorKind, Span, shorten};
use super::evaluate::{Evaluated, Evaluation, mismatch, overflow};
use super::functions::Function;
use super::syntax::{Call, Operator};
use super::value::{List, Text, Value, truncate};

impl<'v> Evaluation<'v> {
    pub(super) fn binary(
        &mut self,
        operator: Operator,
        left: &Value<'v>,
        right: &Value<'v>,
        span: Span,
    ) -> Evaluated<'v> {
        match operator {
            Operator::Equal => Ok(Value::Bool(self.budget.equal(left, right, span)?)),
            Operator::NotEqual => Ok(Value::Bool(!self.budget.equal(left, right, span)?)),
            Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
                self.order(operator, left, right, span)
            }
            Operator::In => self.membership(left, right, span),
            Operator::Add => self.add(left, right, span),
            Operator::Subtract | Operator::Multiply | Operator::Divide | Operator::Remainder => {
                arithmetic(operator, left, right, span)
            }
        }
    }

    fn order(&mut self, operator: Operator, left: &Value<'v>, right: &Value<'v>, span: Span) -> Evaluated<'v> {
        if !left.is_ordered_with(right) {
            return Err(no_overload(operator, left, right, span));
        }
        if let (Value::Text(left), Value::Text(right)) = (left, right) {
            self.budget.spend_text(left.as_str().len().min(right.as_str().len()), span)?;
        }
        let order = left.order(right);
        Ok(Value::Bool(order.is_some_and(|order| match operator {
            Operator::Less => order.is_lt(),
            Operator::LessOrEqual => order.is_le(),
            Operator::Greater => order.is_gt(),
            _ => order.is_ge(),
        })))
    }

    fn membership(&mut self, element: &Value<'v>, container: &Value<'v>, span: Span) -> Evaluated<'v> {
        match container {
            Value::List(elements) => {
                for candidate in elements.iter() {
                    if self.budget.equal(&candidate, element, span)? {
                        return Ok(Value::Bool(true));
                    }
                }
                Ok(Value::Bool(false))
            }
            Value::Map(entries) => {
                if let Value::Text(text) = element {
                    self.budget.spend_text(text.as_str().len(), span)?;
                }
                Ok(Value::Bool(entries.get(element).is_some()))
            }
            other => Err(mismatch(span, "`in` takes a list or map on its right", other)),
        }
    }

    fn add(&mut self, left: &Value<'v>, right: &Value<'v>, span: Span) -> Evaluated<'v> {
        match (left, right) {
            (Value::Text(left), Value::Text(right)) => {
                let (left, right) = (left.as_str(), right.as_str());
                self.budget.make_text(left.len().saturating_add(right.len()), span)?;
                Ok(Value::Text(Text::Made([left, right].concat().into())))
            }
            (Value::List(left), Value::List(right)) => {
                self.budget.make_elements(left.len().saturating_add(right.len()), span)?;
                Ok(Value::List(List::Made(left.iter().chain(right.iter()).collect())))
            }
            _ => arithmetic(Operator::Add, left, right, span),
        }
    }

    pub(super) fn call(&mut self, call: &'v Call, span: Span) -> Evaluated<'v> {
        let mut values = call.arguments.iter();
        let (Some(function), Some(first)) = (call.function, values.next()) else {
            return Err(EvaluationError::new(EvaluationErrorKind::TypeMismatch, span, "no such function"));
        };
        let subject = self.value(first)?;
        let argument = match values.next() {
            Some(node) => self.value(node)?,
            None => Value::Null,
        };
        match (function, &subject, &argument) {
            (Function::Dyn, ..) => Ok(subject),
            (Function::Size, ..) => self.size(&subject, span),
            (Function::String, ..) => self.string(&subject, span),
            (Function::Int, ..) => int(&subject, span),
            (Function::Double, ..) => double(&subject, span),
            (Function::Bool, ..) => bool(&subject, span),
            (Function::LowerAscii | Function::UpperAscii | Function::Trim, Value::Text(text), _) => {
                let text = text.as_str();
                self.budget.make_text(text.len(), span)?;
                Ok(Value::Text(Text::Made(match function {
                    Function::LowerAscii => text.to_ascii_lowercase().into(),
                    Function::UpperAscii => text.to_ascii_uppercase().into(),
                    _ => text.trim().into(),
                })))
            }
            (_, Value::Text(text), Value::Text(part)) => {
                let (text, part) = (text.as_str(), part.as_str());
                self.budget.spend_text(text.len().saturating_add(part.len()), span)?;
                Ok(Value::Bool(match function {
                    Function::StartsWith => text.starts_with(part),
                    Function::EndsWith => text.ends_with(part),
                    _ => text.contains(part),
                }))
            }
            (_, Value::Text(_), other) | (_, other, _) => {
                Err(mismatch(span, &format!("{}() takes strings", shorten(&call.name)), other))
            }
        }
    }

    fn size(&mut self, subject: &Value<'v>, span: Span) -> Evaluated<'v> {
        let size = match subject {
            Value::Text(text) => {
                self.budget.spend_text(text.as_str().len(), span)?;
                text.as_str().chars().count()
            }
            Value::List(elements) => elements.len(),
            Value::Map(entries) => entries.len(),
            other => return Err(mismatch(span, "size() takes a string, list or map", other)),
        };
        i64::try_from(size).map(Value::Int).map_err(|_| overflow(span))
    }

    fn string(&mut self, subject: &Value<'v>, span: Span) -> Evaluated<'v> {
        let text = match subject {
            Value::Text(_) => return Ok(subject.clone()),
            Value::Bool(value) => value.to_string(),
            Value::Int(value) => value.to_string(),
            Value::Double(value) => value.to_string(),
            other => return Err(mismatch(span, "string() takes a number, bool or string", other)),
        };
        self.budget.make_text(text.len(), span)?;
        Ok(Value::Text(Text::Made(text.into())))
    }
}

fn arithmetic<'v>(operator: Operator, left: &Value<'v>, right: &Value<'v>, span: Span) -> Evaluated<'v> {
    match (left, right) {
        (Value::Int(left), Value::Int(right)) => {
            let divides = matches!(operator, Operator::Divide | Operator::Remainder);
            if divides && *right == 0 {
                return Err(EvaluationError::new(EvaluationErrorKind::DivisionByZero, span, "division by 0"));
            }
            let result = match operator {
                Operator::Subtract => left.checked_sub(*right),
                Operator::Multiply => left.checked_mul(*right),
                Operator::Divide => left.checked_div(*right),
                Operator::Remainder => left.checked_rem(*right),
                _ => left.checked_add(*right),
            };
            result.map(Value::Int).ok_or_else(|| overflow(span))
        }
        (Value::Double(left), Value::Double(right)) if operator != Operator::Remainder => {
            Ok(Value::Double(match operator {
                Operator::Subtract => left - right,
                Operator::Multiply => left * right,
                Operator::Divide => left / right,
                _ => left + right,
            }))
        }
        _ => Err(no_overload(operator, left, right, span)),
    }
}

fn no_overload(operator: Operator, left: &Value<'_>, right: &Value<'_>, span: Span) -> EvaluationError {
    let (first, second) = (left.type_name(), right.type_name());
    let message = format!("`{}` does not take {first} and {second}", operator.symbol());
    EvaluationError::new(EvaluationErrorKind::TypeMismatch, span, message)
}

fn unconvertible(text: &str, to: &str, span: Span) -> EvaluationError {
    let message = format!("{:?} is not {to}", shorten(text));
    EvaluationError::new(EvaluationErrorKind::Conversion, span, message)
}

fn int<'v>(subject: &Value<'v>, span: Span) -> Evaluated<'v> {
    match subject {
        Value::Int(value) => Ok(Value::Int(*value)),
        Value::Double(value) => truncate(*value).map(Value::Int).ok_or_else(|| overflow(span)),
        Value::Text(text) => {
            let text = text.as_str();
            text.parse().map(Value::Int).map_err(|_| unconvertible(text, "an int", span))
        }
        other => Err(mismatch(span, "int() takes a number or string", other)),
    }
}

#[expect(clippy::cast_precision_loss, reason = "double() of a large int is the nearest double, as in CEL")]
fn double<'v>(subject: &Value<'v>, span: Span) -> Evaluated<'v> {
    match subject {
        Value::Int(value) => Ok(Value::Double(*value as f64)),
        Value::Double(value) => Ok(Value::Double(*value)),
        Value::Text(text) => {
            let text = text.as_str();
            text.parse().map(Value::Double).map_err(|_| unconvertible(text, "a double", span))
        }
        other => Err(mismatch(span, "double() takes a number or string", other)),
    }
}

fn bool<'v>(subject: &Value<'v>, span: Span) -> Evaluated<'v> {
    match subject {
        Value::Bool(value) => Ok(Value::Bool(*value)),
        Value::Text(text) => match text.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Ok(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Ok(Value::Bool(false)),
            other => Err(unconvertible(other, "a bool", span)),
        },
        other => Err(mismatch(span, "bool() takes a bool or string", other)),
    }
}

//! Type checks of names, fields and indexes, and the input fields that a rule reads.

use super::check::Checker;
use super::error::{CompileErrorKind, Span};
use super::syntax::{Kind, Node};
use super::types::{FieldType, InferredType, Type};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::closest;

impl Checker<'_> {
    pub(super) fn select(
        &mut self,
        container: &InferredType,
        operand: Span,
        field: &str,
        span: Span,
        test: bool,
    ) -> InferredType {
        let found = match container {
            InferredType::Object(fields) => match fields.iter().find(|declared| declared.name == field) {
                Some(declared) => declared.ty.into(),
                None => self.unknown_field(fields, operand, field, span),
            },
            InferredType::Map(key, value) if key.is_text() => (**value).clone(),
            open if open.is_open() => open.clone(),
            other => {
                let message = format!("`{}` is of type {other} and has no fields", operand.quote(self.text));
                self.mismatch(span, message)
            }
        };
        if test && found != InferredType::Unknown { InferredType::Bool } else { found }
    }

    fn unknown_field(&mut self, fields: &[FieldType], operand: Span, field: &str, span: Span) -> InferredType {
        let suggestion = closest(field, fields.iter().map(|declared| declared.name)).map(str::to_owned);
        let help = if let Some(name) = &suggestion {
            format!("did you mean `{name}`?")
        } else {
            let names: Vec<_> = fields.iter().map(|declared| declared.name).collect();
            format!("it has {}", names.join(", "))
        };
        let message = format!("`{}` has no field `{field}`; {help}", operand.quote(self.text));
        self.error(CompileErrorKind::UnknownField { suggestion }, span, message)
    }

    pub(super) fn unknown_identifier(&mut self, name: &str, span: Span) -> InferredType {
        let holder = self.variables.iter().find(
            |(_, declared)| matches!(declared, Type::Object(fields) if fields.iter().any(|field| field.name == name)),
        );
        let suggestion = if let Some((holder, _)) = holder {
            Some(format!("{holder}.{name}"))
        } else {
            let locals = self.locals.iter().rev().map(|(local, _)| local.as_str());
            closest(name, locals.chain(self.variables.iter().map(|(declared, _)| *declared))).map(str::to_owned)
        };
        let help = if let Some(meant) = &suggestion {
            format!("did you mean `{meant}`?")
        } else {
            let names: Vec<_> = self.variables.iter().map(|(declared, _)| *declared).collect();
            format!("a rule can read {}; put text in quotes", names.join(" and "))
        };
        let message = format!("unknown name `{}`; {help}", span.quote(self.text));
        self.error(CompileErrorKind::UnknownIdentifier { suggestion }, span, message)
    }

    pub(super) fn index(
        &mut self,
        container: &InferredType,
        key: &InferredType,
        operand: Span,
        index: Span,
    ) -> InferredType {
        let (expected, found) = match container {
            InferredType::List(element) => (InferredType::Int, (**element).clone()),
            InferredType::Map(key, value) => ((**key).clone(), (**value).clone()),
            open if open.is_open() => return open.clone(),
            InferredType::Object(_) => {
                let quote = operand.quote(self.text);
                let message = format!("`{quote}` is an object, not a map; read its fields as `{quote}.field`");
                return self.mismatch(index, message);
            }
            other => {
                let message = format!("`{}` is of type {other} and cannot be indexed", operand.quote(self.text));
                return self.mismatch(index, message);
            }
        };
        if expected.unify(key).is_none() {
            let message = format!(
                "`{}` is of type {container} and is indexed by {expected}, not {key}",
                operand.quote(self.text)
            );
            self.mismatch(index, message);
        }
        found
    }

    /// Returns the path of an expression, if it begins at a variable and all its keys and indexes are literals.
    pub(super) fn path(&self, node: &Node) -> Option<FieldPath> {
        match &node.kind {
            Kind::Variable(name) => self.begins_path(node).then(|| FieldPath::root().key(name.clone())),
            Kind::Select { operand, field, .. } => Some(self.path(operand)?.key(field.clone())),
            Kind::Index { operand, index } => match &index.kind {
                Kind::Text(key) => Some(self.path(operand)?.key(key.clone())),
                Kind::Int(position) => Some(self.path(operand)?.index(usize::try_from(*position).ok()?)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns whether [`Self::path`] returns a path, without building it.
    pub(super) fn begins_path(&self, node: &Node) -> bool {
        match &node.kind {
            Kind::Variable(name) => self.variables.iter().any(|(declared, _)| declared == name) && !self.is_local(node),
            Kind::Select { operand, .. } => self.begins_path(operand),
            Kind::Index { operand, index } => {
                matches!(index.kind, Kind::Text(_) | Kind::Int(0..)) && self.begins_path(operand)
            }
            _ => false,
        }
    }

    /// Returns whether an expression begins at a name that a macro binds. Such an expression needs no warning, because
    /// the range of the macro has one already.
    pub(super) fn is_local(&self, node: &Node) -> bool {
        match &node.kind {
            Kind::Variable(name) => self.locals.iter().any(|(local, _)| local == name),
            Kind::Select { operand, .. } | Kind::Index { operand, .. } => self.is_local(operand),
            _ => false,
        }
    }
}

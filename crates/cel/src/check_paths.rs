//! Type checks of names, fields and indexes, and the input fields that a rule reads.

use super::check::Checker;
use super::error::{CompileErrorKind, Span};
use super::syntax::{Kind, Node};
use super::types::{FieldType, InferredType, Type};
use kubefoundry_yaml::field_path::FieldPath;
use kubefoundry_yaml::text::closest;

impl Checker<'_> {
    /// Returns the type of a field access, or of `has()` if `test`. `operand` and `span` are the spans of the container
    /// and the field.
    pub(super) fn check_select(
        &mut self,
        container: &InferredType,
        operand: Span,
        field: &str,
        span: Span,
        test: bool,
    ) -> InferredType {
        let field_type = match container {
            InferredType::Object(fields) => match fields.iter().find(|declared| declared.name == field) {
                Some(declared) => declared.ty.into(),
                None => self.report_unknown_field(fields, operand, field, span),
            },
            InferredType::Map(key, value) if key.is_text() => (**value).clone(),
            open if open.is_open() => open.clone(),
            other => {
                let message = format!("`{}` is of type {other} and has no fields", operand.quote(self.text));
                self.report_mismatch(span, message)
            }
        };
        if test && field_type != InferredType::Unknown { InferredType::Bool } else { field_type }
    }

    fn report_unknown_field(&mut self, fields: &[FieldType], operand: Span, field: &str, span: Span) -> InferredType {
        let suggestion = closest(field, fields.iter().map(|declared| declared.name)).map(str::to_owned);
        let help = if let Some(name) = &suggestion {
            format!("did you mean `{name}`?")
        } else {
            let names: Vec<_> = fields.iter().map(|declared| declared.name).collect();
            format!("it has {}", names.join(", "))
        };
        let message = format!("`{}` has no field `{field}`; {help}", operand.quote(self.text));
        self.report_error(CompileErrorKind::UnknownField { suggestion }, span, message)
    }

    pub(super) fn report_unknown_identifier(&mut self, name: &str, span: Span) -> InferredType {
        // A frequent mistake is a field without the variable that holds it, such as `engine` for `spec.engine`.
        let holder = self.variables.iter().find(
            |(_, declared)| matches!(declared, Type::Object(fields) if fields.iter().any(|field| field.name == name)),
        );
        let suggestion = if let Some((holder, _)) = holder {
            Some(format!("{holder}.{name}"))
        } else {
            let locals = self.locals.iter().rev().map(|(local, _)| local.as_str());
            closest(name, locals.chain(self.variables.iter().map(|(declared, _)| *declared))).map(str::to_owned)
        };
        let help = if let Some(name) = &suggestion {
            format!("did you mean `{name}`?")
        } else {
            let names: Vec<_> = self.variables.iter().map(|(declared, _)| *declared).collect();
            format!("a rule can read {}; put text in quotes", names.join(" and "))
        };
        let message = format!("unknown name `{}`; {help}", span.quote(self.text));
        self.report_error(CompileErrorKind::UnknownIdentifier { suggestion }, span, message)
    }

    /// Returns the type of an element. `operand` and `index` are the spans of the container and the index.
    pub(super) fn check_index(
        &mut self,
        container: &InferredType,
        key: &InferredType,
        operand: Span,
        index: Span,
    ) -> InferredType {
        let (expected, element) = match container {
            InferredType::List(element) => (InferredType::Int, (**element).clone()),
            InferredType::Map(key, value) => ((**key).clone(), (**value).clone()),
            open if open.is_open() => return open.clone(),
            InferredType::Object(_) => {
                let quote = operand.quote(self.text);
                let message = format!("`{quote}` is an object, not a map; read its fields as `{quote}.field`");
                return self.report_mismatch(index, message);
            }
            other => {
                let message = format!("`{}` is of type {other} and cannot be indexed", operand.quote(self.text));
                return self.report_mismatch(index, message);
            }
        };
        if expected.unify(key).is_none() {
            let message = format!(
                "`{}` is of type {container} and is indexed by {expected}, not {key}",
                operand.quote(self.text)
            );
            self.report_mismatch(index, message);
        }
        element
    }

    /// Returns the path of an expression, if it begins at a variable and all its keys and indexes are literals.
    pub(super) fn literal_path(&self, node: &Node) -> Option<FieldPath> {
        match &node.kind {
            Kind::Variable(name) => self.has_literal_path(node).then(|| FieldPath::root().key(name.clone())),
            Kind::Select { operand, field, .. } => Some(self.literal_path(operand)?.key(field.clone())),
            Kind::Index { operand, index } => match &index.kind {
                Kind::Text(key) => Some(self.literal_path(operand)?.key(key.clone())),
                Kind::Int(position) => Some(self.literal_path(operand)?.index(usize::try_from(*position).ok()?)),
                _ => None,
            },
            _ => None,
        }
    }

    /// Returns whether [`Self::literal_path`] returns a path, without building it.
    pub(super) fn has_literal_path(&self, node: &Node) -> bool {
        match &node.kind {
            Kind::Variable(name) => self.variables.iter().any(|(declared, _)| declared == name) && !self.is_local(node),
            Kind::Select { operand, .. } => self.has_literal_path(operand),
            Kind::Index { operand, index } => {
                matches!(index.kind, Kind::Text(_) | Kind::Int(0..)) && self.has_literal_path(operand)
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

//! The type checker. It also collects the fields that a rule reads.

use std::collections::{BTreeMap, BTreeSet};

use super::error::{CompileError, CompileErrorKind, Span, Warning, WarningKind};
use super::syntax::{Kind, Macro, MacroKind, Node};
use super::types::{InferredType, Type};
use regex::Regex;

/// Visits a rule once and collects its errors, its warnings and the fields that it reads.
pub(super) struct Checker<'e> {
    pub(super) text: &'e str,
    pub(super) variables: &'e [(&'static str, Type)],
    /// The names that enclosing macros bind, innermost last.
    pub(super) locals: Vec<(String, InferredType)>,
    pub(super) errors: Vec<CompileError>,
    pub(super) warnings: Vec<Warning>,
    pub(super) reads: BTreeSet<String>,
    /// The compiled literal patterns of `matches()`.
    pub(super) patterns: BTreeMap<String, Regex>,
    /// The number of compiled patterns, including invalid ones, because these take time too.
    pub(super) compiled_patterns: usize,
}

impl<'e> Checker<'e> {
    pub(super) fn new(text: &'e str, variables: &'e [(&'static str, Type)]) -> Self {
        Self {
            text,
            variables,
            locals: Vec::new(),
            errors: Vec::new(),
            warnings: Vec::new(),
            reads: BTreeSet::new(),
            patterns: BTreeMap::new(),
            compiled_patterns: 0,
        }
    }

    /// Checks a whole rule, whose type must be bool.
    pub(super) fn check_rule(&mut self, node: &mut Node) {
        let inferred = self.check_operand(node);
        if !matches!(inferred, InferredType::Bool) && !inferred.is_open() {
            let message = format!("a rule must be true or false, but this expression is of type {inferred}");
            self.errors.push(CompileError::new(CompileErrorKind::NotBoolean, node.span, message));
        }
    }

    /// Reports an error. Returns the type of the erroneous expression, which is compatible with every other one so that
    /// the error causes no further errors.
    pub(super) fn report_error(
        &mut self,
        kind: CompileErrorKind,
        span: Span,
        message: impl Into<String>,
    ) -> InferredType {
        self.errors.push(CompileError::new(kind, span, message));
        InferredType::Unknown
    }

    pub(super) fn report_mismatch(&mut self, span: Span, message: impl Into<String>) -> InferredType {
        self.report_error(CompileErrorKind::TypeMismatch, span, message)
    }

    /// Returns the type of an operand. Warns if operations on it cannot be checked.
    pub(super) fn check_operand(&mut self, node: &mut Node) -> InferredType {
        let inferred = self.check(node);
        // These literals have a warning already.
        let is_warned = matches!(node.kind, Kind::Uint(_) | Kind::Bytes(_));
        if inferred == InferredType::Dyn && !is_warned && !self.is_local(node) {
            let quote = node.span.quote(self.text);
            self.warn_unchecked(node.span, format!("`{quote}` has no declared type, so its use"));
        }
        inferred
    }

    /// Warns that `subject` cannot be checked.
    pub(super) fn warn_unchecked(&mut self, span: Span, subject: impl Into<String>) {
        let message = format!("{} is not statically checked", subject.into());
        self.warnings.push(Warning { kind: WarningKind::Unchecked, message, offset: span.range() });
    }

    /// Checks an operand that must be a bool.
    fn check_condition(&mut self, node: &mut Node, purpose: &str) {
        let inferred = self.check_operand(node);
        if inferred != InferredType::Bool && !inferred.is_open() {
            self.report_mismatch(node.span, format!("{purpose} takes bools, this is of type {inferred}"));
        }
    }

    /// Returns the type of an expression and records the field that it reads.
    fn check(&mut self, node: &mut Node) -> InferredType {
        node.path = self.literal_path(node);
        if let Some(path) = &node.path {
            self.reads.insert(path.to_string());
        }
        self.check_inner(node)
    }

    /// Returns the type of an expression that is part of a longer path, which is recorded instead.
    fn check_inner(&mut self, node: &mut Node) -> InferredType {
        let span = node.span;
        let is_on_path = self.has_literal_path(node);
        let inferred = match &mut node.kind {
            Kind::Null => InferredType::Null,
            Kind::Bool(_) => InferredType::Bool,
            Kind::Int(_) => InferredType::Int,
            Kind::Uint(_) | Kind::Bytes(_) => {
                let literal = if matches!(node.kind, Kind::Uint(_)) { "an unsigned integer" } else { "a byte string" };
                self.warn_unchecked(span, format!("the use of {literal}"));
                InferredType::Dyn
            }
            Kind::Double(_) => InferredType::Double,
            Kind::Text(_) => InferredType::String,
            Kind::Variable(name) => {
                let local = self.locals.iter().rev().find(|(local, _)| local == name);
                let declared = self.variables.iter().find(|(declared, _)| declared == name);
                match (local, declared) {
                    (Some((_, inferred)), _) => inferred.clone(),
                    (None, Some((_, declared))) => (*declared).into(),
                    (None, None) => {
                        let name = name.clone();
                        self.report_unknown_identifier(&name, span)
                    }
                }
            }
            Kind::List(elements) => self.check_list(elements),
            Kind::Map(entries) => self.check_map(entries),
            Kind::Select { operand, field, field_span, test } => {
                let container = self.check_container(operand, is_on_path);
                self.check_select(&container, operand.span, field, *field_span, *test)
            }
            Kind::Index { operand, index } => {
                let container = self.check_container(operand, is_on_path);
                let key = self.check_operand(index);
                self.check_index(&container, &key, operand.span, index.span)
            }
            Kind::Not(operand) => {
                self.check_condition(operand, "`!`");
                InferredType::Bool
            }
            Kind::Negate(operand) => {
                let inferred = self.check_operand(operand);
                if inferred == InferredType::Dyn {
                    // The crate's negation of the smallest integer panics in debug builds and wraps in release builds.
                    let message = "`-` takes a value of a known type; write -int(x) or -double(x)";
                    self.report_mismatch(operand.span, message);
                } else if !inferred.is_number() && !inferred.is_open() {
                    self.report_mismatch(operand.span, format!("`-` takes a number, this is of type {inferred}"));
                }
                inferred
            }
            Kind::Binary { operator, left, right } => self.check_binary(*operator, left, right, span),
            Kind::Logic { or, terms } => {
                let purpose = if *or { "`||`" } else { "`&&`" };
                for term in terms {
                    self.check_condition(term, purpose);
                }
                InferredType::Bool
            }
            Kind::Conditional(parts) => {
                let [condition, then, otherwise] = &mut **parts;
                self.check_condition(condition, "the condition of `a ? b : c`");
                let (first, second) = (self.check(then), self.check(otherwise));
                first.unify(&second).unwrap_or_else(|| {
                    let message = format!("both values of `a ? b : c` need one type; found {first} and {second}");
                    self.report_mismatch(span, message)
                })
            }
            Kind::Call(call) => self.check_call(call, span),
            Kind::Macro(parts) => self.check_macro(parts),
        };
        node.ty = inferred.clone();
        inferred
    }

    /// Returns the type of the operand of a field access or index. On a path only the whole path is recorded as read.
    fn check_container(&mut self, node: &mut Node, is_on_path: bool) -> InferredType {
        if is_on_path { self.check_inner(node) } else { self.check(node) }
    }

    /// Returns the type of a list literal, whose elements need a common type.
    fn check_list(&mut self, elements: &mut [Node]) -> InferredType {
        let mut common: Option<InferredType> = None;
        for element in elements {
            let inferred = self.check(element);
            common = Some(match common {
                None => inferred,
                Some(previous) => previous.unify(&inferred).unwrap_or_else(|| {
                    let message = format!("the elements of a list need one type; found {previous}, then {inferred}");
                    self.report_mismatch(element.span, message)
                }),
            });
        }
        InferredType::List(Box::new(common.unwrap_or(InferredType::Unknown)))
    }

    /// Returns the type of a map literal. Its keys need a common type, and so do its values.
    fn check_map(&mut self, entries: &mut [(Node, Node)]) -> InferredType {
        let mut common: Option<(InferredType, InferredType)> = None;
        let mut seen_keys = BTreeSet::new();
        for (key, value) in entries {
            let literal = match &key.kind {
                Kind::Text(text) => Some(format!("{text:?}")),
                Kind::Int(number) => Some(number.to_string()),
                Kind::Bool(value) => Some(value.to_string()),
                _ => None,
            };
            if literal.is_some_and(|literal| !seen_keys.insert(literal)) {
                self.report_error(CompileErrorKind::Parse, key.span, "the map has this key twice");
            }
            let inferred_key = self.check_operand(key);
            if !matches!(inferred_key, InferredType::Int | InferredType::Bool) && !inferred_key.is_text() {
                self.report_mismatch(key.span, format!("a map key is a string, int or bool, not {inferred_key}"));
            }
            let inferred = self.check(value);
            let (previous_key, previous) = common.take().unwrap_or_else(|| (inferred_key.clone(), inferred.clone()));
            let unified_key = previous_key.unify(&inferred_key).unwrap_or_else(|| {
                let message = format!("the keys of a map need one type; found {previous_key}, then {inferred_key}");
                self.report_mismatch(key.span, message)
            });
            let unified = previous.unify(&inferred).unwrap_or_else(|| {
                let message = format!("the values of a map need one type; found {previous}, then {inferred}");
                self.report_mismatch(value.span, message)
            });
            common = Some((unified_key, unified));
        }
        let (key, value) = common.unwrap_or((InferredType::Unknown, InferredType::Unknown));
        InferredType::Map(Box::new(key), Box::new(value))
    }

    /// Returns the type of a macro. Its body is checked with the variable bound to the elements of the range.
    fn check_macro(&mut self, parts: &mut Macro) -> InferredType {
        let element = match self.check_operand(&mut parts.range) {
            InferredType::List(element) => *element,
            InferredType::Map(key, _) => *key,
            open if open.is_open() => open,
            other => {
                let message = format!("only a list or map has elements to iterate over; this is {other}");
                self.report_mismatch(parts.range.span, message)
            }
        };
        self.locals.push((parts.variable.clone(), element.clone()));
        if let Some(filter) = &mut parts.filter {
            self.check_condition(filter, "the condition of map()");
        }
        let inferred = match parts.kind {
            MacroKind::Map => InferredType::List(Box::new(self.check(&mut parts.body))),
            kind => {
                self.check_condition(&mut parts.body, "the condition of a macro");
                if kind == MacroKind::Filter { InferredType::List(Box::new(element)) } else { InferredType::Bool }
            }
        };
        self.locals.pop();
        inferred
    }
}

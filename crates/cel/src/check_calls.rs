//! Type checks of operators and function calls.

use super::check::Checker;
use super::error::{CompileErrorKind, Span, Warning, WarningKind};
use super::functions::{self, Function};
use super::patterns;
use super::syntax::{Call, Kind, Node, Operator};
use super::types::InferredType;
use kubefoundry_yaml::text::closest;

/// Advice for mixing an int and a double.
const NUMBER_ADVICE: &str = "; write 2.0 for 2, or convert with double(x) or int(x)";

impl Checker<'_> {
    /// Returns the type of an operation and checks its operands.
    pub(super) fn check_binary(
        &mut self,
        operator: Operator,
        left: &mut Node,
        right: &mut Node,
        span: Span,
    ) -> InferredType {
        let (first, second) = (self.check_operand(left), self.check_operand(right));
        let is_open = first.is_open() || second.is_open();
        match operator {
            Operator::Equal | Operator::NotEqual => {
                self.check_equality(operator, (&first, left), (&second, right), span);
                InferredType::Bool
            }
            Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
                let is_ordered = first.is_number() && second.is_number()
                    || first.is_text() && second.is_text()
                    || first == InferredType::Bool && second == InferredType::Bool;
                if !is_ordered && !is_open {
                    let symbol = operator.symbol();
                    let message = format!("`{symbol}` takes two numbers or two strings; found {first} and {second}");
                    self.report_mismatch(span, message);
                }
                InferredType::Bool
            }
            Operator::In => {
                self.check_membership(&first, left, &second, right);
                InferredType::Bool
            }
            Operator::Add if matches!((&first, &second), (InferredType::List(_), InferredType::List(_))) => {
                first.unify(&second).unwrap_or_else(|| {
                    self.report_mismatch(span, format!("both lists of `+` need one type; found {first} and {second}"))
                })
            }
            Operator::Add if !is_open && first.is_text() && second.is_text() => InferredType::String,
            Operator::Remainder if first == InferredType::Int && second == InferredType::Int => InferredType::Int,
            Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide
                if first.is_number() && first == second =>
            {
                first
            }
            _ if is_open => first.unify(&second).unwrap_or(InferredType::Dyn),
            _ => self.report_operand_mismatch(operator, &first, &second, span),
        }
    }

    /// Reports that an arithmetic operator does not take operands of these types.
    fn report_operand_mismatch(
        &mut self,
        operator: Operator,
        first: &InferredType,
        second: &InferredType,
        span: Span,
    ) -> InferredType {
        let expected = match operator {
            Operator::Add => "two ints, two doubles, two strings or two lists",
            Operator::Remainder => "two ints",
            _ => "two ints or two doubles",
        };
        let help =
            if first.is_number() && second.is_number() && operator != Operator::Remainder { NUMBER_ADVICE } else { "" };
        let message = format!("`{}` takes {expected}; found {first} and {second}{help}", operator.symbol());
        self.report_mismatch(span, message)
    }

    /// Checks that the operands of `==` or `!=` have a common type, and warns if they never have equal values.
    fn check_equality(
        &mut self,
        operator: Operator,
        (first, left): (&InferredType, &Node),
        (second, right): (&InferredType, &Node),
        span: Span,
    ) {
        if first.unify(second).is_some() {
            let verdict = if operator == Operator::Equal { "`==` is never true" } else { "`!=` is always true" };
            self.warn_if_never_equal(first, left, right, verdict);
            self.warn_if_never_equal(second, right, left, verdict);
            return;
        }
        let symbol = operator.symbol();
        let message = match (first, second) {
            (InferredType::Null, _) | (_, InferredType::Null) => {
                let field = if matches!(first, InferredType::Null) { right } else { left };
                let quote = field.span.quote(self.text);
                format!("`{quote}` is never null; test for the field with has({quote})")
            }
            _ if first.is_number() && second.is_number() => {
                format!("`{symbol}` takes two values of one type; found {first} and {second}{NUMBER_ADVICE}")
            }
            _ => format!("`{symbol}` takes two values of one type; found {first} and {second}"),
        };
        self.report_mismatch(span, message);
    }

    /// Checks that the container of `in` is a list or map that can have such an element.
    fn check_membership(&mut self, element: &InferredType, left: &Node, container: &InferredType, right: &Node) {
        let contained = match container {
            InferredType::List(contained) | InferredType::Map(contained, _) => contained,
            open if open.is_open() => return,
            other => {
                let help = match other {
                    InferredType::String | InferredType::Enum(_) => "; search a string with text.contains(part)",
                    InferredType::Object(_) => "; test for a field with has(object.field)",
                    _ => "",
                };
                self.report_mismatch(right.span, format!("`in` takes a list or map on its right, not {other}{help}"));
                return;
            }
        };
        if contained.unify(element).is_none() {
            self.report_mismatch(left.span, format!("`in` looks for {element} in {container}; it can never be there"));
        } else if let Kind::List(elements) = &right.kind {
            for literal in elements {
                self.warn_if_never_equal(element, left, literal, "nothing in it is equal to that");
            }
        } else {
            self.warn_if_never_equal(contained, right, left, "`in` is never true");
        }
    }

    /// Warns if `field`, of type `ty`, never equals the text `literal`. `verdict` names the consequence.
    fn warn_if_never_equal(&mut self, ty: &InferredType, field: &Node, literal: &Node, verdict: &str) {
        let (InferredType::Enum(values), Kind::Text(text)) = (ty, &literal.kind) else { return };
        if values.contains(&text.as_str()) {
            return;
        }
        let help = match closest(text, values.iter().copied()) {
            Some(suggestion) => format!("did you mean '{suggestion}'?"),
            None => format!("it is one of {}", values.join(", ")),
        };
        let (field, value) = (field.span.quote(self.text), literal.span.quote(self.text));
        let message = format!("`{field}` is never {value}, so {verdict}; {help}");
        self.warnings.push(Warning { kind: WarningKind::NeverEqual, message, offset: literal.span.range() });
    }

    /// Returns the type of a call and checks its form and arguments.
    pub(super) fn check_call(&mut self, call: &mut Call, span: Span) -> InferredType {
        let Some(signature) = call.function.and_then(Function::signature) else {
            return self.report_unknown_function(call);
        };
        let inferred: Vec<InferredType> =
            call.arguments.iter_mut().map(|argument| self.check_operand(argument)).collect();
        let has_form = if call.receiver { signature.method } else { signature.global };
        let arity = if signature.arity == functions::ANY_NUMBER { inferred.len().max(1) } else { signature.arity };
        if !has_form || inferred.len() != arity {
            let message = format!("{}() is written {}", signature.name, signature.usage);
            return self.report_error(CompileErrorKind::Arguments, span, message);
        }
        let Some(first) = inferred.first() else { return InferredType::Unknown };
        let (rejected, result) = match signature.function {
            Function::Size => {
                let is_sized = matches!(first, InferredType::List(_) | InferredType::Map(..)) || first.is_text();
                (if is_sized { None } else { Some((0, "a string, list or map")) }, InferredType::Int)
            }
            Function::Contains | Function::StartsWith | Function::EndsWith => {
                (find_non_text(&inferred), InferredType::Bool)
            }
            Function::LowerAscii | Function::UpperAscii | Function::Trim => {
                (find_non_text(&inferred), InferredType::String)
            }
            Function::Matches => {
                if let Some(pattern) = call.arguments.get(1) {
                    self.check_pattern(pattern);
                }
                (find_non_text(&inferred), InferredType::Bool)
            }
            Function::Dyn | Function::Max | Function::Min => (None, InferredType::Dyn),
            Function::Uint => (check_convertible(first, true, false), InferredType::Dyn),
            Function::Bytes => (find_non_text(&inferred), InferredType::Dyn),
            // The crate cannot convert a bool to text.
            Function::String => (check_convertible(first, true, false), InferredType::String),
            Function::Int => (check_convertible(first, true, false), InferredType::Int),
            Function::Double => (check_convertible(first, true, false), InferredType::Double),
            Function::Bool => (check_convertible(first, false, true), InferredType::Bool),
        };
        if let Some((position, expected)) = rejected {
            let actual = inferred.get(position).unwrap_or(first);
            let at = call.arguments.get(position).map_or(span, |argument| argument.span);
            let help = match (signature.function, actual) {
                (Function::Contains, InferredType::List(_)) => "; search a list with `x in list`",
                (Function::Contains, InferredType::Map(..)) => "; search a map with `key in map`",
                _ => "",
            };
            self.report_mismatch(at, format!("{}() takes {expected}, this is of type {actual}{help}", signature.name));
        }
        result
    }

    /// Compiles a literal pattern, so that an invalid one is a compile error.
    fn check_pattern(&mut self, node: &Node) {
        let Kind::Text(text) = &node.kind else {
            return self.warn_unchecked(node.span, "a pattern that is computed");
        };
        if self.patterns.contains_key(text) {
            return;
        }
        if self.compiled_patterns == patterns::MAX_PATTERNS {
            let message =
                format!("a rule has at most {} patterns; split it into several rules", patterns::MAX_PATTERNS);
            self.report_error(CompileErrorKind::Arguments, node.span, message);
            return;
        }
        self.compiled_patterns += 1;
        match patterns::compile(text) {
            Ok(regex) => {
                self.patterns.insert(text.clone(), regex);
            }
            Err(message) => {
                self.report_error(CompileErrorKind::Arguments, node.span, message);
            }
        }
    }

    /// Reports an unknown function, or one that only Kubernetes has.
    fn report_unknown_function(&mut self, call: &mut Call) -> InferredType {
        let name = &call.name;
        if functions::exists_in_kubernetes(name) {
            let message = format!("{name}() is not available in selection rules");
            return self.report_error(CompileErrorKind::Unsupported, call.name_span, message);
        }
        let suggestion = closest(name, functions::names()).map(str::to_owned);
        let help = suggestion.as_ref().map_or_else(String::new, |name| format!("; did you mean `{name}`?"));
        let message = format!("unknown function `{}`{help}", call.name_span.quote(self.text));
        self.report_error(CompileErrorKind::UnknownFunction { suggestion }, call.name_span, message);
        // The call may be a misspelled macro whose arguments use a name that the macro would bind. Check only the
        // receiver.
        if let (true, Some(receiver)) = (call.receiver, call.arguments.first_mut()) {
            self.check_operand(receiver);
        }
        InferredType::Unknown
    }
}

/// Returns the position of the first argument that is not text, and the expected type.
fn find_non_text(arguments: &[InferredType]) -> Option<(usize, &'static str)> {
    arguments.iter().position(|argument| !argument.is_text()).map(|position| (position, "strings"))
}

/// Checks the argument of a conversion. Returns its position and the expected type if the conversion does not accept
/// it.
fn check_convertible(inferred: &InferredType, numbers: bool, bools: bool) -> Option<(usize, &'static str)> {
    let is_accepted = inferred.is_text() || numbers && inferred.is_number() || bools && *inferred == InferredType::Bool;
    let expected = match (numbers, bools) {
        (true, _) => "a number or string",
        _ => "a bool or string",
    };
    (!is_accepted).then_some((0, expected))
}

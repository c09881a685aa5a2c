//! Types of operators and function calls.

use super::check::Checker;
use super::error::{CompileErrorKind, Span, Warning, WarningKind};
use super::functions::{self, Function};
use super::patterns;
use super::syntax::{Call, Kind, Node, Operator};
use super::types::Inferred;
use kubefoundry_yaml::text::closest;

/// What to do about an int and a double.
const NUMBERS: &str = "; write 2.0 for 2, or convert with double(x) or int(x)";

impl Checker<'_> {
    pub(super) fn binary(&mut self, operator: Operator, left: &mut Node, right: &mut Node, span: Span) -> Inferred {
        let (first, second) = (self.operand(left), self.operand(right));
        let open = first.is_open() || second.is_open();
        match operator {
            Operator::Equal | Operator::NotEqual => {
                self.equality(operator, (&first, left), (&second, right), span);
                Inferred::Bool
            }
            Operator::Less | Operator::LessOrEqual | Operator::Greater | Operator::GreaterOrEqual => {
                let ordered = first.is_number() && second.is_number()
                    || first.is_text() && second.is_text()
                    || first == Inferred::Bool && second == Inferred::Bool;
                if !ordered && !open {
                    let symbol = operator.symbol();
                    let message = format!("`{symbol}` takes two numbers or two strings; found {first} and {second}");
                    self.mismatch(span, message);
                }
                Inferred::Bool
            }
            Operator::In => {
                self.membership(&first, left, &second, right);
                Inferred::Bool
            }
            Operator::Add if matches!((&first, &second), (Inferred::List(_), Inferred::List(_))) => {
                first.unify(&second).unwrap_or_else(|| {
                    self.mismatch(span, format!("both lists of `+` need one type; found {first} and {second}"))
                })
            }
            Operator::Add if !open && first.is_text() && second.is_text() => Inferred::String,
            Operator::Remainder if first == Inferred::Int && second == Inferred::Int => Inferred::Int,
            Operator::Add | Operator::Subtract | Operator::Multiply | Operator::Divide
                if first.is_number() && first == second =>
            {
                first
            }
            _ if open => first.unify(&second).unwrap_or(Inferred::Dyn),
            _ => self.arithmetic(operator, &first, &second, span),
        }
    }

    fn arithmetic(&mut self, operator: Operator, first: &Inferred, second: &Inferred, span: Span) -> Inferred {
        let takes = match operator {
            Operator::Add => "two ints, two doubles, two strings or two lists",
            Operator::Remainder => "two ints",
            _ => "two ints or two doubles",
        };
        let help =
            if first.is_number() && second.is_number() && operator != Operator::Remainder { NUMBERS } else { "" };
        let message = format!("`{}` takes {takes}; found {first} and {second}{help}", operator.symbol());
        self.mismatch(span, message)
    }

    fn equality(
        &mut self,
        operator: Operator,
        (first, left): (&Inferred, &Node),
        (second, right): (&Inferred, &Node),
        span: Span,
    ) {
        if first.unify(second).is_some() {
            let verdict = if operator == Operator::Equal { "`==` is never true" } else { "`!=` is always true" };
            self.never_equal(first, left, right, verdict);
            self.never_equal(second, right, left, verdict);
            return;
        }
        let symbol = operator.symbol();
        let message = match (first, second) {
            (Inferred::Null, _) | (_, Inferred::Null) => {
                let field = if matches!(first, Inferred::Null) { right } else { left };
                let quote = field.span.quote(self.text);
                format!("`{quote}` is never null; test for the field with has({quote})")
            }
            _ if first.is_number() && second.is_number() => {
                format!("`{symbol}` takes two values of one type; found {first} and {second}{NUMBERS}")
            }
            _ => format!("`{symbol}` takes two values of one type; found {first} and {second}"),
        };
        self.mismatch(span, message);
    }

    fn membership(&mut self, element: &Inferred, left: &Node, container: &Inferred, right: &Node) {
        let held = match container {
            Inferred::List(held) | Inferred::Map(held, _) => held,
            open if open.is_open() => return,
            other => {
                let help = match other {
                    Inferred::String | Inferred::Enum(_) => "; search a string with text.contains(part)",
                    Inferred::Object(_) => "; test for a field with has(object.field)",
                    _ => "",
                };
                self.mismatch(right.span, format!("`in` takes a list or map on its right, not {other}{help}"));
                return;
            }
        };
        if held.unify(element).is_none() {
            self.mismatch(left.span, format!("`in` looks for {element} in {container}; it can never be there"));
        } else if let Kind::List(elements) = &right.kind {
            for literal in elements {
                self.never_equal(element, left, literal, "nothing in it is equal to that");
            }
        } else {
            self.never_equal(held, right, left, "`in` is never true");
        }
    }

    /// Warns if `literal` is text that `field`, which is of type `ty`, never is; `verdict` is what comes of it.
    fn never_equal(&mut self, ty: &Inferred, field: &Node, literal: &Node, verdict: &str) {
        let (Inferred::Enum(values), Kind::Text(text)) = (ty, &literal.kind) else { return };
        if values.contains(&text.as_str()) {
            return;
        }
        let help = match closest(text, values.iter().copied()) {
            Some(meant) => format!("did you mean '{meant}'?"),
            None => format!("it is one of {}", values.join(", ")),
        };
        let (field, value) = (field.span.quote(self.text), literal.span.quote(self.text));
        let message = format!("`{field}` is never {value}, so {verdict}; {help}");
        self.warnings.push(Warning { kind: WarningKind::NeverEqual, message, offset: literal.span.range() });
    }

    pub(super) fn call(&mut self, call: &mut Call, span: Span) -> Inferred {
        let Some(signature) = call.function.and_then(Function::signature) else {
            return self.unknown_function(call);
        };
        let found: Vec<Inferred> = call.arguments.iter_mut().map(|argument| self.operand(argument)).collect();
        let form = if call.receiver { signature.method } else { signature.global };
        let arity = if signature.arity == functions::ANY_NUMBER { found.len().max(1) } else { signature.arity };
        if !form || found.len() != arity {
            let message = format!("{}() is written {}", signature.name, signature.usage);
            return self.error(CompileErrorKind::Arguments, span, message);
        }
        let Some(first) = found.first() else { return Inferred::Unknown };
        let (taken, result) = match signature.function {
            Function::Size => {
                let sized = matches!(first, Inferred::List(_) | Inferred::Map(..)) || first.is_text();
                (if sized { None } else { Some((0, "a string, list or map")) }, Inferred::Int)
            }
            Function::Contains | Function::StartsWith | Function::EndsWith => (not_text(&found), Inferred::Bool),
            Function::LowerAscii | Function::UpperAscii | Function::Trim => (not_text(&found), Inferred::String),
            Function::Matches => {
                if let Some(pattern) = call.arguments.get(1) {
                    self.pattern(pattern);
                }
                (not_text(&found), Inferred::Bool)
            }
            Function::Dyn | Function::Max | Function::Min => (None, Inferred::Dyn),
            Function::Uint => (convertible(first, true, false), Inferred::Dyn),
            Function::Bytes => (not_text(&found), Inferred::Dyn),
            // The crate has no text for bools.
            Function::String => (convertible(first, true, false), Inferred::String),
            Function::Int => (convertible(first, true, false), Inferred::Int),
            Function::Double => (convertible(first, true, false), Inferred::Double),
            Function::Bool => (convertible(first, false, true), Inferred::Bool),
        };
        if let Some((position, expected)) = taken {
            let actual = found.get(position).unwrap_or(first);
            let at = call.arguments.get(position).map_or(span, |argument| argument.span);
            let help = match (signature.function, actual) {
                (Function::Contains, Inferred::List(_)) => "; search a list with `x in list`",
                (Function::Contains, Inferred::Map(..)) => "; search a map with `key in map`",
                _ => "",
            };
            self.mismatch(at, format!("{}() takes {expected}, this is of type {actual}{help}", signature.name));
        }
        result
    }

    /// Compiles a pattern that is written out, so that a wrong one is found now.
    fn pattern(&mut self, node: &Node) {
        let Kind::Text(text) = &node.kind else {
            return self.unchecked(node.span, "a pattern that is computed");
        };
        if self.patterns.contains_key(text) {
            return;
        }
        if self.compiled == patterns::MOST {
            let message = format!("a rule has at most {} patterns; split it into several rules", patterns::MOST);
            self.error(CompileErrorKind::Arguments, node.span, message);
            return;
        }
        self.compiled += 1;
        match patterns::compile(text) {
            Ok(regex) => {
                self.patterns.insert(text.clone(), regex);
            }
            Err(message) => {
                self.error(CompileErrorKind::Arguments, node.span, message);
            }
        }
    }

    fn unknown_function(&mut self, call: &mut Call) -> Inferred {
        let name = &call.name;
        if functions::exists_elsewhere(name) {
            let message = format!("{name}() is not available in selection rules");
            return self.error(CompileErrorKind::Unsupported, call.name_span, message);
        }
        let suggestion = closest(name, functions::names()).map(str::to_owned);
        let help = suggestion.as_ref().map(|meant| format!("; did you mean `{meant}`?")).unwrap_or_default();
        let message = format!("unknown function `{}`{help}", call.name_span.quote(self.text));
        self.error(CompileErrorKind::UnknownFunction { suggestion }, call.name_span, message);
        // A macro's arguments may name what the macro would have bound, so only the receiver is worth a look.
        if let (true, Some(receiver)) = (call.receiver, call.arguments.first_mut()) {
            self.operand(receiver);
        }
        Inferred::Unknown
    }
}

/// The first value that is not text.
fn not_text(found: &[Inferred]) -> Option<(usize, &'static str)> {
    found.iter().position(|found| !found.is_text()).map(|position| (position, "strings"))
}

/// What a conversion takes, if not this.
fn convertible(found: &Inferred, numbers: bool, bools: bool) -> Option<(usize, &'static str)> {
    let taken = found.is_text() || numbers && found.is_number() || bools && *found == Inferred::Bool;
    let expected = match (numbers, bools) {
        (true, _) => "a number or string",
        _ => "a bool or string",
    };
    (!taken).then_some((0, expected))
}

//! Parsing of operands: values, calls and macros.

use super::error::{CompileError, CompileErrorKind, Span};
use super::functions::Function;
use super::lexer::Token;
use super::parser::{ParseResult, Parser};
use super::syntax::{Call, Kind, Macro, MacroKind, Node};

/// Identifiers that CEL reserves (cel-spec, doc/langdef.md, RESERVED).
pub const RESERVED: [&str; 17] = [
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

impl Parser<'_> {
    /// Parses a name. `expected` describes it in the error message.
    pub(super) fn parse_name(&mut self, expected: &str) -> Result<(String, Span), CompileError> {
        let span = self.span;
        let name = self.text.get(span.range()).unwrap_or_default().to_owned();
        if self.token != Token::Name {
            return Err(self.unexpected(expected));
        }
        self.advance()?;
        Ok((name, span))
    }

    /// Parses a literal, a name, a global call or an expression in parentheses.
    pub(super) fn parse_primary(&mut self) -> ParseResult {
        let start = self.span.start;
        let (kind, height) = match &self.token {
            Token::Symbol("(") => {
                self.advance()?;
                let node = self.parse_expression()?;
                self.expect(")", "to close the parenthesis")?;
                return Ok(node);
            }
            Token::Symbol("[") => {
                self.advance()?;
                let (elements, height) = self.parse_list("]")?;
                (Kind::List(elements), height)
            }
            Token::Symbol("{") => {
                self.advance()?;
                self.parse_map()?
            }
            Token::Name => {
                let (name, span) = self.parse_name("a name")?;
                match name.as_str() {
                    "true" | "false" => (Kind::Bool(name == "true"), 0),
                    "null" => (Kind::Null, 0),
                    reserved if RESERVED.contains(&reserved) => {
                        let message = format!("`{reserved}` is a reserved word of CEL and cannot be a name");
                        return Err(CompileError::new(CompileErrorKind::Parse, span, message));
                    }
                    _ if self.eat("(")? => return self.parse_call(start, None, name, span),
                    _ => (Kind::Variable(name), 0),
                }
            }
            Token::Int(value) => {
                let value = i64::try_from(*value).map_err(|_| self.too_large())?;
                self.advance()?;
                (Kind::Int(value), 0)
            }
            Token::Uint(value) => {
                let value = *value;
                self.advance()?;
                (Kind::Uint(value), 0)
            }
            Token::Double(value) => {
                let value = *value;
                self.advance()?;
                (Kind::Double(value), 0)
            }
            Token::Text(_) => {
                let Token::Text(value) = self.advance()? else { return Err(self.unexpected("a string")) };
                (Kind::Text(value), 0)
            }
            Token::Bytes(_) => {
                let Token::Bytes(value) = self.advance()? else { return Err(self.unexpected("a string")) };
                (Kind::Bytes(value), 0)
            }
            Token::Symbol(_) | Token::End => return Err(self.unexpected("a value such as `spec` or 'text'")),
        };
        self.new_node(start, height, kind)
    }

    /// Parses expressions separated by commas up to `close`. Returns them and their maximum height.
    fn parse_list(&mut self, close: &str) -> Result<(Vec<Node>, usize), CompileError> {
        let mut elements = Vec::new();
        let mut height = 0;
        while !self.eat(close)? {
            if matches!(self.token, Token::Symbol("?")) {
                return Err(Self::unsupported(self.span, "optional values (`?`)"));
            }
            let element = self.parse_expression()?;
            height = height.max(element.height);
            elements.push(element);
            if !self.eat(",")? {
                self.expect(close, "or `,`")?;
                break;
            }
        }
        Ok((elements, height))
    }

    /// Parses the entries of a map up to `}`. Returns the map and the maximum height of its entries.
    fn parse_map(&mut self) -> Result<(Kind, usize), CompileError> {
        let mut entries = Vec::new();
        let mut height = 0;
        while !self.eat("}")? {
            if matches!(self.token, Token::Symbol("?")) {
                return Err(Self::unsupported(self.span, "optional values (`?`)"));
            }
            let key = self.parse_expression()?;
            self.expect(":", "after the key")?;
            let value = self.parse_expression()?;
            height = height.max(key.height).max(value.height);
            entries.push((key, value));
            if !self.eat(",")? {
                self.expect("}", "or `,`")?;
                break;
            }
        }
        Ok((Kind::Map(entries), height))
    }

    /// Parses the rest of a call after the opening parenthesis.
    pub(super) fn parse_call(
        &mut self,
        start: usize,
        target: Option<Node>,
        name: String,
        name_span: Span,
    ) -> ParseResult {
        let (mut arguments, mut height) = self.parse_list(")")?;
        let Some(target) = target else {
            if name == "has" {
                return self.parse_has(start, name_span, arguments);
            }
            let function = Function::from_name(&name);
            let call = Call { function, name, name_span, receiver: false, arguments };
            return self.new_node(start, height, Kind::Call(call));
        };
        height = height.max(target.height);
        if let Some(kind) = MacroKind::from_name(&name) {
            return self.parse_macro(start, kind, target, arguments, height, &name, name_span);
        }
        let function = Function::from_name(&name);
        arguments.insert(0, target);
        let call = Call { function, name, name_span, receiver: true, arguments };
        self.new_node(start, height, Kind::Call(call))
    }

    /// Converts the argument of `has()` to a test for a field.
    fn parse_has(&self, start: usize, name_span: Span, mut arguments: Vec<Node>) -> ParseResult {
        let usage = "has() takes one field, such as has(spec.resources.gpu)";
        let (Some(argument), true) = (arguments.pop(), arguments.is_empty()) else {
            return Err(CompileError::new(CompileErrorKind::Arguments, name_span, usage));
        };
        let span = argument.span;
        match argument.kind {
            Kind::Select { operand, field, field_span, .. } => {
                let height = operand.height;
                self.new_node(start, height, Kind::Select { operand, field, field_span, test: true })
            }
            Kind::Index { .. } => {
                let message = format!("{usage}; test for a key of a map with \"key\" in map");
                Err(CompileError::new(CompileErrorKind::Arguments, span, message))
            }
            _ => Err(CompileError::new(CompileErrorKind::Arguments, span, usage)),
        }
    }

    /// Converts the arguments of a macro to its variable, condition and body.
    #[expect(clippy::too_many_arguments, reason = "the parts of one call, read by its only caller")]
    fn parse_macro(
        &mut self,
        start: usize,
        kind: MacroKind,
        range: Node,
        mut arguments: Vec<Node>,
        height: usize,
        name: &str,
        name_span: Span,
    ) -> ParseResult {
        let body = arguments.pop();
        let filter = (arguments.len() == 2).then(|| arguments.pop()).flatten();
        let variable = arguments.pop();
        let is_well_formed = arguments.is_empty() && (filter.is_none() || kind == MacroKind::Map);
        let (Some(variable), Some(body), true) = (variable, body, is_well_formed) else {
            let usage = format!("{name}() takes a name and an expression, such as list.{name}(x, x == 'a')");
            return Err(CompileError::new(CompileErrorKind::Arguments, name_span, usage));
        };
        let span = variable.span;
        let Kind::Variable(variable) = variable.kind else {
            let message = format!("the first argument of {name}() is a new name for the elements, such as `x`");
            return Err(CompileError::new(CompileErrorKind::Arguments, span, message));
        };
        let number = self.macros;
        self.macros += 1;
        // A loop takes three levels of the tree through which the `cel` crate recurses.
        self.new_node(start, height + 2, Kind::Macro(Box::new(Macro { kind, number, range, variable, filter, body })))
    }
}

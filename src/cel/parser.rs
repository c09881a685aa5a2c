//! Tokens to a tree, in linear time and bounded depth.

use super::error::{CompileError, CompileErrorKind, Span};
use super::functions::Function;
use super::lexer::{Lexer, Token};
use super::syntax::{Call, Kind, Macro, MacroKind, Node, Operator};

/// Names that CEL keeps for later.
const RESERVED: [&str; 16] = [
    "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop", "package",
    "namespace", "return", "var", "void",
];

type Parsed = Result<Node, CompileError>;

/// Parses one expression that nests at most `nesting` deep.
pub(super) fn parse(text: &str, nesting: usize) -> Parsed {
    let mut parser = Parser {
        text,
        lexer: Lexer::new(text),
        token: Token::End,
        span: Span { start: 0, end: 0 },
        previous_end: 0,
        depth: 0,
        nesting,
    };
    parser.advance()?;
    let node = parser.expression()?;
    match parser.token {
        Token::End => Ok(node),
        Token::Symbol("&&" | "||" | "?" | ":") => Err(parser.unexpected("an operator or the end of the rule")),
        _ => Err(parser.unexpected("an operator such as `&&` or `==`, or the end of the rule")),
    }
}

struct Parser<'t> {
    text: &'t str,
    lexer: Lexer<'t>,
    /// The token to be read next, and where it is.
    token: Token,
    span: Span,
    /// Where the token before it ends.
    previous_end: usize,
    depth: usize,
    nesting: usize,
}

impl Parser<'_> {
    fn advance(&mut self) -> Result<Token, CompileError> {
        let (token, span) = self.lexer.next()?;
        self.previous_end = self.span.end;
        self.span = span;
        Ok(std::mem::replace(&mut self.token, token))
    }

    fn eat(&mut self, symbol: &str) -> Result<bool, CompileError> {
        let found = matches!(self.token, Token::Symbol(found) if found == symbol);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, symbol: &str, purpose: &str) -> Result<(), CompileError> {
        if self.eat(symbol)? { Ok(()) } else { Err(self.unexpected(&format!("`{symbol}` {purpose}"))) }
    }

    fn unexpected(&self, expected: &str) -> CompileError {
        let found = match &self.token {
            Token::End => "the rule ends".to_owned(),
            _ => format!("found `{}`", self.span.quote(self.text)),
        };
        CompileError::new(CompileErrorKind::Parse, self.span, format!("{found}, expected {expected}"))
    }

    fn unsupported(span: Span, what: &str) -> CompileError {
        CompileError::new(CompileErrorKind::Unsupported, span, format!("{what} cannot be used in selection rules"))
    }

    fn since(&self, start: usize) -> Span {
        Span { start, end: self.previous_end }
    }

    fn too_deep(&self, span: Span) -> CompileError {
        let message = format!("the rule nests deeper than {} levels here; split it into several rules", self.nesting);
        CompileError::new(CompileErrorKind::TooDeep, span, message)
    }

    /// A node that began at `start` and whose highest child has this height.
    fn node(&self, start: usize, children: usize, kind: Kind) -> Parsed {
        let span = self.since(start);
        if children >= self.nesting {
            return Err(self.too_deep(span));
        }
        Ok(Node { kind, span, height: children + 1, double: false })
    }

    fn expression(&mut self) -> Parsed {
        if self.depth >= self.nesting {
            return Err(self.too_deep(self.span));
        }
        self.depth += 1;
        let start = self.span.start;
        let mut node = self.logic(true)?;
        if self.eat("?")? {
            let then = self.logic(true)?;
            self.expect(":", "between the two values of `condition ? a : b`")?;
            let otherwise = self.expression()?;
            let height = node.height.max(then.height).max(otherwise.height);
            node = self.node(start, height, Kind::Conditional(Box::new([node, then, otherwise])))?;
        }
        self.depth -= 1;
        Ok(node)
    }

    /// Operands joined by `||`, or by `&&`, which binds tighter.
    fn logic(&mut self, or: bool) -> Parsed {
        let symbol = if or { "||" } else { "&&" };
        let start = self.span.start;
        let first = self.operand_of_logic(or)?;
        let mut height = first.height;
        if !self.eat(symbol)? {
            return Ok(first);
        }
        let mut terms = vec![first];
        loop {
            let term = self.operand_of_logic(or)?;
            height = height.max(term.height);
            terms.push(term);
            if !self.eat(symbol)? {
                return self.node(start, height, Kind::Logic { or, terms });
            }
        }
    }

    fn operand_of_logic(&mut self, or: bool) -> Parsed {
        if or { self.logic(false) } else { self.binary(0) }
    }

    /// Comparisons, sums and products that bind at least as tightly as `precedence`.
    fn binary(&mut self, precedence: u8) -> Parsed {
        let start = self.span.start;
        let mut left = self.unary()?;
        while let Token::Symbol(symbol) = self.token {
            let Some(operator) = Operator::by_symbol(symbol).filter(|found| found.precedence() >= precedence) else {
                break;
            };
            self.advance()?;
            let right = self.binary(operator.precedence() + 1)?;
            let height = left.height.max(right.height);
            left = self.node(
                start,
                height,
                Kind::Binary { operator, left: Box::new(left), right: Box::new(right) },
            )?;
        }
        Ok(left)
    }

    fn unary(&mut self) -> Parsed {
        let start = self.span.start;
        let Token::Symbol(symbol @ ("!" | "-")) = self.token else { return self.member() };
        let mut times = 0_usize;
        while self.eat(symbol)? {
            times += 1;
        }
        if let (Token::Int(value), "-") = (&self.token, symbol) {
            // The smallest integer has no positive counterpart, so the sign is part of the number.
            let value = 0_i64.checked_sub_unsigned(*value).ok_or_else(|| self.too_large())?;
            self.advance()?;
            times -= 1;
            let number = self.node(start, 0, Kind::Int(value))?;
            let member = self.postfix(start, number)?;
            return self.repeat(start, symbol, times, member);
        }
        let member = self.member()?;
        self.repeat(start, symbol, times, member)
    }

    /// Applies a prefix operator as often as it was written; two of them cancel, checks apart.
    fn repeat(&mut self, start: usize, symbol: &str, times: usize, mut node: Node) -> Parsed {
        let effective = if times > 2 { 2 - times % 2 } else { times };
        for _ in 0..effective {
            let (height, inner) = (node.height, Box::new(node));
            node = self.node(start, height, if symbol == "!" { Kind::Not(inner) } else { Kind::Negate(inner) })?;
        }
        Ok(node)
    }

    fn too_large(&self) -> CompileError {
        let message = format!("`{}` does not fit into a 64-bit integer", self.span.quote(self.text));
        CompileError::new(CompileErrorKind::Parse, self.span, message)
    }

    fn member(&mut self) -> Parsed {
        let start = self.span.start;
        let node = self.primary()?;
        self.postfix(start, node)
    }

    /// What follows a value: `.field`, `.call(…)`, `[index]`.
    fn postfix(&mut self, start: usize, mut node: Node) -> Parsed {
        loop {
            if self.eat(".")? {
                if matches!(self.token, Token::Symbol("?")) {
                    return Err(Self::unsupported(self.since(start), "optional values (`.?`)"));
                }
                if matches!(self.token, Token::Symbol("`")) {
                    return Err(self.unexpected("a field name; other keys are read with [\"key\"]"));
                }
                let (name, name_span) = self.name("a field name")?;
                node = if self.eat("(")? {
                    self.call(start, Some(node), name, name_span)?
                } else {
                    let height = node.height;
                    let kind = Kind::Select { operand: Box::new(node), field: name, field_span: name_span, test: false };
                    self.node(start, height, kind)?
                };
            } else if self.eat("[")? {
                if matches!(self.token, Token::Symbol("?")) {
                    return Err(Self::unsupported(self.since(start), "optional values (`[?`)"));
                }
                let index = self.expression()?;
                self.expect("]", "after the index")?;
                let height = node.height.max(index.height);
                node = self.node(start, height, Kind::Index { operand: Box::new(node), index: Box::new(index) })?;
            } else if matches!(self.token, Token::Symbol("{"))
                && matches!(node.kind, Kind::Variable(_) | Kind::Select { .. })
            {
                let span = Span { start, end: self.span.end };
                return Err(Self::unsupported(span, "objects of a named type (`Type{…}`)"));
            } else {
                return Ok(node);
            }
        }
    }

    fn name(&mut self, expected: &str) -> Result<(String, Span), CompileError> {
        let span = self.span;
        let name = self.text.get(span.range()).unwrap_or_default().to_owned();
        if self.token != Token::Name {
            return Err(self.unexpected(expected));
        }
        self.advance()?;
        Ok((name, span))
    }

    fn primary(&mut self) -> Parsed {
        let start = self.span.start;
        let (kind, height) = match &self.token {
            Token::Symbol("(") => {
                self.advance()?;
                let node = self.expression()?;
                self.expect(")", "to close the parenthesis")?;
                return Ok(node);
            }
            Token::Symbol("[") => {
                self.advance()?;
                let (elements, height) = self.list("]")?;
                (Kind::List(elements), height)
            }
            Token::Symbol("{") => {
                self.advance()?;
                self.map()?
            }
            Token::Name => {
                let (name, span) = self.name("a name")?;
                match name.as_str() {
                    "true" | "false" => (Kind::Bool(name == "true"), 0),
                    "null" => (Kind::Null, 0),
                    reserved if RESERVED.contains(&reserved) => {
                        let message = format!("`{reserved}` is a reserved word of CEL and cannot be a name");
                        return Err(CompileError::new(CompileErrorKind::Parse, span, message));
                    }
                    _ if self.eat("(")? => return self.call(start, None, name, span),
                    _ => (Kind::Variable(name), 0),
                }
            }
            Token::Unsupported(what) => return Err(Self::unsupported(self.span, what)),
            Token::Int(value) => {
                let value = i64::try_from(*value).map_err(|_| self.too_large())?;
                self.advance()?;
                (Kind::Int(value), 0)
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
            Token::Symbol(_) | Token::End => return Err(self.unexpected("a value such as `spec` or 'text'")),
        };
        self.node(start, height, kind)
    }

    /// Expressions separated by commas, up to `close`, and the greatest of their heights.
    fn list(&mut self, close: &str) -> Result<(Vec<Node>, usize), CompileError> {
        let mut elements = Vec::new();
        let mut height = 0;
        while !self.eat(close)? {
            if matches!(self.token, Token::Symbol("?")) {
                return Err(Self::unsupported(self.span, "optional values (`?`)"));
            }
            let element = self.expression()?;
            height = height.max(element.height);
            elements.push(element);
            if !self.eat(",")? {
                self.expect(close, "or `,`")?;
                break;
            }
        }
        Ok((elements, height))
    }

    fn map(&mut self) -> Result<(Kind, usize), CompileError> {
        let mut entries = Vec::new();
        let mut height = 0;
        while !self.eat("}")? {
            if matches!(self.token, Token::Symbol("?")) {
                return Err(Self::unsupported(self.span, "optional values (`?`)"));
            }
            let key = self.expression()?;
            self.expect(":", "after the key")?;
            let value = self.expression()?;
            height = height.max(key.height).max(value.height);
            entries.push((key, value));
            if !self.eat(",")? {
                self.expect("}", "or `,`")?;
                break;
            }
        }
        Ok((Kind::Map(entries), height))
    }

    /// The rest of a call, behind its opening parenthesis.
    fn call(&mut self, start: usize, target: Option<Node>, name: String, name_span: Span) -> Parsed {
        let (mut arguments, mut height) = self.list(")")?;
        let Some(target) = target else {
            if name == "has" {
                return self.has(start, name_span, arguments);
            }
            let function = Function::by_name(&name);
            let call = Call { function, name, name_span, receiver: false, arguments };
            return self.node(start, height, Kind::Call(call));
        };
        height = height.max(target.height);
        if let Some(kind) = MacroKind::by_name(&name) {
            return self.comprehension(start, kind, target, arguments, height, &name, name_span);
        }
        let function = Function::by_name(&name);
        arguments.insert(0, target);
        let call = Call { function, name, name_span, receiver: true, arguments };
        self.node(start, height, Kind::Call(call))
    }

    fn has(&self, start: usize, name_span: Span, mut arguments: Vec<Node>) -> Parsed {
        let usage = "has() takes one field, such as has(spec.resources.gpu)";
        let (Some(argument), true) = (arguments.pop(), arguments.is_empty()) else {
            return Err(CompileError::new(CompileErrorKind::Arguments, name_span, usage));
        };
        let span = argument.span;
        match argument.kind {
            Kind::Select { operand, field, field_span, .. } => {
                let height = operand.height;
                self.node(start, height, Kind::Select { operand, field, field_span, test: true })
            }
            Kind::Index { .. } => {
                let message = format!("{usage}; whether a map has a key is written \"key\" in map");
                Err(CompileError::new(CompileErrorKind::Arguments, span, message))
            }
            _ => Err(CompileError::new(CompileErrorKind::Arguments, span, usage)),
        }
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one call, read by its only caller")]
    fn comprehension(
        &self,
        start: usize,
        kind: MacroKind,
        range: Node,
        mut arguments: Vec<Node>,
        height: usize,
        name: &str,
        name_span: Span,
    ) -> Parsed {
        let body = arguments.pop();
        let filter = (arguments.len() == 2).then(|| arguments.pop()).flatten();
        let variable = arguments.pop();
        let well_formed = arguments.is_empty() && (filter.is_none() || kind == MacroKind::Map);
        let (Some(variable), Some(body), true) = (variable, body, well_formed) else {
            let usage = format!("{name}() takes a name and an expression, such as list.{name}(x, x == 'a')");
            return Err(CompileError::new(CompileErrorKind::Arguments, name_span, usage));
        };
        let span = variable.span;
        let Kind::Variable(variable) = variable.kind else {
            let message = format!("the first argument of {name}() is a new name for the elements, such as `x`");
            return Err(CompileError::new(CompileErrorKind::Arguments, span, message));
        };
        self.node(start, height, Kind::Macro(Box::new(Macro { kind, range, variable, filter, body })))
    }
}

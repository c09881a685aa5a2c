//! The parser: converts tokens to a syntax tree, in linear time and with bounded recursion.

use super::error::{CompileError, CompileErrorKind, Span};
use super::lexer::{Lexer, Token};
use super::syntax::{Kind, Node, Operator};
use super::types::InferredType;

pub(super) type ParseResult = Result<Node, CompileError>;

/// Parses one expression whose tree has at most `nesting` levels.
pub(super) fn parse(text: &str, nesting: usize) -> ParseResult {
    let mut parser = Parser {
        text,
        lexer: Lexer::new(text),
        token: Token::End,
        span: Span { start: 0, end: 0 },
        previous_end: 0,
        depth: 0,
        nesting,
        macros: 0,
    };
    parser.advance()?;
    let node = parser.parse_expression()?;
    match parser.token {
        Token::End => Ok(node),
        Token::Symbol("&&" | "||" | "?" | ":") => Err(parser.unexpected("an operator or the end of the rule")),
        _ => Err(parser.unexpected("an operator such as `&&` or `==`, or the end of the rule")),
    }
}

pub(super) struct Parser<'t> {
    pub(super) text: &'t str,
    lexer: Lexer<'t>,
    /// The next token, and its span.
    pub(super) token: Token,
    pub(super) span: Span,
    /// The end of the previous token, in bytes.
    previous_end: usize,
    /// The number of expressions around the current one, which bounds the recursion of the parser.
    depth: usize,
    nesting: usize,
    /// The number of macros so far.
    pub(super) macros: usize,
}

impl Parser<'_> {
    /// Reads the next token and returns the current one.
    pub(super) fn advance(&mut self) -> Result<Token, CompileError> {
        let (token, span) = self.lexer.next()?;
        self.previous_end = self.span.end;
        self.span = span;
        Ok(std::mem::replace(&mut self.token, token))
    }

    /// Skips the next token if it is this symbol. Returns whether it was.
    pub(super) fn eat(&mut self, symbol: &str) -> Result<bool, CompileError> {
        let is_next = matches!(self.token, Token::Symbol(next) if next == symbol);
        if is_next {
            self.advance()?;
        }
        Ok(is_next)
    }

    /// Skips the next token, which must be this symbol. `purpose` completes the error message.
    pub(super) fn expect(&mut self, symbol: &str, purpose: &str) -> Result<(), CompileError> {
        if self.eat(symbol)? { Ok(()) } else { Err(self.unexpected(&format!("`{symbol}` {purpose}"))) }
    }

    /// Returns the error for the next token where something else is expected.
    pub(super) fn unexpected(&self, expected: &str) -> CompileError {
        let found = match &self.token {
            Token::End => "the rule ends".to_owned(),
            _ => format!("found `{}`", self.span.quote(self.text)),
        };
        CompileError::new(CompileErrorKind::Parse, self.span, format!("{found}, expected {expected}"))
    }

    pub(super) fn unsupported(span: Span, feature: &str) -> CompileError {
        CompileError::new(CompileErrorKind::Unsupported, span, format!("{feature} cannot be used in selection rules"))
    }

    fn span_from(&self, start: usize) -> Span {
        Span { start, end: self.previous_end }
    }

    fn too_deep(&self, span: Span) -> CompileError {
        let message = format!("the rule nests deeper than {} levels here; split it into several rules", self.nesting);
        CompileError::new(CompileErrorKind::TooDeep, span, message)
    }

    /// Creates a node that began at `start`. `children` is the maximum height of its children. It fails if the tree
    /// would be too deep, so that no later recursion over the tree can overflow the stack.
    pub(super) fn new_node(&self, start: usize, children: usize, kind: Kind) -> ParseResult {
        let span = self.span_from(start);
        if children >= self.nesting {
            return Err(self.too_deep(span));
        }
        Ok(Node { kind, span, height: children + 1, ty: InferredType::Unknown, path: None })
    }

    /// Parses a whole expression, including `condition ? a : b`.
    pub(super) fn parse_expression(&mut self) -> ParseResult {
        if self.depth >= self.nesting {
            return Err(self.too_deep(self.span));
        }
        self.depth += 1;
        let start = self.span.start;
        let mut node = self.parse_logic(true)?;
        if self.eat("?")? {
            let then = self.parse_logic(true)?;
            self.expect(":", "between the two values of `condition ? a : b`")?;
            let otherwise = self.parse_expression()?;
            let height = node.height.max(then.height).max(otherwise.height);
            node = self.new_node(start, height, Kind::Conditional(Box::new([node, then, otherwise])))?;
        }
        self.depth -= 1;
        Ok(node)
    }

    /// Parses operands joined by `||` or, if `or` is false, by `&&`, which binds more tightly.
    fn parse_logic(&mut self, or: bool) -> ParseResult {
        let symbol = if or { "||" } else { "&&" };
        let start = self.span.start;
        let first = self.parse_logic_operand(or)?;
        let mut height = first.height;
        if !self.eat(symbol)? {
            return Ok(first);
        }
        let mut terms = vec![first];
        loop {
            let term = self.parse_logic_operand(or)?;
            height = height.max(term.height);
            terms.push(term);
            if !self.eat(symbol)? {
                return self.new_node(start, height, Kind::Logic { or, terms });
            }
        }
    }

    fn parse_logic_operand(&mut self, or: bool) -> ParseResult {
        if or { self.parse_logic(false) } else { self.parse_binary(0) }
    }

    /// Parses comparisons, sums and products that bind at least as tightly as `precedence`.
    fn parse_binary(&mut self, precedence: u8) -> ParseResult {
        let start = self.span.start;
        let mut left = self.parse_unary()?;
        while let Token::Symbol(symbol) = self.token {
            let Some(operator) = Operator::from_symbol(symbol).filter(|operator| operator.precedence() >= precedence)
            else {
                break;
            };
            self.advance()?;
            let right = self.parse_binary(operator.precedence() + 1)?;
            let height = left.height.max(right.height);
            left =
                self.new_node(start, height, Kind::Binary { operator, left: Box::new(left), right: Box::new(right) })?;
        }
        Ok(left)
    }

    /// Parses a value with any number of prefix operators.
    fn parse_unary(&mut self) -> ParseResult {
        let start = self.span.start;
        let Token::Symbol(symbol @ ("!" | "-")) = self.token else { return self.parse_member() };
        let mut times = 0_usize;
        while self.eat(symbol)? {
            times += 1;
        }
        if let (Token::Int(value), "-") = (&self.token, symbol) {
            // The sign is part of the number, because the smallest integer has no positive counterpart.
            let value = 0_i64.checked_sub_unsigned(*value).ok_or_else(|| self.too_large())?;
            self.advance()?;
            times -= 1;
            let number = self.new_node(start, 0, Kind::Int(value))?;
            let member = self.parse_postfix(start, number)?;
            return self.apply_prefix(start, symbol, times, member);
        }
        let member = self.parse_member()?;
        self.apply_prefix(start, symbol, times, member)
    }

    /// Applies a prefix operator `times` times. Pairs of operators cancel each other; up to two are kept so that the
    /// operand is still type-checked, while a long chain does not make the tree deep.
    fn apply_prefix(&mut self, start: usize, symbol: &str, times: usize, mut node: Node) -> ParseResult {
        let effective = if times > 2 { 2 - times % 2 } else { times };
        for _ in 0..effective {
            let (height, inner) = (node.height, Box::new(node));
            node = self.new_node(start, height, if symbol == "!" { Kind::Not(inner) } else { Kind::Negate(inner) })?;
        }
        Ok(node)
    }

    pub(super) fn too_large(&self) -> CompileError {
        let message = format!("`{}` does not fit into a 64-bit integer", self.span.quote(self.text));
        CompileError::new(CompileErrorKind::Parse, self.span, message)
    }

    fn parse_member(&mut self) -> ParseResult {
        let start = self.span.start;
        let node = self.parse_primary()?;
        self.parse_postfix(start, node)
    }

    /// Parses the suffixes of a value: `.field`, `.call(…)` and `[index]`.
    fn parse_postfix(&mut self, start: usize, mut node: Node) -> ParseResult {
        loop {
            if self.eat(".")? {
                if matches!(self.token, Token::Symbol("?")) {
                    return Err(Self::unsupported(self.span_from(start), "optional values (`.?`)"));
                }
                if matches!(self.token, Token::Symbol("`")) {
                    return Err(self.unexpected("a field name; read other keys with [\"key\"]"));
                }
                let (name, name_span) = self.parse_name("a field name")?;
                node = if self.eat("(")? {
                    self.parse_call(start, Some(node), name, name_span)?
                } else {
                    let height = node.height;
                    let kind =
                        Kind::Select { operand: Box::new(node), field: name, field_span: name_span, test: false };
                    self.new_node(start, height, kind)?
                };
            } else if self.eat("[")? {
                if matches!(self.token, Token::Symbol("?")) {
                    return Err(Self::unsupported(self.span_from(start), "optional values (`[?`)"));
                }
                let index = self.parse_expression()?;
                self.expect("]", "after the index")?;
                let height = node.height.max(index.height);
                node = self.new_node(start, height, Kind::Index { operand: Box::new(node), index: Box::new(index) })?;
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
}

//! The syntax tree of a rule.

use super::error::Span;
use super::functions::Function;
use super::types::InferredType;
use kubefoundry_yaml::field_path::FieldPath;

/// One expression.
#[derive(Debug)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) span: Span,
    /// The number of nodes on the longest path to a leaf. The parser limits it, so that recursion over the tree is
    /// safe.
    pub(super) height: usize,
    /// The type, which the type checker sets.
    pub(super) ty: InferredType,
    /// The input field that the node reads, if its path has only literal keys and indexes. The type checker sets it.
    pub(super) path: Option<FieldPath>,
}

#[derive(Debug)]
pub(super) enum Kind {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(String),
    Bytes(Vec<u8>),
    Variable(String),
    List(Vec<Node>),
    Map(Vec<(Node, Node)>),
    /// `operand.field`, or `has(operand.field)` if `test`.
    Select {
        operand: Box<Node>,
        field: String,
        field_span: Span,
        test: bool,
    },
    Index {
        operand: Box<Node>,
        index: Box<Node>,
    },
    Not(Box<Node>),
    Negate(Box<Node>),
    Binary {
        operator: Operator,
        left: Box<Node>,
        right: Box<Node>,
    },
    /// Two or more operands of `&&` or `||`.
    Logic {
        or: bool,
        terms: Vec<Node>,
    },
    Conditional(Box<[Node; 3]>),
    Call(Call),
    Macro(Box<Macro>),
}

/// A call; the receiver of `receiver.name(…)` is the first of `arguments`.
#[derive(Debug)]
pub(super) struct Call {
    /// `None` if no such function exists.
    pub(super) function: Option<Function>,
    pub(super) name: String,
    pub(super) name_span: Span,
    /// Whether the call has the form `receiver.name(…)`.
    pub(super) receiver: bool,
    pub(super) arguments: Vec<Node>,
}

/// A macro over a range, such as `range.all(variable, body)`.
#[derive(Debug)]
pub(super) struct Macro {
    pub(super) kind: MacroKind,
    /// The number of the macro in the rule, counted from 0 in the order of parsing.
    pub(super) number: usize,
    pub(super) range: Node,
    pub(super) variable: String,
    /// The condition of a `map` with three arguments.
    pub(super) filter: Option<Node>,
    pub(super) body: Node,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum MacroKind {
    All,
    Exists,
    ExistsOne,
    Filter,
    Map,
}

impl MacroKind {
    pub(super) fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "all" => Self::All,
            "exists" => Self::Exists,
            "exists_one" | "existsOne" => Self::ExistsOne,
            "filter" => Self::Filter,
            "map" => Self::Map,
            _ => return None,
        })
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
}

impl Operator {
    pub(super) fn from_symbol(symbol: &str) -> Option<Self> {
        Some(match symbol {
            "==" => Self::Equal,
            "!=" => Self::NotEqual,
            "<" => Self::Less,
            "<=" => Self::LessOrEqual,
            ">" => Self::Greater,
            ">=" => Self::GreaterOrEqual,
            "in" => Self::In,
            "+" => Self::Add,
            "-" => Self::Subtract,
            "*" => Self::Multiply,
            "/" => Self::Divide,
            "%" => Self::Remainder,
            _ => return None,
        })
    }

    pub(super) fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "==",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
            Self::In => "in",
            Self::Add => "+",
            Self::Subtract => "-",
            Self::Multiply => "*",
            Self::Divide => "/",
            Self::Remainder => "%",
        }
    }

    /// Returns the precedence. Operators with a higher one bind more tightly.
    pub(super) fn precedence(self) -> u8 {
        match self {
            Self::Add | Self::Subtract => 1,
            Self::Multiply | Self::Divide | Self::Remainder => 2,
            _ => 0,
        }
    }
}

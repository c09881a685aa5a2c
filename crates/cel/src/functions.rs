//! The functions that rules may call, and the names of CEL functions that they may not call.

/// A function that rules may call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Function {
    Size,
    Contains,
    StartsWith,
    EndsWith,
    Matches,
    LowerAscii,
    UpperAscii,
    Trim,
    String,
    Int,
    Double,
    Bool,
    Uint,
    Bytes,
    Dyn,
    Max,
    Min,
}

/// Marks the arity of a function that takes one list or any number of values.
pub(super) const ANY_NUMBER: usize = usize::MAX;

/// The form in which a function is called.
pub(super) struct Signature {
    pub(super) function: Function,
    pub(super) name: &'static str,
    /// Whether it can be called as `receiver.f(…)`.
    pub(super) method: bool,
    /// Whether it can be called as `f(…)`.
    pub(super) global: bool,
    /// Number of arguments, including the receiver.
    pub(super) arity: usize,
    /// An example call, for messages.
    pub(super) usage: &'static str,
}

const fn method(function: Function, name: &'static str, arity: usize, usage: &'static str) -> Signature {
    Signature { function, name, method: true, global: false, arity, usage }
}

const fn conversion(function: Function, name: &'static str, usage: &'static str) -> Signature {
    Signature { function, name, method: false, global: true, arity: 1, usage }
}

const fn variadic(function: Function, name: &'static str, usage: &'static str) -> Signature {
    Signature { function, name, method: false, global: true, arity: ANY_NUMBER, usage }
}

static SIGNATURES: [Signature; 17] = [
    Signature {
        function: Function::Size,
        name: "size",
        method: true,
        global: true,
        arity: 1,
        usage: "size(value) or value.size()",
    },
    method(Function::Contains, "contains", 2, "text.contains(part)"),
    method(Function::StartsWith, "startsWith", 2, "text.startsWith(prefix)"),
    method(Function::EndsWith, "endsWith", 2, "text.endsWith(suffix)"),
    Signature {
        function: Function::Matches,
        name: "matches",
        method: true,
        global: true,
        arity: 2,
        usage: "text.matches(pattern)",
    },
    method(Function::LowerAscii, "lowerAscii", 1, "text.lowerAscii()"),
    method(Function::UpperAscii, "upperAscii", 1, "text.upperAscii()"),
    method(Function::Trim, "trim", 1, "text.trim()"),
    conversion(Function::String, "string", "string(value)"),
    conversion(Function::Int, "int", "int(value)"),
    conversion(Function::Double, "double", "double(value)"),
    conversion(Function::Bool, "bool", "bool(value)"),
    conversion(Function::Uint, "uint", "uint(value)"),
    conversion(Function::Bytes, "bytes", "bytes(text)"),
    conversion(Function::Dyn, "dyn", "dyn(value)"),
    variadic(Function::Max, "max", "max(list) or max(a, b)"),
    variadic(Function::Min, "min", "min(list) or min(a, b)"),
];

/// Names of CEL macros, for suggestions.
pub(super) const MACROS: [&str; 6] = ["has", "all", "exists", "exists_one", "filter", "map"];

/// Functions and macros that Kubernetes supports but selection rules do not.
const KUBERNETES_ONLY: [&str; 57] = [
    "type",
    "timestamp",
    "duration",
    "getDate",
    "getDayOfMonth",
    "getDayOfWeek",
    "getDayOfYear",
    "getFullYear",
    "getHours",
    "getMilliseconds",
    "getMinutes",
    "getMonth",
    "getSeconds",
    "charAt",
    "format",
    "indexOf",
    "join",
    "lastIndexOf",
    "replace",
    "reverse",
    "split",
    "substring",
    "strings.quote",
    "find",
    "findAll",
    "isSorted",
    "sum",
    "first",
    "last",
    "distinct",
    "flatten",
    "slice",
    "sort",
    "sortBy",
    "lists.range",
    "transformList",
    "transformMap",
    "transformMapEntry",
    "optMap",
    "optFlatMap",
    "optional.of",
    "optional.none",
    "or",
    "orValue",
    "hasValue",
    "value",
    "quantity",
    "isQuantity",
    "url",
    "isURL",
    "ip",
    "isIP",
    "cidr",
    "isCIDR",
    "semver",
    "isSemver",
    "cel.bind",
];

impl Function {
    pub(super) fn from_name(name: &str) -> Option<Self> {
        SIGNATURES.iter().find(|signature| signature.name == name).map(|signature| signature.function)
    }

    pub(super) fn signature(self) -> Option<&'static Signature> {
        SIGNATURES.iter().find(|signature| signature.function == self)
    }
}

/// Returns all names that can be called.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    SIGNATURES.iter().map(|signature| signature.name).chain(MACROS)
}

/// Returns whether Kubernetes has a function of this name. `name` has no namespace such as `cel.`.
pub(super) fn exists_in_kubernetes(name: &str) -> bool {
    KUBERNETES_ONLY.iter().any(|known| *known == name || known.split_once('.').is_some_and(|(_, last)| last == name))
}

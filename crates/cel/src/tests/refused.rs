//! Rules with compile errors.

use super::super::{CompileErrorKind as Kind, Environment, Limits};
use super::compile;

fn kind_name(kind: &Kind) -> &'static str {
    match kind {
        Kind::TooLong => "long",
        Kind::TooDeep => "deep",
        Kind::Parse => "parse",
        Kind::UnknownIdentifier { .. } => "identifier",
        Kind::UnknownField { .. } => "field",
        Kind::UnknownFunction { .. } => "function",
        Kind::Arguments => "arguments",
        Kind::TypeMismatch => "type",
        Kind::NotBoolean => "boolean",
        Kind::Unsupported => "unsupported",
    }
}

/// Rule, kind of error, erroneous text, and part of the message.
const CASES: [(&str, &str, &str, &str); 91] = [
    ("", "parse", "", "the rule ends, expected a value"),
    ("  // nothing", "parse", "", "the rule ends"),
    ("spec.engine.type = 'vllm'", "parse", "=", "comparison is `==`"),
    ("true & true", "parse", "&", "logical and is `&&`"),
    ("true and false", "parse", "and", "an operator such as `&&`"),
    ("(true", "parse", "", "expected `)`"),
    ("true)", "parse", ")", "expected an operator"),
    ("spec.", "parse", "", "a field name"),
    ("spec.1", "parse", ".1", "found `.1`"),
    ("spec.`a-b` == 1", "parse", "`", "[\"key\"]"),
    ("[1, 2", "parse", "", "expected `]`"),
    ("{'a' 1}", "parse", "1", "expected `:`"),
    ("true ? false", "parse", "", "expected `:`"),
    ("'abc", "parse", "'abc", "does not end"),
    ("'a\nb' == 'a'", "parse", "'a", "does not end on its line"),
    ("'\\q' == 'a'", "parse", "\\q", "not an escape sequence"),
    ("'\\ud800' == 'a'", "parse", "\\u", "4 digits"),
    ("99999999999999999999 > 1", "parse", "99999999999999999999", "not a 64-bit integer"),
    ("9223372036854775808 > 1", "parse", "9223372036854775808", "does not fit"),
    ("1e999 > 1.0", "parse", "1e999", "too large"),
    ("12abc == 1", "parse", "12abc", "not a number"),
    ("for == 1", "parse", "for", "reserved word"),
    ("\0 == 1", "parse", "\0", "unexpected character"),
    ("größe == 1", "parse", "ö", "unexpected character `ö`"),
    ("spec.model.servedName == 'ö' && spek.x", "identifier", "spek", "did you mean `spec`?"),
    ("foo == 1", "identifier", "foo", "a rule can read spec and metadata"),
    ("engine.type == 'vllm'", "identifier", "engine", "did you mean `spec.engine`?"),
    ("spec.engine.type == vllm", "identifier", "vllm", "text in quotes"),
    ("spec.env.all(e, f.name == 'a')", "identifier", "f", "unknown name"),
    ("[1].all(x, true) && x == 1", "identifier", "x", "unknown name"),
    ("spec.engin.type == 'vllm'", "field", "engin", "`spec` has no field `engin`; did you mean `engine`?"),
    ("has(spec.resources.gpus)", "field", "gpus", "did you mean `gpu`?"),
    ("has(spec.zzz)", "field", "zzz", "it has model, engine"),
    ("spec.env.all(e, e.nam == 'a')", "field", "nam", "did you mean `name`?"),
    ("spec.env[0].nme == 'a'", "field", "nme", "did you mean `name`?"),
    ("spec.model.id.startWith('a')", "function", "startWith", "did you mean `startsWith`?"),
    ("sise(spec.env) == 1", "function", "sise", "did you mean `size`?"),
    ("spec.env.any(e, e.name == 'a')", "function", "any", "unknown function `any`"),
    ("frobnicate()", "function", "frobnicate", "unknown function"),
    ("spec.model.id.matches('(a')", "arguments", "'(a'", "not a regular expression: unclosed group"),
    ("spec.model.id.matches('(a{99}){99}{99}')", "arguments", "'(a{99}){99}{99}'", "the pattern is too large"),
    ("spec.model.id.matches(1)", "type", "1", "matches() takes strings"),
    ("timestamp('2024-01-01T00:00:00Z') == 1", "unsupported", "timestamp", "timestamp() is not available"),
    ("duration('1h') == 1", "unsupported", "duration", "duration() is not available"),
    ("cel.bind(x, 1, x == 1)", "unsupported", "bind", "is not available"),
    ("optional.of(1).hasValue()", "unsupported", "hasValue", "is not available"),
    ("Foo{a: 1} == 1", "unsupported", "Foo{", "objects of a named type"),
    ("a.b.Foo{a: 1} == 1", "unsupported", "a.b.Foo{", "objects of a named type"),
    ("-spec.overrides.replicas == -2", "type", "spec.overrides.replicas", "write -int(x)"),
    ("-1u == 1", "type", "1u", "write -int(x)"),
    ("string(true) == 'true'", "type", "true", "string() takes a number or string"),
    ("{'a': 1, 'b': 2, 'a': 3}.size() == 2", "parse", "'a'", "this key twice"),
    ("'é'.contains(b'a' == 1)", "type", "b'a' == 1", "contains() takes strings"),
    ("spec.?engine.type == 'a'", "unsupported", "spec.", "optional values"),
    ("spec.ports[?0] == 1", "unsupported", "spec.ports[", "optional values"),
    ("[?1] == [1]", "unsupported", "?", "optional values"),
    ("has(spec)", "arguments", "spec", "has() takes one field"),
    ("has(spec.engine.args['a'])", "arguments", "spec.engine.args['a']", "\"key\" in map"),
    ("has()", "arguments", "has", "has() takes one field"),
    ("spec.env.all(e)", "arguments", "all", "takes a name and an expression"),
    ("spec.env.all(i, e, true)", "arguments", "all", "takes a name and an expression"),
    ("spec.env.map(a, b, c, d) == []", "arguments", "map", "takes a name"),
    ("spec.env.all(e.x, true)", "arguments", "e.x", "a new name"),
    ("size() == 1", "arguments", "size()", "size(value)"),
    ("startsWith('a', 'b')", "arguments", "startsWith('a', 'b')", "text.startsWith(prefix)"),
    ("spec.scaling.replicas == '1'", "type", "spec.scaling.replicas == '1'", "found int and string"),
    ("spec.scaling.replicas == 1.0", "type", "spec.scaling.replicas == 1.0", "write 2.0 for 2"),
    ("spec.scaling.utilization + 1 > 1.0", "type", "spec.scaling.utilization + 1", "found double and int"),
    ("spec.scaling.replicas + 'a' == 'a'", "type", "spec.scaling.replicas + 'a'", "found int and string"),
    ("5.0 % 2.0 == 1.0", "type", "5.0 % 2.0", "takes two ints"),
    ("spec.engine.type > 1", "type", "spec.engine.type > 1", "two numbers or two strings"),
    ("spec.engine > spec.engine", "type", "spec.engine > spec.engine", "found object and object"),
    ("spec.resources.gpu == null", "type", "spec.resources.gpu == null", "has(spec.resources.gpu)"),
    ("spec.engine.type && true", "type", "spec.engine.type", "`&&` takes bools"),
    ("!spec.scaling.replicas", "type", "spec.scaling.replicas", "`!` takes bools"),
    ("-spec.engine.type == 'a'", "type", "spec.engine.type", "takes a number"),
    ("spec.scaling.replicas ? true : false", "type", "spec.scaling.replicas", "takes bools"),
    ("(true ? 1 : 'a') == 1", "type", "true ? 1 : 'a'", "one type"),
    ("[1, 'a'].size() == 2", "type", "'a'", "elements of a list need one type"),
    ("{'a': 1, 'b': 'c'}.size() == 2", "type", "'c'", "values of a map"),
    ("{[1]: 1}.size() == 1", "type", "[1]", "a map key"),
    ("1 in ['a']", "type", "1", "never be there"),
    ("'gpu' in spec.resources", "type", "spec.resources", "has(object.field)"),
    ("'a' in spec.model.id", "type", "spec.model.id", "text.contains(part)"),
    ("spec.ports['a'] == 1", "type", "'a'", "indexed by int"),
    ("spec['engine'] == spec.engine", "type", "'engine'", "`spec.field`"),
    ("spec.engine.type.name == 'a'", "type", "name", "has no fields"),
    ("spec.engine.all(e, true)", "type", "spec.engine", "a list or map has elements"),
    ("spec.ports.contains(8000)", "type", "spec.ports", "`x in list`"),
    ("spec.scaling.replicas", "boolean", "spec.scaling.replicas", "a rule must be true or false"),
    ("spec.env.map(e, e.name)", "boolean", "spec.env.map(e, e.name)", "of type list(string)"),
];

#[test]
fn rejects_wrong_rules() {
    for (expression, kind, part, message) in CASES {
        let errors = compile(expression).err().unwrap_or_else(|| panic!("{expression} is accepted"));
        let actual: Vec<_> =
            errors.iter().map(|error| (kind_name(&error.kind), &expression[error.offset.clone()])).collect();
        assert_eq!(actual, [(kind, part)], "{expression}: {errors:?}");
        assert!(errors[0].message.contains(message), "{expression}: {}", errors[0].message);
        assert!(!errors[0].message.contains(['\n', '\0']), "{expression}");
    }
}

#[test]
fn reports_all_errors_in_order() {
    let errors = compile("spec.engin.type == 'a' || foo || spec.scaling.replicas == 'a'").unwrap_err();
    let kinds: Vec<_> = errors.iter().map(|error| kind_name(&error.kind)).collect();
    assert_eq!(kinds, ["field", "identifier", "type"]);
}

#[test]
fn enforces_limits_exactly() {
    let environment = |limits| Environment::new(vec![], limits);
    let bytes = environment(Limits { expression_bytes: 4, ..Limits::default() });
    assert!(bytes.compile("true").is_ok());
    assert_eq!(bytes.compile("true ").unwrap_err()[0].kind, Kind::TooLong);
    let nesting = environment(Limits { nesting: 3, ..Limits::default() });
    assert!(nesting.compile("((true))").is_ok());
    assert_eq!(nesting.compile("(((true)))").unwrap_err()[0].kind, Kind::TooDeep);
    assert!(nesting.compile("1 + 1 == 2").is_ok());
    assert_eq!(nesting.compile("1 + 1 + 1 == 2").unwrap_err()[0].kind, Kind::TooDeep);
}

#[test]
fn limits_the_number_of_patterns() {
    let rule = |count: usize, pattern: &str| {
        let terms: Vec<_> = (0..count).map(|index| format!("''.matches(r'{pattern}{index}')")).collect();
        compile(&terms.join("||"))
    };
    assert!(rule(16, "^a").is_ok());
    assert!(rule(17, "^a").unwrap_err()[0].message.contains("at most 16 patterns"));
    assert!(compile(&["''.matches('a')"; 100].join("||")).is_ok());
    assert_eq!(rule(90, r"\pL{999}").unwrap_err().len(), 90);
}

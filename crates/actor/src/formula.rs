//! A check of formulas of scaling modifiers, which KEDA compiles with expr-lang. It knows the order of operands and
//! operators, brackets and names, but no types.

use std::collections::BTreeSet;

/// The functions that expr-lang defines (`builtin` in github.com/expr-lang/expr).
const FUNCTIONS: &[&str] = &[
    "abs",
    "all",
    "any",
    "bitand",
    "bitnand",
    "bitnot",
    "bitor",
    "bitshl",
    "bitshr",
    "bitushr",
    "bitxor",
    "ceil",
    "concat",
    "count",
    "date",
    "duration",
    "filter",
    "find",
    "findIndex",
    "findLast",
    "findLastIndex",
    "first",
    "flatten",
    "float",
    "floor",
    "fromBase64",
    "fromJSON",
    "fromPairs",
    "get",
    "groupBy",
    "hasPrefix",
    "hasSuffix",
    "indexOf",
    "int",
    "join",
    "keys",
    "last",
    "lastIndexOf",
    "len",
    "lower",
    "map",
    "max",
    "mean",
    "median",
    "min",
    "none",
    "now",
    "one",
    "reduce",
    "repeat",
    "replace",
    "reverse",
    "round",
    "sort",
    "sortBy",
    "split",
    "splitAfter",
    "string",
    "sum",
    "take",
    "timezone",
    "toBase64",
    "toJSON",
    "toPairs",
    "trim",
    "trimPrefix",
    "trimSuffix",
    "type",
    "uniq",
    "upper",
    "values",
];
/// Words between two operands.
const WORD_OPERATORS: &[&str] = &["and", "contains", "endsWith", "in", "matches", "or", "startsWith"];
/// Operators between two operands, the longest first.
const OPERATORS: &[&str] = &[
    "**", "==", "!=", "<=", ">=", "&&", "||", "??", "..", "?.", "+", "-", "*", "/", "%", "^", "<", ">", "|", "?", ":",
    ";",
];

/// Operators whose result is a condition.
const COMPARISONS: &[&str] = &["==", "!=", "<=", ">=", "<", ">", "&&", "||"];

/// Why KEDA refuses a formula.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FormulaError<'f> {
    /// A name that is neither the trigger nor a function.
    Name(&'f str),
    /// A part in a place where it has no meaning; empty at the end of the formula.
    Unexpected(&'f str),
    /// The result is a condition, and not a number.
    Condition,
}

/// Checks a formula over one trigger.
pub(super) fn check_formula<'f>(formula: &'f str, trigger: &str) -> Result<(), FormulaError<'f>> {
    let mut rest = formula.trim_start();
    let mut brackets = Vec::new();
    // Whether an operand is expected next, rather than an operator.
    let mut wants_operand = true;
    let mut is_member = false;
    let mut declared: BTreeSet<&str> = BTreeSet::new();
    let mut has_condition = false;
    // Whether the result is that of a comparison, and whether it is one of two values instead.
    let (mut compares, mut chooses) = (false, false);
    while let Some(first) = rest.chars().next() {
        if rest.starts_with("//") || rest.starts_with("/*") {
            // KEDA adds a bracket behind the formula, so a comment must end before.
            let Some(after) = comment_end(rest) else { return Err(FormulaError::Unexpected("")) };
            rest = after.trim_start();
            continue;
        }
        let length = token_length(rest);
        let (token, after) = rest.split_at(length);
        let next = after.trim_start();
        let unexpected = Err(FormulaError::Unexpected(token));
        let is_number = first.is_ascii_digit() || wants_operand && first == '.' && next_is_digit(rest);
        if is_number || matches!(first, '"' | '\'' | '`' | '#') {
            if !wants_operand || (matches!(first, '"' | '\'' | '`') && (length < 2 || !token.ends_with(first))) {
                return unexpected;
            }
            wants_operand = false;
        } else if first.is_alphabetic() || matches!(first, '_' | '$') {
            if is_member {
                is_member = false;
            } else if token == "let" && wants_operand {
                let (name, after) = next.split_at(token_length(next));
                declared.insert(name);
                // Without an equals sign, nothing follows that could be an operand.
                rest = after.trim_start().strip_prefix('=').unwrap_or("").trim_start();
                continue;
            } else if token == "not" || token == "if" && wants_operand {
                // `not` is before an operand, or before a word such as `in`.
                has_condition |= token == "if";
                rest = next;
                continue;
            } else if token == "else" && has_condition && !wants_operand {
                wants_operand = true;
            } else if WORD_OPERATORS.contains(&token) {
                if wants_operand {
                    return unexpected;
                }
                compares |= brackets.is_empty();
                wants_operand = true;
            } else if !wants_operand {
                return unexpected;
            } else {
                let is_known = if next.starts_with('(') {
                    FUNCTIONS.contains(&token)
                } else {
                    token == trigger || declared.contains(token) || matches!(token, "true" | "false" | "nil" | "$env")
                };
                let is_key_of_map = brackets.last() == Some(&'{') && next.starts_with(':');
                if !(is_known || is_key_of_map) {
                    return Err(FormulaError::Name(token));
                }
                wants_operand = false;
            }
        } else if matches!(first, '(' | '[' | '{') {
            // After an operand these are a call, an index, and a branch of a condition.
            if !wants_operand && first == '{' && !has_condition {
                return unexpected;
            }
            is_member = false;
            brackets.push(first);
            wants_operand = true;
            if let Some(after) = next.strip_prefix(|next| closes(first, next)) {
                brackets.pop();
                rest = after.trim_start();
                wants_operand = false;
                continue;
            }
        } else if matches!(first, ')' | ']' | '}') {
            if wants_operand || brackets.pop().is_none_or(|open| !closes(open, first)) {
                return unexpected;
            }
        } else if first == ',' {
            if wants_operand || brackets.is_empty() {
                return unexpected;
            }
            wants_operand = true;
        } else if first == '.' && token == "." || token == "?." {
            is_member = true;
            wants_operand = false;
        } else if OPERATORS.contains(&token) {
            let is_end_of_declaration = token == ";" && brackets.is_empty() && !declared.is_empty();
            if wants_operand && !matches!(token, "-" | "+") || token == ";" && !is_end_of_declaration {
                return unexpected;
            }
            if brackets.is_empty() {
                compares = (compares || COMPARISONS.contains(&token)) && token != ";";
                chooses |= matches!(token, "?" | "??");
            }
            wants_operand = true;
        } else if !(token == "!" && wants_operand) {
            return unexpected;
        }
        rest = next;
    }
    if wants_operand || is_member || !brackets.is_empty() {
        return Err(FormulaError::Unexpected(""));
    }
    if (compares && !chooses && !has_condition) || matches!(formula.trim(), "true" | "false" | "nil") {
        return Err(FormulaError::Condition);
    }
    Ok(())
}

/// Returns what follows a comment at the start of a text, if the comment ends.
fn comment_end(text: &str) -> Option<&str> {
    let (comment, end) = match text.strip_prefix("//") {
        Some(comment) => (comment, "\n"),
        None => (text.strip_prefix("/*")?, "*/"),
    };
    comment.split_once(end).map(|(_, after)| after)
}

fn next_is_digit(text: &str) -> bool {
    text.chars().nth(1).is_some_and(|c| c.is_ascii_digit())
}

fn closes(open: char, close: char) -> bool {
    matches!((open, close), ('(', ')') | ('[', ']') | ('{', '}'))
}

/// Returns the length of the first token of a text, which is at least one character unless the text is empty.
fn token_length(text: &str) -> usize {
    let Some(first) = text.chars().next() else { return 0 };
    let while_it = |fits: fn(char) -> bool| text.find(|c: char| !fits(c)).unwrap_or(text.len());
    if first == '#' {
        // The element of a predicate, or `#index` and `#acc`.
        return text.find(|c: char| c != '#' && !c.is_alphanumeric()).unwrap_or(text.len());
    }
    if first.is_ascii_digit() || first == '.' && next_is_digit(text) {
        // A range such as `1..3` has no fraction.
        let digits = while_it(|c| c.is_ascii_alphanumeric() || matches!(c, '_' | '.'));
        return text.get(..digits).and_then(|number| number.find("..")).unwrap_or(digits);
    }
    if first.is_alphabetic() || matches!(first, '_' | '$') {
        return while_it(|c| c.is_alphanumeric() || matches!(c, '_' | '$'));
    }
    if matches!(first, '"' | '\'' | '`') {
        let mut escaped = false;
        for (index, c) in text.char_indices().skip(1) {
            if escaped {
                escaped = false;
            } else if c == '\\' && first != '`' {
                escaped = true;
            } else if c == first {
                return index + c.len_utf8();
            }
        }
        return text.len();
    }
    let operator = OPERATORS.iter().find(|operator| text.starts_with(**operator));
    operator.map_or(first.len_utf8(), |operator| operator.len())
}

#[cfg(test)]
mod tests {
    use super::{FormulaError, check_formula};

    #[test]
    fn formulas_that_keda_compiles_are_accepted() {
        for formula in [
            "queueLength",
            "queueLength / 2",
            "-queueLength + 3",
            "(queueLength + 1) * 2.5",
            "max(queueLength, 4)",
            "queueLength > 10 ? 5 : queueLength",
            "min([queueLength, 1e3])",
            "let half = queueLength / 2; half",
            "sum(map([1, 2], {# * queueLength}))",
            "count(1..3, # > 1)",
            "queueLength in [1, 2] ? 1 : 2",
            "queueLength not in [1] ? 1 : 2",
            "not (queueLength > 2) ? 1 : 2",
            "{a: queueLength}.a",
            "queueLength ** 2",
            "int(\"4\") + queueLength",
            "now().Year()",
            "queueLength / 2 // half of it\n",
            "let many = queueLength > 2; many ? 1 : 2",
            "max(queueLength, len([1 > 2]))",
            "queueLength /* all */ + .5",
            "sum(map([1, 2], # + #index))",
            "$env[\"queueLength\"] / 2",
            "if queueLength > 2 { 1 } else { queueLength }",
            "{a: {b: queueLength}}?.a.b",
        ] {
            assert_eq!(check_formula(formula, "queueLength"), Ok(()), "{formula}");
        }
    }

    #[test]
    fn formulas_that_keda_refuses_are_refused() {
        for (formula, expected) in [
            ("foo / 2", FormulaError::Name("foo")),
            ("queuelength / 2", FormulaError::Name("queuelength")),
            ("biggest(queueLength)", FormulaError::Name("biggest")),
            ("queueLength / ", FormulaError::Unexpected("")),
            ("", FormulaError::Unexpected("")),
            ("queueLength queueLength", FormulaError::Unexpected("queueLength")),
            ("queueLength 2", FormulaError::Unexpected("2")),
            ("/ queueLength", FormulaError::Unexpected("/")),
            ("(queueLength", FormulaError::Unexpected("")),
            ("queueLength)", FormulaError::Unexpected(")")),
            ("(queueLength]", FormulaError::Unexpected("]")),
            ("queueLength + \"a", FormulaError::Unexpected("\"a")),
            ("queueLength / 2 // half of it", FormulaError::Unexpected("")),
            ("queueLength /* half", FormulaError::Unexpected("")),
            ("queueLength; 2", FormulaError::Unexpected(";")),
            ("queueLength > 2", FormulaError::Condition),
            ("queueLength in [1]", FormulaError::Condition),
            ("true", FormulaError::Condition),
            ("queueLength { 2 }", FormulaError::Unexpected("{")),
            ("queueLength @ 2", FormulaError::Unexpected("@")),
        ] {
            assert_eq!(check_formula(formula, "queueLength"), Err(expected), "{formula}");
        }
    }
}

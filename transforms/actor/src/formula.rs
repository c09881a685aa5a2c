//! A check of the shape of formulas of scaling modifiers. KEDA's webhook compiles them with expr-lang, whose grammar, types
//! and functions are not repeated here: what is refused is certain to be refused there, and KEDA refuses more.

/// The words of expr-lang that can stand beside names, numbers and calls.
const WORDS: [&str; 8] = ["and", "false", "in", "matches", "nil", "not", "or", "true"];

/// Why KEDA refuses a formula.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum FormulaError<'f> {
    Blank,
    /// A bracket or a quote that is never closed.
    Unclosed(char),
    /// A closing bracket that does not match the last open one.
    Unopened(char),
    /// A comment without an end.
    Comment,
    /// A name that is not the trigger.
    Name(&'f str),
}

/// Checks the shape of a formula over one trigger.
pub(super) fn check_formula<'f>(formula: &'f str, trigger: &str) -> Result<(), FormulaError<'f>> {
    if formula.trim().is_empty() {
        return Err(FormulaError::Blank);
    }
    check_nesting(formula)?;
    find_unknown_name(formula, trigger).map_or(Ok(()), |name| Err(FormulaError::Name(name)))
}

/// Checks that brackets, quotes and comments end.
fn check_nesting(formula: &str) -> Result<(), FormulaError<'static>> {
    let mut open = Vec::new();
    let mut rest = formula.chars();
    while let Some(first) = rest.next() {
        match first {
            '(' | '[' | '{' => open.push(first),
            ')' | ']' | '}' => close(first, open.pop())?,
            '"' | '\'' | '`' => loop {
                match rest.next() {
                    None => return Err(FormulaError::Unclosed(first)),
                    Some('\\') if first != '`' => _ = rest.next(),
                    Some(next) if next == first => break,
                    Some(_) => {}
                }
            },
            '/' if rest.as_str().starts_with(['/', '*']) => {
                // KEDA adds a bracket behind the formula, so a line break must end a comment before it.
                let end = if rest.next() == Some('/') { "\n" } else { "*/" };
                let Some((_, after)) = rest.as_str().split_once(end) else { return Err(FormulaError::Comment) };
                rest = after.chars();
            }
            _ => {}
        }
    }
    open.pop().map_or(Ok(()), |open| Err(FormulaError::Unclosed(open)))
}

fn close(bracket: char, open: Option<char>) -> Result<(), FormulaError<'static>> {
    match (open, bracket) {
        (Some('('), ')') | (Some('['), ']') | (Some('{'), '}') => Ok(()),
        _ => Err(FormulaError::Unopened(bracket)),
    }
}

/// Finds a name that is not the trigger in a formula of names, numbers, calls and operators. In any other formula a
/// predicate, a mapping, a member or a declaration can bring names of its own, so nothing is certain.
fn find_unknown_name<'f>(formula: &'f str, trigger: &str) -> Option<&'f str> {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.');
    let is_plain = |c: char| is_word(c) || c.is_ascii_whitespace() || "+-*/%^(),<>=!&|?:".contains(c);
    if !formula.chars().all(is_plain) || ["..", "//", "/*"].iter().any(|token| formula.contains(token)) {
        return None;
    }
    let mut rest = formula.trim_start_matches(|c| !is_word(c));
    while !rest.is_empty() {
        let (word, after) = rest.split_at(rest.find(|c| !is_word(c)).unwrap_or(rest.len()));
        let is_number_or_member = word.starts_with(|c: char| c.is_ascii_digit() || c == '.');
        let is_function = after.trim_start().starts_with('(');
        if !(is_number_or_member || is_function || word == trigger || WORDS.contains(&word)) {
            return Some(word);
        }
        rest = after.trim_start_matches(|c| !is_word(c));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::{FormulaError, check_formula};

    #[test]
    fn formulas_that_keda_compiles_are_accepted() {
        for formula in [
            "queueLength",
            "-queueLength + 3",
            "(queueLength + 1) * 2.5",
            "max(queueLength, 4)",
            "queueLength > 10 && true ? 5 : queueLength",
            "min([queueLength, 1e3])",
            "let half = queueLength / 2; half",
            "sum(map([1, 2], {# * queueLength}))",
            "count(1..3, # > 1)",
            "not (queueLength > 2) ? 1 : 2",
            "{a: queueLength}.a",
            "queueLength ** 2",
            "int(\"4\") + queueLength",
            "int('\\'(') + len(`\\`)",
            "now().Year()",
            "queueLength / 2 // half of it :)\n",
            "queueLength /* all :( */ + .5",
            "$env[\"queueLength\"] / 2",
            "if queueLength > 2 { 1 } else { queueLength }",
        ] {
            assert_eq!(check_formula(formula, "queueLength"), Ok(()), "{formula}");
        }
    }

    #[test]
    fn formulas_without_a_shape_are_refused() {
        for (formula, expected) in [
            (" \n", FormulaError::Blank),
            ("(queueLength", FormulaError::Unclosed('(')),
            ("queueLength)", FormulaError::Unopened(')')),
            ("(queueLength]", FormulaError::Unopened(']')),
            ("queueLength + \"a", FormulaError::Unclosed('"')),
            ("queueLength + 'a\\'", FormulaError::Unclosed('\'')),
            ("queueLength / 2 // half of it", FormulaError::Comment),
            ("queueLength /*/ half", FormulaError::Comment),
            ("foo / 2", FormulaError::Name("foo")),
            ("queuelength / 2", FormulaError::Name("queuelength")),
            ("max(queueLength, s0.value)", FormulaError::Name("s0.value")),
        ] {
            assert_eq!(check_formula(formula, "queueLength"), Err(expected), "{formula}");
        }
    }

    /// KEDA refuses these, for reasons that only a parser of expr-lang finds.
    #[test]
    fn grammar_types_and_functions_are_left_to_keda() {
        for formula in ["queueLength /", "queueLength 2", "biggest(queueLength)", "queueLength > 2", "true", "/", "(é)"]
        {
            assert_eq!(check_formula(formula, "queueLength"), Ok(()), "{formula}");
        }
    }
}

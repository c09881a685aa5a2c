//! Reads the shell scripts that containers run, for imports. It understands as much of a shell as scripts need that
//! start one program; anything that decides the arguments of the program at run time is refused by name.

/// The reason why a command line cannot be read, as the end of the sentence `its command is …`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a shell script with {0}, expected one command whose arguments the object states")]
pub struct UnreadableScript(pub(crate) &'static str);

/// A script that runs one program.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Script {
    /// The program with its arguments.
    pub(crate) words: Vec<String>,
    /// The variables that the program gets from the script.
    pub(crate) assignments: Vec<(String, String)>,
    /// What the script does besides.
    pub(crate) left_out: Vec<String>,
    /// The script with `"$@"` in place of the program and its arguments.
    pub(crate) template: String,
}

/// A command of a script, and what separates it from the one before.
#[derive(Debug, Default)]
struct Statement {
    separator: &'static str,
    text: String,
    /// Where the text is in the script.
    start: usize,
    end: usize,
}

/// Stands for all arguments of a script, each a word.
pub(crate) const ALL_ARGUMENTS: &str = "\"$@\"";

/// Programs that only pass on what the program before them in a pipe prints.
const COPIERS: &[&str] = &["tee"];
/// Words that open and close a compound command.
const OPENING: &[&str] = &["if", "for", "while", "until", "case", "{", "select"];
const CLOSING: &[&str] = &["fi", "done", "esac", "}"];
/// Builtins that change nothing about a program that runs after them.
const WITHOUT_EFFECT: &[&str] = &["set", "true", ":"];

impl Script {
    /// Reads a script.
    pub(crate) fn read(script: &str) -> Result<Self, UnreadableScript> {
        let mut statements = statements(script)?;
        let copied = statements.iter().rev().take_while(|statement| statement.separator == "|").count();
        let pipe = statements.split_off(statements.len() - copied);
        let copies = |statement: &Statement| {
            statement.text.split_whitespace().next().is_some_and(|program| COPIERS.contains(&program))
        };
        if !pipe.iter().all(copies) {
            return Err(UnreadableScript("`|`"));
        }
        let Some(last) = statements.pop() else { return Err(UnreadableScript("no command")) };
        let whole = script;
        let (words, template) = (Vec::new(), String::new());
        let mut script = Self { words, assignments: Vec::new(), left_out: Vec::new(), template };
        let mut locals: Vec<(String, String)> = Vec::new();
        let mut depth = 0;
        for statement in &statements {
            script.prepare(statement, &mut locals, &mut depth)?;
        }
        if matches!(last.separator, "||" | "|") {
            return Err(UnreadableScript("a command that runs only if another fails"));
        }
        let lookup = |name: &str| find(&locals, name).or_else(|| find(&script.assignments, name));
        let text = expand_variables(&last.text, lookup);
        let (text, mut redirections) = split_redirections(&text)?;
        refuse_expansions(&text)?;
        let mut words = split_words(&text)?;
        let values = words.iter().take_while(|word| assignment(word).is_some()).count();
        script.assignments.extend(words.drain(..values).filter_map(|word| assignment(&word)));
        let is_exec = words.first().is_some_and(|word| word == "exec");
        if is_exec {
            words.remove(0);
        }
        let before = whole.get(..last.start).unwrap_or_default();
        let after = whole.get(last.end..).unwrap_or_default();
        let exec = if is_exec { "exec " } else { "" };
        let command = std::iter::once(ALL_ARGUMENTS).chain(redirections.iter().map(String::as_str));
        let command = command.collect::<Vec<_>>().join(" ");
        script.template = format!("{before}{exec}{command}{after}");
        let Some(program) = words.first() else { return Err(UnreadableScript("no command")) };
        if !statements.is_empty() && !is_program(program) {
            return Err(UnreadableScript(separator_name(last.separator)));
        }
        for statement in pipe {
            redirections.push(format!("| {}", statement.text.trim()));
        }
        if redirections != ["2>&1"] && !redirections.is_empty() {
            script.left_out.push(redirections.join(" "));
        }
        script.words = words;
        Ok(script)
    }

    /// Reads a command that runs before the program. `depth` counts the compound commands around it, such as `if`.
    fn prepare(
        &mut self,
        statement: &Statement,
        locals: &mut Vec<(String, String)>,
        depth: &mut usize,
    ) -> Result<(), UnreadableScript> {
        let text = statement.text.trim();
        let first = text.split_whitespace().next().unwrap_or_default();
        let is_inside = *depth > 0;
        if OPENING.contains(&first) || text.ends_with('{') {
            *depth += 1;
        } else if CLOSING.contains(&first) {
            *depth = depth.saturating_sub(1);
        }
        if is_inside || *depth > 0 {
            let start = if text.starts_with("exec ") { first } else { text };
            if text.split_whitespace().any(|word| word.starts_with("dynamo.")) && !text.contains("printf")
                || start == "exec"
            {
                return Err(UnreadableScript("a program that runs under a condition"));
            }
            // What a condition decides is not known.
            forget_assigned(text, locals, &mut self.assignments);
            match self.left_out.last_mut().filter(|_| is_inside) {
                Some(last) => *last = format!("{last}; {text}"),
                None => self.left_out.push(text.to_owned()),
            }
            return Ok(());
        }
        if matches!(first, "exit" | "return") {
            return Err(UnreadableScript("a program that does not run"));
        }
        if WITHOUT_EFFECT.contains(&first) && !text.contains('$') {
            return Ok(());
        }
        // A script that starts several programs is not the script of a worker.
        if is_program(first) || text.strip_prefix("exec").is_some_and(|rest| rest.starts_with([' ', '\t'])) {
            return Err(UnreadableScript("several programs"));
        }
        let expanded = expand_variables(text, |name| find(locals, name).or_else(|| find(&self.assignments, name)));
        #[expect(clippy::disallowed_methods, reason = "words that are not known assign nothing that is known")]
        let words = refuse_expansions(&expanded).and_then(|()| split_words(&expanded)).unwrap_or_default();
        let (exported, values) = match words.split_first() {
            Some((word, rest)) if word == "export" => (true, rest),
            _ => (false, words.as_slice()),
        };
        let read: Option<Vec<(String, String)>> = values.iter().map(|word| assignment(word)).collect();
        let separator_allows = matches!(statement.separator, "" | "\n" | ";" | "&&");
        match read.filter(|read| !read.is_empty() && separator_allows) {
            Some(read) if exported => {
                self.assignments.retain(|(name, _)| !read.iter().any(|(other, _)| other == name));
                self.assignments.extend(read);
            }
            Some(read) => {
                // Setting a variable that the program has changes it for the program, too.
                locals.retain(|(name, _)| !read.iter().any(|(other, _)| other == name));
                locals.extend(read);
                self.left_out.push(text.to_owned());
            }
            None => {
                forget_assigned(text, locals, &mut self.assignments);
                self.left_out.push(text.to_owned());
            }
        }
        Ok(())
    }
}

/// Forgets the variables that a command may set in a way that this reader does not follow.
fn forget_assigned(text: &str, locals: &mut Vec<(String, String)>, assignments: &mut Vec<(String, String)>) {
    let is_set = |name: &str| {
        text.split(|character: char| !(character.is_ascii_alphanumeric() || character == '_')).any(|word| word == name)
    };
    locals.retain(|(name, _)| !is_set(name));
    assignments.retain(|(name, _)| !is_set(name));
}

fn find(variables: &[(String, String)], name: &str) -> Option<String> {
    variables.iter().rev().find(|(other, _)| other == name).map(|(_, value)| value.clone())
}

/// Returns whether a word is a program that serves a model.
fn is_program(word: &str) -> bool {
    let name = base_name(word);
    name.starts_with("python") || matches!(name, "vllm" | "sglang" | "trtllm-serve" | "llama-server" | "local-ai")
}

fn separator_name(separator: &str) -> &'static str {
    match separator {
        "&&" => "`&&`",
        ";" => "`;`",
        "&" => "`&`",
        _ => "several lines",
    }
}

/// Reads `NAME=value`.
fn assignment(word: &str) -> Option<(String, String)> {
    let (name, value) = word.split_once('=')?;
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then(|| (name.to_owned(), value.to_owned()))
}

fn split_words(text: &str) -> Result<Vec<String>, UnreadableScript> {
    shlex::split(text.trim()).ok_or(UnreadableScript("an open quote"))
}

/// A walk over the characters of a script that knows which quotes are open.
struct Walk<'t> {
    text: &'t str,
    position: usize,
    quote: Option<char>,
}

impl<'t> Walk<'t> {
    fn new(text: &'t str) -> Self {
        Self { text, position: 0, quote: None }
    }

    fn rest(&self) -> &'t str {
        self.text.get(self.position..).unwrap_or_default()
    }

    /// Takes the next piece: an escaped character, a substitution, or one character. Returns it, and whether the shell
    /// gives the piece a meaning.
    fn next(&mut self) -> Option<(&'t str, bool)> {
        let rest = self.rest();
        let character = rest.chars().next()?;
        let length = match (self.quote, character) {
            (Some('\''), _) => character.len_utf8(),
            (_, '\\') => 1 + rest.chars().nth(1).map_or(0, char::len_utf8),
            (_, '`') => rest.get(1..).and_then(|inner| inner.find('`')).map_or(rest.len(), |end| end + 2),
            (_, '$') if rest.starts_with("$(") => 1 + parenthesis_length(rest.get(1..).unwrap_or_default()),
            (_, '$') if rest.starts_with("${") => rest.find('}').map_or(rest.len(), |end| end + 1),
            _ => character.len_utf8(),
        };
        let was_quoted = self.quote.is_some();
        let mut is_special = !was_quoted;
        match (self.quote, character) {
            (Some(open), close) if open == close => self.quote = None,
            (None, '\'' | '"') => self.quote = Some(character),
            (Some('\''), _) | (_, '\\') => is_special = false,
            (Some('"'), '$' | '`') => is_special = true,
            _ => {}
        }
        self.position += length;
        Some((rest.get(..length).unwrap_or(rest), is_special))
    }
}

/// Returns the length of a text in parentheses, which may contain quotes and further parentheses.
fn parenthesis_length(text: &str) -> usize {
    let mut walk = Walk::new(text.get(1..).unwrap_or_default());
    while let Some((piece, is_special)) = walk.next() {
        if is_special && piece == "(" {
            let inner = walk.text.get(walk.position - 1..).unwrap_or_default();
            walk.position += parenthesis_length(inner).saturating_sub(1);
        } else if is_special && piece == ")" {
            return walk.position + 1;
        }
    }
    text.len()
}

/// Splits a script into its commands, without comments and line continuations.
fn statements(script: &str) -> Result<Vec<Statement>, UnreadableScript> {
    let mut statements = vec![Statement::default()];
    let mut walk = Walk::new(script);
    let mut is_word_start = true;
    while let Some(last) = statements.last_mut() {
        let rest = walk.rest();
        if walk.quote.is_none() && is_word_start && rest.starts_with('#') {
            walk.position += rest.find('\n').unwrap_or(rest.len());
            continue;
        }
        if walk.quote.is_none() && rest.starts_with("<<") {
            return Err(UnreadableScript("a here-document"));
        }
        let was_open = walk.quote.is_some();
        let Some((piece, is_special)) = walk.next() else { break };
        if piece == "\\\n" {
            continue;
        }
        if last.text.trim().is_empty() {
            last.start = walk.position - piece.len();
        }
        if is_special && !was_open && piece == "(" {
            let length = parenthesis_length(script.get(walk.position - 1..).unwrap_or_default());
            last.text.push_str(script.get(walk.position - 1..walk.position - 1 + length).unwrap_or_default());
            walk.position = (walk.position - 1 + length).min(script.len());
            last.end = walk.position;
            is_word_start = false;
            continue;
        }
        // `2>&1` and `&>` are redirections.
        let is_redirection = piece == "&" && (last.text.ends_with('>') || walk.rest().starts_with('>'));
        let separator = match piece {
            _ if !is_special || was_open || is_redirection => None,
            "&" if walk.rest().starts_with('&') => Some("&&"),
            "|" if walk.rest().starts_with('|') => Some("||"),
            "&" => Some("&"),
            "|" => Some("|"),
            ";" => Some(";"),
            "\n" => Some("\n"),
            _ => None,
        };
        let Some(separator) = separator else {
            last.text.push_str(piece);
            if !piece.trim().is_empty() {
                last.end = walk.position;
            }
            is_word_start = !was_open && piece.chars().all(|character| character.is_ascii_whitespace());
            continue;
        };
        walk.position += separator.len() - 1;
        is_word_start = true;
        if last.text.trim().is_empty() {
            // A line may be empty, and a pipe or list may go on after a line break.
            if separator != "\n" {
                last.separator = separator;
            }
            last.text.clear();
        } else {
            statements.push(Statement { separator, ..Statement::default() });
        }
    }
    if walk.quote.is_some() {
        return Err(UnreadableScript("an open quote"));
    }
    let ends_in_background = statements.last().is_some_and(|last| last.text.trim().is_empty() && last.separator == "&");
    statements.retain(|statement| !statement.text.trim().is_empty());
    if ends_in_background {
        return Err(UnreadableScript("`&`"));
    }
    Ok(statements)
}

/// Takes the redirections out of a command.
fn split_redirections(text: &str) -> Result<(String, Vec<String>), UnreadableScript> {
    let (mut command, mut redirections) = (String::new(), Vec::new());
    let mut walk = Walk::new(text);
    while let Some((piece, is_special)) = walk.next() {
        let is_redirection = is_special && (piece == ">" || piece == "&" && walk.rest().starts_with('>'));
        if is_special && piece == "<" {
            return Err(UnreadableScript("a redirection of its input"));
        }
        if !is_redirection {
            command.push_str(piece);
            continue;
        }
        // A number before it, if it is a word of its own.
        let mut redirection = String::new();
        let number = command.len() - command.trim_end_matches(|digit: char| digit.is_ascii_digit()).len();
        let start = command.len() - number;
        if number > 0 && command.get(..start).is_some_and(|before| before.ends_with([' ', '\t'])) {
            redirection = command.split_off(start);
        }
        redirection.push_str(piece);
        let target = walk.rest();
        let operator = target.len() - target.trim_start_matches(['>', '&']).len();
        let space = target.get(operator..).map_or(0, |rest| rest.len() - rest.trim_start().len());
        let from = operator + space;
        let word = target.get(from..).map_or(0, |rest| rest.find([' ', '\t']).unwrap_or(rest.len()));
        redirection.push_str(target.get(..from + word).unwrap_or(target));
        walk.position += from + word;
        redirections.push(redirection);
    }
    Ok((command, redirections))
}

/// Returns an error if the shell would do more with a command than split it into words.
fn refuse_expansions(text: &str) -> Result<(), UnreadableScript> {
    let mut walk = Walk::new(text);
    let mut is_word_start = true;
    loop {
        let was_open = walk.quote.is_some();
        let Some((piece, is_special)) = walk.next() else { return Ok(()) };
        let found = match piece.chars().next() {
            _ if !is_special => None,
            Some('$') if piece.starts_with("$(") => Some("a substitution (`$(…)`)"),
            Some('$') => Some("a variable whose value the object does not state (`$`)"),
            Some('`') => Some("a substitution (a backquote)"),
            _ if was_open => None,
            Some('(' | ')' | '{' | '}') => Some("parentheses or braces"),
            Some('*' | '?' | '[') => Some("a pattern of file names"),
            Some('~') if is_word_start => Some("an expansion (`~`)"),
            _ => None,
        };
        if let Some(found) = found {
            return Err(UnreadableScript(found));
        }
        is_word_start = !was_open && piece.chars().all(|character| character.is_ascii_whitespace());
    }
}

/// Replaces `$NAME` and `${NAME}` in a script by the values of known variables. A reference stays if its value is not
/// known, or if the shell would split the value into several words.
///
/// ```
/// use kubefoundry_engines::expand_variables;
/// let value = |name: &str| (name == "MODEL").then(|| "org/m".to_owned());
/// assert_eq!(expand_variables(r#"run --model "${MODEL}" $MODEL '$MODEL' $X"#, value), r#"run --model "org/m" org/m '$MODEL' $X"#);
/// ```
pub fn expand_variables(script: &str, value: impl Fn(&str) -> Option<String>) -> String {
    let mut expanded = String::with_capacity(script.len());
    let mut walk = Walk::new(script);
    loop {
        let is_quoted = walk.quote.is_some();
        let Some((piece, is_special)) = walk.next() else { return expanded };
        if !is_special || !piece.starts_with('$') || piece.starts_with("$(") {
            expanded.push_str(piece);
            continue;
        }
        let braced = piece.strip_prefix("${").and_then(|inner| inner.strip_suffix('}'));
        let rest = walk.rest();
        // `$$` is a dollar sign that the kubelet escapes.
        if braced.is_none() && rest.starts_with('$') {
            walk.position += 1;
            expanded.push_str("$$");
            continue;
        }
        let (name, default) = split_name(braced.unwrap_or(rest));
        let (default, length) = if braced.is_some() { (default, 0) } else { ("", name.len()) };
        let known = value(name).filter(|_| !name.is_empty());
        let text = match (known, default.strip_prefix(":-")) {
            (Some(value), None) if default.is_empty() => Some(value),
            (Some(value), Some(_)) if !value.is_empty() => Some(value),
            (Some(_), Some(default)) if is_plain(default) => Some(default.to_owned()),
            _ => None,
        };
        match text.filter(|text| !text.contains('$') && (is_quoted || is_plain(text))) {
            Some(text) => {
                walk.position += length;
                for character in text.chars() {
                    if matches!(character, '\\' | '"' | '`') {
                        expanded.push('\\');
                    }
                    expanded.push(character);
                }
            }
            None => expanded.push_str(piece),
        }
    }
}

/// Splits a text behind the name of a variable.
fn split_name(text: &str) -> (&str, &str) {
    let end = text.find(|character: char| !(character.is_ascii_alphanumeric() || character == '_'));
    text.split_at(end.unwrap_or(text.len()))
}

/// Returns whether a text is a word that the shell reads as it is.
fn is_plain(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_./:=,@%+-".contains(&byte))
}

pub(crate) fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(script: &str) -> String {
        match Script::read(script) {
            Ok(Script { words, assignments, left_out, template: _ }) => {
                let assignments: Vec<String> =
                    assignments.iter().map(|(name, value)| format!("{name}={value}")).collect();
                format!("{} | {} | {}", words.join(" "), assignments.join(" "), left_out.join(" / "))
            }
            Err(UnreadableScript(reason)) => reason.to_owned(),
        }
    }

    #[test]
    fn finds_the_program_among_other_commands() {
        for (script, expected) in [
            ("python3 -m m --a b", "python3 -m m --a b |  | "),
            ("# a comment\nexec python3 -m m # another\n", "python3 -m m |  | "),
            ("set -Eeuo pipefail\n\npython3 -m m \\\n  --a \\\n  'b\nc'\n", "python3 -m m --a b\nc |  | "),
            (
                "ulimit -l unlimited && ulimit -n 5 && exec python3 -m m",
                "python3 -m m |  | ulimit -l unlimited / ulimit -n 5",
            ),
            ("A=b C='d e' python3 -m m", "python3 -m m | A=b C=d e | "),
            (
                "export A=b\nM=org/m\npython3 -m m --model \"$M\" --a ${A}",
                "python3 -m m --model org/m --a b | A=b | M=org/m",
            ),
            ("export P=/x:$P\npython3 -m m", "python3 -m m |  | export P=/x:$P"),
            ("python3 -m m 2>&1", "python3 -m m |  | "),
            ("python3 -m m 2>&1 | tee /tmp/log", "python3 -m m |  | 2>&1 | tee /tmp/log"),
            ("python3 -m m --a 1 > /tmp/log 2>/tmp/errors", "python3 -m m --a 1 |  | > /tmp/log 2>/tmp/errors"),
            (
                "if [ \"$(id -u)\" -ne 0 ]; then\n  exit 1\nfi\nX=\"$(a | b)\"\npython3 -m m",
                "python3 -m m |  | if [ \"$(id -u)\" -ne 0 ]; then; exit 1; fi / X=\"$(a | b)\"",
            ),
            (
                "test -r a || { echo \"no; $(x)\"; exit 1; }\npython3 -m m",
                "python3 -m m |  | test -r a / { echo \"no; $(x)\"; exit 1; }",
            ),
            ("other --a b", "other --a b |  | "),
        ] {
            assert_eq!(read(script), expected, "{script}");
        }
    }

    #[test]
    fn the_program_of_a_template_are_its_arguments() {
        for (script, expected) in [
            ("ulimit -l unlimited && exec python3 -m m --a b", "ulimit -l unlimited && exec \"$@\""),
            ("set -e\nA=b python3 -m m \\\n  --a 'b c' 2>&1 | tee log\n", "set -e\n\"$@\" 2>&1 | tee log\n"),
            ("test -r a || { exit 1; }; python3 -m m # comment", "test -r a || { exit 1; }; \"$@\" # comment"),
        ] {
            assert_eq!(Script::read(script).unwrap().template, expected);
        }
    }

    #[test]
    fn names_what_decides_the_arguments_at_run_time() {
        for (script, expected) in [
            ("python3 -m m | grep x", "`|`"),
            ("python3 -m m; true", "several programs"),
            ("cd x && other", "`&&`"),
            ("python3 -m m & wait", "several programs"),
            ("python3 -m m &", "`&`"),
            ("false || python3 -m m", "a command that runs only if another fails"),
            ("python3 -m a\npython3 -m b", "several programs"),
            ("python3 -m m < file", "a redirection of its input"),
            ("python3 -m m <<END\nx\nEND", "a here-document"),
            ("python3 -m m --a $B", "a variable whose value the object does not state (`$`)"),
            ("python3 -m m --a \"${B[@]}\"", "a variable whose value the object does not state (`$`)"),
            (
                "B=1\nif true; then B=2; fi\npython3 -m m --a $B",
                "a variable whose value the object does not state (`$`)",
            ),
            ("exit 0\npython3 -m m", "a program that does not run"),
            ("B=1\nread B\npython3 -m m --a $B", "a variable whose value the object does not state (`$`)"),
            ("python3 -m m --a \"$(b)\"", "a substitution (`$(…)`)"),
            ("python3 -m m --a `b`", "a substitution (a backquote)"),
            ("python3 -m m ~/x", "an expansion (`~`)"),
            ("python3 -m m *.txt", "a pattern of file names"),
            ("python3 -m m (x)", "parentheses or braces"),
            ("python3 -m m 'x", "an open quote"),
            ("", "no command"),
            ("A=b", "no command"),
        ] {
            assert_eq!(read(script), expected, "{script}");
        }
    }

    #[test]
    fn replaces_variables_as_a_shell_does() {
        let value = |name: &str| match name {
            "A" => Some("a/b".to_owned()),
            "SPACES" => Some("a b \"c\"".to_owned()),
            "EMPTY" => Some(String::new()),
            _ => None,
        };
        for (script, expected) in [
            ("$A ${A} \"$A\" '$A' \\$A", "a/b a/b \"a/b\" '$A' \\$A"),
            ("$SPACES \"$SPACES\"", "$SPACES \"a b \\\"c\\\"\""),
            ("${A:-x} ${EMPTY:-x} ${UNKNOWN:-x}", "a/b x ${UNKNOWN:-x}"),
            ("$UNKNOWN ${A#x} $$A $(echo $A)", "$UNKNOWN ${A#x} $$A $(echo $A)"),
        ] {
            assert_eq!(expand_variables(script, value), expected, "{script}");
        }
    }
}

//! Reads the command line of a container, for imports.

use serde_json::Value;

use super::imported_flags::unescape_expansion;
use super::invocation::escape_expansion;

/// The command line of a container.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// The program with the words that choose what it runs: `python3 -m dynamo.vllm`. Empty if the image decides.
    pub program: Vec<String>,
    /// The remaining words.
    pub arguments: Vec<CommandWord>,
}

/// A word of a command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandWord {
    /// The word.
    pub text: String,
    /// The field that holds it, `command` or `args`.
    pub field: &'static str,
    /// The item of the field.
    pub index: usize,
}

/// The reason why a command line cannot be read, as the end of the sentence `its command is …`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a shell script with {0}, expected a single command without expansions")]
pub struct UnreadableScript(&'static str);

impl CommandLine {
    /// Reads `command` and `args` of a container. A script of a shell (`sh -c "exec python3 -m …"`) is read if it is a
    /// single command in which the shell expands nothing.
    ///
    /// ```
    /// use kubefoundry_model::engines::CommandLine;
    /// let container = serde_json::json!({"command": ["sh", "-c"], "args": ["exec python3 -m x --name 'a b'"]});
    /// let line = CommandLine::read(&container).unwrap();
    /// assert_eq!(line.program, ["python3", "-m", "x"]);
    /// assert_eq!(line.texts(), ["--name", "a b"]);
    /// let pipe = serde_json::json!({"command": ["sh", "-c", "cat x | python3"]});
    /// assert!(CommandLine::read(&pipe).unwrap_err().to_string().contains("`|`"));
    /// ```
    ///
    /// # Errors
    /// Returns [`UnreadableScript`] for any other script.
    pub fn read(container: &Value) -> Result<Self, UnreadableScript> {
        let mut words: Vec<CommandWord> = Vec::new();
        for field in ["command", "args"] {
            let items = container.get(field).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            let texts = items.iter().enumerate().filter_map(|(index, item)| Some((index, item.as_str()?)));
            words.extend(texts.map(|(index, text)| CommandWord { text: text.to_owned(), field, index }));
        }
        let in_command = words.iter().filter(|word| word.field == "command").count();
        let count = match script_position(&words).filter(|_| in_command > 0) {
            Some(position) => {
                words = script_words(&words, position)?;
                program_length(&words, words.len())
            }
            None => program_length(&words, in_command),
        };
        let arguments = words.split_off(count.min(words.len()));
        Ok(Self { program: words.into_iter().map(|word| word.text).collect(), arguments })
    }

    /// Returns the texts of the arguments.
    pub fn texts(&self) -> Vec<String> {
        self.arguments.iter().map(|word| word.text.clone()).collect()
    }
}

/// Returns how many words name the program: those of `command` before the first flag, and the module of a Python
/// interpreter, which may be in `args`.
fn program_length(words: &[CommandWord], in_command: usize) -> usize {
    let first_flag = words.iter().position(|word| word.text.starts_with("--")).unwrap_or(words.len());
    let is_python = in_command > 0 && words.first().is_some_and(|word| base_name(&word.text).starts_with("python"));
    let module = words.iter().take(first_flag).position(|word| word.text == "-m").filter(|_| is_python);
    module.map_or(in_command.min(first_flag), |position| (position + 2).min(first_flag))
}

/// Returns the position of the script if the words run a shell with `-c`.
fn script_position(words: &[CommandWord]) -> Option<usize> {
    let (shell, rest) = words.split_first()?;
    if !["sh", "bash", "dash", "ash"].contains(&base_name(&shell.text)) {
        return None;
    }
    let options = rest.iter().take_while(|word| word.text.starts_with('-')).count();
    let takes_script = |word: &CommandWord| !word.text.starts_with("--") && word.text.contains('c');
    rest.iter().take(options).any(takes_script).then_some(options + 1)
}

fn base_name(path: &str) -> &str {
    path.rsplit('/').next().unwrap_or(path)
}

/// Splits a script of one command into words.
fn script_words(words: &[CommandWord], position: usize) -> Result<Vec<CommandWord>, UnreadableScript> {
    let Some(script) = words.get(position) else { return Err(UnreadableScript("no text")) };
    // The kubelet replaces references before the shell reads the script.
    let text = unescape_expansion(&script.text);
    let text = join_lines(text.trim())?;
    let split = shlex::split(&text).ok_or(UnreadableScript("an open quote"))?;
    let mut split = split.into_iter().peekable();
    split.next_if(|word| word == "exec");
    match split.peek() {
        None => return Err(UnreadableScript("no command")),
        Some(first) if first.contains('=') => return Err(UnreadableScript("a variable assignment")),
        Some(_) => {}
    }
    let word = |text: String| CommandWord { text: escape_expansion(&text).into_owned(), ..script.clone() };
    Ok(split.map(word).collect())
}

/// Removes the line continuations of a script. Returns an error if the shell would do more than split it into words.
fn join_lines(script: &str) -> Result<String, UnreadableScript> {
    let mut joined = String::with_capacity(script.len());
    let mut quote = None;
    let mut is_word_start = true;
    let mut characters = script.chars();
    while let Some(character) = characters.next() {
        if character == '\\' && quote != Some('\'') {
            match characters.next() {
                Some('\n') => {}
                escaped => {
                    joined.push(character);
                    joined.extend(escaped);
                    is_word_start = false;
                }
            }
            continue;
        }
        match (quote, character) {
            (Some(open), close) if open == close => quote = None,
            (None, '\'' | '"') => quote = Some(character),
            (None | Some('"'), '$') => return Err(UnreadableScript("an expansion (`$`)")),
            (None | Some('"'), '`') => return Err(UnreadableScript("an expansion (a backquote)")),
            (None, '\n') => return Err(UnreadableScript("several lines")),
            (None, '&') => return Err(UnreadableScript("`&`")),
            (None, '|') => return Err(UnreadableScript("`|`")),
            (None, ';') => return Err(UnreadableScript("`;`")),
            (None, '<' | '>') => return Err(UnreadableScript("a redirection")),
            (None, '(' | ')' | '{' | '}') => return Err(UnreadableScript("parentheses or braces")),
            (None, '*' | '?' | '[') => return Err(UnreadableScript("a pattern of file names")),
            (None, '~') if is_word_start => return Err(UnreadableScript("an expansion (`~`)")),
            (None, '#') if is_word_start => return Err(UnreadableScript("a comment")),
            _ => {}
        }
        is_word_start = quote.is_none() && character.is_ascii_whitespace();
        joined.push(character);
    }
    Ok(joined)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn words(container: &Value) -> String {
        match CommandLine::read(container) {
            Ok(line) => format!("{} | {}", line.program.join(" "), line.texts().join(" ")),
            Err(reason) => reason.to_string(),
        }
    }

    #[test]
    fn finds_the_program() {
        for (container, expected) in [
            (json!({"command": ["python3", "-m", "m"], "args": ["--a", "b"]}), "python3 -m m | --a b"),
            (json!({"command": ["python3"], "args": ["-m", "m", "--a"]}), "python3 -m m | --a"),
            (json!({"command": ["/usr/bin/python3", "-u", "-m", "m", "--a"]}), "/usr/bin/python3 -u -m m | --a"),
            (json!({"command": ["vllm", "serve"], "args": ["org/m", "--a"]}), "vllm serve | org/m --a"),
            (json!({"args": ["--a", "-m", "b"]}), " | --a -m b"),
            (json!({"command": ["python3", "--version", "-m"]}), "python3 | --version -m"),
            (json!({}), " | "),
        ] {
            assert_eq!(words(&container), expected);
        }
    }

    #[test]
    fn reads_a_script_of_one_command() {
        for (container, expected) in [
            (json!({"command": ["/bin/bash", "-lc"], "args": ["python3 -m m --a=b"]}), "python3 -m m | --a=b"),
            (json!({"command": ["sh", "-e", "-c", "exec python3 -m m"]}), "python3 -m m | "),
            (
                json!({"command": ["sh", "-c", "python3 -m m \\\n  --a \\\n  \"b c\" '{\"d\": \"$x\"}'\n"]}),
                "python3 -m m | --a b c {\"d\": \"$x\"}",
            ),
            (json!({"command": ["sh", "-c"], "args": ["python3 -m m --a '$$(B)'"]}), "python3 -m m | --a $$(B)"),
            (json!({"command": ["sh", "script.sh"]}), "sh script.sh | "),
        ] {
            assert_eq!(words(&container), expected);
        }
    }

    #[test]
    fn names_what_only_a_shell_can_do() {
        for (script, expected) in [
            ("cd x && python3 -m m", "`&`"),
            ("python3 -m m | tee log", "`|`"),
            ("python3 -m m; true", "`;`"),
            ("python3 -m m > log", "a redirection"),
            ("python3 -m m --a $B", "an expansion (`$`)"),
            ("python3 -m m --a \"$B\"", "an expansion (`$`)"),
            ("python3 -m m --a `b`", "an expansion (a backquote)"),
            ("set -e\npython3 -m m", "several lines"),
            ("A=b python3 -m m", "a variable assignment"),
            ("python3 -m m ~/x", "an expansion (`~`)"),
            ("python3 -m m *.txt", "a pattern of file names"),
            ("python3 -m m # x", "a comment"),
            ("python3 -m m 'x", "an open quote"),
            ("", "no command"),
        ] {
            let reason = words(&json!({"command": ["sh", "-c", script]}));
            assert!(reason.contains(expected), "{script}: {reason}");
        }
        assert!(words(&json!({"command": ["sh", "-c"]})).contains("no text"));
    }
}

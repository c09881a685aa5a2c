//! Reads the command line of a container, for imports.

use serde_json::Value;

use crate::imported::flags::unescape_expansion;
use crate::imported::script::{ALL_ARGUMENTS, Script, UnreadableScript, base_name};
use crate::invocation::escape_expansion;

/// The command line of a container.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// The program with the words that choose what it runs: `python3 -m dynamo.vllm`. Empty if the image decides.
    pub program: Vec<String>,
    /// The remaining words.
    pub arguments: Vec<CommandWord>,
    /// The variables that a script sets before it runs the program.
    pub assignments: Vec<(String, String)>,
    /// What a script does beside running the program, such as `ulimit -l unlimited`.
    pub left_out: Vec<CommandWord>,
    /// The command that does the same as the script with a program whose words follow it, as in `sh -c 'ulimit -l unlimited
    /// && exec "$@"' sh`. Empty without a script.
    pub wrapper: Vec<String>,
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

impl CommandLine {
    /// Reads `command` and `args` of a container. A script of a shell (`sh -c "exec python3 -m …"`) is read if it runs one
    /// program whose arguments it states; [`left_out`](Self::left_out) has what else it does.
    ///
    /// ```
    /// use kubefoundry_engines::CommandLine;
    /// let container = serde_json::json!({"command": ["sh", "-c"], "args": ["exec python3 -m x --name 'a b'"]});
    /// let line = CommandLine::read(&container).unwrap();
    /// assert_eq!(line.program, ["python3", "-m", "x"]);
    /// assert_eq!(line.texts(), ["--name", "a b"]);
    /// let pipe = serde_json::json!({"command": ["sh", "-c", "python3 -m x | cat"]});
    /// assert!(CommandLine::read(&pipe).unwrap_err().to_string().contains("`|`"));
    /// ```
    ///
    /// # Errors
    /// Returns [`UnreadableScript`] for any other script.
    pub fn read(container: &Value) -> Result<Self, UnreadableScript> {
        let mut words = command_words(container);
        let in_command = words.iter().filter(|word| word.field == "command").count();
        let (mut assignments, mut left_out, mut wrapper) = (Vec::new(), Vec::new(), Vec::new());
        let count = match script_position(&words).filter(|_| in_command > 0) {
            Some(position) => {
                let Some(word) = words.get(position).cloned() else { return Err(UnreadableScript("no text")) };
                // The kubelet replaces references before the shell reads the script.
                let script = Script::read(&with_arguments(&words, position))?;
                wrapper = words.iter().take(position).map(|word| word.text.clone()).collect();
                let name = words.first().map(|shell| base_name(&shell.text).to_owned());
                wrapper.push(escape_expansion(&script.template).into_owned());
                wrapper.extend(name);
                let with_text = |text: String| CommandWord { text, ..word.clone() };
                words = script.words.into_iter().map(|text| with_text(escape_expansion(&text).into_owned())).collect();
                left_out = script.left_out.into_iter().map(with_text).collect();
                assignments = script.assignments;
                program_length(&words, words.len())
            }
            None => program_length(&words, in_command),
        };
        let arguments = words.split_off(count.min(words.len()));
        let program = words.into_iter().map(|word| word.text).collect();
        Ok(Self { program, arguments, assignments, left_out, wrapper })
    }

    /// Returns the texts of the arguments.
    pub fn texts(&self) -> Vec<String> {
        self.arguments.iter().map(|word| word.text.clone()).collect()
    }
}

/// Returns the script at a position with the arguments that follow it, if it runs all of them as a program: the word after
/// the script is its name, and the others are its arguments.
fn with_arguments(words: &[CommandWord], position: usize) -> String {
    let script = words.get(position).map(|word| unescape_expansion(&word.text)).unwrap_or_default();
    let arguments: Vec<String> = words.iter().skip(position + 2).map(|word| unescape_expansion(&word.text)).collect();
    match shlex::try_join(arguments.iter().map(String::as_str)) {
        Ok(text) if !arguments.is_empty() => script.replacen(ALL_ARGUMENTS, &text, 1),
        _ => script,
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

/// Returns the field and the item of the shell script that a container runs, if it runs one.
///
/// ```
/// use kubefoundry_engines::script_item;
/// let container = serde_json::json!({"command": ["sh", "-c"], "args": ["exec python3"]});
/// assert_eq!(script_item(&container), Some(("args", 0)));
/// assert_eq!(script_item(&serde_json::json!({"command": ["python3", "-c"], "args": ["x"]})), None);
/// ```
pub fn script_item(container: &Value) -> Option<(&'static str, usize)> {
    let words = command_words(container);
    words.first().filter(|word| word.field == "command")?;
    let word = words.get(script_position(&words)?)?;
    Some((word.field, word.index))
}

/// Returns the words of `command` and `args`.
fn command_words(container: &Value) -> Vec<CommandWord> {
    let mut words: Vec<CommandWord> = Vec::new();
    for field in ["command", "args"] {
        let items = container.get(field).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let texts = items.iter().enumerate().filter_map(|(index, item)| Some((index, item.as_str()?)));
        words.extend(texts.map(|(index, text)| CommandWord { text: text.to_owned(), field, index }));
    }
    words
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
    fn a_wrapper_does_the_same_with_another_program() {
        let original = json!({"command": ["/bin/bash", "-c"], "args": ["ulimit -n 5 && exec python3 -m m --x 'a b'"]});
        let line = CommandLine::read(&original).unwrap();
        assert_eq!(line.wrapper, ["/bin/bash", "-c", "ulimit -n 5 && exec \"$@\"", "bash"]);
        let command: Vec<String> = line.wrapper.iter().chain(&line.program).cloned().collect();
        let wrapped = CommandLine::read(&json!({"command": command, "args": line.texts()})).unwrap();
        assert_eq!((&wrapped.program, wrapped.texts()), (&line.program, line.texts()));
        let texts = |line: &CommandLine| line.left_out.iter().map(|word| word.text.clone()).collect::<Vec<_>>();
        assert_eq!(texts(&wrapped), texts(&line));
        assert!(CommandLine::read(&json!({"command": ["python3"]})).unwrap().wrapper.is_empty());
    }

    #[test]
    fn says_what_a_script_does_beside_running_the_program() {
        let script = "set -e\nulimit -l unlimited\nexport A=b\nC=d python3 -m m --x 2>&1 | tee log";
        let line = CommandLine::read(&json!({"command": ["bash", "-lc"], "args": [script]})).unwrap();
        assert_eq!((line.program.join(" "), line.texts()), ("python3 -m m".to_owned(), vec!["--x".to_owned()]));
        let left_out: Vec<(&str, usize, &str)> =
            line.left_out.iter().map(|word| (word.field, word.index, word.text.as_str())).collect();
        assert_eq!(left_out, [("args", 0, "ulimit -l unlimited"), ("args", 0, "2>&1 | tee log")]);
        let assignments = [("A", "b"), ("C", "d")].map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(line.assignments, assignments);
        assert!(words(&json!({"command": ["sh", "-c"]})).contains("no text"));
    }
}

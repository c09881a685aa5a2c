//! Reference models of the readers of container arguments: the kubelet, a shell, and the parsers of engines. They are
//! independent of the code under test, except that they share the flag tables.

use kubefoundry_engines::flags::{FlagKind, FlagTable, Repetition};

/// Expands text as the kubelet does: `$$` becomes `$`. Fails if the kubelet would substitute a variable
/// (`Expand` in k8s.io/kubernetes/third_party/forked/golang/expansion/expand.go).
pub(crate) fn kubelet(text: &str) -> Result<String, String> {
    let mut out = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('$', Some('$')) => {
                characters.next();
                out.push('$');
            }
            ('$', Some('(')) => return Err(format!("the kubelet expands a variable in {text:?}")),
            _ => out.push(character),
        }
    }
    Ok(out)
}

/// Splits a command line into words as a POSIX shell does. Operators, expansions, patterns and comments are errors,
/// because our output should not need them.
pub(crate) fn shell_words(line: &str) -> Result<Vec<String>, String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = line.chars();
    while let Some(character) = characters.next() {
        match character {
            ' ' | '\t' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match characters.next() {
                        Some('\'') => break,
                        Some(quoted) => word.push(quoted),
                        None => return Err(format!("an open quote in {line:?}")),
                    }
                }
            }
            '\n' | '"' | '\\' | '$' | '`' | ';' | '|' | '&' | '<' | '>' | '(' | ')' | '*' | '?' | '~' | '#' | '!'
            | '{' | '}' | '[' | ']' => return Err(format!("{character:?} is not quoted in {line:?}")),
            plain => word.get_or_insert_default().push(plain),
        }
    }
    words.extend(word);
    Ok(words)
}

/// Quotes an argument as Dynamo's operator does for `bash -c` (its `shellQuoteForBashC`): with quotes only around some
/// characters. A single quote breaks it.
pub(crate) fn dynamo_shell_quote(argument: &str) -> String {
    if argument.contains([' ', '\t', '\n', '\'', '"', '\\', '{', '}', '[', '$', ']', '`', '!']) {
        format!("'{argument}'")
    } else {
        argument.to_owned()
    }
}

/// The program that reads the arguments.
pub(crate) enum Program {
    /// A Python program that uses argparse with these flags.
    Argparse(Vec<FlagTable>),
    /// llama-server: names are looked up exactly, and a valued one takes the next element whatever it is.
    LlamaServer(FlagTable),
    /// LocalAI: the model or a command, then `--name=value` or `--name`.
    LocalAi,
}

/// The flags with their values; positional arguments have an empty name.
pub(crate) type Parsed = Vec<(String, Vec<String>)>;

impl Program {
    /// Parses arguments, or returns why the program would not start.
    pub(crate) fn parse(&self, argv: &[String]) -> Result<Parsed, String> {
        match self {
            Self::Argparse(tables) => argparse(tables, argv),
            Self::LlamaServer(table) => llama_server(*table, argv),
            Self::LocalAi => argv.iter().enumerate().map(|(index, element)| local_ai(index, element)).collect(),
        }
    }
}

fn argparse(tables: &[FlagTable], argv: &[String]) -> Result<Parsed, String> {
    let mut parsed = Parsed::new();
    let mut elements = argv.iter().peekable();
    while let Some(element) = elements.next() {
        let Some(flag) = element.strip_prefix("--").filter(|flag| !flag.is_empty()) else {
            return Err(format!("{element:?} is neither a flag nor the value of one"));
        };
        let (name, joined) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value.to_owned())));
        let known = tables.iter().find_map(|table| table.lookup(name)).map(|(flag, _)| flag);
        let mut values: Vec<String> = joined.into_iter().collect();
        match known.map(|flag| (flag.kind, flag.repeat)) {
            Some((FlagKind::Switch | FlagKind::Pair, _)) if !values.is_empty() => {
                return Err(format!("the switch --{name} has a value"));
            }
            Some((FlagKind::Value, repeat)) if values.is_empty() => {
                let most = if repeat == Repetition::List { usize::MAX } else { 1 };
                while values.len() < most
                    && let Some(value) = elements.next_if(|next| !next.starts_with('-') || is_negative(next))
                {
                    values.push(value.clone());
                }
                if values.is_empty() {
                    return Err(format!("--{name} has no value"));
                }
            }
            // The flag is unknown, so it takes every following element that does not look like a flag.
            None if values.is_empty() => {
                values.extend(elements.next_if(|next| !next.starts_with('-') || is_negative(next)).cloned());
            }
            _ => {}
        }
        parsed.push((name.to_owned(), values));
    }
    Ok(parsed)
}

/// Returns whether argparse reads a text as a negative number and not as a flag.
fn is_negative(text: &str) -> bool {
    text.strip_prefix('-').is_some_and(|rest| {
        rest.ends_with(|end: char| end.is_ascii_digit())
            && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.')
            && rest.matches('.').count() <= 1
    })
}

fn llama_server(table: FlagTable, argv: &[String]) -> Result<Parsed, String> {
    let mut parsed = Parsed::new();
    let mut elements = argv.iter();
    while let Some(element) = elements.next() {
        let name = element.strip_prefix("--").ok_or_else(|| format!("{element:?} is not a flag"))?;
        let value = match table.lookup(name).map(|(flag, _)| flag.kind) {
            Some(FlagKind::Switch | FlagKind::Pair) => None,
            Some(_) => Some(elements.next().ok_or_else(|| format!("--{name} has no value"))?.clone()),
            // The table is incomplete, so the flag may be a switch.
            None => elements.as_slice().first().filter(|next| !next.starts_with('-') || is_negative(next)).cloned(),
        };
        if value.is_some() && table.lookup(name).is_none() {
            elements.next();
        }
        parsed.push((name.to_owned(), value.into_iter().collect()));
    }
    Ok(parsed)
}

fn local_ai(index: usize, element: &str) -> Result<(String, Vec<String>), String> {
    match element.strip_prefix("--").map(|flag| flag.split_once('=').unwrap_or((flag, ""))) {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), vec![value.to_owned()])),
        None if index == 0 && !element.starts_with('-') => Ok((String::new(), vec![element.to_owned()])),
        _ => Err(format!("{element:?} is not a flag")),
    }
}

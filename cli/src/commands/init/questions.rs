//! The questions about a first deployment. A flag answers a question; without a terminal, a default does, and a question
//! without a default is an error that names its flag.

use std::io::{self, BufRead, Write};

use kubefoundry_yaml::text::printable;

/// Reasons why a question has no answer.
#[derive(Debug, thiserror::Error)]
pub(crate) enum QuestionError {
    #[error("{flag} is required where standard input is not a terminal: {expected}")]
    Missing { flag: &'static str, expected: String },
    #[error("the input ended before the question about {0} was answered")]
    Ended(&'static str),
    #[error("the terminal: {0}")]
    Terminal(#[from] io::Error),
}

/// A question.
pub(super) struct Question<'q> {
    /// The flag that answers it.
    pub(super) flag: &'static str,
    /// What it asks for, as a noun phrase.
    pub(super) text: &'q str,
    /// What an answer is.
    pub(super) expected: &'q str,
    /// The answer to an empty line.
    pub(super) default: Option<String>,
}

/// Where questions are answered.
pub(super) enum Respondent<'r> {
    /// A user at a terminal.
    Terminal(&'r mut dyn BufRead, &'r mut dyn Write),
    /// The defaults.
    Defaults,
}

impl Respondent<'_> {
    /// Asks a question until `parse` accepts the answer; it returns what is wrong with one that it refuses.
    pub(super) fn ask<T>(
        &mut self,
        question: &Question<'_>,
        parse: impl Fn(&str) -> Result<T, String>,
    ) -> Result<T, QuestionError> {
        let Question { flag, text, expected, default } = question;
        let missing = || QuestionError::Missing { flag, expected: (*expected).to_owned() };
        let Self::Terminal(input, output) = self else {
            // A default that is not accepted is as good as none.
            return default.as_deref().ok_or_else(missing).and_then(|default| parse(default).map_err(|_| missing()));
        };
        loop {
            let shown = default
                .as_ref()
                .filter(|default| !default.is_empty())
                .map_or(String::new(), |default| format!(" [{}]", printable(default)));
            write!(output, "{text} ({expected}){shown}: ")?;
            output.flush()?;
            let mut line = String::new();
            if input.read_line(&mut line)? == 0 {
                writeln!(output)?;
                return Err(QuestionError::Ended(flag));
            }
            let answer = match (line.trim(), default) {
                ("", Some(default)) => default.as_str(),
                (answer, _) => answer,
            };
            match parse(answer) {
                Ok(value) => return Ok(value),
                Err(problem) => writeln!(output, "{}", printable(&problem))?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str) -> Result<u32, String> {
        text.parse().map_err(|_| format!("{text:?} is not a number"))
    }

    fn question(default: Option<&str>) -> Question<'static> {
        Question { flag: "--gpus", text: "GPUs", expected: "a number", default: default.map(str::to_owned) }
    }

    fn ask(answers: &str, default: Option<&str>) -> (Result<u32, QuestionError>, String) {
        let mut output = Vec::new();
        let answer = Respondent::Terminal(&mut answers.as_bytes(), &mut output).ask(&question(default), number);
        (answer, String::from_utf8(output).unwrap())
    }

    #[test]
    fn a_question_is_repeated_until_it_is_answered() {
        let (answer, output) = ask("two\n\n 2 \n", None);
        assert_eq!(answer.unwrap(), 2);
        let asked = "GPUs (a number): ";
        assert_eq!(output, format!("{asked}\"two\" is not a number\n{asked}\"\" is not a number\n{asked}"));
    }

    #[test]
    fn an_empty_line_is_the_default() {
        let (answer, output) = ask("\n", Some("4"));
        assert_eq!((answer.unwrap(), output.as_str()), (4, "GPUs (a number) [4]: "));
    }

    #[test]
    fn the_end_of_the_input_is_an_error() {
        let message = ask("", Some("4")).0.unwrap_err().to_string();
        assert_eq!(message, "the input ended before the question about --gpus was answered");
    }

    #[test]
    fn without_a_terminal_only_the_default_answers() {
        assert_eq!(Respondent::Defaults.ask(&question(Some("4")), number).unwrap(), 4);
        for default in [None, Some("none")] {
            let message = Respondent::Defaults.ask(&question(default), number).unwrap_err().to_string();
            assert_eq!(message, "--gpus is required where standard input is not a terminal: a number");
        }
    }
}

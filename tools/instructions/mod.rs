//! `cargo measure instructions`: counts the instructions of fixed runs with callgrind and compares them with
//! `benches/instructions.toml`.
//!
//! Counts do not depend on the load of the machine or the speed of its clock, so a limit of two percent holds anywhere
//! with the same toolchain and the same CPU features.

mod runs;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{Failure, workspace};
use kubefoundry_yaml::append_line;
use runs::{Invocation, RUNS, Run};

/// By how many percent a count may exceed the recorded one.
const MAX_INCREASE_PERCENT: u64 = 2;

/// The recorded counts, from the repository's root.
const RECORD: &str = "benches/instructions.toml";

#[derive(Debug, clap::Args)]
pub(crate) struct Options {
    /// Measure only the runs whose names contain this text
    #[arg(default_value = "")]
    filter: String,
    /// The folder with `kubefoundry` and `kubefoundry-fn`
    #[arg(long, value_name = "FOLDER", default_value = "target/release")]
    programs: PathBuf,
    /// Write the counts to benches/instructions.toml
    #[arg(long)]
    update: bool,
}

/// The count of a run, and the one that is recorded for it.
struct Count {
    name: &'static str,
    measured: u64,
    recorded: Option<u64>,
}

impl Count {
    /// Returns whether the run takes more instructions than it may.
    fn is_worse(&self) -> bool {
        self.recorded.is_none_or(|recorded| self.measured * 100 > recorded * (100 + MAX_INCREASE_PERCENT))
    }

    /// Returns whether the run takes so much less that the recorded count hides a later increase.
    fn is_better(&self) -> bool {
        self.recorded.is_some_and(|recorded| self.measured * 100 < recorded * (100 - MAX_INCREASE_PERCENT))
    }

    /// Returns by how many percent the measured count exceeds the recorded one; negative if it is lower.
    fn change_percent(&self) -> Option<f64> {
        let recorded = self.recorded?;
        #[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
        Some((self.measured as f64 / recorded as f64 - 1.0) * 100.0)
    }
}

/// Measures every run, and compares the counts with the recorded ones or records them.
pub(super) fn run(options: &Options) -> Result<String, Failure> {
    let root = workspace();
    let record_path = root.join(RECORD);
    let record = match fs::read_to_string(&record_path) {
        Ok(record) => record,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(Failure::Broken(format!("{RECORD}: {error}"))),
    };
    if !has_recorded_features() {
        return Ok("skipped: the recorded counts are those of a CPU with AVX2, which this one lacks\n".to_owned());
    }
    let programs = root.join(&options.programs);
    let folder = std::env::temp_dir().join(format!("kubefoundry-instructions-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| Failure::Broken(format!("{}: {error}", folder.display())))?;
    let mut counts = Vec::new();
    let mut result = Ok(());
    for run in RUNS.iter().filter(|run| run.name.contains(&options.filter)) {
        match measure(run, root, &programs, &folder) {
            Ok(measured) => counts.push(Count { name: run.name, measured, recorded: recorded(&record, run.name) }),
            Err(error) => {
                result = Err(error);
                break;
            }
        }
    }
    let _ = fs::remove_dir_all(&folder);
    result?;
    if options.update {
        let text = updated_record(&record, &counts);
        fs::write(&record_path, text).map_err(|error| Failure::Broken(format!("{RECORD}: {error}")))?;
        return Ok(table(&counts));
    }
    compare(&counts)
}

/// Returns whether this CPU has the features with which the counts were recorded. String searches choose their code by
/// them, and valgrind shows them to the program.
fn has_recorded_features() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx2");
    #[cfg(not(target_arch = "x86_64"))]
    return false;
}

/// Counts the instructions of a run, or of one more document in it.
fn measure(run: &Run, root: &Path, programs: &Path, folder: &Path) -> Result<u64, Failure> {
    let count = |documents: usize| -> Result<u64, Failure> {
        count_instructions(&programs.join(run.program), &run.prepare(root, folder, documents)?, root)
    };
    match run.documents {
        None => count(1),
        Some((fewer, more)) => Ok(count(more)?.saturating_sub(count(fewer)?) / (more - fewer) as u64),
    }
}

/// Runs a program under callgrind, with one thread and without environment variables. Returns its instructions.
fn count_instructions(program: &Path, invocation: &Invocation, root: &Path) -> Result<u64, Failure> {
    let mut command = Command::new("valgrind");
    command.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(program).args(&invocation.arguments);
    command.current_dir(root).env_clear().env("RAYON_NUM_THREADS", "1");
    if let Some(path) = std::env::var_os("PATH") {
        command.env("PATH", path);
    }
    if let Some(path) = &invocation.stdin {
        let file = fs::File::open(path).map_err(|error| Failure::Broken(format!("{path}: {error}")))?;
        command.stdin(file);
    }
    let output = command.output().map_err(|error| Failure::Broken(format!("valgrind cannot be run: {error}")))?;
    let report = String::from_utf8_lossy(&output.stderr);
    // `render` exits with 0 and `plan` with 2 if there are changes; a wrong call or a crash is neither.
    let is_expected = matches!(output.status.code(), Some(0 | 2));
    let collected = report.lines().rev().find_map(|line| line.split_once("Collected : "));
    let instructions = collected.and_then(|(_, count)| count.trim().parse().ok());
    match instructions {
        Some(instructions) if is_expected => Ok(instructions),
        _ => {
            let end: Vec<_> = report.lines().rev().take(12).collect();
            let end: Vec<_> = end.into_iter().rev().collect();
            let command = invocation.arguments.join(" ");
            Err(Failure::Broken(format!("`{} {command}` failed:\n{}", program.display(), end.join("\n"))))
        }
    }
}

/// Returns the recorded count of a run. The record has one `name = count` per line.
fn recorded(record: &str, name: &str) -> Option<u64> {
    record
        .lines()
        .filter_map(|line| line.split_once('='))
        .find_map(|(key, value)| (key.trim() == name).then(|| value.trim().replace('_', "").parse().ok()).flatten())
}

/// Returns the record with the measured counts. Its comments stay, and new runs are added at the end.
fn updated_record(record: &str, counts: &[Count]) -> String {
    let mut text = String::new();
    let line = |count: &Count| format!("{} = {}\n", count.name, grouped(count.measured));
    for old in record.lines() {
        let name = old.split_once('=').map_or("", |(key, _)| key.trim());
        if let Some(count) = counts.iter().find(|count| count.name == name) {
            text.push_str(&line(count));
        } else {
            text.push_str(old);
            text.push('\n');
        }
    }
    for count in counts.iter().filter(|count| count.recorded.is_none()) {
        text.push_str(&line(count));
    }
    text
}

/// Writes a number with `_` between groups of three digits, as TOML allows.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (position, digit) in digits.chars().enumerate() {
        if position > 0 && (digits.len() - position).is_multiple_of(3) {
            text.push('_');
        }
        text.push(digit);
    }
    text
}

fn table(counts: &[Count]) -> String {
    let mut text = String::new();
    for count in counts {
        let change =
            count.change_percent().map_or_else(|| "not recorded".to_owned(), |change| format!("{change:+.2} %"));
        // Writing to a string does not fail.
        append_line!(text, "{:<32} {:>14}  {change}", count.name, grouped(count.measured));
    }
    text
}

fn compare(counts: &[Count]) -> Result<String, Failure> {
    let mut text = table(counts);
    let worse: Vec<_> = counts.iter().filter(|count| count.is_worse()).map(|count| count.name).collect();
    if !worse.is_empty() {
        let names = worse.join(", ");
        return Err(Failure::Unmet(format!(
            "{text}{names}: more than {MAX_INCREASE_PERCENT} % above {RECORD}; make it cheaper, or give the reason in the \
             commit that runs `cargo measure instructions --update`"
        )));
    }
    if counts.iter().any(Count::is_better) {
        text.push_str("some runs are cheaper than recorded: run `cargo measure instructions --update`\n");
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(measured: u64, recorded: Option<u64>) -> Count {
        Count { name: "render-one", measured, recorded }
    }

    #[test]
    fn more_instructions_than_the_limit_fail() {
        assert!(matches!(compare(&[count(1_021, Some(1_000))]), Err(Failure::Unmet(_))));
        assert!(matches!(compare(&[count(1_000, None)]), Err(Failure::Unmet(_))));
        assert!(compare(&[count(1_020, Some(1_000))]).is_ok_and(|text| !text.contains("--update")));
        assert!(compare(&[count(900, Some(1_000))]).is_ok_and(|text| text.contains("--update")));
    }

    #[test]
    fn an_update_keeps_comments_and_adds_new_runs() {
        let record = "# comment\nother = 7\nrender-one = 1_000\n";
        assert_eq!(recorded(record, "render-one"), Some(1_000));
        assert_eq!(
            updated_record(record, &[count(1_234_567, Some(1_000))]),
            "# comment\nother = 7\nrender-one = 1_234_567\n"
        );
        assert_eq!(updated_record("# comment\n", &[count(12, None)]), "# comment\nrender-one = 12\n");
    }

    /// Every run has a recorded count, and every recorded count a run.
    #[test]
    fn the_record_matches_the_runs() {
        let record = fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("..").join(RECORD)).unwrap();
        let lines = record.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        let recorded: Vec<_> = lines.filter_map(|line| line.split_once(" = ")).map(|(name, _)| name).collect();
        assert_eq!(recorded, RUNS.iter().map(|run| run.name).collect::<Vec<_>>());
    }
}

//! Recognizes templates, which are not manifests before a program has filled them in.

use std::path::{Path, PathBuf};

use kubefoundry_compiler::codes::input as codes;
use kubefoundry_diagnostics::Diagnostic;
use kubefoundry_yaml as yaml;
use kubefoundry_yaml::Span;
use kubefoundry_yaml::text::one_line;

use super::error::{InputError, MAX_BYTES};
use super::files::Files;
use super::kustomize::name_of;
use super::program::{self, Permissions, ProgramError, TimeBudget};
use super::temporary::TemporaryDirectory;

/// The file that makes a directory a Helm chart, and the directory of its templates.
const CHART_FILE: &str = "Chart.yaml";
const CHART_TEMPLATES: &str = "templates";

/// The directory of the copy that helm renders.
const COPY: &str = "chart";

/// How templates of Helm and Jinja start an expression or a statement, and shells a variable.
const MARKS: [&str; 3] = ["{{", "{%", "${"];

/// Returns the directory of the Helm chart that a file is a template of.
pub(crate) fn chart_of(file: &Path, files: &Files) -> Option<PathBuf> {
    // Few paths have such a directory.
    memchr::memmem::find(file.as_os_str().as_encoded_bytes(), CHART_TEMPLATES.as_bytes())?;
    let directories = file.ancestors().skip(1);
    let templates = directories.filter(|directory| directory.file_name().is_some_and(|name| name == CHART_TEMPLATES));
    let charts = templates.filter_map(Path::parent);
    charts.filter(|chart| files.is_file(&chart.join(CHART_FILE))).last().map(Path::to_owned)
}

/// Returns the chart file of a directory.
pub(crate) fn chart_file(chart: &Path) -> PathBuf {
    chart.join(CHART_FILE)
}

/// Whether a text has what may be a mark of a template.
pub(crate) fn has_mark(text: &str) -> bool {
    // Every mark has a brace, and most manifests have none.
    memchr::memchr(b'{', text.as_bytes()).is_some() && MARKS.iter().any(|mark| text.contains(mark))
}

/// Returns the first mark of a template in a text that is not well-formed YAML because of it: the mark is in the line
/// that cannot be read, or a statement stands alone in a line.
pub(crate) fn find_mark(text: &str) -> Option<Span> {
    if !has_mark(text) {
        return None;
    }
    let parsed = yaml::parse(text, &yaml::Limits::default());
    let failure = parsed.failure?;
    let failed_line = line_at(text, failure.span.start);
    let statement = || lines(text).find(|(_, line)| MARKS.iter().any(|mark| line.trim_start().starts_with(mark)));
    let (start, line) =
        Some(failed_line).filter(|(_, line)| MARKS.iter().any(|mark| line.contains(mark))).or_else(statement)?;
    let mark = MARKS.iter().filter_map(|mark| line.find(mark)).min()?;
    Some(Span { start: start + mark, end: start + mark + MARKS[0].len() })
}

/// Returns the lines of a text with their offsets.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut offset = 0;
    text.split_inclusive('\n').map(move |line| {
        let start = offset;
        offset += line.len();
        (start, line)
    })
}

fn line_at(text: &str, offset: usize) -> (usize, &str) {
    lines(text).take_while(|(start, _)| *start <= offset).last().unwrap_or((0, ""))
}

/// Creates the finding about the templates of a chart.
pub(crate) fn skipped_chart(chart: &Path, count: usize) -> Diagnostic {
    let chart_name = name_of(chart);
    let message = if count == 1 {
        format!("1 template of the Helm chart {chart_name} names an API group of kubefoundry, and is skipped")
    } else {
        format!("{count} templates of the Helm chart {chart_name} name an API group of kubefoundry, and are skipped")
    };
    let help = format!("use --helm, or pass what helm renders: helm template {chart_name} | kubefoundry lint -");
    Diagnostic::new(&codes::SKIPPED_TEMPLATE, message).help(help)
}

/// Creates the finding about a chart that helm cannot render.
pub(crate) fn failed_chart(chart: &Path, error: &ProgramError) -> Diagnostic {
    let message = one_line(&format!("helm cannot render the chart {}: {error}", name_of(chart)));
    Diagnostic::new(&codes::FAILED_BUILD, message).help("run `helm template` there, or leave --helm out")
}

/// Creates the finding about a template outside of a chart.
pub(crate) fn skipped_template() -> Diagnostic {
    let message = "the file is a template, and is skipped";
    Diagnostic::new(&codes::SKIPPED_TEMPLATE, message)
        .help("pass what is rendered from it on standard input, or leave the file out with --exclude")
}

/// Renders a copy of a chart with helm.
pub(crate) fn render_chart(
    chart: &Path,
    files: &Files,
    permissions: Permissions,
    budget: &TimeBudget,
) -> Result<Result<String, ProgramError>, InputError> {
    let Some(helm) = program::find("helm") else {
        return Ok(Err(ProgramError::Failed("helm is not on the PATH".to_owned())));
    };
    let name = chart.file_name().and_then(|name| name.to_str()).unwrap_or("release");
    let workspace = TemporaryDirectory::create().map_err(InputError::Temporary)?;
    for folder in ["home", "tmp", COPY] {
        workspace.create_folder(folder).map_err(InputError::Temporary)?;
    }
    let mut size = 0;
    for file in files.list_all(chart).into_iter().chain([PathBuf::from(".helmignore")]) {
        let Some(bytes) = files.read(&chart.join(&file))? else { continue };
        size += bytes.len();
        if u64::try_from(size).is_ok_and(|size| size > MAX_BYTES) {
            return Ok(Err(ProgramError::TooMuchInput));
        }
        workspace.write(&Path::new(COPY).join(file), &bytes).map_err(InputError::Temporary)?;
    }
    // An argument that starts with a dash would be an option.
    let command = program::confined(&helm, workspace.path(), permissions);
    Ok(command.and_then(|mut command| {
        program::run(
            command.args(["template", "--", name]).arg(workspace.path().join(COPY)).current_dir(workspace.path()),
            budget,
        )
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_where_a_text_cannot_be_read() {
        for text in [
            "{{- if .Values.on }}\nkind: ModelDeployment\n{{- end }}\n",
            "{% if on %}\nkind: ModelDeployment\n{% endif %}\n",
            "metadata: {namespace: ${NS}}\n",
            "a: 1\n{{ x }}: [\n",
        ] {
            assert!(find_mark(text).is_some(), "{text:?}");
        }
    }

    /// A real mistake in a file that also holds a chat template is still an error.
    #[test]
    fn a_mark_in_a_string_makes_no_template() {
        for text in ["a: '{{ x }}'\nb: [\n", "a: ${NS}\n", "a: '{% x %}'\n", "b: [\n"] {
            assert_eq!(find_mark(text), None, "{text:?}");
        }
    }
}

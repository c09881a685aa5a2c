//! Adds to the scripts of clap what its generators cannot write: words with `=` in bash, values beside files in zsh, and
//! values of positional arguments in fish.

use clap_complete::Shell;
use kubefoundry_yaml::{append, append_line};

use super::PROGRAM;
use super::hints::{PositionalHints, placeholder};

/// Completes the script of a shell.
pub(super) fn complete_script(shell: Shell, script: &str, positional: &[PositionalHints]) -> String {
    match shell {
        Shell::Bash => complete_bash(script, positional),
        Shell::Zsh => complete_zsh(script, positional),
        Shell::Fish => complete_fish(script, positional),
        _ => script.to_owned(),
    }
}

/// bash takes `=` as a word of its own. This function joins the words of `dynamo=1.4.0` before it calls that of clap, and
/// removes what is already there from the answers. bash offers files only where a function offers nothing, so this one
/// adds them where files and other values are possible.
const BASH_WORDS: &str = r#"
_kubefoundry_words() {
    local cur="$2" prev="$3" typed="" before=0
    if [[ "${COMP_WORDS[COMP_CWORD]}" == "=" ]]; then
        cur=""
        before=$((COMP_CWORD - 1))
    elif [[ "${COMP_CWORD}" -ge 2 && "${COMP_WORDS[COMP_CWORD-1]}" == "=" ]]; then
        before=$((COMP_CWORD - 2))
    fi
    if [[ "${before}" -ge 1 ]]; then
        prev="${COMP_WORDS[before]}"
        # After --option=, the option itself is the word before.
        if [[ "${prev}" != -* ]]; then
            typed="${prev}="
            prev="${COMP_WORDS[before-1]}"
            if [[ "${prev}" == "=" && "${before}" -ge 2 ]]; then
                prev="${COMP_WORDS[before-2]}"
            fi
        fi
    fi
    _kubefoundry "$1" "${typed}${cur}" "${prev}"
    if [[ -n "${typed}" ]]; then
        COMPREPLY=("${COMPREPLY[@]#"${typed}"}")
    fi
@PATHS@}
"#;

/// A part of [`BASH_WORDS`] for a command that takes files and other values: it adds files after a word that is not an option,
/// or an option without a value.
const BASH_PATHS: &str = r#"    if [[ " ${COMP_WORDS[*]:1:COMP_CWORD-1} " == *" @COMMAND@ "* && "${cur}" != -* ]]; then
        case "${prev}" in
            @SWITCHES@|[!-]*)
                local file
                while IFS= read -r file; do
                    COMPREPLY+=("${file}")
                done < <(compgen -f -- "${cur}")
                compopt -o filenames 2>/dev/null
                ;;
        esac
    fi
"#;

fn complete_bash(script: &str, positional: &[PositionalHints]) -> String {
    let registered = script.replace("complete -F _kubefoundry ", "complete -F _kubefoundry_words ");
    let with_paths = positional.iter().filter(|positional| positional.takes_paths);
    let paths: String = with_paths
        .map(|PositionalHints { command, switches, .. }| {
            BASH_PATHS.replace("@COMMAND@", command).replace("@SWITCHES@", &switches.join("|"))
        })
        .collect();
    format!("{registered}{}", BASH_WORDS.replace("@PATHS@", &paths))
}

/// The lines of the script that call or register its function. Other functions must be defined before.
const ZSH_END: &str = "\nif [ \"$funcstack[1]\" = ";

fn complete_zsh(script: &str, positional: &[PositionalHints]) -> String {
    let mut script = script.to_owned();
    let mut functions = String::new();
    for PositionalHints { command, hints, .. } in positional.iter().filter(|positional| positional.takes_paths) {
        let function = format!("_{PROGRAM}_{command}_or_files");
        script = script.replace(&format!("({})", placeholder(command)), &function);
        append!(functions, "\n{function}() {{\n    local ret=1\n    local -a values\n    values=(\n");
        for hint in hints {
            append_line!(functions, "        '{}:{}'", hint.value, hint.description);
        }
        functions
            .push_str("    )\n    _describe -t values value values && ret=0\n    _files && ret=0\n    return ret\n}\n");
    }
    script.replacen(ZSH_END, &format!("{functions}{ZSH_END}"), 1)
}

fn complete_fish(script: &str, positional: &[PositionalHints]) -> String {
    let mut script = script.to_owned();
    for PositionalHints { command, hints, takes_paths, .. } in positional {
        let files = if *takes_paths { "" } else { " -f" };
        let values: Vec<String> = hints.iter().map(|hint| format!("{}\\t'{}'", hint.value, hint.description)).collect();
        append_line!(
            script,
            "complete -c {PROGRAM} -n \"__fish_{PROGRAM}_using_subcommand {command}\"{files} -a \"{}\"",
            values.join("\n")
        );
    }
    script
}

//! Renders the compact tables that the program embeds: one text file per engine with all of its versions.
//!
//! The header is followed by one entry per line, sorted by name:
//! `<name> <versions> <type> [attribute …]`, `<alias> <versions> =<name>`, or `<off form> <versions> !<name>`.

use std::collections::BTreeMap;

use kubefoundry_yaml::append_line;

use super::delta::Facts;
use super::fact::Fact;
use super::tables::Table;
use super::version::Version;

/// Gives a flag the same name in all versions: the one in the newest version that has it. For example, SGLang once
/// swapped
/// `--tensor-parallel-size` and its alias `--tp-size`.
pub(super) fn unify_names(versions: &mut [(Version, Facts)]) {
    let mut lasting: BTreeMap<String, bool> = BTreeMap::new();
    for (_, facts) in versions.iter().rev() {
        let mut known: BTreeMap<&str, bool> = BTreeMap::new();
        for fact in facts.values() {
            for alias in &fact.aliases {
                known.entry(alias).or_insert(false);
            }
        }
        known.extend(facts.keys().map(|name| (name.as_str(), true)));
        for (spelling, is_name) in known {
            lasting.entry(spelling.to_owned()).or_insert(is_name);
        }
    }
    for (_, facts) in versions {
        *facts = std::mem::take(facts)
            .into_values()
            .map(|mut fact| {
                let spellings: Vec<String> = fact.spellings().map(str::to_owned).collect();
                if let Some(name) = spellings.iter().find(|spelling| lasting.get(*spelling) == Some(&true)) {
                    name.clone_into(&mut fact.name);
                    fact.aliases = spellings.iter().filter(|spelling| *spelling != name).cloned().collect();
                }
                (fact.name.clone(), fact)
            })
            .collect();
    }
}

/// Returns the text of a table. `versions` are sorted, oldest first.
pub(super) fn render(table: &Table, versions: &[(Version, Facts)]) -> Result<String, String> {
    let letters: Vec<char> = ('a'..='z').take(versions.len()).collect();
    if letters.len() < versions.len() {
        return Err(format!("{} versions, but only 26 letters to name them; remove the oldest", versions.len()));
    }
    // (name, entry) -> the letters of the versions with this entry.
    let mut lines: BTreeMap<(String, String), String> = BTreeMap::new();
    for ((_, facts), &letter) in versions.iter().zip(&letters) {
        for entry in facts.values().flat_map(|fact| entries(table, fact, facts)) {
            lines.entry(entry).or_default().push(letter);
        }
    }
    let mut lines: Vec<(String, String, String)> =
        lines.into_iter().map(|((name, text), versions)| (name, versions, text)).collect();
    lines.sort();

    let names: Vec<String> =
        letters.iter().zip(versions).map(|(letter, (version, _))| format!("{letter}={version}")).collect();
    let mut text = format!(
        "# Written by `cargo xtask flags`; do not edit. {}\n\
         # Source: {}.\n\
         # Entry: <name> <versions> <type> [attribute ...] | <alias> <versions> =<name> | <off form> <versions> !<name>\n\
         # Type: switch, pair (--x, --no-x) or that of the value, `?` value may be left out, `+` several values, `&` may be repeated.\n\
         #versions {}\n",
        table.title,
        table.source,
        names.join(" "),
    );
    if table.is_uncertain {
        text.push_str("#uncertain\n");
    }
    for (name, present, line) in lines {
        append_line!(text, "{name} {} {line}", version_column(&present, &letters));
    }
    Ok(text)
}

/// Returns the entries of a flag in one version, without their version column.
fn entries(table: &Table, fact: &Fact, all: &Facts) -> Vec<(String, String)> {
    let mut words = vec![fact.kind.clone()];
    words.extend(Some(&fact.off).filter(|off| !off.is_empty()).map(|off| format!("off={off}")));
    for (key, list) in [("choices", &fact.choices), ("known", &fact.known), ("also", &fact.also)] {
        words.extend(Some(list).filter(|list| !list.is_empty()).map(|list| format!("{key}={}", list.join("|"))));
    }
    words.extend(Some(&fact.range).filter(|range| !range.is_empty()).map(|range| format!("range={range}")));
    let program = if fact.frontend { Some("frontend") } else { table.is_wrapper().then_some("wrapper") };
    words.extend(program.map(str::to_owned));
    words.extend(fact.deprecated.then(|| "deprecated".to_owned()));
    words.extend(Some(&fact.replaced_by).filter(|text| !text.is_empty()).map(|text| format!("use={text}")));

    let mut entries = vec![(fact.name.clone(), words.join(" "))];
    entries.extend(fact.aliases.iter().map(|alias| (alias.clone(), format!("={}", fact.name))));
    if !fact.inverse.is_empty() {
        entries.push((fact.inverse.clone(), format!("!{}", fact.name)));
    }
    // The last part of a nested configuration key is an alias of the key if no other key ends with it.
    if let Some((_, leaf)) = fact.name.rsplit_once('.')
        && all.keys().filter(|name| name.rsplit('.').next() == Some(leaf)).count() == 1
    {
        entries.push((leaf.to_owned(), format!("={}", fact.name)));
    }
    entries
}

/// Returns the version column: `*` for all versions, otherwise runs of letters. `a-c` is a closed range, `d-` an open
/// one, and `a-be-` consists of two.
fn version_column(present: &str, letters: &[char]) -> String {
    if present.len() == letters.len() {
        return "*".to_owned();
    }
    let mut column = String::new();
    let mut rest: Vec<char> = present.chars().collect();
    while let Some(&first) = rest.first() {
        let run = rest.iter().zip(first..).take_while(|(have, want)| *have == want).count();
        column.push(first);
        if run > 1 {
            column.push('-');
            let last = rest.get(run - 1).copied().unwrap_or(first);
            if Some(&last) != letters.last() {
                column.push(last);
            }
        }
        rest.drain(..run);
    }
    column
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(lines: &[&str]) -> Facts {
        lines.iter().map(|line| Fact::parse(line).expect(line)).map(|fact| (fact.name.clone(), fact)).collect()
    }

    #[test]
    fn version_columns_are_runs() {
        let letters = ['a', 'b', 'c', 'd', 'e'];
        for (present, column) in
            [("abcde", "*"), ("a", "a"), ("e", "e"), ("abc", "a-c"), ("cde", "c-"), ("abde", "a-bd-"), ("ac", "ac")]
        {
            assert_eq!(version_column(present, &letters), column);
        }
    }

    #[test]
    fn the_newest_version_names_a_flag_in_all() {
        let mut versions = vec![
            (
                Version::new("1"),
                facts(&["tensor-parallel-size int aliases=tp-size", "old pair off=no-old aliases=new"]),
            ),
            (
                Version::new("2"),
                facts(&["new pair off=no-new aliases=old", "tp-size int aliases=tensor-parallel-size"]),
            ),
        ];
        unify_names(&mut versions);
        let oldest: Vec<String> = versions[0].1.values().map(Fact::to_string).collect();
        assert_eq!(oldest, ["new pair off=no-old aliases=old", "tp-size int aliases=tensor-parallel-size"]);
    }

    #[test]
    fn equal_entries_of_versions_are_joined() {
        let table = super::super::tables::TABLES.iter().find(|table| table.is_wrapper()).expect("a wrapper's table");
        let versions = [
            (Version::new("1"), facts(&["a int", "b switch deprecated use=--c", "d.e str", "f.e str", "d.g str"])),
            (
                Version::new("2"),
                facts(&["a str choices=x|y", "c pair off=no-c inverse=enable-c aliases=k", "d.e str", "f.e str"]),
            ),
        ];
        let text = render(table, &versions).expect("a table");
        let entries: Vec<&str> = text.lines().filter(|line| !line.starts_with('#')).collect();
        assert_eq!(
            entries,
            [
                "a a int wrapper",
                "a b str choices=x|y wrapper",
                "b a switch wrapper deprecated use=--c",
                "c b pair off=no-c wrapper",
                "d.e * str wrapper",
                "d.g a str wrapper",
                "enable-c b !c",
                "f.e * str wrapper",
                "g a =d.g",
                "k b =c",
            ]
        );
    }
}

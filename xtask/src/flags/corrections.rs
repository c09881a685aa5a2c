//! Facts about flags that the extractor cannot read from the sources.

use super::delta::Facts;
use super::version::{Version, VersionSet};

/// The corrections of one table.
///
/// A line is `<name> <versions> <change> …`, below a comment that gives the reason; a comment applies up to the next
/// blank line. Names are those of the table. The changes are `type=`, `choices=` (empty for an open set), `also=`,
/// `alias=`, `deprecated=yes|no`, `range=` (the interval of a number), `known=` (the values that the version knows),
/// `open=yes` (plugins may add choices, so that they become known values), `add=<type>` (a flag that the program reads
/// without registering it), `off=`, and `use=`, which comes last and takes the
/// rest of the line.
#[derive(Debug, Default)]
pub(crate) struct Corrections(Vec<Correction>);

#[derive(Debug)]
struct Correction {
    line: usize,
    name: String,
    versions: VersionSet,
    changes: Vec<(String, String)>,
}

impl Corrections {
    /// Reads the file of a table.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let mut corrections = Vec::new();
        let mut has_reason = false;
        for (index, line) in text.lines().enumerate() {
            if line.is_empty() || line.starts_with('#') {
                has_reason = !line.is_empty();
                continue;
            }
            let error = |reason: &str| format!("line {}: {reason}", index + 1);
            if !has_reason {
                return Err(error("a correction needs a comment above it that gives its reason"));
            }
            let (rest, replacement) = line.split_once(" use=").map_or((line, None), |(rest, text)| (rest, Some(text)));
            let mut words = rest.split(' ');
            let (Some(name), Some(versions)) = (words.next(), words.next()) else {
                return Err(error("expected `<name> <versions> <change> …`"));
            };
            let mut changes = Vec::new();
            for word in words {
                let (key, value) = word.split_once('=').ok_or_else(|| error("a change is `key=value`"))?;
                changes.push((key.to_owned(), value.to_owned()));
            }
            changes.extend(replacement.map(|text| ("use".to_owned(), text.to_owned())));
            let versions = VersionSet::new(versions);
            corrections.push(Correction { line: index + 1, name: name.to_owned(), versions, changes });
        }
        Ok(Self(corrections))
    }

    /// Applies the corrections to all versions of the table.
    ///
    /// # Errors
    /// If a correction changes nothing, because the facts that it corrected no longer exist.
    pub(crate) fn apply(&self, table: &mut [(Version, Facts)]) -> Result<(), String> {
        for correction in &self.0 {
            let mut has_effect = false;
            for (_, facts) in table.iter_mut().filter(|(version, _)| correction.versions.contains(version)) {
                let is_new = !facts.contains_key(&correction.name);
                if is_new && !correction.changes.iter().any(|(key, _)| key == "add") {
                    continue;
                }
                let fact = facts.entry(correction.name.clone()).or_default();
                let before = fact.clone();
                correction.name.clone_into(&mut fact.name);
                for (key, value) in &correction.changes {
                    let list = || value.split('|').filter(|word| !word.is_empty()).map(str::to_owned).collect();
                    match (key.as_str(), value.as_str()) {
                        ("type", kind) => fact.set_kind(kind).map_err(|error| correction.error(&error))?,
                        ("choices", _) => fact.choices = list(),
                        ("also", _) => fact.also = list(),
                        ("known", _) => fact.known = list(),
                        ("open", "yes") => fact.known.append(&mut fact.choices),
                        ("range", interval) => fact.set_range(interval).map_err(|error| correction.error(&error))?,
                        ("alias", name) => fact.aliases.push(name.to_owned()),
                        ("add", kind) if is_new => fact.set_kind(kind).map_err(|error| correction.error(&error))?,
                        ("off", name) => name.clone_into(&mut fact.off),
                        ("deprecated", "yes" | "no") => fact.deprecated = value == "yes",
                        ("use", text) => text.clone_into(&mut fact.replaced_by),
                        _ => return Err(correction.error(&format!("unknown change `{key}={value}`"))),
                    }
                }
                has_effect |= *fact != before;
            }
            if !has_effect {
                return Err(correction.error("it changes nothing in these versions; remove it, or correct its name"));
            }
        }
        Ok(())
    }
}

impl Correction {
    fn error(&self, reason: &str) -> String {
        format!("corrections.txt, line {}, `{}`: {reason}", self.line, self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::super::fact::Fact;
    use super::*;

    fn corrected(corrections: &str) -> Result<Vec<String>, String> {
        let mut table: Vec<(Version, Facts)> = ["1.0", "2.0"]
            .into_iter()
            .map(|version| {
                let fact = Fact::parse("size int choices=1|2 deprecated").expect("a fact");
                (Version::new(version), Facts::from([(fact.name.clone(), fact)]))
            })
            .collect();
        Corrections::parse(corrections)?.apply(&mut table)?;
        Ok(table.iter().flat_map(|(_, facts)| facts.values()).map(Fact::to_string).collect())
    }

    #[test]
    fn a_correction_reaches_its_versions_only() {
        assert_eq!(
            corrected("# Why.\nsize 2.0.. type=str+ choices= also=auto alias=s deprecated=no use=--length a b\n"),
            Ok(vec![
                "size int choices=1|2 deprecated".to_owned(),
                "size str+ aliases=s also=auto use=--length a b".to_owned(),
            ])
        );
    }

    #[test]
    fn a_flag_that_no_parser_registers_is_added_once() {
        assert_eq!(
            corrected("# Why.\nold 2.0 add=pair off=no-old deprecated=yes use=--new\n"),
            Ok(vec![
                "size int choices=1|2 deprecated".to_owned(),
                "old pair off=no-old deprecated use=--new".to_owned(),
                "size int choices=1|2 deprecated".to_owned(),
            ])
        );
        let error = corrected("# Why.\nsize * add=switch\n").expect_err("the flag is registered by now");
        assert!(error.contains("unknown change `add=switch`"), "{error}");
    }

    #[test]
    fn choices_that_plugins_extend_become_known_values() {
        assert_eq!(
            corrected("# Why.\nsize 2.0 open=yes range=(0,2]\n"),
            Ok(vec![
                "size int choices=1|2 deprecated".to_owned(),
                "size int known=1|2 range=(0,2] deprecated".to_owned(),
            ])
        );
    }

    #[test]
    fn a_correction_that_cannot_be_right_is_refused() {
        for (text, reason) in [
            ("size * type=str\n", "gives its reason"),
            ("# Why.\nother * type=str\n\nsize * type=str\n", "gives its reason"),
            ("# Why.\nsize\n", "expected `<name> <versions>"),
            ("# Why.\nsize * open\n", "a change is `key=value`"),
            ("# Why.\nsize * color=red\n", "unknown change"),
            ("# Why.\nsize * open=no\n", "unknown change"),
            ("# Why.\nsize * range=1\n", "invalid interval"),
            ("# Why.\nsize * type=integer\n", "unknown type"),
            ("# Why.\nlength * type=str\n", "changes nothing"),
            ("# Why.\nsize 3.0.. type=str\n", "changes nothing"),
            ("# Why.\nsize * type=int\n", "changes nothing"),
        ] {
            let error = corrected(text).expect_err(text);
            assert!(error.contains(reason), "{text}: {error}");
        }
    }
}

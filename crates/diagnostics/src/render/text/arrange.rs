//! The arrangement of a report for a terminal: which findings are shown, and in which order.

use std::collections::BTreeMap;

use super::{Entry, ReportGuide};
use crate::source::SourceId;
use crate::{Diagnostic, Severity};

/// Maximum number of infos of one code that are all shown. Fewer are not worth a note about those that are left out.
const MAX_SHOWN_INFOS: usize = 2;

/// The infos of one code.
#[derive(Default)]
struct InfoGroup {
    /// Number of infos after the first one.
    others: usize,
    /// Number of files with others.
    files: usize,
    last_source: Option<SourceId>,
    is_shown: bool,
}

impl InfoGroup {
    fn add(&mut self, is_first: bool, source: Option<SourceId>) {
        if is_first {
            return;
        }
        self.others += 1;
        // Findings are sorted by source.
        if source.is_some() && source != self.last_source {
            self.files += 1;
            self.last_source = source;
        }
    }

    fn note(&self, code: &str, guide: ReportGuide) -> String {
        let files = match self.files {
            0 => String::new(),
            1 => " in 1 file".to_owned(),
            files => format!(" in {files} files"),
        };
        format!("{} more infos with the code {code}{files}; `{}` lists them", self.others, guide.list_all)
    }
}

/// Arranges findings: infos, then warnings, then errors, each in the order of the input, and one info of a code of
/// which there are many.
pub(super) fn arrange(diagnostics: &[Diagnostic], guide: ReportGuide) -> impl Iterator<Item = Entry<'_>> {
    let mut groups: BTreeMap<&str, InfoGroup> = BTreeMap::new();
    for info in diagnostics.iter().filter(|diagnostic| diagnostic.severity == Severity::Info) {
        let is_first = !groups.contains_key(info.code.id);
        let source = info.location.as_ref().map(|location| location.source);
        groups.entry(info.code.id).or_default().add(is_first, source);
    }
    let of = |severity| diagnostics.iter().filter(move |diagnostic| diagnostic.severity == severity);
    let severe = of(Severity::Warning).chain(of(Severity::Error)).map(Entry::plain);
    let infos = of(Severity::Info).filter_map(move |info| {
        let group = groups.get_mut(info.code.id).filter(|group| group.others >= MAX_SHOWN_INFOS);
        let Some(group) = group else { return Some(Entry::plain(info)) };
        if std::mem::replace(&mut group.is_shown, true) {
            return None;
        }
        Some(Entry { note: Some(group.note(info.code.id, guide)), ..Entry::plain(info) })
    });
    infos.chain(severe).map(move |entry| {
        let is_marked = guide.marks_fixes && entry.diagnostic.fix.is_some();
        Entry { is_marked, ..entry }
    })
}

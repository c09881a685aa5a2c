//! Conversion between byte offsets and the positions of the protocol: lines, and characters in UTF-16 or UTF-8 units.

use kubefoundry_yaml::Span;
use lsp_types::{Position, PositionEncodingKind, Range};

/// The unit of a character in positions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Encoding {
    Utf8,
    /// What every client understands.
    #[default]
    Utf16,
}

impl Encoding {
    /// Chooses from what a client offers: UTF-8, because the offsets of our parser are bytes, or else UTF-16.
    pub(crate) fn negotiate<'o>(mut offered: impl Iterator<Item = &'o str>) -> Self {
        if offered.any(|name| name == PositionEncodingKind::UTF8.as_str()) { Self::Utf8 } else { Self::Utf16 }
    }

    pub(crate) fn kind(self) -> PositionEncodingKind {
        match self {
            Self::Utf8 => PositionEncodingKind::UTF8,
            Self::Utf16 => PositionEncodingKind::UTF16,
        }
    }

    fn units(self, text: &str) -> usize {
        match self {
            Self::Utf8 => text.len(),
            Self::Utf16 => text.encode_utf16().count(),
        }
    }
}

/// The lines of a text. A line ends with `\n`, `\r\n` or `\r`.
#[derive(Debug)]
pub(crate) struct Lines<'t> {
    text: &'t str,
    encoding: Encoding,
    /// The offset at which each line starts.
    starts: Vec<usize>,
}

impl<'t> Lines<'t> {
    pub(crate) fn new(text: &'t str, encoding: Encoding) -> Self {
        let bytes = text.as_bytes();
        let ends_line = |(at, byte): (usize, &u8)| match byte {
            b'\n' => Some(at + 1),
            b'\r' if bytes.get(at + 1) != Some(&b'\n') => Some(at + 1),
            _ => None,
        };
        let starts = std::iter::once(0).chain(bytes.iter().enumerate().filter_map(ends_line)).collect();
        Self { text, encoding, starts }
    }

    /// Returns the position of an offset. An offset past the end has the position of the end, and one inside of a
    /// character that of its start.
    pub(crate) fn position(&self, offset: usize) -> Position {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        let line = self.starts.partition_point(|start| *start <= offset).saturating_sub(1);
        let start = self.starts.get(line).copied().unwrap_or_default();
        let before = self.text.get(start..offset).unwrap_or_default();
        Position { line: to_u32(line), character: to_u32(self.encoding.units(before)) }
    }

    pub(crate) fn range(&self, span: Span) -> Range {
        Range { start: self.position(span.start), end: self.position(span.end) }
    }

    /// Returns the offset of a position. A position past the end of its line stands for the end of the line, as the
    /// protocol says, and one inside of a character for its start.
    pub(crate) fn offset(&self, position: Position) -> usize {
        let number = usize::try_from(position.line).unwrap_or(usize::MAX);
        let Some(start) = self.starts.get(number).copied() else { return self.text.len() };
        let end = self.starts.get(number.saturating_add(1)).copied().unwrap_or(self.text.len());
        let line = self.text.get(start..end).unwrap_or_default().trim_end_matches(['\n', '\r']);
        let wanted = usize::try_from(position.character).unwrap_or(usize::MAX);
        let mut units = 0;
        for (at, character) in line.char_indices() {
            let next = units + self.encoding.units(character.encode_utf8(&mut [0; 4]));
            if next > wanted {
                return start + at;
            }
            units = next;
        }
        start + line.len()
    }

    pub(crate) fn span(&self, range: Range) -> Span {
        let (start, end) = (self.offset(range.start), self.offset(range.end));
        Span { start: start.min(end), end: end.max(start) }
    }
}

fn to_u32(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(line: u32, character: u32) -> Position {
        Position { line, character }
    }

    /// `é` has two bytes and one UTF-16 unit, `😀` four bytes and two units.
    #[test]
    fn counts_in_the_units_of_the_encoding() {
        let text = "a: é😀b\nc: d\n";
        let b = text.find('b').unwrap();
        for (encoding, character) in [(Encoding::Utf16, 6), (Encoding::Utf8, 9)] {
            let lines = Lines::new(text, encoding);
            assert_eq!(lines.position(b), at(0, character));
            assert_eq!(lines.offset(at(0, character)), b);
            assert_eq!(lines.position(text.find('d').unwrap()), at(1, 3));
        }
    }

    #[test]
    fn every_offset_of_a_character_survives_the_round_trip() {
        for text in ["", "\n", "a\r\nb\rc\n", "é\n\n😀: ü\r\n", "no line break 😀"] {
            for encoding in [Encoding::Utf8, Encoding::Utf16] {
                let lines = Lines::new(text, encoding);
                for (offset, character) in text.char_indices().filter(|(_, character)| *character != '\n') {
                    let position = lines.position(offset);
                    assert_eq!(lines.offset(position), offset, "{text:?} {encoding:?} {character:?}");
                }
                assert_eq!(lines.offset(lines.position(text.len())), text.len(), "{text:?}");
            }
        }
    }

    #[test]
    fn positions_outside_of_the_text_are_moved_into_it() {
        let lines = Lines::new("ab\r\n😀\n", Encoding::Utf16);
        assert_eq!(lines.offset(at(0, 99)), 2, "before the line break");
        assert_eq!(lines.offset(at(1, 1)), 4, "the start of the character");
        assert_eq!(lines.offset(at(9, 0)), 9);
        assert_eq!(lines.position(99), at(2, 0));
        assert_eq!(lines.position(5), at(1, 0));
        let reversed = Range { start: at(1, 0), end: at(0, 1) };
        assert_eq!(lines.span(reversed), Span { start: 1, end: 4 });
    }

    #[test]
    fn every_kind_of_line_break_ends_a_line() {
        let lines = Lines::new("a\nb\r\nc\rd", Encoding::Utf8);
        assert_eq!(
            ["a", "b", "c", "d"].map(|letter| lines.position("a\nb\r\nc\rd".find(letter).unwrap()).line),
            [0, 1, 2, 3]
        );
    }

    #[test]
    fn utf_8_is_preferred_where_it_is_offered() {
        assert_eq!(Encoding::negotiate(["utf-16", "utf-8"].into_iter()), Encoding::Utf8);
        assert_eq!(Encoding::negotiate(["utf-32", "utf-16"].into_iter()), Encoding::Utf16);
        assert_eq!(Encoding::negotiate([].into_iter()), Encoding::Utf16);
    }
}

//! Formats decisions as a Mermaid flowchart.

use super::label;
use kubefoundry_reports::graph::{Diagram, Edge, EdgeKind, Node, NodeRole, Stage};
use kubefoundry_yaml::{append, append_line};

/// Mermaid's default `maxTextSize`, in bytes; GitHub does not change it.
const MAX_TEXT_BYTES: usize = 50_000;
/// Mermaid's default `maxEdges`; GitHub does not change it.
const MAX_EDGES: usize = 500;

/// Styles set strokes only: any fill, including Mermaid's default for clusters, is unreadable in either the light or
/// the dark theme.
const STYLES: &str = "  classDef stage fill:none,stroke:#848d97
  classDef chosen stroke:#2da44e,stroke-width:3px
  classDef eligible stroke:#848d97
  classDef ineligible stroke:#cf222e,stroke-dasharray:4 3
  classDef main stroke:#2da44e,stroke-width:3px
  classDef external stroke:#848d97,stroke-dasharray:4 3
";

/// Formats one flowchart with a subgraph for each diagram.
pub(super) fn mermaid(diagrams: &[Diagram]) -> String {
    let mut out = String::from("%%{init: {\"flowchart\": {\"wrappingWidth\": 480}}}%%\nflowchart LR\n");
    // Mermaid draws charts that are not connected from the last to the first.
    for (index, diagram) in diagrams.iter().enumerate().rev() {
        let mut clusters = format!("d{index}");
        // Mermaid writes the title of a frame over the frames inside of it, so this one has none: its first box has the
        // same words.
        append_line!(out, "  subgraph d{index}[\" \"]\n    direction LR");
        for (number, stage) in Stage::ALL.into_iter().enumerate() {
            let mut nodes = diagram.stage(stage).peekable();
            if nodes.peek().is_none() {
                continue;
            }
            append!(clusters, ",d{index}s{number}");
            append_line!(out, "    subgraph d{index}s{number}[\"{}\"]", stage.title());
            for (position, node) in nodes {
                write_node(&mut out, index, position, node);
            }
            out.push_str("    end\n");
        }
        out.push_str("  end\n");
        for edge in &diagram.edges {
            write_edge(&mut out, index, edge);
        }
        append_line!(out, "  class {clusters} stage");
        for (position, node) in diagram.nodes.iter().enumerate() {
            if let Some(class) = style_class(node.role) {
                append_line!(out, "  class d{index}n{position} {class}");
            }
        }
    }
    if diagrams.is_empty() {
        out.push_str("  none[\"no ModelDeployment\"]\n");
    } else {
        out.push_str(STYLES);
    }
    out
}

/// Returns a note if Mermaid would refuse to draw the chart.
pub(super) fn size_note(text: &str) -> Option<String> {
    let edges = text.lines().filter(|line| line.contains("|\"")).count();
    (text.len() > MAX_TEXT_BYTES || edges > MAX_EDGES).then(|| {
        format!(
            "kubefoundry: the chart has {} characters and {edges} edges, but Mermaid draws at most {MAX_TEXT_BYTES} and \
             {MAX_EDGES} by default; explain fewer files at once, raise maxTextSize and maxEdges, or use --output html\n",
            text.len()
        )
    })
}

fn write_node(out: &mut String, diagram: usize, position: usize, node: &Node) {
    let lines: Vec<String> = label::lines(node).iter().map(|line| escape(line)).collect();
    let (open, close) = match node.role {
        NodeRole::Deployment | NodeRole::Endpoint => ("([", "])"),
        _ => ("[", "]"),
    };
    append_line!(out, "      d{diagram}n{position}{open}\"{}\"{close}", lines.join("<br/>"));
}

fn write_edge(out: &mut String, diagram: usize, edge: &Edge) {
    let line = match edge.kind {
        EdgeKind::Chosen => "==>",
        EdgeKind::NotChosen => "-.->",
        EdgeKind::Reference => "-->",
    };
    let (from, to) = (edge.from, edge.to);
    append_line!(out, "  d{diagram}n{from} {line}|\"{}\"| d{diagram}n{to}", escape(&label::title(&edge.label)));
}

const fn style_class(role: NodeRole) -> Option<&'static str> {
    match role {
        NodeRole::Chosen => Some("chosen"),
        NodeRole::Eligible => Some("eligible"),
        NodeRole::NotEligible => Some("ineligible"),
        NodeRole::Main => Some("main"),
        NodeRole::External | NodeRole::Endpoint => Some("external"),
        NodeRole::Deployment | NodeRole::Supporting => None,
    }
}

/// A character without width, which separates its neighbors for the Mermaid parser but not for the reader.
const WORD_JOINER: char = '\u{2060}';

/// Escapes text for a quoted label.
///
/// Mermaid decodes `#NNN;`. Every character with a meaning in its grammar, its preprocessor, Markdown or HTML is
/// written that way. Letters, digits, and punctuation that has no meaning inside a line are kept.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().enumerate().peekable();
    while let Some((position, c)) = characters.next() {
        let plain = match c {
            ' ' => true,
            // At the start of a line, these can begin a Markdown list.
            '-' | '/' | ',' | '.' | '0'..='9' | '(' | ')' | '=' | '!' | '\'' => position > 0,
            c => c.is_ascii_alphabetic() || !c.is_ascii(),
        };
        if plain {
            out.push(c);
        } else {
            append!(out, "#{};", u32::from(c));
        }
        // Mermaid interprets these sequences even after decoding: `$$` begins a formula, `fa:fa-car` is an icon, and
        // `ﬂ°` and `¶ß` are its internal markers for references.
        let icon = c == ':' && characters.peek().is_some_and(|(_, next)| next.is_alphabetic());
        if icon || matches!(c, '$' | 'ﬂ' | '¶') {
            out.push(WORD_JOINER);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn escapes_mermaid_syntax() {
        for (text, expected) in [
            ("llama-8b", "llama-8b"),
            ("Größe ≥ 1", "Größe ≥ 1"),
            ("1. one", "#49;. one"),
            ("- list", "#45; list"),
            ("a\"]; click x \"javascript:alert(1)\"", "a#34;#93;#59; click x #34;javascript#58;\u{2060}alert(1)#34;"),
            (
                "`md` **b** $$x$$ %%{init}%%",
                "#96;md#96; #42;#42;b#42;#42; #36;\u{2060}#36;\u{2060}x#36;\u{2060}#36;\u{2060} #37;#37;#123;init#125;#37;#37;",
            ),
            ("style x:#35;", "style x#58;#35;35#59;"),
            ("<img src=x>", "#60;img src=x#62;"),
        ] {
            assert_eq!(escape(text), expected);
        }
    }

    /// Decodes a label in the same way as Mermaid.
    fn decode(label: &str) -> String {
        let mut out = String::new();
        let mut rest = label;
        while let Some((before, after)) = rest.split_once('#') {
            let (number, after) = after.split_once(';').unwrap();
            out.push_str(before);
            out.push(char::from_u32(number.parse().unwrap()).unwrap());
            rest = after;
        }
        out + rest
    }

    proptest! {
        #[test]
        fn escaped_labels_round_trip(text in "\\PC{0,60}") {
            let label = escape(&text);
            prop_assert_eq!(decode(&label).replace(WORD_JOINER, ""), text.replace(WORD_JOINER, ""));
            let syntax = label.contains(|c: char| "\"<>&`%:[]{}|\\*_".contains(c));
            prop_assert!(!syntax, "{}", label);
        }
    }
}

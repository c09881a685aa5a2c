//! Decisions as a Mermaid flowchart.

use std::fmt::Write as _;

use super::graph::{Diagram, Edge, Node, Role, Stage, Way};
use super::label;

/// What Mermaid draws unless it is told otherwise (`maxTextSize` and `maxEdges` of its configuration; GitHub keeps
/// both).
const LONGEST_TEXT: usize = 50_000;
const MOST_EDGES: usize = 500;

/// Only strokes: a fill would be unreadable in one of the themes that a reader may have, as Mermaid's own of clusters
/// is.
const STYLES: &str = "  classDef stage fill:none,stroke:#848d97
  classDef chosen stroke:#2da44e,stroke-width:3px
  classDef open stroke:#848d97
  classDef closed stroke:#cf222e,stroke-dasharray:4 3
  classDef main stroke:#2da44e,stroke-width:3px
  classDef external stroke:#848d97,stroke-dasharray:4 3
";

/// One flowchart with a subgraph for each diagram.
pub(super) fn mermaid(diagrams: &[Diagram]) -> String {
    let mut out = String::from("%%{init: {\"flowchart\": {\"wrappingWidth\": 480}}}%%\nflowchart LR\n");
    for (index, diagram) in diagrams.iter().enumerate() {
        let mut clusters = format!("d{index}");
        let _ = writeln!(out, "  subgraph d{index}[\"{}\"]\n    direction LR", escape(&label::title(&diagram.title)));
        for (number, stage) in Stage::ALL.into_iter().enumerate() {
            let mut nodes = diagram.stage(stage).peekable();
            if nodes.peek().is_none() {
                continue;
            }
            let _ = write!(clusters, ",d{index}s{number}");
            let _ = writeln!(out, "    subgraph d{index}s{number}[\"{}\"]", stage.title());
            for (position, node) in nodes {
                box_of(&mut out, index, position, node);
            }
            out.push_str("    end\n");
        }
        out.push_str("  end\n");
        for edge in &diagram.edges {
            arrow(&mut out, index, edge);
        }
        let _ = writeln!(out, "  class {clusters} stage");
        for (position, node) in diagram.nodes.iter().enumerate() {
            if let Some(class) = class(node.role) {
                let _ = writeln!(out, "  class d{index}n{position} {class}");
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

/// A note about a chart that Mermaid would refuse to draw.
pub(super) fn too_large(text: &str) -> Option<String> {
    let edges = text.lines().filter(|line| line.contains("|\"")).count();
    (text.len() > LONGEST_TEXT || edges > MOST_EDGES).then(|| {
        format!(
            "kubefoundry: the chart has {} characters and {edges} edges; Mermaid draws at most {LONGEST_TEXT} and \
             {MOST_EDGES} unless maxTextSize and maxEdges say otherwise: explain fewer files at once, or use --output html\n",
            text.len()
        )
    })
}

fn box_of(out: &mut String, diagram: usize, position: usize, node: &Node) {
    let lines: Vec<String> = label::lines(node).iter().map(|line| escape(line)).collect();
    let (open, close) = match node.role {
        Role::Deployment | Role::Endpoint => ("([", "])"),
        _ => ("[", "]"),
    };
    let _ = writeln!(out, "      d{diagram}n{position}{open}\"{}\"{close}", lines.join("<br/>"));
}

fn arrow(out: &mut String, diagram: usize, edge: &Edge) {
    let line = match edge.way {
        Way::Taken => "==>",
        Way::NotTaken => "-.->",
        Way::Reference => "-->",
    };
    let (from, to) = (edge.from, edge.to);
    let _ = writeln!(out, "  d{diagram}n{from} {line}|\"{}\"| d{diagram}n{to}", escape(&label::title(&edge.label)));
}

const fn class(role: Role) -> Option<&'static str> {
    match role {
        Role::Chosen => Some("chosen"),
        Role::Open => Some("open"),
        Role::Closed => Some("closed"),
        Role::Main => Some("main"),
        Role::External | Role::Endpoint => Some("external"),
        Role::Deployment | Role::Supporting => None,
    }
}

/// Has no width, and keeps what stands beside it together for the eye and apart for a parser.
const WORD_JOINER: char = '\u{2060}';

/// Text inside a quoted label. Mermaid decodes `#NNN;`; everything that its grammar, its preprocessor, Markdown or HTML
/// could read as something else goes that way: what stays are letters, digits, and marks that mean nothing inside a
/// line.
fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut characters = text.chars().enumerate().peekable();
    while let Some((position, c)) = characters.next() {
        let plain = match c {
            ' ' => true,
            // At the start of a line these make a list of it.
            '-' | '/' | ',' | '.' | '0'..='9' | '(' | ')' | '=' | '!' | '\'' => position > 0,
            c => c.is_ascii_alphabetic() || !c.is_ascii(),
        };
        if plain {
            out.push(c);
        } else {
            let _ = write!(out, "#{};", u32::from(c));
        }
        // Read even in text that is written as references: `$$` begins a formula, `fa:fa-car` is an icon, and `ﬂ°` and
        // `¶ß` are Mermaid's own marks for references.
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
    fn what_mermaid_would_read_is_a_character_reference() {
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

    /// Reads a label as Mermaid does.
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
        fn labels_read_back_and_hold_no_syntax(text in "\\PC{0,60}") {
            let label = escape(&text);
            prop_assert_eq!(decode(&label).replace(WORD_JOINER, ""), text.replace(WORD_JOINER, ""));
            let syntax = label.contains(|c: char| "\"<>&`%:[]{}|\\*_".contains(c));
            prop_assert!(!syntax, "{}", label);
        }
    }
}

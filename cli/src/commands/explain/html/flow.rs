//! The picture of a deployment: three columns of boxes (one below the other on a narrow screen), joined by lines that
//! the style sheet draws. Boxes wrap whatever is in them, so that nothing is cut off.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Text;
use crate::commands::explain::graph::{Diagram, Edge, Node, Role, Stage};

/// Writes the picture.
pub(super) fn flow(out: &mut String, index: usize, diagram: &Diagram) {
    let _ =
        writeln!(out, "<div class=\"flow\" role=\"group\" aria-label=\"How {} is rendered\">", Text(&diagram.title));
    let mut arrivals: BTreeMap<usize, Vec<&Edge>> = BTreeMap::new();
    for edge in &diagram.edges {
        arrivals.entry(edge.to).or_default().push(edge);
    }
    for stage in Stage::ALL {
        let mut nodes: Vec<(usize, &Node)> = diagram.stage(stage).collect();
        // What was taken stands first, on one line from column to column.
        nodes.sort_by_key(|(_, node)| !matches!(node.role, Role::Deployment | Role::Chosen | Role::Main));
        let taken = nodes.first().is_some_and(|(_, node)| node.role != Role::Open && node.role != Role::Closed);
        let class = if taken { "" } else { " none" };
        let _ = writeln!(out, "<div class=\"stage{class}\">\n<h3>{}</h3>", stage.title());
        if nodes.is_empty() {
            out.push_str("<p class=\"quiet\">none</p>\n</div>\n");
            continue;
        }
        out.push_str("<ul>\n");
        for (position, node) in nodes {
            let edges = arrivals.get(&position).map(Vec::as_slice).unwrap_or_default();
            box_of(out, &format!("d{index}n{position}"), diagram, edges, node);
        }
        out.push_str("</ul>\n</div>\n");
    }
    out.push_str("</div>\n");
}

/// A box, with the arrows that end in it.
fn box_of(out: &mut String, id: &str, diagram: &Diagram, edges: &[&Edge], node: &Node) {
    let class = match node.role {
        Role::Deployment => "deployment",
        Role::Chosen => "chosen",
        Role::Open => "open",
        Role::Closed => "closed",
        Role::Main => "main",
        Role::Supporting => "supporting",
        Role::External => "external",
        Role::Endpoint => "endpoint",
    };
    let _ = write!(out, "<li class=\"{class}\" id=\"{id}\">");
    if node.stage == Stage::Objects && node.role != Role::Main {
        relations(out, diagram, edges);
    }
    let mark = if node.role == Role::Chosen { " <span class=\"badge success\">chosen</span>" } else { "" };
    let _ = write!(out, "<div class=\"box\"><h4>{}{mark}</h4>", Text(&node.title));
    for line in &node.lines {
        let _ = write!(out, "<p>{}</p>", Text(line));
    }
    rules(out, node);
    out.push_str("</div></li>\n");
}

/// How the other objects come to this one: `mounts`, or with its name where it is not the main object that does.
fn relations(out: &mut String, diagram: &Diagram, edges: &[&Edge]) {
    let mut words: Vec<String> = Vec::new();
    for edge in edges {
        let from = diagram.nodes.get(edge.from);
        let label = match from {
            Some(from) if from.role == Role::Supporting => format!("{} {}", from.title, edge.label),
            _ => edge.label.clone(),
        };
        words.push(Text(&label).to_string());
    }
    let _ = write!(out, "<p class=\"relation\">{}</p>", words.join(", "));
}

fn rules(out: &mut String, node: &Node) {
    if node.rules.is_empty() {
        return;
    }
    let _ = write!(
        out,
        "<table class=\"rules\" aria-label=\"Rules of {}\"><thead><tr><th scope=\"col\">Rule</th>\
         <th scope=\"col\">Priority</th><th scope=\"col\">Is</th></tr></thead><tbody>",
        Text(&node.title)
    );
    for rule in &node.rules {
        let value = rule.value.as_str();
        let _ = write!(
            out,
            "<tr class=\"is-{value}\"><td><code>{}</code></td><td>{}</td><td>{value}</td></tr>",
            Text(&rule.condition),
            rule.priority
        );
    }
    out.push_str("</tbody></table>");
}

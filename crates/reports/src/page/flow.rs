//! The diagram of a deployment in HTML: three columns of boxes (stacked on a narrow screen), joined by lines that the
//! style sheet draws. Boxes wrap their content, so that nothing is cut off.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use kubefoundry_compiler::Output;
use kubefoundry_yaml::secret::mask;
use kubefoundry_yaml::{append, append_line};

use super::Text;
use crate::graph::{Diagram, Edge, Node, NodeRole, Stage};

/// Writes the diagram.
pub fn write_flow(out: &mut String, diagram: &Diagram, outputs: &[Output]) {
    let _ =
        writeln!(out, "<div class=\"flow\" role=\"group\" aria-label=\"How {} is rendered\">", Text(&diagram.title));
    let mut arrivals: BTreeMap<usize, Vec<&Edge>> = BTreeMap::new();
    for edge in &diagram.edges {
        arrivals.entry(edge.to).or_default().push(edge);
    }
    for stage in Stage::ALL {
        let mut nodes: Vec<(usize, &Node)> = diagram.stage(stage).collect();
        // The selected path comes first in each column, so that one straight line joins its boxes.
        nodes.sort_by_key(|(_, node)| !matches!(node.role, NodeRole::Deployment | NodeRole::Chosen | NodeRole::Main));
        let has_path = nodes
            .first()
            .is_some_and(|(_, node)| node.role != NodeRole::Eligible && node.role != NodeRole::NotEligible);
        let class = if has_path { "" } else { " none" };
        append_line!(out, "<div class=\"stage{class}\">\n<h3>{}</h3>", stage.title());
        if nodes.is_empty() {
            out.push_str("<p class=\"quiet\">none</p>\n</div>\n");
            continue;
        }
        out.push_str("<ul>\n");
        for (position, node) in nodes {
            let edges = arrivals.get(&position).map(Vec::as_slice).unwrap_or_default();
            let output = node.output.and_then(|output| outputs.get(output));
            write_box(out, diagram, edges, node, output);
        }
        out.push_str("</ul>\n</div>\n");
    }
    out.push_str("</div>\n");
}

/// Writes a box with the labels of the edges that end in it.
fn write_box(out: &mut String, diagram: &Diagram, edges: &[&Edge], node: &Node, output: Option<&Output>) {
    let class = match node.role {
        NodeRole::Deployment => "deployment",
        NodeRole::Chosen => "chosen",
        NodeRole::Eligible => "eligible",
        NodeRole::NotEligible => "ineligible",
        NodeRole::Main => "main",
        NodeRole::Supporting => "supporting",
        NodeRole::External => "external",
        NodeRole::Endpoint => "endpoint",
    };
    append!(out, "<li class=\"{class}\">");
    if node.stage == Stage::Objects && node.role != NodeRole::Main {
        write_relations(out, diagram, edges);
    }
    let mark = match node.role {
        NodeRole::Chosen => " <span class=\"badge success\">selected</span>",
        NodeRole::Eligible | NodeRole::NotEligible => " <span class=\"badge\">not selected</span>",
        _ => "",
    };
    append!(out, "<div class=\"box\"><h4>{}{mark}</h4>", Text(&node.title));
    for line in &node.lines {
        append!(out, "<p>{}</p>", Text(line));
    }
    write_rules(out, node);
    if let Some(output) = output {
        write_yaml(out, output);
    }
    out.push_str("</div></li>\n");
}

/// Writes the object as `render` prints it, folded and without secrets. The block can be scrolled, so the keyboard must reach
/// it.
fn write_yaml(out: &mut String, output: &Output) {
    let mut text = String::new();
    kubefoundry_yaml::to_yaml(&output.object, &mut text);
    let name = format!("YAML of {} {}", output.identity.kind, output.identity.name);
    let name = Text(&name);
    append!(
        out,
        "<details class=\"yaml\"><summary aria-label=\"{name}\">YAML</summary>\
         <pre tabindex=\"0\" role=\"region\" aria-label=\"{name}\">"
    );
    // The name of a variable can stand in another line than its value.
    for line in mask(&text).lines() {
        append_line!(out, "{}", Text(line));
    }
    out.push_str("</pre></details>");
}

/// Writes how other objects refer to this one: `mounts`, preceded by the kind of the referring object unless it is the
/// main object.
fn write_relations(out: &mut String, diagram: &Diagram, edges: &[&Edge]) {
    let mut labels: Vec<String> = Vec::new();
    for edge in edges {
        let from = diagram.nodes.get(edge.from);
        let label = match from {
            Some(from) if from.role == NodeRole::Supporting => format!("{} {}", from.title, edge.label),
            _ => edge.label.clone(),
        };
        labels.push(Text(&label).to_string());
    }
    append!(out, "<p class=\"relation\">{}</p>", labels.join(", "));
}

fn write_rules(out: &mut String, node: &Node) {
    if node.rules.is_empty() {
        return;
    }
    append!(
        out,
        "<table class=\"rules\" aria-label=\"Selection rules of {}\"><thead><tr><th scope=\"col\">Rule</th>\
         <th scope=\"col\">Priority</th><th scope=\"col\">Result</th></tr></thead><tbody>",
        Text(&node.title)
    );
    for rule in &node.rules {
        let value = rule.value.as_str();
        append!(
            out,
            "<tr class=\"is-{value}\"><td><code>{}</code></td><td>{}</td><td>{value}</td></tr>",
            Text(&rule.condition),
            rule.priority
        );
    }
    out.push_str("</tbody></table>");
}

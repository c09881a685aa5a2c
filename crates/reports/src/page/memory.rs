//! What a worker needs of each GPU, as a bar beside what the engine can use.

use std::fmt::Write as _;

use kubefoundry_compiler::Decision;
use kubefoundry_facts::fit::{Assessment, Interval, WorkerFit};
use kubefoundry_yaml::append_line;

use super::Text;

/// The width of a bar in its own units.
const WIDTH: u64 = 1000;

/// Writes the memory of every worker of which the model, the split and the GPU are known.
pub fn write_memory(out: &mut String, decision: &Decision) {
    let known: Vec<(&WorkerFit, &str, Assessment)> = decision
        .workers
        .iter()
        .filter_map(|worker| Some((worker, worker.gpu.as_ref()?.name.as_str(), worker.assess()?)))
        .collect();
    if known.is_empty() {
        return;
    }
    out.push_str("<h3>Memory of each GPU</h3>\n");
    for (worker, gpu, assessment) in known {
        write_worker(out, worker, gpu, assessment, decision.workers.len() > 1);
    }
}

fn write_worker(out: &mut String, worker: &WorkerFit, gpu: &str, assessment: Assessment, has_roles: bool) {
    let Assessment { demand, budget, fit, .. } = assessment;
    let role = if has_roles { format!("{}: ", worker.role) } else { String::new() };
    let parts = [("weights", demand.weights), ("cache", demand.kv_cache), ("other", demand.overhead)];
    let sentence = format!(
        "{role}weights {}, KV cache of one sequence {}, other {}; the engine can use {budget} of {gpu}: {}",
        demand.weights,
        demand.kv_cache,
        demand.overhead,
        fit.as_str()
    );
    let full = upper(demand.total()).max(upper(budget)).max(1);
    let units = |bytes: u64| u128::from(bytes) * u128::from(WIDTH) / u128::from(full);
    append_line!(
        out,
        "<svg class=\"memory\" viewBox=\"0 0 {WIDTH} 24\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"{}\">",
        Text(&sentence)
    );
    let mut start = 0;
    for (class, bytes) in parts {
        // What is certain is drawn darker than what is possible.
        for (class, bytes) in [(class.to_owned(), bytes.min), (format!("{class} possible"), upper(bytes) - bytes.min)] {
            let width = units(bytes);
            if width > 0 {
                let _ =
                    writeln!(out, "<rect class=\"{class}\" x=\"{start}\" y=\"4\" width=\"{width}\" height=\"16\"/>");
            }
            start += width;
        }
    }
    let usable = units(budget.min);
    append_line!(
        out,
        "<path class=\"usable\" d=\"M{usable} 0V24\"/>\n</svg>\n<p class=\"quiet\">{}</p>",
        Text(&sentence)
    );
}

/// Returns the upper bound, or the lower one if there is none.
fn upper(interval: Interval) -> u64 {
    interval.max.unwrap_or(interval.min)
}

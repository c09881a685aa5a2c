//! Keeps the parallel sizes of imported workers: a size that an object does not state is 1, but a rendering derives the
//! tensor parallel size from the GPUs.

use super::document::Supplied;
use kubefoundry_deployment::ir::EngineType;
use kubefoundry_engines::{ImportedFlag, profile};
use kubefoundry_provider::draft::Draft;

/// The size of an engine that is not told any.
const DEFAULT_SIZE: &str = "1";

/// Returns the flags of an engine that split a model, each with the size that it has if it is absent.
pub(super) fn default_sizes(engine: EngineType) -> impl Iterator<Item = ImportedFlag> {
    size_names(engine).map(|name| ImportedFlag::with_value(name, DEFAULT_SIZE))
}

fn size_names(engine: EngineType) -> impl Iterator<Item = &'static str> {
    let flags = profile(engine).parallelism.as_ref();
    flags.into_iter().flat_map(|flags| [Some(flags.tensor), Some(flags.pipeline), flags.data]).flatten()
}

/// Writes the tensor parallel size of the workers if the size that a rendering derives is another one: to all of them,
/// or to a role if the roles have different sizes. `imported` are the flags of each worker in the object, and `reread`
/// renders sizes and imports the result.
///
/// # Errors
/// Returns the reason if the workers have sizes that no deployment renders.
pub(super) fn write_sizes(
    draft: &Draft,
    imported: &[Vec<ImportedFlag>],
    supplied: &mut Supplied,
    reread: impl Fn(&Supplied) -> Option<Draft>,
) -> Result<(), String> {
    let names: Vec<&str> = size_names(draft.engine).collect();
    let Some(tensor) = names.first() else { return Ok(()) };
    let sizes = |flags: &[ImportedFlag]| -> Vec<ImportedFlag> {
        flags.iter().filter(|flag| names.contains(&flag.name.as_str())).cloned().collect()
    };
    let only_sizes = |supplied: &Supplied| Supplied {
        flags: sizes(&supplied.flags),
        role_flags: supplied.role_flags.iter().map(|flags| sizes(flags)).collect(),
        ..Supplied::default()
    };
    // A deployment that is refused has its own errors.
    let Some(rendered) = reread(&only_sizes(supplied)) else { return Ok(()) };
    let mut tensor_sizes = imported.iter().map(|flags| size(flags, tensor));
    let first = tensor_sizes.next().unwrap_or(DEFAULT_SIZE);
    if find_change(draft, imported, &rendered, tensor).is_some() {
        if tensor_sizes.all(|size| size == first) {
            for flags in supplied.role_flags.iter_mut().chain([&mut supplied.flags]) {
                flags.retain(|flag| flag.name != *tensor);
            }
            supplied.flags.push(ImportedFlag::with_value(*tensor, first));
        } else {
            supplied.flags.retain(|flag| flag.name != *tensor);
            for (flags, imported) in supplied.role_flags.iter_mut().zip(imported) {
                flags.retain(|flag| flag.name != *tensor);
                flags.push(ImportedFlag::with_value(*tensor, size(imported, tensor)));
            }
        }
    }
    let Some(rendered) = reread(&only_sizes(supplied)) else { return Ok(()) };
    match names.iter().find_map(|name| find_change(draft, imported, &rendered, name)) {
        Some(change) => Err(change),
        None => Ok(()),
    }
}

/// Finds a worker whose rendering has another size, and describes the change.
fn find_change(draft: &Draft, imported: &[Vec<ImportedFlag>], rendered: &Draft, name: &str) -> Option<String> {
    let pairs = imported.iter().zip(&rendered.workers).zip(&draft.workers);
    pairs.into_iter().find_map(|((flags, other), worker)| {
        let (size, rendered) = (size(flags, name), size(&other.flags, name));
        (size != rendered).then(|| {
            format!(
                "the --{name} of its {} workers is {size}, but a ModelDeployment can only render {rendered} there",
                worker.role.as_str()
            )
        })
    })
}

fn size<'f>(flags: &'f [ImportedFlag], name: &str) -> &'f str {
    flags.iter().find(|flag| flag.name == name).and_then(ImportedFlag::value).unwrap_or(DEFAULT_SIZE)
}

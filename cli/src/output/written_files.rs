//! The files of the last run, so that the next one does not name and read again what is the same.

use std::path::Path;
use std::sync::Arc;

use kubefoundry_compiler::{Compilation, Output};

/// The objects that this program wrote last, with their files, in output order.
pub(crate) struct WrittenFiles<O>(Vec<WrittenFile<O>>);

struct WrittenFile<O> {
    output: Output<O>,
    environment: Option<Arc<str>>,
    path: Arc<Path>,
}

impl<O> Default for WrittenFiles<O> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<O> WrittenFiles<O> {
    /// Takes the outputs of a run, which were written to these paths.
    pub(crate) fn take_outputs(compilation: &mut Compilation<O>, paths: Vec<Arc<Path>>) -> Self {
        let outputs = std::mem::take(&mut compilation.outputs);
        let written = outputs.into_iter().zip(paths).map(|(output, path)| {
            let environment = environment_of(compilation, &output).cloned();
            WrittenFile { output, environment, path }
        });
        Self(written.collect())
    }

    /// Returns the path of an output, if the object at its position belonged in the same file.
    pub(super) fn path_of(
        &self,
        position: usize,
        output: &Output<O>,
        environment: Option<&Arc<str>>,
    ) -> Option<&Arc<Path>> {
        let before = self.0.get(position)?;
        let has_same_path = before.output.identity == output.identity && before.environment.as_ref() == environment;
        has_same_path.then_some(&before.path)
    }
}

impl<O: PartialEq> WrittenFiles<O> {
    /// Whether the object at a position was written to this file as it is now. A new object moves those after it, which
    /// are then compared with their files.
    pub(super) fn has_content(&self, position: usize, output: &Output<O>, path: &Arc<Path>) -> bool {
        self.0.get(position).is_some_and(|before| before.path == *path && before.output == *output)
    }
}

/// Returns the environment of an output, if the input is divided into several.
pub(super) fn environment_of<'c, O>(compilation: &'c Compilation<O>, output: &Output<O>) -> Option<&'c Arc<str>> {
    compilation.decisions.get(output.decision)?.environment.as_ref()
}

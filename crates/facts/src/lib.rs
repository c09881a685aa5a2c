//! Facts about models, GPUs, instance types of clouds and inference engines: what decides whether a model runs.
//!
//! The facts are lines of text, embedded and searched in place, so a program that asks for nothing pays nothing. What is
//! not known is absent: nothing is guessed. `cargo xtask facts` writes the files from `xtask/facts`, which public packages
//! fill; each line of a model, a GPU or an instance type names its source, and each engine the packages that were read.
//!
//! ```
//! let model = kubefoundry_facts::model("Qwen/Qwen2.5-Coder-7B-Instruct").unwrap();
//! assert_eq!((model.heads, model.kv_heads), (Some(28), Some(4)));
//! assert_eq!(model.tensor_parallel_sizes(8), [1, 2, 4]);
//! assert!(kubefoundry_facts::model("acme/private").is_none());
//! ```

mod engine;
pub mod fit;
mod gpu;
mod instance_type;
mod kaito_preset;
mod line;
mod model;
mod quantization_blocks;

pub use engine::{EngineFacts, engine_facts};
pub use gpu::{Gpu, gpu, gpu_by_label, gpu_names, gpus_named};
pub use instance_type::{InstanceType, instance_type, instance_type_names};
pub use kaito_preset::kaito_preset_model;
pub use model::{Model, model};
pub use quantization_blocks::DividedBlock;

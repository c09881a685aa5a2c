//! The functions that JavaScript calls. npm/index.js wraps them; nothing else should call them.
#![allow(missing_docs, reason = "the wrapper documents them: npm/index.d.ts")]
#![allow(clippy::needless_pass_by_value, reason = "wasm-bindgen hands over owned values")]

use wasm_bindgen::prelude::wasm_bindgen;
use wasm_bindgen::{JsError, JsValue};

use crate::engine::{Answer, Engine, code_page, picture_style};

#[wasm_bindgen]
#[derive(Debug, Default)]
pub struct Calls(Engine);

type Returned = Result<String, JsError>;

fn returned(answer: Answer) -> Returned {
    answer.map_err(|error| JsError::new(&error.to_string()))
}

#[wasm_bindgen]
impl Calls {
    #[wasm_bindgen(constructor)]
    pub fn new() -> Self {
        Self::default()
    }

    pub fn lint(&mut self, request: &str) -> Returned {
        returned(self.0.lint(request))
    }

    pub fn render(&mut self, request: &str) -> Returned {
        returned(self.0.render(request))
    }

    pub fn explain(&mut self, request: &str) -> Returned {
        returned(self.0.explain(request))
    }

    pub fn picture(&mut self, request: &str) -> Returned {
        returned(self.0.picture(request))
    }

    pub fn fit(&mut self, request: &str) -> Returned {
        returned(self.0.fit(request))
    }

    pub fn plan(&self, old: &str, new: &str, diff: bool) -> Returned {
        returned(self.0.plan(old, new, diff))
    }

    pub fn import(&self, request: &str, provider_to: Option<String>, with_patches: bool) -> Returned {
        returned(self.0.import(request, provider_to.as_deref(), with_patches))
    }

    pub fn complete(&self, request: &str, file: &str, offset: usize) -> Returned {
        returned(self.0.complete(request, file, offset))
    }

    pub fn hover(&self, request: &str, file: &str, offset: usize) -> Returned {
        returned(self.0.hover(request, file, offset))
    }

    pub fn fix_all(&mut self, request: &str, file: &str) -> Returned {
        returned(self.0.fix_all(request, file))
    }
}

#[wasm_bindgen]
pub fn style() -> JsValue {
    JsValue::from_str(picture_style())
}

#[wasm_bindgen]
pub fn page(code: &str) -> Option<String> {
    code_page(code).map(str::to_owned)
}

#[wasm_bindgen]
pub fn version() -> String {
    env!("CARGO_PKG_VERSION").to_owned()
}

//! Blocks of quantized weights, which must not be divided among GPUs.

use crate::model::Model;

/// A matrix whose columns a tensor parallel size divides within a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct DividedBlock {
    /// Whether the matrix belongs to the experts.
    pub of_experts: bool,
    /// The columns of the matrix.
    pub columns: u32,
    /// The columns of a block.
    pub block: u32,
}

impl Model {
    /// Returns a matrix of the feed-forward layers that a tensor parallel size divides within a block of the
    /// quantization. `spreads_experts` means that whole experts are spread over the GPUs, so that theirs are not divided.
    ///
    /// Sources: vLLM `layers/quantization/fp8.py` (`create_weights` of the linear and of the expert method) and SGLang's
    /// `layers/quantization/fp8.py` raise an error for it.
    ///
    /// ```
    /// let mut model = kubefoundry_facts::model("Qwen/Qwen3-8B").unwrap_or_default();
    /// model.quantization_block = Some((128, 128));
    /// model.moe_intermediate = Some(1536);
    /// assert_eq!(model.divided_block(8, false).map(|divided| divided.columns), Some(1536));
    /// assert_eq!(model.divided_block(4, false), None);
    /// assert_eq!(model.divided_block(8, true), None);
    /// ```
    pub fn divided_block(&self, size: u32, spreads_experts: bool) -> Option<DividedBlock> {
        let (block, _) = self.quantization_block?;
        let experts = self.moe_intermediate.filter(|_| !spreads_experts).map(|columns| (true, columns));
        // With experts in every layer, the size of dense layers belongs to none.
        let has_dense_layers =
            self.experts.is_none_or(|experts| experts == 0) || self.dense_layers.is_some_and(|layers| layers > 0);
        let dense = self.intermediate.filter(|_| has_dense_layers).map(|columns| (false, columns));
        let divides = |columns: u32| {
            let part = columns.checked_div(size).unwrap_or(columns);
            size > 1 && block > 0 && !(columns.is_multiple_of(size) && part.is_multiple_of(block))
        };
        let divided = [experts, dense].into_iter().flatten().find(|(_, columns)| divides(*columns));
        divided.map(|(of_experts, columns)| DividedBlock { of_experts, columns, block })
    }
}

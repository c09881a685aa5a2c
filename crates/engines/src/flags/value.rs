//! Checks whether a text is a valid value of a flag.

use std::fmt;

use serde::de::IgnoredAny;

use super::flag::{Flag, FlagKind, Repetition, ValueType};

/// The error of an invalid value. It displays what the flag expects: `expected an integer`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ValueProblem {
    flag: Flag,
}

impl fmt::Display for ValueProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.flag.choices.is_empty() {
            f.write_str("expected one of ")?;
            return write_list(f, self.flag.choices());
        }
        let is_list = self.flag.repeat == Repetition::List;
        f.write_str(match self.flag.value_type {
            ValueType::Integer if is_list => "expected integers",
            ValueType::Integer => "expected an integer",
            ValueType::HumanInteger => {
                "expected an integer, which may end in k, m, g, t (decimal) or K, M, G, T (binary)"
            }
            ValueType::SiInteger => {
                "expected an integer, which may end in k, M, G, T (decimal) or Ki, Mi, Gi, Ti (binary)"
            }
            ValueType::Float if is_list => "expected numbers",
            ValueType::Float => "expected a number",
            ValueType::Boolean => "expected true or false",
            ValueType::Json => "expected a JSON value",
            ValueType::JsonObject => "expected a JSON object",
            ValueType::JsonOrText => "expected a JSON object or a text without braces around it",
            ValueType::Text | ValueType::Path => "expected a value",
        })?;
        if let Some(interval) = Interval::parse(self.flag.range) {
            // The words about suffixes are a clause of their own.
            let comma =
                if matches!(self.flag.value_type, ValueType::HumanInteger | ValueType::SiInteger) { "," } else { "" };
            write!(f, "{comma} {interval}")?;
        }
        if !self.flag.special_values.is_empty() {
            f.write_str(", or ")?;
            write_list(f, self.flag.special_values())?;
        }
        Ok(())
    }
}

/// The interval of a flag's number. `None` means no bound.
struct Interval {
    low: Option<Bound>,
    high: Option<Bound>,
}

/// An end of an interval.
struct Bound {
    text: &'static str,
    value: f64,
    is_included: bool,
}

impl Interval {
    /// Parses `(0,1]`, `[1,]`. Returns `None` for an empty text.
    fn parse(text: &'static str) -> Option<Self> {
        let (low, high) = text.get(1..text.len().checked_sub(1)?)?.split_once(',')?;
        let bound = |bound: &'static str, is_included| {
            let value = bound.parse().unwrap_or_else(|_| Self::damaged(text));
            Bound { text: bound, value, is_included }
        };
        // An interval that is open on one side has an empty text there.
        let [low, high] = [(low, text.starts_with('[')), (high, text.ends_with(']'))]
            .map(|(end, is_included)| (!end.is_empty()).then(|| bound(end, is_included)));
        Some(Self { low, high })
    }

    /// Stops the program, because a flag without its bounds would accept every number.
    #[expect(clippy::panic, reason = "the tables are a part of the program, and a test parses their intervals")]
    fn damaged(text: &str) -> ! {
        panic!("the built-in interval {text} is damaged")
    }

    fn contains(&self, number: f64) -> bool {
        self.low.as_ref().is_none_or(|low| number > low.value || (low.is_included && number >= low.value))
            && self.high.as_ref().is_none_or(|high| number < high.value || (high.is_included && number <= high.value))
    }
}

/// Writes the bounds as words: `above 0 and at most 1`.
impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Bound { text, is_included, .. }) = &self.low {
            write!(f, "{} {text}", if *is_included { "of at least" } else { "above" })?;
        }
        if let Some(Bound { text, is_included, .. }) = &self.high {
            let and = if self.low.is_some() { " and " } else { "" };
            write!(f, "{and}{} {text}", if *is_included { "at most" } else { "below" })?;
        }
        Ok(())
    }
}

fn write_list(f: &mut fmt::Formatter<'_>, words: impl Iterator<Item = &'static str>) -> fmt::Result {
    for (index, word) in words.enumerate() {
        write!(f, "{}{word}", if index == 0 { "" } else { ", " })?;
    }
    Ok(())
}

impl Flag {
    /// Checks a value against the flag's type and its closed set of values.
    ///
    /// A switch or pair accepts `true`, `false` or an empty text, and a flag with an optional value accepts an empty
    /// text. White space separates the values of a [`Repetition::List`] of numbers.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubefoundry_engines::flags;
    /// let vllm = flags::vllm("0.26.0").ok_or("known version")?;
    /// let problem = |name, value| vllm.lookup(name).and_then(|(flag, _)| flag.check_value(value).err()).map(|p| p.to_string());
    /// assert_eq!(problem("max-num-seqs", "256"), None);
    /// assert_eq!(problem("max-num-seqs", "many").as_deref(), Some("expected an integer of at least 1"));
    /// assert_eq!(problem("lora-dtype", "int4").as_deref(), Some("expected one of auto, bfloat16, float16"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn check_value(&self, text: &str) -> Result<(), ValueProblem> {
        let may_be_empty = matches!(self.kind, FlagKind::Switch | FlagKind::Pair | FlagKind::OptionalValue);
        let is_valid = if text.is_empty() {
            may_be_empty || matches!(self.value_type, ValueType::Text | ValueType::Path) && self.choices.is_empty()
        } else if self.repeat == Repetition::List && self.is_number() {
            text.split_whitespace().all(|item| self.accepts(item))
        } else {
            self.accepts(text)
        };
        if is_valid { Ok(()) } else { Err(ValueProblem { flag: *self }) }
    }

    /// Parses an integer in the notation of this flag: `32k` of vLLM's `max-model-len` is 32000.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubefoundry_engines::flags;
    /// let (vllm, _) = flags::vllm("0.26.0").and_then(|table| table.lookup("max-model-len")).ok_or("known flag")?;
    /// assert_eq!([vllm.integer("32k"), vllm.integer("32K"), vllm.integer("-1")], [Some(32_000), Some(32_768), Some(-1)]);
    /// let (sglang, _) = flags::sglang("0.5.16").and_then(|table| table.lookup("context-length")).ok_or("known flag")?;
    /// assert_eq!([sglang.integer("32Ki"), sglang.integer("32K")], [Some(32_768), None]);
    /// # Ok(())
    /// # }
    /// ```
    pub fn integer(&self, text: &str) -> Option<i64> {
        let text = text.trim();
        let suffixes: &[(&str, u32, u32)] = match self.value_type {
            ValueType::Integer => &[],
            ValueType::HumanInteger => VLLM_SUFFIXES,
            ValueType::SiInteger => SI_SUFFIXES,
            _ => return None,
        };
        let scaled = suffixes.iter().find_map(|&(suffix, base, power)| {
            let number = text.strip_suffix(suffix).filter(|number| number.ends_with(|c: char| c.is_ascii_digit()))?;
            Some(scale(number, base, power))
        });
        scaled.unwrap_or_else(|| text.parse().ok())
    }

    /// Returns whether plugins would have to add a value, because this version itself does not know it. Always false
    /// for a flag whose values are unknown.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubefoundry_engines::flags;
    /// let vllm = flags::vllm("0.26.0").ok_or("known version")?;
    /// let (quantization, _) = vllm.lookup("quantization").ok_or("known flag")?;
    /// assert!(quantization.needs_plugin("awqq") && !quantization.needs_plugin("awq"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn needs_plugin(&self, text: &str) -> bool {
        let is_known = |value: &str| self.known_values().chain(self.special_values()).any(|known| known == value);
        !self.known_values.is_empty() && !text.is_empty() && !is_known(text)
    }

    fn is_number(&self) -> bool {
        matches!(
            self.value_type,
            ValueType::Integer | ValueType::HumanInteger | ValueType::SiInteger | ValueType::Float
        )
    }

    /// Returns whether a number is within the flag's bounds, if it has any.
    pub(super) fn is_in_range(&self, number: f64) -> bool {
        Interval::parse(self.range).is_none_or(|interval| interval.contains(number))
    }

    fn accepts(&self, text: &str) -> bool {
        if !self.choices.is_empty() {
            return self.choices().any(|choice| choice == text);
        }
        if self.special_values().any(|word| word == text) {
            return true;
        }
        match self.value_type {
            ValueType::Text | ValueType::Path => true,
            ValueType::Integer | ValueType::HumanInteger | ValueType::SiInteger => {
                // Exact for all numbers below 2^53; bounds are small.
                #[expect(clippy::cast_precision_loss, reason = "a bound of a flag has few digits")]
                let number = self.integer(text).map(|number| number as f64);
                number.is_some_and(|number| self.is_in_range(number))
            }
            ValueType::Float => text.trim().parse().is_ok_and(|number| self.is_in_range(number)),
            ValueType::Boolean => matches!(text, "true" | "false"),
            ValueType::Json => serde_json::from_str::<IgnoredAny>(text).is_ok(),
            ValueType::JsonObject => is_json_object(text),
            ValueType::JsonOrText => {
                let is_braced = text.trim().starts_with('{') && text.trim().ends_with('}');
                !is_braced || is_json_object(text)
            }
        }
    }
}

fn is_json_object(text: &str) -> bool {
    text.trim_start().starts_with('{') && serde_json::from_str::<IgnoredAny>(text).is_ok()
}

/// Suffix, base and exponent. The engines accept decimals with base 10 only.
const VLLM_SUFFIXES: &[(&str, u32, u32)] =
    &[("k", 10, 3), ("m", 10, 6), ("g", 10, 9), ("t", 10, 12), ("K", 2, 10), ("M", 2, 20), ("G", 2, 30), ("T", 2, 40)];

/// SGLang's suffixes: binary with `i`, decimal without.
const SI_SUFFIXES: &[(&str, u32, u32)] = &[
    ("Ki", 2, 10),
    ("Mi", 2, 20),
    ("Gi", 2, 30),
    ("Ti", 2, 40),
    ("k", 10, 3),
    ("M", 10, 6),
    ("G", 10, 9),
    ("T", 10, 12),
];

/// Multiplies an unsigned number, which may have decimals, by `base` to the `exponent` and truncates the result.
/// Returns `None` for an invalid number and on overflow.
fn scale(number: &str, base: u32, exponent: u32) -> Option<i64> {
    let (whole, decimals) = match number.split_once('.') {
        Some((whole, decimals)) if base == 10 => (whole, decimals),
        Some(_) => return None,
        None => (number, ""),
    };
    let is_digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_digits(whole) || !is_digits(decimals) {
        return None;
    }
    let factor = i64::from(base).checked_pow(exponent)?;
    let whole = whole.parse::<i64>().ok()?.checked_mul(factor)?;
    // Each decimal place is worth a tenth of the one before. Places below 1 add nothing, which truncates the result.
    let mut fraction = 0;
    let mut unit = factor;
    for digit in decimals.bytes() {
        unit /= 10;
        fraction += i64::from(digit - b'0') * unit;
    }
    whole.checked_add(fraction)
}

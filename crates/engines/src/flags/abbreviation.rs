//! Expansion of abbreviated flags, which `argparse` accepts by default.

use super::flag::Flag;
use super::table::{FlagTable, Spelling};

impl FlagTable {
    /// Returns the flags that a name abbreviates: each flag with a name, alias or off form that starts with it, once.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubefoundry_engines::flags;
    /// use kubefoundry_engines::flags::Spelling;
    /// let sglang = flags::sglang("0.5.16").ok_or("known version")?;
    /// let expand = |name| sglang.expand_abbreviation(name).iter().map(|(flag, _)| flag.name).collect::<Vec<_>>();
    /// assert_eq!(expand("tensor_par"), ["tp-size"]);
    /// assert_eq!(expand("disable-rad"), ["disable-radix-cache"]);
    /// assert!(expand("disable").len() > 1 && expand("weather").is_empty());
    /// let vllm = flags::vllm("0.26.0").ok_or("known version")?;
    /// assert!(matches!(vllm.expand_abbreviation("no-enforce")[..], [(flag, Spelling::Off)] if flag.name == "enforce-eager"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn expand_abbreviation(&self, name: &str) -> Vec<(Flag, Spelling)> {
        let name = name.replace('_', "-");
        // argparse registers `--no-x` for a pair, so `no-` plus the start of any of its names abbreviates the off form.
        let negated = name.strip_prefix("no-");
        let mut flags: Vec<(Flag, Spelling)> = Vec::new();
        let named = self.entries_with_prefix(&name).iter();
        let negations = negated.map(|rest| self.entries_with_prefix(rest)).unwrap_or_default().iter();
        let negations = negations.filter(|entry| !entry.name.starts_with(&name));
        let mut entries: Vec<_> =
            named.map(|entry| (entry, false)).chain(negations.map(|entry| (entry, true))).collect();
        entries.sort_by_key(|(entry, _)| entry.name);
        for (entry, is_negation) in entries {
            let Some((flag, mut spelling)) = self.resolve(*entry) else { continue };
            if is_negation {
                if !flag.off.is_some_and(|off| off.starts_with("no-")) {
                    continue;
                }
                spelling = Spelling::Off;
            }
            let is_off = |spelling| spelling == Spelling::Off;
            if !flags.iter().any(|(other, seen)| other.name == flag.name && is_off(*seen) == is_off(spelling)) {
                flags.push((flag, spelling));
            }
        }
        flags
    }
}

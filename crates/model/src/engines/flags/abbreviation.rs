//! Abbreviated flags, which `argparse` takes unless it is told not to.

use super::flag::Flag;
use super::table::{FlagTable, Spelling};

impl FlagTable {
    /// The flags that a name abbreviates, each once: those with a name, alias or off form that starts with it.
    ///
    /// ```
    /// # fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// use kubefoundry_model::engines::flags;
    /// use kubefoundry_model::engines::flags::Spelling;
    /// let sglang = flags::sglang("0.5.16").ok_or("known version")?;
    /// let meant = |name| sglang.expand_abbreviation(name).iter().map(|(flag, _)| flag.name).collect::<Vec<_>>();
    /// assert_eq!(meant("tensor_par"), ["tp-size"]);
    /// assert_eq!(meant("disable-rad"), ["disable-radix-cache"]);
    /// assert!(meant("disable").len() > 1 && meant("weather").is_empty());
    /// let vllm = flags::vllm("0.26.0").ok_or("known version")?;
    /// assert!(matches!(vllm.expand_abbreviation("no-enforce")[..], [(flag, Spelling::Off)] if flag.name == "enforce-eager"));
    /// # Ok(())
    /// # }
    /// ```
    pub fn expand_abbreviation(&self, name: &str) -> Vec<(Flag, Spelling)> {
        let name = name.replace('_', "-");
        let negated = name.strip_prefix("no-");
        let mut found: Vec<(Flag, Spelling)> = Vec::new();
        for entry in self.own_entries() {
            let is_negation = !entry.name.starts_with(&name);
            if is_negation && !negated.is_some_and(|rest| entry.name.starts_with(rest)) {
                continue;
            }
            let Some((flag, mut spelling)) = self.resolve(entry) else { continue };
            if is_negation {
                if !flag.off.is_some_and(|off| off.starts_with("no-")) {
                    continue;
                }
                spelling = Spelling::Off;
            }
            let says_no = |spelling| spelling == Spelling::Off;
            if !found.iter().any(|(other, how)| other.name == flag.name && says_no(*how) == says_no(spelling)) {
                found.push((flag, spelling));
            }
        }
        found
    }
}

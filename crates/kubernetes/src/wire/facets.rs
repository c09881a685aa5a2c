//! Facets: the constraints and other facts that a field declares about its value, as data. The reader enforces them
//! ([`crate::check::facets`]), and schemas and the field reference are generated from them.

use kubefoundry_diagnostics::Code;

use super::shape::Shape;

/// The syntax of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Syntax {
    /// A DNS-1123 label.
    DnsLabel,
    /// A DNS-1123 subdomain.
    DnsSubdomain,
    /// A quantity above zero.
    Quantity,
    /// An extended resource, such as `nvidia.com/gpu`.
    ExtendedResource,
    /// A container image reference.
    Image,
    /// The name of an environment variable.
    EnvironmentVariable,
    /// A key of a ConfigMap or a Secret.
    ConfigKey,
    /// The key of a label.
    LabelKey,
    /// An instance type of a cloud provider, such as `g5.4xlarge`.
    InstanceType,
    /// A version of three numbers.
    Version,
}

/// Default maximum length, in characters, of a text with a [`Syntax`]. The API server needs a maximum to estimate the
/// cost of CRD validation rules on the text.
const MAX_TEXT_CHARS: usize = 1024;

/// A kind of facet that can be checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Facet {
    /// The field must be present, and a text must not be empty.
    Required,
    /// The smallest number.
    Minimum,
    /// The largest number.
    Maximum,
    /// The maximum length of a text, in characters.
    MaxLength,
    /// The maximum number of entries of a list.
    MaxItems,
    /// The maximum number of entries of a mapping with arbitrary keys.
    MaxEntries,
    /// The field whose values are unique among the entries of a list.
    ListKey,
    /// The syntax of a text.
    Syntax,
    /// The allowed values of a text.
    AllowedValues,
}

impl Facet {
    /// Every kind, in the order of declaration.
    pub const ALL: [Self; 9] = [
        Self::Required,
        Self::Minimum,
        Self::Maximum,
        Self::MaxLength,
        Self::MaxItems,
        Self::MaxEntries,
        Self::ListKey,
        Self::Syntax,
        Self::AllowedValues,
    ];
}

/// The constraints and other facts that a field declares about its value, apart from the value's shape.
///
/// ```
/// use kubefoundry_kubernetes::codes::INVALID_VOLUME;
/// use kubefoundry_kubernetes::wire::{Facet, Facets};
/// let facets = Facets::NONE.max_items(8).checked_by(&INVALID_VOLUME).list_key("name");
/// assert_eq!(facets.max_items, Some(8));
/// assert_eq!(facets.checking_code(Facet::MaxItems).map(|code| code.id), Some("KF0124"));
/// assert!(facets.checking_code(Facet::ListKey).is_none(), "the reader checks it");
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Facets {
    /// Whether every object must have the field, regardless of its other fields.
    pub required: bool,
    /// The default, as JSON text. Writing it into the object must not change the result.
    pub default: Option<&'static str>,
    /// The smallest number.
    pub minimum: Option<i64>,
    /// The largest number.
    pub maximum: Option<i64>,
    /// The maximum length of a text, in characters.
    pub max_length: Option<usize>,
    /// The maximum number of entries of a list.
    pub max_items: Option<usize>,
    /// The maximum number of entries of a mapping with arbitrary keys.
    pub max_entries: Option<usize>,
    /// The field that is unique among the entries of a list.
    pub list_key: Option<&'static str>,
    /// The syntax of a text. An empty text counts as absent.
    pub syntax: Option<Syntax>,
    /// The allowed values of a text. An empty text counts as absent.
    pub allowed_values: Option<&'static [&'static str]>,
    /// The shape of a value that the reader keeps as a node.
    pub shape: Option<Shape>,
    /// Whether the field belongs to the identity of the deployed model: changing it means replacing the model's
    /// objects.
    pub identity: bool,
    /// The API groups whose objects do not have the field.
    pub not_in: &'static [&'static str],
    /// For each kind of facet, the code that other code than the reader reports for it, if any.
    external_codes: [Option<&'static Code>; Facet::ALL.len()],
    /// The facet that was declared last, to which `checked_by` applies.
    last: Option<Facet>,
}

impl Facets {
    /// No facets.
    pub const NONE: Self = Self {
        required: false,
        default: None,
        minimum: None,
        maximum: None,
        max_length: None,
        max_items: None,
        max_entries: None,
        list_key: None,
        syntax: None,
        allowed_values: None,
        shape: None,
        identity: false,
        not_in: &[],
        external_codes: [None; Facet::ALL.len()],
        last: None,
    };

    /// Declares that every object must have the field.
    #[must_use]
    pub const fn required(self) -> Self {
        Self { required: true, last: Some(Facet::Required), ..self }
    }

    /// Declares the default, as JSON text.
    #[must_use]
    pub const fn default(self, json: &'static str) -> Self {
        Self { default: Some(json), ..self }
    }

    /// Declares the smallest number.
    #[must_use]
    pub const fn minimum(self, minimum: i64) -> Self {
        Self { minimum: Some(minimum), last: Some(Facet::Minimum), ..self }
    }

    /// Declares the largest number.
    #[must_use]
    pub const fn maximum(self, maximum: i64) -> Self {
        Self { maximum: Some(maximum), last: Some(Facet::Maximum), ..self }
    }

    /// Declares the maximum length of a text, in characters.
    #[must_use]
    pub const fn max_length(self, max: usize) -> Self {
        Self { max_length: Some(max), last: Some(Facet::MaxLength), ..self }
    }

    /// Declares the maximum number of entries of a list.
    #[must_use]
    pub const fn max_items(self, max: usize) -> Self {
        Self { max_items: Some(max), last: Some(Facet::MaxItems), ..self }
    }

    /// The maximum number of entries of a mapping with arbitrary keys.
    #[must_use]
    pub const fn max_entries(self, max: usize) -> Self {
        Self { max_entries: Some(max), last: Some(Facet::MaxEntries), ..self }
    }

    /// The field that is unique among the entries of a list.
    #[must_use]
    pub const fn list_key(self, field: &'static str) -> Self {
        Self { list_key: Some(field), last: Some(Facet::ListKey), ..self }
    }

    /// Declares the syntax of a text. This also limits its length ([`Facets::max_text_length`]).
    #[must_use]
    pub const fn syntax(self, syntax: Syntax) -> Self {
        Self { syntax: Some(syntax), last: Some(Facet::Syntax), ..self }
    }

    /// Declares the allowed values of a text.
    #[must_use]
    pub const fn allowed_values(self, values: &'static [&'static str]) -> Self {
        Self { allowed_values: Some(values), last: Some(Facet::AllowedValues), ..self }
    }

    /// The shape of a value that the reader keeps as a node.
    #[must_use]
    pub const fn shape(self, shape: Shape) -> Self {
        Self { shape: Some(shape), ..self }
    }

    /// Declares that the field belongs to the identity of the deployed model. When it changes, the operator deletes the
    /// generated objects and creates new ones (docs/specification.md, OP-3.1).
    #[must_use]
    pub const fn identity(self) -> Self {
        Self { identity: true, ..self }
    }

    /// Declares that objects of these API groups do not have the field. There the reader reports it, and schemas omit
    /// it.
    #[must_use]
    pub const fn not_in(self, groups: &'static [&'static str]) -> Self {
        Self { not_in: groups, ..self }
    }

    /// Declares that code other than the reader checks the preceding facet and reports `code`. This is for checks whose
    /// message is specified, or that need more than the field.
    #[must_use]
    pub const fn checked_by(self, code: &'static Code) -> Self {
        let mut external_codes = self.external_codes;
        if let Some(facet) = self.last {
            #[expect(clippy::indexing_slicing, reason = "the array has an element for every kind")]
            {
                external_codes[facet as usize] = Some(code);
            }
        }
        Self { external_codes, ..self }
    }

    /// Returns the code that is reported for a facet, if code other than the reader checks it.
    #[must_use]
    pub const fn checking_code(&self, facet: Facet) -> Option<&'static Code> {
        #[expect(clippy::indexing_slicing, reason = "the array has an element for every kind")]
        self.external_codes[facet as usize]
    }

    /// Returns whether the field declares a facet of this kind.
    #[must_use]
    pub const fn declares(&self, facet: Facet) -> bool {
        match facet {
            Facet::Required => self.required,
            Facet::Minimum => self.minimum.is_some(),
            Facet::Maximum => self.maximum.is_some(),
            Facet::MaxLength => self.max_length.is_some(),
            Facet::MaxItems => self.max_items.is_some(),
            Facet::MaxEntries => self.max_entries.is_some(),
            Facet::ListKey => self.list_key.is_some(),
            Facet::Syntax => self.syntax.is_some(),
            Facet::AllowedValues => self.allowed_values.is_some(),
        }
    }

    /// Returns the maximum length of a text, in characters: the declared one, or the default of texts with a syntax.
    #[must_use]
    pub const fn max_text_length(&self) -> Option<usize> {
        match (self.max_length, self.syntax) {
            (None, Some(_)) => Some(MAX_TEXT_CHARS),
            (declared, _) => declared,
        }
    }

    /// Returns whether the reader checks a facet. Code that checks the syntax of a text also checks its length, unless
    /// a length is declared.
    #[must_use]
    pub const fn is_checked_by_reader(&self, facet: Facet) -> bool {
        match facet {
            Facet::MaxLength if self.max_length.is_none() => self.is_checked_by_reader(Facet::Syntax),
            _ => self.declares(facet) && self.checking_code(facet).is_none(),
        }
    }

    /// Returns whether the reader checks any facet of a value that is present.
    #[must_use]
    pub const fn has_reader_checks(&self) -> bool {
        // Index 0 is `Required`, which concerns absent values.
        let mut index = 1;
        while index < Facet::ALL.len() {
            #[expect(clippy::indexing_slicing, reason = "the index is below the length")]
            if self.is_checked_by_reader(Facet::ALL[index]) {
                return true;
            }
            index += 1;
        }
        false
    }
}

package main

// ModelDeployment has the fields that the corpora of `cargo measure corpus` use.
type ModelDeployment struct {
	APIVersion string   `json:"apiVersion"`
	Kind       string   `json:"kind"`
	Metadata   Metadata `json:"metadata"`
	Spec       Spec     `json:"spec"`
}

// Metadata identifies an object.
type Metadata struct {
	Name        string            `json:"name"`
	Namespace   string            `json:"namespace,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Spec describes a model and how it is served.
type Spec struct {
	Model       Model        `json:"model"`
	Engine      Engine       `json:"engine"`
	Provider    *Provider    `json:"provider,omitempty"`
	Serving     *Serving     `json:"serving,omitempty"`
	Scaling     *Scaling     `json:"scaling,omitempty"`
	Resources   *Resources   `json:"resources,omitempty"`
	Image       string       `json:"image,omitempty"`
	Env         []EnvVar     `json:"env,omitempty"`
	PodTemplate *PodTemplate `json:"podTemplate,omitempty"`
	Secrets     *Secrets     `json:"secrets,omitempty"`
	Tolerations []Toleration `json:"tolerations,omitempty"`
}

// Model names the model.
type Model struct {
	ID         string `json:"id,omitempty"`
	ServedName string `json:"servedName,omitempty"`
	Source     string `json:"source,omitempty"`
}

// Engine configures the inference engine.
type Engine struct {
	Type            string            `json:"type,omitempty"`
	ContextLength   *int32            `json:"contextLength,omitempty"`
	TrustRemoteCode bool              `json:"trustRemoteCode,omitempty"`
	Args            map[string]string `json:"args,omitempty"`
	ExtraArgs       []string          `json:"extraArgs,omitempty"`
}

// Provider names the provider. Its overrides have the form that the provider defines.
type Provider struct {
	Name      string         `json:"name,omitempty"`
	Overrides map[string]any `json:"overrides,omitempty"`
}

// Serving holds the serving mode.
type Serving struct {
	Mode string `json:"mode,omitempty"`
}

// Scaling holds the replicas, of the whole deployment or of each role.
type Scaling struct {
	Replicas *int32 `json:"replicas,omitempty"`
	Prefill  *Role  `json:"prefill,omitempty"`
	Decode   *Role  `json:"decode,omitempty"`
}

// Role holds the replicas and resources of prefill or decode.
type Role struct {
	Replicas *int32 `json:"replicas,omitempty"`
	GPU      *GPU   `json:"gpu,omitempty"`
	Memory   string `json:"memory,omitempty"`
}

// Resources are those of each replica.
type Resources struct {
	GPU    *GPU   `json:"gpu,omitempty"`
	Memory string `json:"memory,omitempty"`
	CPU    string `json:"cpu,omitempty"`
}

// GPU holds the number and the type of GPUs.
type GPU struct {
	Count *int32 `json:"count,omitempty"`
	Type  string `json:"type,omitempty"`
}

// EnvVar is an environment variable of the containers.
type EnvVar struct {
	Name      string        `json:"name"`
	Value     string        `json:"value,omitempty"`
	ValueFrom *EnvVarSource `json:"valueFrom,omitempty"`
}

// EnvVarSource refers to a key of a Secret.
type EnvVarSource struct {
	SecretKeyRef *SecretKeyRef `json:"secretKeyRef,omitempty"`
}

// SecretKeyRef names a Secret and one of its keys.
type SecretKeyRef struct {
	Name string `json:"name"`
	Key  string `json:"key"`
}

// PodTemplate holds the metadata of the pods.
type PodTemplate struct {
	Metadata PodMetadata `json:"metadata"`
}

// PodMetadata holds labels and annotations of the pods.
type PodMetadata struct {
	Labels      map[string]string `json:"labels,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// Secrets names the Secrets that the containers need.
type Secrets struct {
	HuggingFaceToken string `json:"huggingFaceToken,omitempty"`
}

// Toleration lets pods run on tainted nodes.
type Toleration struct {
	Key      string `json:"key,omitempty"`
	Operator string `json:"operator,omitempty"`
	Value    string `json:"value,omitempty"`
	Effect   string `json:"effect,omitempty"`
}

// Writes 200 models of several teams, providers and states: the input of the check of a large page. Some models are
// broken, some have findings, and some names are as long as Kubernetes allows.

const fs = require('node:fs');
const path = require('node:path');

const MODELS = 200;
const NAMESPACES = ['assistants', 'batch-scoring', 'code-completion', 'document-search-and-retrieval', 'evaluation', 'fraud',
  'ml-platform', 'research', 'speech', 'translation'];

/** Returns the ModelDeployment with a number, as JSON, which is YAML too. */
function model(number) {
  const family = ['llama-3-8b', 'qwen3-32b', 'mistral-small', 'phi-4', 'gemma-3-12b'][number % 5];
  const name = number % 40 === 7 ? `${family}-${number}-${'long-name-'.repeat(6)}`.slice(0, 60).replace(/-$/, '') : `${family}-${number}`;
  const spec = {
    model: { id: `example-org/${family}` },
    engine: { type: ['vllm', 'vllm', 'sglang', 'vllm', 'trtllm'][number % 5] },
    resources: { gpu: { count: [1, 2, 4, 8][number % 4] } },
    scaling: { replicas: 1 + (number % 3) },
  };
  if (spec.engine.type === 'vllm') spec.engine.args = { 'max-model-len': '8192' };
  if (number % 3 === 0) spec.env = [{ name: 'HF_HOME', value: '/models/cache' }];
  if (number % 4 === 1 && spec.engine.type === 'vllm') {
    spec.provider = number % 8 === 1 ? { name: 'kuberay' } : { name: 'kaito', overrides: { instanceType: 'Standard_NC24ads_A100_v4' } };
  }
  if (number % 10 === 6) {
    spec.engine = { type: 'llamacpp', image: 'registry.example.org/llama-server:b6000' };
    spec.resources = { cpu: '8', memory: '32Gi' };
  }
  if (number % 11 === 5 && !spec.provider && spec.engine.type !== 'llamacpp') {
    spec.serving = { mode: 'disaggregated' };
    const role = (count) => ({ replicas: 2, gpu: { count }, memory: '64Gi' });
    spec.scaling = { prefill: role(2), decode: role(4) };
    delete spec.resources;
  }
  if (number % 9 === 2) {
    spec.model.storage = { volumes: [{ name: 'cache', purpose: 'modelCache', size: '200Gi' }] };
    spec.secrets = { huggingFaceToken: 'hugging-face-token' };
  }
  if (number % 50 === 13) spec.resources = { gpu: { count: 'two' } };
  if (number % 50 === 29) spec.engine = { tpye: 'vllm' };
  return {
    apiVersion: 'kubefoundry.ai/v1alpha1', kind: 'ModelDeployment',
    metadata: { name, namespace: NAMESPACES[(number * 7) % NAMESPACES.length] }, spec,
  };
}

/** Writes the models into files of ten. */
function write(folder) {
  fs.mkdirSync(folder, { recursive: true });
  for (let first = 0; first < MODELS; first += 10) {
    const documents = Array.from({ length: 10 }, (_, at) => JSON.stringify(model(first + at), null, 2));
    fs.writeFileSync(path.join(folder, `team-${first / 10}.yaml`), `${documents.join('\n---\n')}\n`);
  }
}

module.exports = { write, MODELS };

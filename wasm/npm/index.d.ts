import type { DecisionsReport, DiagnosticsReport, FitReport, ImportReport, PlanReport } from './reports.js';

export type { DecisionsReport, DiagnosticsReport, FitReport, ImportReport, PlanReport } from './reports.js';

/** A text with its name. */
export interface File {
  /** The name under which findings are reported, such as `models/llama.yaml`. */
  name: string;
  text: string;
}

/** What is compiled. */
export interface Request {
  /** The manifests, in the order in which they are read. */
  files: File[];
  /** The text of a `kubefoundry.yaml` (kind `Render`). It may set the policy, as a file after `--config` may. */
  options?: string;
  /** CRDs of a cluster, as `kubectl get crd -o yaml` prints them. */
  crds?: string;
  /** Nodes of a cluster, as `kubectl get nodes -o yaml` prints them. */
  nodes?: string;
}

/** What `kubefoundry render` prints. */
export interface Rendered {
  /** A stream of YAML documents; `null` if there is an error. */
  manifests: string | null;
  /** Why an input without errors cannot be copied to the output, as the options ask. */
  refusal: string | null;
  diagnostics: DiagnosticsReport;
}

/** What a change does to running models. */
export interface Planned {
  /** `null` if one of the two states has errors. */
  plan: PlanReport | null;
  oldDiagnostics: DiagnosticsReport;
  diagnostics: DiagnosticsReport;
}

/** Objects of providers as ModelDeployments. */
export interface Imported {
  /** The ModelDeployments, as a stream of YAML documents. */
  manifests: string;
  report: ImportReport;
}

/** A word that can stand at an offset, as an edit. Offsets count UTF-16 units, as those of JavaScript strings. */
export interface Completion {
  label: string;
  kind: 'field' | 'property' | 'constant' | 'value';
  /** The type of a field, or what the word belongs to. */
  detail: string;
  /** What the word means, in Markdown. */
  documentation: string;
  deprecated: boolean;
  from: number;
  to: number;
  /** What replaces the text from `from` to `to`. */
  text: string;
}

/** What a part of a text means. */
export interface Description {
  markdown: string;
  from: number;
  to: number;
}

/**
 * A mistake in a text is a finding of the report. A call fails only if its arguments do not have the declared types, or
 * if it names a file that the request does not have.
 */
export interface Engine {
  /** The version of kubefoundry. */
  readonly version: string;
  /** The style sheet of {@link Engine.picture}. */
  readonly pictureStyle: string;
  /** Finds all mistakes, as `kubefoundry lint` does. */
  lint(request: Request): DiagnosticsReport;
  /** Renders the objects to apply, with the bytes that `kubefoundry render` prints. */
  render(request: Request): Rendered;
  /** Tells which provider is selected, why, and with which values. */
  explain(request: Request): DecisionsReport;
  /** Draws the decisions as a part of an HTML page. Texts of the request are escaped. */
  picture(request: Request): string;
  /** Tells on which GPUs the models fit, and with how much context. */
  fit(request: Request): FitReport;
  /** Tells what a change does to running models; with `diff`, also how the objects change. */
  plan(before: Request, after: Request, settings?: { diff?: boolean }): Planned;
  /** Converts objects of KAITO, Dynamo and KubeRay. */
  importObjects(request: Request, settings?: { to?: string; patches?: boolean }): Imported;
  /** Lists what can stand at an offset of a file, or of the options under the name `kubefoundry.yaml`. */
  complete(request: Request, file: string, offset: number): Completion[];
  /** Describes what stands at an offset of a file. */
  hover(request: Request, file: string, offset: number): Description | undefined;
  /** Applies all fixes of a file that can be applied together. */
  fixAll(request: Request, file: string): { text: string; fixes: number };
  /** Returns the page of a diagnostic code in Markdown. */
  codePage(code: string): string | undefined;
}

/**
 * Loads the engine. Without an argument, the module is read from its file in this package.
 *
 * @param source The bytes of `engine_bg.wasm`, the compiled module, or the address of either.
 */
export function createEngine(source?: BufferSource | WebAssembly.Module | URL | string): Promise<Engine>;

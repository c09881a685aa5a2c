//! `lsp`: a session with the language server, message by message.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::process::{Child, ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::thread;
use std::time::Duration;

use serde_json::{Value, json};

use crate::sandbox::{PINNED, Sandbox, broken, model};

/// A client of the server.
pub(crate) struct Editor {
    child: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    /// Notifications and requests of the server that no one has asked for yet.
    waiting: Vec<Value>,
    next_id: i64,
    root: String,
}

/// How long a message of the server may take. It is long because the machine may be busy.
const TIMEOUT: Duration = Duration::from_secs(60);

impl Editor {
    /// Starts the server in a sandbox and initializes it with these capabilities.
    pub(crate) fn new(sandbox: &Sandbox, capabilities: &Value) -> Self {
        Self::with(sandbox, capabilities, &Value::Null).0
    }

    /// Also returns the result of `initialize`.
    fn with(sandbox: &Sandbox, capabilities: &Value, options: &Value) -> (Self, Value) {
        let mut editor = Self::started(sandbox);
        let folder = json!({"uri": editor.root, "name": "models"});
        let parameters = json!({
            "processId": null, "rootUri": editor.root, "workspaceFolders": [folder],
            "capabilities": capabilities, "initializationOptions": options,
        });
        let result = editor.request("initialize", &parameters).unwrap();
        editor.notify("initialized", &json!({}));
        (editor, result)
    }

    /// Starts the server without a message to it.
    fn started(sandbox: &Sandbox) -> Self {
        let mut child = sandbox.command(&["lsp", "--stdio"]).stdin(Stdio::piped()).spawn().unwrap();
        let input = child.stdin.take().unwrap();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let (sender, messages) = channel();
        thread::spawn(move || {
            let mut line = String::new();
            while output.read_line(&mut line).is_ok_and(|length| length > 0) {
                let length = line.trim_end().strip_prefix("Content-Length: ").unwrap().parse().unwrap();
                output.read_line(&mut line).unwrap();
                let mut body = vec![0; length];
                output.read_exact(&mut body).unwrap();
                let message: Value = serde_json::from_slice(&body).unwrap();
                assert_eq!(message["jsonrpc"], "2.0");
                if sender.send(message).is_err() {
                    break;
                }
                line.clear();
            }
        });
        let root = format!("file://{}", sandbox.path("").canonicalize().unwrap().display());
        Self { child, input, messages, waiting: Vec::new(), next_id: 0, root }
    }

    fn uri(&self, name: &str) -> String {
        format!("{}/{name}", self.root)
    }

    fn send_bytes(&mut self, bytes: &[u8]) {
        self.input.write_all(bytes).unwrap();
        self.input.flush().unwrap();
    }

    fn send(&mut self, message: &Value) {
        let body = message.to_string();
        self.send_bytes(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    }

    fn notify(&mut self, method: &str, params: &Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request and returns its result, or its error.
    fn request(&mut self, method: &str, params: &Value) -> Result<Value, Value> {
        self.next_id += 1;
        let id = self.next_id;
        self.send(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        let answer = self.wait_for(|message| message["id"] == id && message.get("method").is_none());
        match answer.get("error") {
            Some(error) => Err(error.clone()),
            None => Ok(answer["result"].clone()),
        }
    }

    fn wait_for(&mut self, is_wanted: impl Fn(&Value) -> bool) -> Value {
        if let Some(at) = self.waiting.iter().position(&is_wanted) {
            return self.waiting.remove(at);
        }
        loop {
            let message = self.messages.recv_timeout(TIMEOUT).expect("a message of the server");
            if is_wanted(&message) {
                return message;
            }
            self.waiting.push(message);
        }
    }

    /// Opens a document without a file, which is checked alone, and returns its findings.
    pub(crate) fn check_alone(&mut self, uri: &str, text: &str) -> Vec<Value> {
        let document = json!({"uri": uri, "languageId": "yaml", "version": 1, "text": text});
        self.notify("textDocument/didOpen", &json!({"textDocument": document}));
        let published = self.wait_for(|message| message["params"]["uri"] == uri);
        published["params"]["diagnostics"].as_array().unwrap().clone()
    }

    fn open(&mut self, name: &str, text: &str) {
        let uri = self.uri(name);
        let document = json!({"uri": uri, "languageId": "yaml", "version": 1, "text": text});
        self.notify("textDocument/didOpen", &json!({"textDocument": document}));
    }

    /// Changes a document: the whole text, or the part at a range.
    fn change(&mut self, name: &str, version: i32, change: &Value) {
        let identifier = json!({"uri": self.uri(name), "version": version});
        self.notify("textDocument/didChange", &json!({"textDocument": identifier, "contentChanges": [change]}));
    }

    /// Returns the next findings of a document.
    fn findings(&mut self, name: &str) -> Vec<Value> {
        let uri = self.uri(name);
        let published = self.wait_for(|message| {
            message["method"] == "textDocument/publishDiagnostics" && message["params"]["uri"] == uri.as_str()
        });
        published["params"]["diagnostics"].as_array().unwrap().clone()
    }

    /// Sends a request about the position of a marker in a text.
    fn at(&mut self, method: &str, name: &str, text: &str, marker: &str) -> Value {
        let params =
            json!({"textDocument": {"uri": self.uri(name)}, "position": position(text, text.find(marker).unwrap())});
        self.request(method, &params).unwrap()
    }

    /// Returns the labels and the items that complete the end of a text.
    fn completions(&mut self, name: &str, version: i32, text: &str) -> Vec<Value> {
        let (before, after) = text.split_once('|').unwrap();
        self.change(name, version, &json!({"text": format!("{before}{after}")}));
        let params = json!({"textDocument": {"uri": self.uri(name)}, "position": position(before, before.len())});
        self.request("textDocument/completion", &params).unwrap().as_array().unwrap().clone()
    }

    /// Shuts the server down and returns its exit status.
    fn exit(mut self) -> Option<i32> {
        assert_eq!(self.request("shutdown", &Value::Null), Ok(Value::Null));
        self.notify("exit", &Value::Null);
        self.child.wait().unwrap().code()
    }
}

impl Drop for Editor {
    /// A test that fails must not leave the server running.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The position of an offset, in UTF-16 units.
fn position(text: &str, offset: usize) -> Value {
    let before = &text[..offset];
    let line = before.rsplit('\n').next().unwrap();
    json!({"line": before.matches('\n').count(), "character": line.encode_utf16().count()})
}

fn offset(text: &str, position: &Value) -> usize {
    let (line, character) = (position["line"].as_u64().unwrap(), position["character"].as_u64().unwrap());
    let start: usize = text.split_inclusive('\n').take(line.try_into().unwrap()).map(str::len).sum();
    let mut units = 0;
    let within = text[start..].chars().take_while(|c| {
        units += c.len_utf16() as u64;
        units <= character
    });
    start + within.map(char::len_utf8).sum::<usize>()
}

fn underlined<'t>(text: &'t str, range: &Value) -> &'t str {
    &text[offset(text, &range["start"])..offset(text, &range["end"])]
}

/// Applies the edits of a workspace edit to a document.
fn apply(text: &str, edits: &Value) -> String {
    let mut edits: Vec<&Value> = edits.as_array().unwrap().iter().collect();
    edits.sort_by_key(|edit| std::cmp::Reverse(offset(text, &edit["range"]["start"])));
    let mut text = text.to_owned();
    for edit in edits {
        let range = offset(&text, &edit["range"]["start"])..offset(&text, &edit["range"]["end"]);
        text.replace_range(range, edit["newText"].as_str().unwrap());
    }
    text
}

fn labels(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["label"].as_str().unwrap()).collect()
}

fn pinned() -> Sandbox {
    Sandbox::new().with("kubefoundry.yaml", PINNED)
}

/// A session from the first message to the last.
#[test]
fn a_broken_deployment_is_found_fixed_and_rendered() {
    let sandbox = pinned().with("phi.yaml", model("phi"));
    let capabilities = json!({
        "textDocument": {"publishDiagnostics": {"relatedInformation": true}, "hover": {"contentFormat": ["markdown"]}},
        "workspace": {"workspaceEdit": {"documentChanges": true}},
    });
    let options = json!({"codePages": "https://docs.example.com/codes/{code}.md"});
    let (mut editor, result) = Editor::with(&sandbox, &capabilities, &options);
    assert_eq!(result["capabilities"]["positionEncoding"], "utf-16");
    assert_eq!(result["capabilities"]["textDocumentSync"]["change"], 2);

    // The open document counts, not its file. The emoji has two UTF-16 units and four bytes.
    let text = model("phi").replace("    type: vllm", "    # 😀\n    {type: vllm, contxtLength: 10}");
    let text = text.replace("  engine:\n    # 😀\n    {", "  engine: # 😀\n    { ");
    editor.open("phi.yaml", &text);
    let findings = editor.findings("phi.yaml");
    let [finding] = findings.as_slice() else { panic!("{findings:?}") };
    assert_eq!(
        (&finding["code"], &finding["severity"], &finding["source"]),
        (&json!("KF0113"), &json!(1), &json!("kubefoundry"))
    );
    assert_eq!(finding["codeDescription"]["href"], "https://docs.example.com/codes/KF0113.md");
    assert_eq!(underlined(&text, &finding["range"]), "contxtLength");

    let error =
        editor.request("kubefoundry/renderedManifest", &json!({"textDocument": {"uri": editor.uri("phi.yaml")}}));
    let message = error.unwrap_err()["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("phi.yaml has 1 error; correct it first: "), "{message}");

    let params = json!({
        "textDocument": {"uri": editor.uri("phi.yaml")}, "range": finding["range"], "context": {"diagnostics": [finding]},
    });
    let actions = editor.request("textDocument/codeAction", &params).unwrap();
    let kinds: Vec<&Value> = actions.as_array().unwrap().iter().map(|action| &action["kind"]).collect();
    assert_eq!(kinds, ["quickfix", "source.fixAll.kubefoundry"]);
    assert_eq!(actions[0]["diagnostics"][0], *finding);
    let change = &actions[0]["edit"]["documentChanges"][0];
    assert_eq!(change["textDocument"], json!({"uri": editor.uri("phi.yaml"), "version": 1}));
    let fixed = apply(&text, &change["edits"]);
    assert_eq!(fixed, text.replace("contxtLength", "contextLength"));
    assert_eq!(apply(&text, &actions[1]["edit"]["documentChanges"][0]["edits"]), fixed);

    let edit = &change["edits"][0];
    editor.change("phi.yaml", 2, &json!({"range": edit["range"], "text": edit["newText"]}));
    assert_eq!(editor.findings("phi.yaml"), [] as [Value; 0]);

    let hover = editor.at("textDocument/hover", "phi.yaml", &fixed, "contextLength");
    let described = hover["contents"]["value"].as_str().unwrap();
    assert!(described.starts_with("`spec.engine.contextLength` *integer*\n\n"), "{described}");
    assert_eq!(underlined(&fixed, &hover["range"]), "contextLength");

    let rendered =
        editor.request("kubefoundry/renderedManifest", &json!({"textDocument": {"uri": editor.uri("phi.yaml")}}));
    let rendered = rendered.unwrap();
    assert!(rendered["uri"].as_str().unwrap().starts_with("kubefoundry-rendered:/"), "{rendered}");
    assert_eq!(rendered["languageId"], "yaml");
    let printed = sandbox.with("fixed.yaml", &fixed);
    assert_eq!(rendered["text"], printed.run(&["render", "fixed.yaml", "--runtime", "dynamo=1.4.0"]).exits(0).out);
    let arguments = json!({"command": "kubefoundry.renderedManifest", "arguments": [editor.uri("phi.yaml")]});
    assert_eq!(editor.request("workspace/executeCommand", &arguments), Ok(rendered));

    editor.notify("textDocument/didClose", &json!({"textDocument": {"uri": editor.uri("phi.yaml")}}));
    assert_eq!(editor.findings("phi.yaml"), [] as [Value; 0]);
    assert_eq!(editor.exit(), Some(0));
}

#[test]
fn completes_fields_flags_providers_codes_and_words() {
    let provider = "apiVersion: kubefoundry.ai/v1alpha1\nkind: InferenceProviderConfig\nmetadata: {name: edge}\nspec: {capabilities: {engines: [vllm], servingModes: [aggregated], gpuSupport: true}}\n";
    let sandbox = pinned().with("edge.yaml", provider);
    let mut editor = Editor::new(&sandbox, &json!({}));
    let base = model("phi");
    editor.open("phi.yaml", &base);
    let mut version = 1;
    let mut complete = |text: &str| {
        version += 1;
        editor.completions("phi.yaml", version, text)
    };

    let fields = complete(&base.replace("    type: vllm\n", "    type: vllm\n    con|\n"));
    assert!(labels(&fields).contains(&"contextLength") && !labels(&fields).contains(&"type"), "{fields:?}");
    let field = fields.iter().find(|item| item["label"] == "args").unwrap();
    assert_eq!(field["textEdit"]["newText"], "args:\n      ");
    assert_eq!(field["textEdit"]["range"]["start"]["character"], 4);
    assert!(field["documentation"]["value"].as_str().unwrap().contains("`spec.engine.args`"), "{field}");

    let airunway = base.replace("kubefoundry.ai/v1alpha1", "airunway.ai/v1alpha1");
    let fields = complete(&airunway.replace("spec:\n", "spec:\n  |\n"));
    assert!(labels(&fields).contains(&"scaling") && !labels(&fields).contains(&"frontend"), "not in this API group");

    let flags = complete(&base.replace("type: vllm\n", "type: vllm\n    args:\n      max-num|\n"));
    let flag = flags.iter().find(|item| item["label"] == "max-num-seqs").unwrap();
    assert_eq!(flag["textEdit"]["newText"], "max-num-seqs: ");
    let described = flag["documentation"]["value"].as_str().unwrap();
    assert!(described.contains("Flag of vllm ") && described.contains(" in Dynamo 1.4.0."), "{described}");
    let values = complete(&base.replace("type: vllm\n", "type: vllm\n    args: {dtype: h|}\n"));
    assert!(labels(&values).contains(&"bfloat16"), "{values:?}");

    let providers = complete(&base.replace("spec:\n", "spec:\n  provider: {name: |}\n"));
    assert_eq!(labels(&providers), ["dynamo", "edge", "kaito", "kuberay"]);
    let words = complete(&base.replace("type: vllm", "type: |"));
    assert_eq!(labels(&words), ["vllm", "sglang", "trtllm", "llamacpp"]);
    let overrides = complete(&base.replace("spec:\n", "spec:\n  provider: {name: kaito, overrides: {|}}\n"));
    assert!(labels(&overrides).contains(&"instanceType"), "{overrides:?}");

    let annotation = "metadata:\n  annotations:\n    kubefoundry.ai/lint-ignore: KF0211, id|\n";
    let codes = complete(&base.replace("metadata:\n", annotation));
    assert!(labels(&codes).contains(&"KF0211") && labels(&codes).contains(&"idle-gpus"), "{codes:?}");
    assert!(!labels(&codes).contains(&"unknown-field"), "errors cannot be ignored");
    let edit = &codes.iter().find(|item| item["label"] == "idle-gpus").unwrap()["textEdit"];
    assert_eq!((&edit["newText"], &edit["range"]["start"]["character"]), (&json!("idle-gpus"), &json!(40)));

    assert_eq!(labels(&complete("|")), ["apiVersion", "kind"]);
    let kinds = complete("apiVersion: kubefoundry.ai/v1alpha1\nkind: |\n");
    assert_eq!(labels(&kinds), ["ModelDeployment", "InferenceProviderConfig"]);

    editor.open("kubefoundry.yaml", PINNED);
    let mut version = 1;
    let mut complete = |line: &str| {
        version += 1;
        editor.completions("kubefoundry.yaml", version, &format!("{PINNED}{line}\n"))
    };
    let codes = complete("severities:\n  idle|");
    let code = codes.iter().find(|item| item["label"] == "idle-gpus").unwrap();
    assert_eq!(code["textEdit"]["newText"], "idle-gpus: ");
    assert_eq!(labels(&complete("severities: {idle-gpus: |}")), ["error", "warning", "info", "off"]);
    assert_eq!(labels(&complete("crdVersions:\n  |")), ["dynamo", "kaito", "kuberay"]);
    assert!(labels(&complete("crdVersions: {dynamo: |}")).contains(&"nvidia.com/v1beta1"));
    assert_eq!(editor.exit(), Some(0));
}

/// The client edits one file, and a finding in another one follows from it.
#[test]
fn findings_follow_from_other_files_and_from_the_options_above() {
    let sandbox = pinned().with("models/a.yaml", model("phi")).with("models/b.yaml", model("phi"));
    let capabilities = json!({"textDocument": {"publishDiagnostics": {"relatedInformation": true}}});
    let mut editor = Editor::new(&sandbox, &capabilities);
    editor.open("models/b.yaml", &model("phi"));
    let findings = editor.findings("models/b.yaml");
    let related: Vec<&Value> =
        findings.iter().flat_map(|it| it["relatedInformation"].as_array().into_iter().flatten()).collect();
    assert!(related.iter().any(|it| it["location"]["uri"] == editor.uri("models/a.yaml")), "{findings:?}");

    // Another name in the other file, which is open but not saved.
    editor.open("models/a.yaml", &model("qwen"));
    assert_eq!(editor.findings("models/a.yaml"), [] as [Value; 0]);
    assert_eq!(editor.findings("models/b.yaml"), [] as [Value; 0]);

    // The runtime is no longer pinned.
    editor.open("kubefoundry.yaml", "apiVersion: config.kubefoundry.ai/v1alpha1\nkind: Render\n");
    let findings = editor.findings("models/a.yaml");
    assert_eq!((&findings[0]["code"], &findings[0]["severity"]), (&json!("KF0503"), &json!(3)));

    // Wrong options are shown in the document that is not checked because of them.
    editor.open("compose.yaml", "services: {}\n");
    assert_eq!(editor.findings("compose.yaml"), [] as [Value; 0]);
    editor.change("kubefoundry.yaml", 2, &json!({"text": format!("{PINNED}policy: {{podSecurity: privileged}}\n")}));
    let findings = editor.findings("models/a.yaml");
    let message = findings[0]["message"].as_str().unwrap();
    assert!(message.starts_with("kubefoundry.yaml: ") && message.contains("policy"), "{message}");
    assert_eq!(findings[0]["relatedInformation"][0]["location"]["uri"], editor.uri("kubefoundry.yaml"));
    editor.change("compose.yaml", 2, &json!({"text": "services: {a: {}}\n"}));
    editor.change("kubefoundry.yaml", 3, &json!({"text": PINNED}));
    assert_eq!(editor.findings("models/a.yaml"), [] as [Value; 0]);
    let other = editor.uri("compose.yaml");
    assert!(editor.waiting.iter().all(|message| message["params"]["uri"] != other), "a document without input");
    assert_eq!(editor.exit(), Some(0));
}

#[test]
fn the_nearest_options_apply() {
    let strict = format!("{PINNED}severities: {{idle-gpus: error}}\nstrict: true\n");
    let sandbox = pinned().with("prod/kubefoundry.yaml", strict).with("dev/phi.yaml", "").with("prod/phi.yaml", "");
    let mut editor = Editor::new(&sandbox, &json!({}));
    let doubtful = crate::sandbox::doubtful("phi");
    editor.open("dev/phi.yaml", &doubtful);
    editor.open("prod/phi.yaml", &doubtful);
    // They are not copies of each other, because they are checked with different options.
    let severity = |findings: Vec<Value>| {
        assert_eq!(findings.len(), 1, "{findings:?}");
        findings[0]["severity"].as_u64()
    };
    assert_eq!(severity(editor.findings("dev/phi.yaml")), Some(2));
    assert_eq!(severity(editor.findings("prod/phi.yaml")), Some(1));
    assert_eq!(editor.exit(), Some(0));
}

#[test]
fn leads_from_a_patch_to_its_base() {
    let patch = "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: phi}\nspec: {scaling: {replicas: 2}}\n";
    let kustomization = "resources: [../base]\npatches: [{path: patch.yaml}]\n";
    let sandbox = pinned()
        .with("base/kustomization.yaml", "resources: [phi.yaml]\n")
        .with("base/phi.yaml", model("phi"))
        .with("prod/kustomization.yaml", kustomization)
        .with("prod/patch.yaml", patch);
    let mut editor = Editor::new(&sandbox, &json!({}));
    editor.open("prod/patch.yaml", patch);
    assert_eq!(editor.findings("prod/patch.yaml"), [] as [Value; 0], "a patch is a part of an object");
    let found = editor.at("textDocument/definition", "prod/patch.yaml", patch, "scaling");
    assert_eq!(found[0]["uri"], editor.uri("base/phi.yaml"));
    assert_eq!(underlined(&model("phi"), &found[0]["range"]), "phi");
    editor.open("prod/kustomization.yaml", kustomization);
    let found = editor.at("textDocument/definition", "prod/kustomization.yaml", kustomization, "../base");
    assert_eq!(found[0]["uri"], editor.uri("base/kustomization.yaml"));
    assert_eq!(editor.exit(), Some(0));
}

/// Nothing outside of the folder is read, neither through a link nor through `..`.
#[cfg(unix)]
#[test]
fn no_link_leads_out_of_the_folder() {
    let outside = Sandbox::new().with("phi.yaml", model("phi"));
    let patch = "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nmetadata: {name: phi}\nspec: {}\n";
    let climbing =
        format!("resources: [link.yaml, {}]\npatches: [{{path: patch.yaml}}]\n", outside.path("phi.yaml").display());
    let sandbox = Sandbox::new().with("kustomization.yaml", climbing).with("patch.yaml", patch);
    std::os::unix::fs::symlink(outside.path("phi.yaml"), sandbox.path("link.yaml")).unwrap();
    let mut editor = Editor::new(&sandbox, &json!({}));
    let note = editor.wait_for(|message| message["method"] == "window/logMessage");
    assert!(note["params"]["message"].as_str().unwrap().contains("link.yaml: not read"), "{note}");
    editor.open("patch.yaml", patch);
    assert_eq!(editor.at("textDocument/definition", "patch.yaml", patch, "spec"), json!([]));
    assert_eq!(editor.exit(), Some(0));
}

/// Models of one's own are checked by the `config.json` that the options name, which must lie below the options.
#[test]
fn the_configuration_of_private_models_is_read_below_the_options() {
    let config = r#"{"architectures": ["LlamaForCausalLM"], "num_attention_heads": 28, "num_key_value_heads": 4}"#;
    let options = |path: &str| format!("{PINNED}models: {{org/phi: {{config: {path}}}}}\n");
    let sandbox = Sandbox::new().with("m/private.json", config).with("secret.json", config);
    let sandbox = sandbox.with("m/kubefoundry.yaml", options("private.json"));
    let mut editor = Editor::new(&sandbox, &json!({}));
    // 8 GPUs cannot share 28 heads.
    editor.open("m/phi.yaml", &model("phi").replace("count: 1", "count: 8"));
    let findings = editor.findings("m/phi.yaml");
    assert!(findings.iter().any(|finding| finding["code"] == "KF0318"), "{findings:?}");
    editor.open("m/kubefoundry.yaml", &options("../secret.json"));
    let findings = editor.findings("m/phi.yaml");
    let message = findings[0]["message"].as_str().unwrap();
    assert!(message.contains("\"../secret.json\", but that file was not read"), "{findings:?}");
    assert_eq!(editor.exit(), Some(0));
}

/// Folders come and go. A document outside of all folders is checked alone, without its neighbors.
#[test]
fn folders_can_be_added_and_removed() {
    let sandbox = Sandbox::new().with("a/one.yaml", model("phi")).with("a/kubefoundry.yaml", PINNED);
    let mut editor = Editor::started(&sandbox);
    editor.request("initialize", &json!({"capabilities": {}, "rootUri": null})).unwrap();
    editor.open("a/two.yaml", &model("phi"));
    let codes =
        |findings: &[Value]| findings.iter().map(|it| it["code"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
    assert_eq!(codes(&editor.findings("a/two.yaml")), ["KF0503"], "no options");
    let change = |added: &[Value], removed: &[Value]| json!({"event": {"added": added, "removed": removed}});
    let folder = json!({"uri": editor.uri("a"), "name": "a"});
    editor.notify("workspace/didChangeWorkspaceFolders", &change(std::slice::from_ref(&folder), &[]));
    let findings = codes(&editor.findings("a/two.yaml"));
    assert!(!findings.is_empty() && !findings.contains(&"KF0503".to_owned()), "{findings:?}");
    editor.notify("workspace/didChangeWorkspaceFolders", &change(&[], &[folder]));
    assert_eq!(codes(&editor.findings("a/two.yaml")), ["KF0503"]);
    assert_eq!(editor.exit(), Some(0));
}

/// Files that change on disk are read again when the client says so.
#[test]
fn watched_files_are_read_again() {
    let sandbox = pinned().with("a.yaml", model("phi"));
    let capabilities = json!({"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": true}}});
    let mut editor = Editor::new(&sandbox, &capabilities);
    let registered = editor.wait_for(|message| message["method"] == "client/registerCapability");
    editor.send(&json!({"jsonrpc": "2.0", "id": registered["id"], "result": null}));
    let root = editor.root.clone();
    editor.open("b.yaml", &model("phi"));
    assert!(!editor.findings("b.yaml").is_empty(), "two objects have one name");
    let sandbox = sandbox.with("a.yaml", model("qwen"));
    editor.notify("workspace/didChangeWatchedFiles", &json!({"changes": [{"uri": editor.uri("a.yaml"), "type": 2}]}));
    assert_eq!(editor.findings("b.yaml"), [] as [Value; 0]);

    // Of new files, those count that git does not ignore.
    let created = |name: &str| json!({"changes": [{"uri": format!("{root}/{name}"), "type": 1}]});
    let sandbox = sandbox.with(".gitignore", "out/\n").with("out/phi.yaml", model("phi"));
    editor.notify("workspace/didChangeWatchedFiles", &created("out/phi.yaml"));
    let sandbox = sandbox.with("a-new.yaml", model("phi"));
    editor.change("b.yaml", 2, &json!({"text": model("other")}));
    editor.notify("workspace/didChangeWatchedFiles", &created("a-new.yaml"));
    editor.change("b.yaml", 3, &json!({"text": model("phi")}));
    let findings = editor.findings("b.yaml");
    assert_eq!(findings.len(), 1, "{findings:?}");
    std::fs::remove_file(sandbox.path("a-new.yaml")).unwrap();
    editor.notify("workspace/didChangeWatchedFiles", &created("a-new.yaml"));
    assert_eq!(editor.findings("b.yaml"), [] as [Value; 0]);
    assert_eq!(editor.exit(), Some(0));
}

#[test]
fn positions_are_utf_8_where_the_client_offers_it() {
    let sandbox = pinned();
    let capabilities = json!({"general": {"positionEncodings": ["utf-8", "utf-16"]}});
    let (mut editor, result) = Editor::with(&sandbox, &capabilities, &Value::Null);
    assert_eq!(result["capabilities"]["positionEncoding"], "utf-8");
    let text = broken("phi").replace("count: two", "{\"😀\": 1}");
    editor.open("phi.yaml", &text);
    let findings = editor.findings("phi.yaml");
    let range = findings.iter().find(|finding| finding["code"] == "KF0113").unwrap()["range"].clone();
    let width = range["end"]["character"].as_u64().unwrap() - range["start"]["character"].as_u64().unwrap();
    assert_eq!(width, "\"😀\"".len() as u64);
    assert_eq!(editor.exit(), Some(0));
}

#[test]
fn malformed_messages_and_other_documents_do_no_harm() {
    let sandbox = pinned();
    let mut editor = Editor::new(&sandbox, &json!({}));
    editor.send_bytes(b"Content-Length: 1\r\n\r\n{");
    assert_eq!(
        editor.wait_for(|message| message["id"].is_null() && message.get("error").is_some())["error"]["code"],
        -32700
    );
    editor.send_bytes(b"Content-Length: 99999999999999999999\r\n\r\n");
    assert_eq!(editor.wait_for(|message| message.get("error").is_some())["error"]["code"], -32700);
    editor.send(&json!([1]));
    assert_eq!(editor.wait_for(|message| message.get("error").is_some())["error"]["code"], -32600);
    assert_eq!(editor.request("textDocument/hover", &json!({"textDocument": 1})).unwrap_err()["code"], -32602);
    assert_eq!(editor.request("textDocument/fold", &Value::Null).unwrap_err()["code"], -32601);
    editor.notify("textDocument/didChange", &json!({"contentChanges": 1}));
    editor.change("never-opened.yaml", 2, &json!({"text": "a"}));
    editor.notify("$/unknown", &json!({}));

    for (name, text) in [
        ("broken.yaml", "apiVersion: kubefoundry.ai/v1alpha1\nkind: ModelDeployment\nspec: [\n"),
        ("image.yaml", "\u{0}\u{1}\u{fffd}"),
        ("deep.yaml", &"[".repeat(5000)),
        ("empty.yaml", ""),
    ] {
        editor.open(name, text);
        let findings = editor.findings(name);
        assert_eq!(findings.is_empty(), name != "broken.yaml", "{name}: {findings:?}");
        let at_end = json!({"textDocument": {"uri": editor.uri(name)}, "position": {"line": 99, "character": 99}});
        for method in ["textDocument/hover", "textDocument/completion", "textDocument/definition"] {
            editor.request(method, &at_end).unwrap();
        }
        editor.request("kubefoundry/renderedManifest", &at_end).unwrap_err();
    }
    // A document that was never saved, or lies outside of the folder, is checked alone.
    let uri = "untitled:Untitled-1";
    let findings = editor.check_alone(uri, &broken("phi"));
    assert!(findings.iter().any(|finding| finding["code"] == "KF0112"));
    assert_eq!(editor.exit(), Some(0));
}

#[test]
fn the_exit_status_tells_whether_the_server_was_shut_down() {
    let sandbox = Sandbox::new();
    let mut editor = Editor::new(&sandbox, &json!({}));
    editor.notify("exit", &Value::Null);
    assert_eq!(editor.child.wait().unwrap().code(), Some(1));

    let mut editor = Editor::started(&sandbox);
    assert_eq!(editor.request("textDocument/hover", &Value::Null).unwrap_err()["code"], -32002);
    editor.notify("exit", &Value::Null);
    assert_eq!(editor.child.wait().unwrap().code(), Some(1));

    let mut editor = Editor::new(&sandbox, &json!({}));
    assert_eq!(editor.request("initialize", &json!({})).unwrap_err()["code"], -32600);
    assert_eq!(editor.request("shutdown", &Value::Null), Ok(Value::Null));
    assert_eq!(editor.request("textDocument/hover", &Value::Null).unwrap_err()["code"], -32600);
    assert_eq!(editor.exit_after_shutdown(), Some(0));

    // The end of the input without `exit`.
    assert_eq!(sandbox.run(&["lsp"]).code, Some(1));
    let help = sandbox.run(&["lsp", "--help"]).exits(0);
    assert!(help.out.contains("--stdio") && help.out.contains("Examples:"), "{help:?}");
}

impl Editor {
    fn exit_after_shutdown(mut self) -> Option<i32> {
        self.notify("exit", &Value::Null);
        self.child.wait().unwrap().code()
    }
}

/// Returns the blocks of a language in the page for users.
fn blocks(language: &str) -> Vec<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/editors.md");
    let page = std::fs::read_to_string(page).unwrap();
    let fence = format!("```{language}\n");
    let starts = page.split(&fence).skip(1);
    starts.map(|rest| rest.split("```").next().unwrap().to_owned()).collect()
}

/// The page configures editors so that they start this program, and shows messages that the server understands.
#[test]
fn the_examples_of_the_page_work() {
    let json: Vec<Value> = blocks("json").iter().map(|block| serde_json::from_str(block).unwrap()).collect();
    let [code, params, result, options] = json.as_slice() else { panic!("{json:?}") };
    let started = [&code["glspc.server.command"], &code["glspc.server.commandArguments"]];
    assert_eq!(started, [&json!("kubefoundry"), &json!(["lsp"])]);
    assert!(blocks("lua")[0].contains("cmd = { \"kubefoundry\", \"lsp\" },\n"));
    assert!(blocks("toml")[0].contains("command = \"kubefoundry\"\nargs = [\"lsp\"]\n"));

    let sandbox = pinned();
    let (mut editor, _) = Editor::with(&sandbox, &json!({}), options);
    editor.open("llama.yaml", &broken("llama"));
    let href = editor.findings("llama.yaml")[0]["codeDescription"]["href"].clone();
    assert_eq!(href, "https://docs.example.com/kubefoundry/codes/KF0112.md");
    editor.change("llama.yaml", 2, &json!({"text": model("llama")}));
    let mut params = params.clone();
    params["textDocument"]["uri"] = editor.uri("llama.yaml").into();
    let rendered = editor.request("kubefoundry/renderedManifest", &params).unwrap();
    assert!(rendered.as_object().unwrap().keys().eq(result.as_object().unwrap().keys()), "{rendered}");
    assert_eq!(rendered["languageId"], result["languageId"]);
    let shown = result["text"].as_str().unwrap().trim_end_matches('…');
    assert!(rendered["text"].as_str().unwrap().starts_with(shown), "{rendered}");
    assert_eq!(editor.exit(), Some(0));
}

/// A position selects one of several objects.
#[test]
fn one_object_of_a_document_is_rendered() {
    let sandbox = pinned();
    let mut editor = Editor::new(&sandbox, &json!({}));
    let text = format!("{}---\n{}---\nkind: Service\n", model("phi"), model("qwen"));
    editor.open("models.yaml", &text);
    let mut render = |marker: &str| {
        let position = position(&text, text.find(marker).unwrap());
        let params = json!({"textDocument": {"uri": editor.uri("models.yaml")}, "position": position});
        editor.request("kubefoundry/renderedManifest", &params)
    };
    let manifest = render("org/qwen").unwrap()["text"].as_str().unwrap().to_owned();
    assert!(manifest.contains("name: qwen\n") && !manifest.contains("phi"), "{manifest}");
    let problem = render("Service").unwrap_err();
    assert_eq!(problem["message"], "models.yaml has no object at this position that kubefoundry renders");
    let command = json!({"command": "kubefoundry.unknown"});
    assert_eq!(editor.request("workspace/executeCommand", &command).unwrap_err()["code"], -32602);
}

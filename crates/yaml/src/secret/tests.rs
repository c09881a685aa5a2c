use super::object::mask_value;
use super::*;

/// Builds a token from pieces, because code hosts refuse a commit that contains one.
fn token(pieces: &[&str]) -> String {
    pieces.concat()
}

/// One token of each kind, and what is left of it.
fn tokens() -> Vec<(String, &'static str)> {
    let random = "Zq3Vx8Lm2Kp9Rt5Wn7Yb4Hd6Fg1Js0Ca";
    let twice = format!("{random}{random}");
    let jwt = ["ey", "JhbGciOiJIUzI1NiJ9.ey", "JzdWIiOiIxMjM0NTY3ODkwIn0.", random].concat();
    vec![
        (token(&["hf", "_", random]), "hf_****"),
        (token(&["api", "_org_", random]), "api_org_****"),
        (token(&["AK", "IA", "Q7ZPL2MN8XKD4RTB"]), "AKIA****"),
        (token(&["AS", "IA", "Q7ZPL2MN8XKD4RTB"]), "ASIA****"),
        (token(&["AI", "za", "SyB-", random]), "AIza****"),
        (token(&["gh", "p_", random, "abcd"]), "ghp_****"),
        (token(&["gh", "o_", random, "abcd"]), "gho_****"),
        (token(&["gh", "s_", random, "abcd"]), "ghs_****"),
        (token(&["github", "_pat_", random, "_", random]), "github_pat_****"),
        (token(&["gl", "pat-", "x7Kd-2mQ_9zLpRt4WvBn"]), "glpat-****"),
        (token(&["sk", "-", random]), "sk-****"),
        (token(&["sk", "-ant-api03-", random, "-", random]), "sk-****"),
        (token(&["sk", "-proj-", random, "_", random]), "sk-****"),
        (token(&["nv", "api-", &twice]), "nvapi-****"),
        (token(&["xo", "xb-", "2048151623-4268172839-", random]), "xoxb-****"),
        (token(&["Account", "Key=", &twice, random, "=="]), "AccountKey=****"),
        (jwt, "eyJ****"),
    ]
}

#[test]
fn masks_tokens_of_every_kind_wherever_they_stand() {
    for (token, masked) in tokens() {
        for (before, after) in [
            ("", ""),
            ("model \"", "\", expected a name"),
            ("a\\n", "\\nb"),
            ("%0A", ""),
            ("https://user:", "@example.com/x"),
            ("--flag=", " --other"),
            ("{a: ", "}"),
            ("in a sentence: ", "."),
            ("\u{e9}", "\u{e9}"),
        ] {
            // The value of this field ends with it.
            if masked.starts_with("AccountKey") && after.starts_with('@') {
                continue;
            }
            let text = format!("{before}{token}{after}");
            let expected = format!("{before}{masked}{after}");
            assert_eq!(mask(&text), expected, "{text}");
            assert!(has_secret(&text), "{text}");
            assert_eq!(mask(&expected), expected, "a mask is masked already");
            let in_place = mask_lines_in_place(&text, 0..text.len());
            assert_eq!(in_place.len(), text.len(), "{in_place}");
            assert!(!in_place.contains(&token), "{in_place}");
        }
        assert!(matches!(token_likeness(&token), Some(TokenLikeness::Form | TokenLikeness::LooseForm)), "{token}");
    }
}

#[test]
fn leaves_what_only_looks_like_a_token() {
    for text in [
        "hf_xxx",
        "hf_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
        "hf_yourHuggingFaceTokenGoesHereNow",
        "hf_transfer",
        "<token>",
        "HF_TOKEN: $(HF_TOKEN)",
        "HF_TOKEN=${HF_TOKEN}",
        "token: {{ .Values.token }}",
        "Qwen/Qwen3-Coder-480B-A35B-Instruct-FP8",
        "sha256:8d1ed4c1b9c1b1f0a0a6f52bbab3e5b6a5a7d9e3c7f0d0b6a3b4f6f3f0e1d2c3",
        "image@sha256:8d1ed4c1b9c1b1f0a0a6f52bbab3e5b6a5a7d9e3c7f0d0b6a3b4f6f3f0e1d2c3",
        "commit 8d1ed4c1b9c1b1f0a0a6f52bbab3e5b6a5a7d9e3",
        "key: 8d1ed4c1b9c1b1f0a0a6f52bbab3e5b6a5a7d9e3",
        "sk-learn-serving-of-a-large-model-v2",
        "task-0123456789abcdefghijABCDEFGHIJ",
        "AKIAs of last year",
        "secretKeyRef: {name: prod-llm-huggingface-token-2024-11, key: HF_TOKEN}",
        "key: nvidia.com/gpu.product",
        "huggingFaceToken: my-hf-token-5f7c9d8b6c",
        "\"api-key\": {\"type\": \"string\"}",
        "password: null",
        "title=KF0609 patch-without-item-key::spec.patches[10].mainContainer.args[11] has no name",
        "its key: spec.overrides.extraPodSpec.mainContainer[10].env[11]",
        "{\"message\": \"it does not accept the flag --api-key\",\n  \"file\": \"m.yaml\"}",
        "{\"flag\": \"--api-key\",\n  \"purpose\": \"m.yaml\"}",
        "password: secret",
        "hf_token: HUGGING_FACE_TOKEN",
        "MAX_TOKENS: 4096",
        "--api-key writes a secret into the manifest",
        "eyJhbGciOiJIUzI1NiJ9",
        "tokenizer: deepseek-ai/DeepSeek-R1-Distill-Llama-70B",
        "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgIUQ1hxV3lKcVV3\n-----END CERTIFICATE-----",
        "path: /var/run/secrets/kubernetes.io/serviceaccount/token",
    ] {
        assert_eq!(mask(text), text);
    }
}

#[test]
fn masks_values_of_fields_for_secrets() {
    let aws = token(&["wJqlr", "XUtnFEMI/K7MDENG/bPx", "RfiCYzQk3LmN8pR"]);
    for (text, expected) in [
        ("api-key: sk-4f1d0c # note", "api-key: **** # note"),
        ("--api-key=abcdef", "--api-key=****"),
        ("[\"--api-key\", \"abcdef\"]", "[\"--api-key\", \"****\"]"),
        ("- --hf-token\n- abcdef", "- --hf-token\n- ****"),
        ("- name: DB_PASSWORD\n  value: tr0ub4dor", "- name: DB_PASSWORD\n  value: ****"),
        ("{name: WANDB_API_KEY, value: 0123abcd}", "{name: WANDB_API_KEY, value: ****}"),
        ("{\"name\":\"HF_TOKEN\",\"value\":\"abcdef\"}", "{\"name\":\"HF_TOKEN\",\"value\":\"****\"}"),
        ("SLACK_SIGNING_SECRET=8f742231b10e8888abcdXYZ0", "SLACK_SIGNING_SECRET=****"),
        ("huggingFaceToken: \"a8Kd02Lqpf93Zmx7Qw5V\"", "huggingFaceToken: \"****\""),
        ("--password=\u{e9}\u{e9}\u{e9}\u{e9}", "--password=****"),
    ] {
        assert_eq!(mask(text), expected);
    }
    assert_eq!(mask(&format!("aws_secret_access_key = {aws}")), "aws_secret_access_key = ****");
    assert_eq!(mask_value("MY_SERVICE_TOKEN", &aws), "****");
    assert_eq!(mask_value("MY_SERVICE_TOKEN", "name-of-a-secret"), "name-of-a-secret");
}

/// A private key of several lines, as a block of YAML.
fn private_key(kind: &str) -> String {
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    format!("-----BEGIN {kind}PRIVATE KEY-----\n  {line}\n  {line}\n  Zm9v\n  -----END {kind}PRIVATE KEY-----")
}

#[test]
fn masks_private_keys_of_several_lines() {
    for kind in ["", "RSA ", "EC ", "OPENSSH "] {
        let text = format!("tls.key: |\n  {}\nb: a word\n", private_key(kind));
        let masked = mask(&text);
        assert!(!masked.contains("MIIE") && !masked.contains("Zm9v"), "{masked}");
        assert_eq!(masked.lines().count(), text.lines().count());
        assert!(masked.ends_with("PRIVATE KEY-----\nb: a word\n"), "{masked}");
        for escape in ["\\n", "\\\\n", " "] {
            let line = private_key(kind).replace("\n  ", escape);
            let masked = mask(&line).into_owned();
            assert!(!masked.contains("MIIE") && masked.ends_with("PRIVATE KEY-----"), "{masked}");
        }
    }
    // What is not a key stays, so that nothing can hide behind the first line of one.
    let text = "-----BEGIN PRIVATE KEY----- and the next finding\nis still there";
    assert_eq!(mask(text), text);
    // One with a passphrase, and one that was cut off.
    let line = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQC7VJTUt9Us8cKj";
    let text =
        format!("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-256-CBC,0F\n\n{line}\n{line}");
    assert!(!mask(&text).contains("MIIE"), "{}", mask(&text));
}

#[test]
fn lines_are_masked_by_what_is_above_them() {
    let text = format!("a: |\n  {}\nenv:\n- name: HF_TOKEN\n  value: abcdef\nb: 1\n", private_key("RSA "));
    for line in 1..=text.lines().count() {
        let start = text.split_inclusive('\n').take(line - 1).map(str::len).sum::<usize>();
        let length = text.split_inclusive('\n').nth(line - 1).map_or(0, str::len);
        let masked = mask_lines_in_place(&text, start..start + length);
        assert_eq!(masked.len(), length);
        assert!(!["MIIE", "Zm9v", "abcdef"].iter().any(|secret| masked.contains(secret)), "{masked}");
        let is_secret = ["MIIE", "Zm9v", "abcdef"].iter().any(|secret| text[start..start + length].contains(secret));
        assert_eq!(masked != text[start..start + length], is_secret, "{masked}");
    }
}

#[test]
fn objects_are_masked_by_the_names_of_variables_and_flags() {
    let mut object = serde_json::json!({
        "env": [{"name": "HF_TOKEN", "value": "abcdef"}, {"name": "HOME", "value": "/root"}],
        "args": ["--api-key", "abcdef", "--port", "8000", "--hf-token=abcdef"],
        "data": {"password": "abcdef", "user": "abcdef"},
    });
    mask_object(&mut object);
    let expected = serde_json::json!({
        "env": [{"name": "HF_TOKEN", "value": "****"}, {"name": "HOME", "value": "/root"}],
        "args": ["--api-key", "****", "--port", "8000", "--hf-token=****"],
        "data": {"password": "****", "user": "abcdef"},
    });
    assert_eq!(object, expected);
}

proptest::proptest! {
    #![proptest_config(proptest::prelude::ProptestConfig { failure_persistence: None, ..Default::default() })]

    /// No text is too odd to be searched, and the offsets of a mask in place are those of the text.
    #[test]
    fn any_text_can_be_masked(text in "(\\PC|[-=:\"\\\\\n]|--api-key|eyJ|hf_|-----BEGIN PRIVATE KEY-----|name: HF_TOKEN){0,30}") {
        let _ = mask(&text);
        proptest::prop_assert_eq!(mask_lines_in_place(&text, 0..text.len()).len(), text.len());
        for start in (0..=text.len()).filter(|at| text.is_char_boundary(*at)) {
            let _ = mask_lines_in_place(&text, start..text.len());
        }
    }
}

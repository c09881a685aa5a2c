//! Files without ModelDeployments, as a repository has them beside its models.
//!
//! Each folder holds a hundred files, one of them a kustomization. Every tenth file contains a backslash: an escape
//! could spell our API group, so such a file cannot be skipped by a plain text search.

use kubefoundry_yaml::append_line;

/// Returns the path of the file with this number, relative to the corpus folder, and its text.
pub(super) fn file(number: usize) -> (String, String) {
    let folder = format!("team-{:03}", number / 100);
    if number.is_multiple_of(100) {
        let mut text = "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources:\n".to_owned();
        for at in number + 1..number + 100 {
            // Writing to a string does not fail.
            append_line!(text, "- app-{at:06}.yaml");
        }
        return (format!("{folder}/kustomization.yaml"), text);
    }
    (format!("{folder}/app-{number:06}.yaml"), objects(number))
}

fn objects(number: usize) -> String {
    let pattern = if number.is_multiple_of(10) { "^/api/v\\d+/" } else { "^/api/" };
    format!(
        "# What runs app {number}, and where it listens.
apiVersion: apps/v1
kind: Deployment
metadata:
  name: app-{number:06}
  labels: {{app: app-{number:06}}}
spec:
  replicas: {}
  selector:
    matchLabels: {{app: app-{number:06}}}
  template:
    metadata:
      labels: {{app: app-{number:06}}}
    spec:
      containers:
      - name: app
        image: registry.example.com/team/app:1.{}.0
        args: [--routes=/etc/app/routes.txt, --verbose]
        resources:
          requests: {{cpu: 250m, memory: 256Mi}}
        volumeMounts:
        - {{name: config, mountPath: /etc/app}}
      volumes:
      - name: config
        configMap: {{name: app-{number:06}}}
---
apiVersion: v1
kind: Service
metadata:
  name: app-{number:06}
spec:
  selector: {{app: app-{number:06}}}
  ports:
  - {{port: 80, targetPort: 8080}}
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: app-{number:06}
data:
  routes.txt: |
    # pattern, and where it leads
    {pattern} backend-{}
    ^/ static
",
        1 + number % 5,
        number % 40,
        number % 7
    )
}

"""Files without a ModelDeployment, in YAML styles that tools often rewrite."""

FOREIGN = """\
# head comment
apiVersion: v1
kind: ConfigMap # line comment
metadata: {name: 'foreign', labels: {app: "web"}}
data:
  # inside
  x: "true"
  y: 'z'
  z: {a: b}
"""

# Clients rewrite these parts with any function: blank lines, unusual indentation, and a comment at the end.
UGLY = FOREIGN + """\
# foot comment
---

apiVersion: v1
kind: Service

metadata:
    name: web
spec:
    ports:
        - port: 0x50
"""

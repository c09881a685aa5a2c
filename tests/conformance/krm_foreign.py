"""A file without objects of kubefoundry, in the styles that tools tend to rewrite."""

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

# What clients themselves rewrite, whatever the function: blank lines, other indentation, a comment at the end.
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

# The operator (docs/operator/install.md): one static program in an empty image.
#
# There was no Docker engine to build this with. What it makes of the image is tested without one: .ci/package runs the
# programs in an empty root, as user 999, with nothing else in it.
#
# The context is target/package/image, which .ci/package leaves; `kubefoundry-operator` in it is for x86-64.
#
#     docker build --file deploy/docker/operator.Dockerfile --tag kubefoundry-operator:0.1.0 target/package/image
FROM scratch
COPY --chmod=0755 kubefoundry-operator /usr/local/bin/kubefoundry-operator
COPY LICENSE /LICENSE
# By number: the image has no /etc/passwd, and pods that must not run as root are refused by name. The manifests say the same.
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/kubefoundry-operator"]

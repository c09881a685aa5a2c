# The operator (docs/operator/install.md): one static program in an empty image.
#
# The tests do not build this image. Instead, .ci/package runs the programs as user 999 in an empty root.
#
# The build context is target/package/image, which .ci/package creates; `kubefoundry-operator` in it is for x86-64.
#
#     docker build --file deploy/docker/operator.Dockerfile --tag kubefoundry-operator:0.1.0 target/package/image
FROM scratch
COPY --chmod=0755 kubefoundry-operator /usr/local/bin/kubefoundry-operator
COPY LICENSE /LICENSE
# By number: the image has no /etc/passwd, and pods that must not run as root are refused by name. The manifests say the same.
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/kubefoundry-operator"]

# The operator (docs/operator/install.md): one static program in an empty image.
#
# The build context is an unpacked archive of a release, for any architecture:
#
#     docker build --file deploy/docker/operator.Dockerfile --tag kubefoundry-operator:0.1.0 kubefoundry-0.1.0-x86_64-unknown-linux-gnu
#
# .ci/package builds it for x86_64 and aarch64, and runs it as user 65532 in an otherwise empty root.
FROM scratch
COPY --chmod=0755 kubefoundry-operator /usr/local/bin/kubefoundry-operator
COPY LICENSE NOTICE /
COPY sbom/kubefoundry-operator.cdx.json /usr/local/share/sbom/
# By number: the image has no /etc/passwd, and pods that must not run as root are refused by name. The manifests say the same.
USER 65532:65532
ENTRYPOINT ["/usr/local/bin/kubefoundry-operator"]

# The KRM function (docs of kustomize and kpt): one static program in an empty image.
#
# The build context is an unpacked archive of a release, for any architecture:
#
#     docker build --file deploy/docker/fn.Dockerfile --tag kubefoundry-fn:0.1.0 kubefoundry-0.1.0-x86_64-unknown-linux-gnu
#
# .ci/package builds it for x86_64 and aarch64, and runs it as user 999 in an otherwise empty root.
FROM scratch
COPY --chmod=0755 kubefoundry /usr/local/bin/kubefoundry-fn
COPY LICENSE NOTICE /
COPY sbom/kubefoundry.cdx.json /usr/local/share/sbom/
USER 999:999
ENTRYPOINT ["/usr/local/bin/kubefoundry-fn"]

# The sidecar of Argo CD's repo-server (docs/argocd.md): one static program in an empty image.
#
# The build context is an unpacked archive of a release, for any architecture:
#
#     docker build --file deploy/docker/argocd.Dockerfile --target plugin --tag kubefoundry-argocd:0.1.0 kubefoundry-0.1.0-x86_64-unknown-linux-gnu
#
# The build target plugin-with-kustomize also contains kustomize, for the parameter `kustomize`. Put a static one into the
# context:
# CGO_ENABLED=0 GOBIN=$PWD/kubefoundry-0.1.0-x86_64-unknown-linux-gnu go install sigs.k8s.io/kustomize/kustomize/v5@v5.8.2
#
# .ci/package builds the target plugin for x86_64 and aarch64, and runs it as user 999 in an otherwise empty root.
FROM scratch AS base
COPY --chmod=0755 kubefoundry /usr/local/bin/kubefoundry
COPY LICENSE NOTICE /
COPY sbom/kubefoundry.cdx.json /usr/local/share/sbom/
ENV PATH=/usr/local/bin
# By number: the image has no /etc/passwd. It is the user of the repo-server, which shares its sockets with the sidecar.
USER 999:999
# The sidecar starts argocd-cmp-server, which Argo CD's own volume brings. In an empty image that has to be static too, as it
# is when Argo CD is built without cgo; with one that is not, put this program into an image that has its libraries.
ENTRYPOINT ["/usr/local/bin/kubefoundry"]

FROM base AS plugin-with-kustomize
COPY --chmod=0755 kustomize /usr/local/bin/kustomize

FROM base AS plugin

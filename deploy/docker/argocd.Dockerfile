# The sidecar of Argo CD's repo-server (docs/argocd.md): one static program in an empty image.
#
# The tests do not build this image. Instead, .ci/package runs the program as user 999 in an empty root.
#
# The build context is target/package/image, which .ci/package creates; `kubefoundry` in it is for x86-64.
#
#     docker build --file deploy/docker/argocd.Dockerfile --target plugin --tag kubefoundry-argocd:0.1.0 target/package/image
#
# The build target plugin-with-kustomize also contains kustomize, for the parameter `kustomize`. Put a static one into the
# context:
# CGO_ENABLED=0 GOBIN=$PWD/target/package/image go install sigs.k8s.io/kustomize/kustomize/v5@v5.8.2
FROM scratch AS base
COPY --chmod=0755 kubefoundry /usr/local/bin/kubefoundry
COPY LICENSE /LICENSE
ENV PATH=/usr/local/bin
# By number: the image has no /etc/passwd. It is the user of the repo-server, which shares its sockets with the sidecar.
USER 999:999
# The sidecar starts argocd-cmp-server, which Argo CD's own volume brings. In an empty image that has to be static too, as it
# is when Argo CD is built without cgo; with one that is not, put this program into an image that has its libraries.
ENTRYPOINT ["/usr/local/bin/kubefoundry"]

FROM base AS plugin-with-kustomize
COPY --chmod=0755 kustomize /usr/local/bin/kustomize

FROM base AS plugin

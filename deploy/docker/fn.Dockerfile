# The KRM function (docs of kustomize and kpt): one static program in an empty image.
#
# There was no Docker engine to build this with. What it makes of the image is tested without one: .ci/package runs the
# programs in an empty root, as user 999, with nothing else in it.
#
# The context is target/package/image, which .ci/package leaves; `kubefoundry-fn` in it is for x86-64.
#
#     docker build --file deploy/docker/fn.Dockerfile --tag kubefoundry-fn:0.1.0 target/package/image
FROM scratch
COPY --chmod=0755 kubefoundry-fn /usr/local/bin/kubefoundry-fn
COPY LICENSE /LICENSE
USER 999:999
ENTRYPOINT ["/usr/local/bin/kubefoundry-fn"]

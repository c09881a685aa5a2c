# The KRM function (docs of kustomize and kpt): one static program in an empty image.
#
# The tests do not build this image. Instead, .ci/package runs the programs as user 999 in an empty root.
#
# The build context is target/package/image, which .ci/package creates; `kubefoundry-fn` in it is for x86-64.
#
#     docker build --file deploy/docker/fn.Dockerfile --tag kubefoundry-fn:0.1.0 target/package/image
FROM scratch
COPY --chmod=0755 kubefoundry-fn /usr/local/bin/kubefoundry-fn
COPY LICENSE /LICENSE
USER 999:999
ENTRYPOINT ["/usr/local/bin/kubefoundry-fn"]

# The command line: one static program in an empty image.
#
# The build context is an unpacked archive of a release, for any architecture:
#
#     docker build --file deploy/docker/kubefoundry.Dockerfile --tag kubefoundry:0.1.0 kubefoundry-0.1.0-x86_64-unknown-linux-gnu
#
# .ci/package builds it for x86_64 and aarch64, and runs it as user 65532 in an otherwise empty root.
FROM scratch
COPY --chmod=0755 kubefoundry /usr/local/bin/kubefoundry
COPY LICENSE NOTICE /
COPY sbom/kubefoundry.cdx.json /usr/local/share/sbom/
# For who copies the program out of the image, as Dockerfiles do with `COPY --from`.
COPY man /usr/local/share/man/man1/
COPY completions/kubefoundry.bash /usr/local/share/bash-completion/completions/kubefoundry
COPY completions/_kubefoundry /usr/local/share/zsh/site-functions/
COPY completions/kubefoundry.fish /usr/local/share/fish/vendor_completions.d/
# By number: the image has no /etc/passwd, and pods that must not run as root are refused by name.
USER 65532:65532
WORKDIR /work
ENTRYPOINT ["/usr/local/bin/kubefoundry"]

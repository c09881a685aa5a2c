# Copies the configuration of a llama-stack distribution to where the merge reads it. `find_config` reads the environment.
#
# This text is the same for every distribution.
set -e
set -f
umask 002
target=${LLS_ROOT:-}/opt/llama-stack/base-config
find_config
if [ -z "$config" ]; then
  {
    printf '%s\n' 'ERROR: No run.yaml found in distribution image' 'Checked paths:'
    printf '%s' "$checked"
    printf '%s\n' '' 'Resolution: Either provide a user ConfigMap with run.yaml or use a distribution image that includes run.yaml'
  } >&2
  exit 1
fi
printf '%s\n' "Found run.yaml at ${config#"${LLS_ROOT:-}"}"
if ! cp "$config" "$target/run.yaml"; then
  {
    printf '%s\n' "ERROR: Cannot copy ${config#"${LLS_ROOT:-}"} to /opt/llama-stack/base-config/run.yaml" ''
    printf '%s\n' 'Init Container: extract-distribution-config' ''
    printf '%s\n' 'Resolution: Use a distribution image whose run.yaml every user may read, and a group that may write to the volume (securityContext.fsGroup).'
  } >&2
  exit 1
fi
chmod 0664 "$target/run.yaml"

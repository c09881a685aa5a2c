# Copies the run.yaml of a llama-stack distribution to where the merge reads it.
#
# This text is the same for every distribution.
#   LLS_EXTRA_BASE_CONFIGS  further paths to look at, one a line; may be unset
#   LLS_ROOT                a directory before all paths, for tests; unset in a pod
set -e
set -f
umask 002
target=${LLS_ROOT:-}/opt/llama-stack/base-config
IFS='
'
set -- /opt/app-root/run.yaml /etc/llama-stack/run.yaml ${LLS_EXTRA_BASE_CONFIGS-}
for path do
  if [ -f "${LLS_ROOT:-}$path" ]; then
    printf '%s\n' "Found run.yaml at $path"
    if ! cp "${LLS_ROOT:-}$path" "$target/run.yaml"; then
      {
        printf '%s\n' "ERROR: Cannot copy $path to /opt/llama-stack/base-config/run.yaml" ''
        printf '%s\n' 'Resolution: Use a distribution image whose run.yaml every user may read, and a group that may write to the volume (securityContext.fsGroup).'
      } >&2
      exit 1
    fi
    chmod 0664 "$target/run.yaml"
    exit 0
  fi
done
{
  printf '%s\n' 'ERROR: No run.yaml found in distribution image' 'Checked paths:'
  for path do
    printf '%s\n' "  - $path (not found)"
  done
  printf '%s\n' '' 'Resolution: Either provide a user ConfigMap with run.yaml or use a distribution image that includes run.yaml'
} >&2
exit 1

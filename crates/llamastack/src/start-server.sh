# Starts a llama-stack server.
#
# This text is the same for every server. What differs comes as environment variables, and is never a part of it:
#   LLAMA_STACK_CONFIG    the configuration
#   LLS_CONFIG_PATHS      instead: where it may be, one path a line; the first that is there counts
#   LLS_EXTRA_PROVIDERS   a file with external providers, for a server that merges them itself; may be unset
#   LLS_PREFLIGHT         auto, required, or off, as when it is unset
#   LLS_START             `run` for `llama stack run`; otherwise as the installed version is started
#   LLS_PORT, LLS_WORKERS the port, and the number of processes
# Its arguments are the user's: the server gets them behind its own, so that they win.
#
# Kubernetes expands a dollar sign before a parenthesis, and makes one of two, before a shell sees them: neither is here.
set -e
set -f

fail() {
  printf '%s\n' "ERROR: $1" '' "Resolution: $2" >&2
  exit 1
}

config=${LLAMA_STACK_CONFIG:-/etc/llama-stack/config.yaml}
if [ -n "${LLS_CONFIG_PATHS:-}" ]; then
  config=
  separator=$IFS
  IFS='
'
  for path in $LLS_CONFIG_PATHS; do
    if [ -z "$config" ] && [ -f "$path" ]; then
      config=$path
    fi
  done
  IFS=$separator
  if [ -z "$config" ]; then
    fail 'No run.yaml found in distribution image' \
      'Either provide a user ConfigMap with run.yaml or use a distribution image that includes run.yaml'
  fi
fi
LLAMA_STACK_CONFIG=$config
export LLAMA_STACK_CONFIG
port=${LLS_PORT:-8321}

preflight=${LLS_PREFLIGHT:-off}
if [ "$preflight" != off ]; then
  if llama-stack preflight --help >/dev/null 2>&1; then
    llama-stack preflight --run-yaml="$config"
  elif [ "$preflight" = required ]; then
    fail 'This distribution has no llama-stack preflight, which is required before the server starts' \
      'Use a distribution that has it, or set llamaStack.preflight to auto in the options of kubefoundry.'
  else
    printf '%s\n' 'NOTICE: This distribution has no llama-stack preflight: external providers are not checked before the server starts.' >&2
  fi
fi

if [ "${LLS_START:-}" = run ]; then
  if [ -n "${LLS_EXTRA_PROVIDERS:-}" ]; then
    set -- --extra-providers "$LLS_EXTRA_PROVIDERS" "$@"
  fi
  if [ "$port" != 8321 ]; then
    set -- --port "$port" "$@"
  fi
  exec llama stack run "$config" "$@"
fi

# Up to 0.2.16 the module had another name, up to 0.2.x it started the server itself, since 0.3.0 uvicorn does.
version=0
python3 -c '
import re
import sys
from importlib.metadata import version

found = version("llama_stack")
numbers = [int(part) for part in re.findall(r"\d+", re.split(r"[^0-9.]", found)[0])]
numbers = (numbers + [0, 0, 0])[:3]
print("Found llama-stack version", found, file=sys.stderr)
sys.exit(10 if numbers < [0, 2, 17] else 11 if numbers < [0, 3, 0] else 12)
' || version=$?
case $version in
10) exec python3 -m llama_stack.distribution.server.server --config "$config" "$@" ;;
11) exec python3 -m llama_stack.core.server.server "$config" "$@" ;;
12) ;;
*) printf '%s\n' 'NOTICE: The version of llama-stack is not known: started as 0.3.0.' >&2 ;;
esac
exec uvicorn llama_stack.core.server.server:create_app --host 0.0.0.0 --port "$port" --workers "${LLS_WORKERS:-1}" --factory "$@"

# find_python: sets `python` to the Python that has llama-stack. On images of UBI it is `python`, and `python3` is another.
python=
find_python() {
  for name in python3 python; do
    if [ -z "$python" ] && command -v "$name" >/dev/null 2>&1 &&
      "$name" -c 'import importlib.util, sys; sys.exit(importlib.util.find_spec("llama_stack") is None)' 2>/dev/null; then
      python=$name
    fi
  done
}

# find_config: sets `config` to the configuration that a distribution's image comes with, and `checked` to all paths that
# were tried, one a line. Images of 0.2 have it at /app/run.yaml; later ones name a file in RUN_CONFIG_PATH, or have only
# that of the Python package, by the name of the distribution in DISTRO_NAME.
#   LLS_EXTRA_BASE_CONFIGS  further paths to look at, one a line; may be unset
#   LLS_DISTRIBUTION        the name of the distribution where the image has no DISTRO_NAME; may be unset
#   LLS_ROOT                a directory before all paths, for tests; unset in a pod
find_config() {
  config=
  checked=
  separator=$IFS
  IFS='
'
  set -- /opt/app-root/run.yaml /etc/llama-stack/run.yaml ${LLS_EXTRA_BASE_CONFIGS-} ${RUN_CONFIG_PATH-} /app/run.yaml
  for path do
    if [ -z "$config" ]; then
      checked="$checked  - $path (not found)
"
      if [ -f "${LLS_ROOT:-}$path" ]; then
        config=${LLS_ROOT:-}$path
      fi
    fi
  done
  distribution=${DISTRO_NAME:-${LLS_DISTRIBUTION:-}}
  if [ -z "$config" ] && [ -n "$distribution" ]; then
    find_python
    if [ -z "$python" ]; then
      checked="$checked  - llama_stack/distributions/$distribution/config.yaml (no Python of the image has llama-stack)
"
    else
      # Since 0.2.17 the folder is `distributions`, and since 0.4.0 the file is `config.yaml`.
      set -- `"$python" -c '
import importlib.util, os, sys

for place in importlib.util.find_spec("llama_stack").submodule_search_locations:
    for folder in ("distributions", "templates"):
        for file in ("config.yaml", "run.yaml"):
            print(os.path.join(place, folder, sys.argv[1], file))
' "$distribution"`
      for path do
        if [ -z "$config" ]; then
          checked="$checked  - $path (not found)
"
          if [ -f "$path" ]; then
            config=$path
          fi
        fi
      done
    fi
  fi
  IFS=$separator
}

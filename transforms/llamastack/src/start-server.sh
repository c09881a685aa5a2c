# Starts a llama-stack server.
#
# This text is the same for every server. What differs comes as environment variables, and is never a part of it:
#   LLAMA_STACK_CONFIG    the configuration
#   LLS_CONFIG_PATHS      instead: where it may be, one path a line; the first that is there counts. If both are unset
#                         with LLS_EXTRA_PROVIDERS, it is that of the image, by `find_config`
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
    fail 'No configuration found in the user ConfigMap' 'Put run.yaml into the user ConfigMap.'
  fi
elif [ -z "${LLAMA_STACK_CONFIG:-}" ] && [ -n "${LLS_EXTRA_PROVIDERS:-}" ]; then
  find_config
  if [ -z "$config" ]; then
    fail "No run.yaml found in distribution image
Checked paths:
$checked" 'Either provide a user ConfigMap with run.yaml or use a distribution image that includes run.yaml'
  fi
fi
port=${LLS_PORT:-8321}

# The server imports the module of each provider, and would fail without the name of a provider or an image.
if [ -d "${LLS_ROOT:-}/opt/llama-stack/external-providers/metadata" ]; then
  find_python
  if [ -z "$python" ]; then
    printf '%s\n' 'NOTICE: No Python of this image has llama-stack: external providers are not imported before the server starts.' >&2
  else
    adapted=`"$python" -c '
import importlib, json, os, shutil, sys, tempfile

# What a module prints while it is imported is no result.
output, sys.stdout = sys.stdout, sys.stderr
metadata = os.environ.get("LLS_ROOT", "") + "/opt/llama-stack/external-providers/metadata"
own = "cp%d%d" % sys.version_info[:2]
quote = chr(39)


def read(provider, name):
    with open(os.path.join(metadata, provider, name), encoding="utf-8") as file:
        return file.read()


def fail(entry, reason, details, resolution):
    who = ["Provider: " + entry["providerId"], "Image: " + str(entry.get("image", "(unknown)"))]
    print("ERROR: " + reason, "", *who, "", *details, "", "Resolution: " + resolution, sep="\n")
    sys.exit(1)


def fits(wheel):
    pythons, abis = (part.split(".") for part in wheel[: -len(".whl")].split("-")[-3:-1])
    if "abi3" in abis:
        return any(tag[:3] == "cp3" and tag[3:].isdigit() and int(tag[3:]) <= sys.version_info[1] for tag in pythons)
    return own in abis or ("none" in abis and any(tag == own or tag.startswith("py") for tag in pythons))


def check_python(entry):
    try:
        found = json.loads(read(entry["directory"], "python.json"))
    except FileNotFoundError:
        return
    others = [wheel for wheel in found["native"] if not fits(wheel)]
    if others and sys.implementation.name == "cpython":
        version = "%d.%d" % sys.version_info[:2]
        fail(
            entry,
            "Provider " + quote + entry["providerId"] + quote + " has native code for another Python than that of the server",
            ["Expected: " + own + " (the server has Python " + version + ")", "Found: " + ", ".join(others) + " (installed by Python " + found["python"] + ")"],
            "Build the provider image on Python " + version + ", with wheels for it.",
        )


def provider_specs(entry):
    module = entry["package"].split("==")[0] + ".provider"
    resolution = (
        "Build the provider image with a wheel that has " + module.replace(".", "/") + ".py with get_provider_spec() in it, "
        "and with every package that it imports in /lls-provider/packages/."
    )
    try:
        specs = importlib.import_module(module).get_provider_spec()
        specs = specs if isinstance(specs, list) else [specs]
        return [(spec, spec.provider_type, getattr(spec.api, "value", spec.api)) for spec in specs]
    except Exception as error:
        reason = "Cannot get the specification of provider " + quote + entry["providerId"] + quote + " from get_provider_spec() of " + module
        fail(entry, reason, [type(error).__name__ + ": " + str(error)], resolution)


def compare(entry, provider_type, api):
    fields = [("provider_type", entry["type"], provider_type), ("api", entry["api"], api)]
    if all(one == other for _, one, other in fields):
        return
    print("WARNING: Provider metadata mismatch (non-blocking)", "", "Provider: " + entry["providerId"], sep="\n")
    for field, one, other in fields:
        verdict = "Match \u2713" if one == other else "Using: " + other + " (runtime value)"
        lines = ["", "Field: " + field, "  Metadata (lls-provider-spec.yaml): " + one, "  Runtime (get_provider_spec()): " + other, "  " + verdict]
        print("\n".join(lines).encode(sys.stdout.encoding or "ascii", "replace").decode(sys.stdout.encoding or "ascii"))


def takes_modules():
    for place in ("llama_stack.core.datatypes", "llama_stack.distribution.datatypes"):
        try:
            return "module" in importlib.import_module(place).Provider.model_fields
        except ImportError:
            pass
    return True


def describe(spec):
    spec = getattr(spec, "adapter", None) or spec
    fields = ("module", "config_class", "pip_packages", "provider_data_validator")
    return {field: getattr(spec, field) for field in fields if getattr(spec, field, None)}


def adapt(chosen, path, yaml):
    folder = tempfile.mkdtemp(prefix="llama-stack-")
    with open(path, encoding="utf-8") as file:
        config = yaml.safe_load(file)
    providers = os.path.join(folder, "providers.d")
    before = config.get("external_providers_dir")
    if before and os.path.isdir(os.path.expanduser(before)):
        shutil.copytree(os.path.expanduser(before), providers)
    for entry, spec, provider_type in chosen:
        kind, name = provider_type.split("::", 1)
        described = describe(spec)
        dependencies = {
            field: [getattr(api, "value", api) for api in getattr(spec, field, None) or []]
            for field in ("api_dependencies", "optional_api_dependencies")
        }
        if kind == "remote":
            described = {"adapter": dict(described, adapter_type=name)}
        place = os.path.join(providers, kind, entry["api"])
        os.makedirs(place, exist_ok=True)
        with open(os.path.join(place, name + ".yaml"), "w", encoding="utf-8") as file:
            yaml.safe_dump(dict(described, **dependencies), file)
    for section in config["providers"].values():
        for provider in section or []:
            if provider.pop("module", None):
                provider.setdefault("config", {})
    config["external_providers_dir"] = providers
    adapted = os.path.join(folder, "run.yaml")
    with open(adapted, "w", encoding="utf-8") as file:
        yaml.safe_dump(config, file, sort_keys=False)
    print(adapted, file=output)


entries = []
for directory in sorted(os.listdir(metadata)):
    if not directory.startswith("."):
        entry = json.loads(read(directory, "crd-config.yaml"))
        entries.append(dict(entry, directory=directory))
entries.sort(key=lambda entry: (entry.get("order", 0), entry["providerId"]))
for entry in entries:
    check_python(entry)
import yaml

chosen = []
for entry in entries:
    spec = yaml.safe_load(read(entry["directory"], "lls-provider-spec.yaml"))["spec"]
    entry.update(package=spec["packageName"], type=spec["providerType"])
    specs = provider_specs(entry)
    same = [it for it in specs if it[1] == entry["type"]] or specs
    if not same:
        fail(entry, "get_provider_spec() of provider " + quote + entry["providerId"] + quote + " returned an empty list", [], "Return a ProviderSpec.")
    compare(entry, same[0][1], same[0][2])
    chosen.append((entry, same[0][0], same[0][1]))
# Up to 0.2.15 llama-stack reads descriptions of external providers from a directory, and not the modules themselves.
if chosen and not takes_modules():
    adapt(chosen, sys.argv[1], yaml)
' "$config"`
    if [ -n "$adapted" ]; then
      config=$adapted
    fi
  fi
fi
LLAMA_STACK_CONFIG=$config
export LLAMA_STACK_CONFIG

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

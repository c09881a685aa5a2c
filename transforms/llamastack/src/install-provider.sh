# Installs one external provider of a llama-stack server into the volume that all of the pod's containers share.
#
# This text is the same for every provider. What differs comes as environment variables, and is never a part of it:
#   LLS_PROVIDER_ID      what the provider is called in the server
#   LLS_PROVIDER_IMAGE   the image that this runs in, for messages and for the merge
#   LLS_PROVIDER_API     the API under which it was listed, as run.yaml spells it
#   LLS_PROVIDER_ORDER   its place among all external providers, counted from 0
#   LLS_PROVIDER_CONFIG  its settings as one line of JSON; unset when it has none
#   LLS_ROOT             a directory before all paths, for tests; unset in a pod
#
# Kubernetes expands a dollar sign before a parenthesis, and makes one of two, before a shell sees them: neither is here.
set -e
umask 002
LC_ALL=C
export LC_ALL

id=$LLS_PROVIDER_ID
image=$LLS_PROVIDER_IMAGE
api=$LLS_PROVIDER_API
order=$LLS_PROVIDER_ORDER
container=external-provider-$id
package=${LLS_ROOT:-}/lls-provider
shared=${LLS_ROOT:-}/opt/llama-stack/external-providers
installed=$shared/installed-packages.txt
work=

say() { printf '%s\n' "$@"; }

# fail REASON RESOLUTION [DETAIL...]: everything that an error has to name, and what to do about it.
fail() {
  reason=$1
  resolution=$2
  shift 2
  {
    say "ERROR: $reason" '' "Provider: $id" "Image: $image" "Init Container: $container" ''
    if [ "$#" -gt 0 ]; then say "$@" ''; fi
    say "Resolution: $resolution"
  } >&2
  exit 1
}

# conflict TITLE FILE: packages that cannot be installed together; the file says which.
conflict() {
  {
    say "ERROR: Cannot install provider '$id' due to dependency conflict" ''
    say "Provider: $id" "Image: $image" "Init Container: $container" ''
    say "$1"
    cat "$2"
    say '' 'Previously installed packages can be found in: /opt/llama-stack/external-providers/installed-packages.txt' ''
    say "Resolution: Update provider images to use compatible dependency versions, or reorder providers in the CRD if one provider's dependencies are a superset of another's."
  } >&2
  exit 1
}

# The names become paths and YAML. Who wrote the pod has checked them; a pod that was changed since is not trusted.
case $id in
'' | *[!a-z0-9-]* | -* | *-) fail 'LLS_PROVIDER_ID is not a provider id' 'Use lower-case letters, digits and -, with a letter or digit at both ends.' ;;
esac
case $api in
'' | *[!a-z_]*) fail 'LLS_PROVIDER_API is not an API name' 'Name the API as run.yaml spells it, such as vector_io.' ;;
esac
case $order in
'' | *[!0-9]*) fail 'LLS_PROVIDER_ORDER is not a number' 'Number the providers from 0.' ;;
esac
case $image in
'' | *[[:cntrl:]]*) fail 'LLS_PROVIDER_IMAGE is not an image reference' 'Name the image in one line.' ;;
esac
case ${LLS_PROVIDER_CONFIG-} in
*[[:cntrl:]]*) fail 'LLS_PROVIDER_CONFIG is not one line of JSON' 'Write the settings as JSON without line breaks.' ;;
esac

say "Installing external provider: $id"

if [ ! -f "$package/lls-provider-spec.yaml" ]; then
  fail "Missing /lls-provider/lls-provider-spec.yaml in image $image" \
    'Build the provider image with its metadata file at this path.'
fi
if [ ! -r "$package/lls-provider-spec.yaml" ]; then
  fail "Cannot read /lls-provider/lls-provider-spec.yaml in image $image" \
    'Build the provider image with files that every user may read (chmod -R a+rX /lls-provider).'
fi
if [ ! -d "$package/packages" ]; then
  fail "Missing /lls-provider/packages/ directory in image $image" \
    'Build the provider image with its wheels in this directory.'
fi
if [ ! -r "$package/packages" ] || [ ! -x "$package/packages" ]; then
  fail "Cannot read /lls-provider/packages/ in image $image" \
    'Build the provider image with files that every user may read (chmod -R a+rX /lls-provider).'
fi
set -- "$package"/packages/*.whl
if [ ! -e "$1" ]; then
  fail "No wheel (*.whl) in /lls-provider/packages/ of image $image" \
    'Build the provider image with the wheels of the provider and of all its dependencies; nothing is downloaded.'
fi
for wheel do
  if [ ! -f "$wheel" ] || [ ! -r "$wheel" ]; then
    fail "Cannot read /lls-provider/packages/${wheel##*/} in image $image" \
      'Build the provider image with files that every user may read (chmod -R a+rX /lls-provider).'
  fi
done
# Work is done beside its target, so that what is ready can be moved there, and nothing is left of what failed.
if ! mkdir -p "$shared/python-packages" "$shared/metadata" 2>/dev/null || [ ! -w "$shared" ] ||
  [ ! -w "$shared/python-packages" ] || [ ! -w "$shared/metadata" ]; then
  fail 'Cannot write to /opt/llama-stack/external-providers' \
    'Run the containers of the pod with a group that may write to the volume (securityContext.fsGroup).'
fi
work=$shared/.installing-$id
rm -rf "$work"
trap 'rm -rf "$work"' EXIT
mkdir "$work" "$work/tmp" "$work/python-packages"

# The wheel that the metadata names, where that can be told without a YAML reader: no anchor, tag, alias, block, escape or
# comment. The merge reads the file in earnest.
sed -n 's/^ *wheelPath: *//p' "$package/lls-provider-spec.yaml" | sed -n -e '/^[]&!*|>{}#[]/d' -e '/^".*\\/d' -e 's/ #.*//' \
  -e 's/[[:space:]]*$//' -e "s/^'\(.*\)'\$/\1/" -e 's/^"\(.*\)"$/\1/' -e 1p >"$work/wheel-path"
main=
if IFS= read -r wheel <"$work/wheel-path" && [ -n "$wheel" ]; then
  main=$wheel
  case $wheel in
  /*) place=${LLS_ROOT:-}$wheel ;;
  *) place=$package/$wheel ;;
  esac
  if [ ! -f "$place" ]; then
    fail "spec.wheelPath is $wheel, and image $image has no such file" \
      'Name the wheel of the provider, relative to /lls-provider or as an absolute path.'
  fi
fi

for wheel do
  file=${wheel##*/}
  case $file in
  *-*-*-*-*.whl) ;;
  *)
    fail "/lls-provider/packages/$file of image $image is not named as a wheel" \
      'Keep the file name that the wheel was built with: NAME-VERSION-PYTHON-ABI-PLATFORM.whl.'
    ;;
  esac
done

# find_python: sets `python` to one that has pip: the usual one, or that of the program pip.
python=
has_pip() { command -v "$1" >/dev/null 2>&1 && "$1" -m pip --version >/dev/null 2>&1; }
find_python() {
  for name in python3 python; do
    if [ -z "$python" ] && has_pip "$name"; then python=$name; fi
  done
  for name in pip pip3; do
    if [ -z "$python" ] && command -v "$name" >"$work/pip"; then
      IFS= read -r file <"$work/pip"
      IFS= read -r line <"$file" || :
      if has_pip "${line#'#!'}"; then python=${line#'#!'}; fi
    fi
  done
}
find_python
if [ -z "$python" ]; then
  fail "Missing pip in image $image" 'Build the provider image on one that has Python and pip.'
fi

say 'Installing provider packages...'
# Settings of the image are for its own packages: another index, another target, or links to packages that are not bundled.
env | sed -n 's/^\(PIP_[A-Z0-9_]*\)=.*/\1/p' >"$work/variables"
while IFS= read -r name; do unset "$name"; done <"$work/variables"
TMPDIR=$work/tmp
PIP_CONFIG_FILE=/dev/null
PIP_ROOT_USER_ACTION=ignore
export TMPDIR PIP_CONFIG_FILE PIP_ROOT_USER_ACTION
install() {
  "$python" -m pip install "$@" --target "$work/python-packages" --no-index --find-links "$package/packages" \
    --no-cache-dir --disable-pip-version-check >"$work/pip-output" 2>"$work/pip-errors"
}
if ! install "$@"; then
  # pip says which requirements conflict on its standard output.
  sed -n '/^The conflict is caused by/,/^To fix this/p' "$work/pip-output" | sed -e '/^To fix this/d' -e '/^ *$/d' >"$work/causes"
  cat "$work/pip-errors" >>"$work/causes"
  if grep -q -e ResolutionImpossible -e 'conflicting dependencies' "$work/pip-errors"; then
    conflict 'Pip installation failed with:' "$work/causes"
  fi
  {
    say "ERROR: Cannot install provider '$id'" ''
    say "Provider: $id" "Image: $image" "Init Container: $container" ''
    say 'Pip installation failed with:'
    cat "$work/causes"
    say '' 'Resolution: Check wheel compatibility: the wheels must be for the Python version and the platform of the server, and /lls-provider/packages/ must hold every dependency.'
  } >&2
  exit 1
fi
cat "$work/pip-output"
cat "$work/pip-errors" >&2

# pip installs into a directory without a look at what is there already. A package that another provider installed stays,
# in its version, if that meets all requirements of this provider; otherwise the two providers exclude each other. What
# this very provider installed, when its container started before, is not recorded twice.
status=0
LLS_WHEEL=${main##*/} "$python" -c '
import json, os, sys
from importlib.metadata import distributions

try:
    from pip._vendor.packaging.requirements import Requirement
    from pip._vendor.packaging.utils import canonicalize_name
    from pip._vendor.packaging.version import InvalidVersion, Version
except ImportError:
    from packaging.requirements import Requirement
    from packaging.utils import canonicalize_name
    from packaging.version import InvalidVersion, Version

work, shared, wheels = sys.argv[1], sys.argv[2], sys.argv[3:]
own = os.environ["LLS_PROVIDER_ID"]
image = os.environ["LLS_PROVIDER_IMAGE"]
quote = chr(39)


def read(place):
    found = {}
    for distribution in distributions(path=[place]):
        name = distribution.metadata["Name"]
        if name:
            found[canonicalize_name(name)] = distribution
    return found


def version(text):
    try:
        return Version(text)
    except InvalidVersion:
        return text


def spelled(distribution):
    return distribution.metadata["Name"] + "==" + distribution.version


def write(name, lines):
    with open(os.path.join(work, name), "w") as file:
        file.writelines(line + "\n" for line in lines)


new, old = read(os.path.join(work, "python-packages")), read(os.path.join(shared, "python-packages"))
others, owners, owner = [], {}, ""
try:
    with open(os.path.join(shared, "installed-packages.txt")) as file:
        lines = file.read().splitlines()
except FileNotFoundError:
    lines = []
for line in lines:
    if line.startswith("# Provider: "):
        owner = line[len("# Provider: "):]
    if owner.startswith(quote + own + quote + " "):
        continue
    others.append(line)
    if "==" in line and not line.startswith("#"):
        owners.setdefault(canonicalize_name(line.split("==")[0]), owner)
kept = {name for name in new if name in old and version(new[name].version) != version(old[name].version)}
# Without a readable spec.wheelPath, what no other wheel requires is taken for the provider itself.
mains = {canonicalize_name(os.environ["LLS_WHEEL"].split("-")[0])}
if not os.environ["LLS_WHEEL"]:
    required = {canonicalize_name(Requirement(text).name) for it in new.values() for text in it.requires or []}
    mains = set(new) - required


def refusal(name):
    by = owners.get(name, quote + own + quote + " (when its container started before)")
    return [
        "ERROR: Cannot install " + spelled(new[name]) + " of provider " + quote + own + quote + " (image: " + image + ")",
        "because provider " + by + " installed " + spelled(old[name]),
    ]


problems = []
for name in sorted(mains & kept):
    problems += refusal(name)
pending, seen = [(name, "") for name in sorted(new) if name not in kept], set()
while pending:
    name, extra = pending.pop(0)
    if (name, extra) in seen:
        continue
    seen.add((name, extra))
    distribution = old[name] if name in kept or name not in new else new[name]
    for text in distribution.requires or []:
        requirement = Requirement(text)
        if requirement.marker and not requirement.marker.evaluate({"extra": extra}):
            continue
        needed = canonicalize_name(requirement.name)
        found = old.get(needed) if needed in kept or needed not in new else new[needed]
        required = spelled(distribution) + " requires " + text.split(";")[0].strip()
        if found is None:
            problems += ["ERROR: " + required + ", which is not in /lls-provider/packages/ of image " + image]
        elif not requirement.specifier.contains(found.version, prereleases=True):
            reason = refusal(needed) if needed in kept else ["ERROR: " + spelled(found) + " is installed"]
            problems += reason + ["and " + required]
        else:
            pending += [(needed, wanted) for wanted in sorted(requirement.extras)]
write("conflicts", problems)
write("kept", sorted("Kept " + spelled(old[name]) + " of provider " + owners.get(name, quote + own + quote) + " instead of " + spelled(new[name]) for name in kept))
keep = [wheel for wheel in wheels if canonicalize_name(os.path.basename(wheel).split("-")[0]) not in kept]
write("wheels", keep)
parts = [os.path.basename(wheel).split("-") for wheel in keep]
record = sorted(part[0] + "==" + part[1] for part in parts)
record += sorted("# kept " + spelled(old[name]) + " instead of " + new[name].version for name in kept)
write("installed", others + ["# Provider: " + quote + own + quote + " (image: " + image + ")"] + sorted(set(record), key=record.index))
# What the start of the server compares with its own Python: wheels with native code are for one version.
native = sorted(os.path.basename(wheel) for wheel in keep if not wheel.endswith("-none-any.whl"))
with open(os.path.join(work, "python.json"), "w") as file:
    json.dump({"python": "%d.%d" % sys.version_info[:2], "native": native}, file)
' "$work" "$shared" "$@" 2>"$work/errors" || status=$?
if [ "$status" -ne 0 ]; then
  cat "$work/errors" >&2
  fail 'Cannot compare the packages with those of other providers' \
    'Build the provider image with Python 3.8 or later and the pip that comes with it, from wheels with valid metadata.'
fi
if [ -s "$work/conflicts" ]; then
  conflict 'Packages of another provider do not meet the requirements:' "$work/conflicts"
fi
if [ -s "$work/kept" ]; then
  cat "$work/kept"
  rm -rf "$work/python-packages"
  mkdir "$work/python-packages"
  set --
  while IFS= read -r wheel; do set -- "$@" "$wheel"; done <"$work/wheels"
  if ! install --no-deps "$@"; then
    cat "$work/pip-errors" >&2
    fail 'Cannot install the packages that other providers do not have' 'Check wheel compatibility.'
  fi
fi

# join FROM INTO: moves what is not there yet. Providers may share packages, and namespaces of packages: `pip --target`
# would leave out the second provider's part of a namespace.
join() {
  for entry in "$1"/* "$1"/.[!.]*; do
    if [ ! -e "$entry" ] && [ ! -L "$entry" ]; then continue; fi
    if [ ! -e "$2/${entry##*/}" ] && [ ! -L "$2/${entry##*/}" ]; then
      mv "$entry" "$2/"
    elif [ -d "$entry" ] && [ -d "$2/${entry##*/}" ]; then
      if [ ! -w "$2/${entry##*/}" ]; then
        fail "Cannot write to python-packages/${entry##*/} of another provider" \
          'Run the containers of the pod with a group that may write to the volume (securityContext.fsGroup).'
      fi
      join "$entry" "$2/${entry##*/}"
    else
      differ "$entry" "$2/${entry##*/}"
    fi
  done
}
# A file of two packages; the first stays, as with pip. Of what pip itself makes, copies differ without a meaning.
differ() {
  case $1 in
  */__pycache__/* | *.dist-info/*) return 0 ;;
  esac
  status=0
  cmp -s "$1" "$2" 2>/dev/null || status=$?
  if [ "$status" -eq 1 ]; then
    say "WARNING: ${2#"$shared"/} is in packages of two providers with different content; the first one stays" >&2
  fi
}
join "$work/python-packages" "$shared/python-packages"

# JSON is YAML. What is not checked above is the image's backslashes and quotes.
say "$image" | sed -e 's/\\/\\\\/g' -e 's/"/\\"/g' >"$work/image"
IFS= read -r quoted <"$work/image"
cp "$package/lls-provider-spec.yaml" "$work/lls-provider-spec.yaml"
{
  say '{' "  \"providerId\": \"$id\"," "  \"api\": \"$api\","
  if [ -n "${LLS_PROVIDER_CONFIG+set}" ]; then say "  \"config\": $LLS_PROVIDER_CONFIG,"; fi
  say "  \"order\": $order," "  \"image\": \"$quoted\"" '}'
} >"$work/crd-config.yaml"
chmod 0664 "$work/lls-provider-spec.yaml" "$work/crd-config.yaml" "$work/python.json" "$work/installed"
mkdir -p "$shared/metadata/$id"
# A file that is moved replaces one of another user, which cannot be written to.
for file in lls-provider-spec.yaml crd-config.yaml python.json; do mv -f "$work/$file" "$shared/metadata/$id/$file"; done
mv -f "$work/installed" "$installed"

say "Successfully installed provider: $id"

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

# conflict FILE: packages that cannot be installed together; the file says which.
conflict() {
  {
    say "ERROR: Cannot install provider '$id' due to dependency conflict" ''
    say "Provider: $id" "Image: $image" "Init Container: $container" ''
    say 'Pip installation failed with:'
    cat "$1"
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
if ! command -v pip >/dev/null 2>&1; then
  if command -v pip3 >/dev/null 2>&1; then
    pip() { pip3 "$@"; }
  elif python3 -m pip --version >/dev/null 2>&1; then
    pip() { python3 -m pip "$@"; }
  else
    fail "Missing pip in image $image" 'Build the provider image on one that has Python and pip.'
  fi
fi

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
if IFS= read -r wheel <"$work/wheel-path" && [ -n "$wheel" ]; then
  case $wheel in
  /*) place=${LLS_ROOT:-}$wheel ;;
  *) place=$package/$wheel ;;
  esac
  if [ ! -f "$place" ]; then
    fail "spec.wheelPath is $wheel, and image $image has no such file" \
      'Name the wheel of the provider, relative to /lls-provider or as an absolute path.'
  fi
fi

# name==version of every wheel, as its file name has it.
for wheel do
  file=${wheel##*/}
  case $file in
  *-*-*-*-*.whl) ;;
  *)
    fail "/lls-provider/packages/$file of image $image is not named as a wheel" \
      'Keep the file name that the wheel was built with: NAME-VERSION-PYTHON-ABI-PLATFORM.whl.'
    ;;
  esac
  rest=${file#*-}
  say "${file%%-*}==${rest%%-*}" >>"$work/unsorted"
done
sort -u "$work/unsorted" >"$work/packages"

# The same name and version in one spelling: `My_Pkg==1.0.0` is `my-pkg==1`.
plain() {
  sed -e '/^#/b' -e 'y/ABCDEFGHIJKLMNOPQRSTUVWXYZ/abcdefghijklmnopqrstuvwxyz/' -e h \
    -e 's/==.*//' -e 's/[-_.][-_.]*/-/g' -e x -e 's/.*==//' -e 's/^v//' -e 's/\(\.0\)*$//' -e x -e G -e 's/\n/==/'
}

# pip installs into a directory without a look at what is there already: of two versions one would be missing in silence.
# What this very provider installed, when its container started before, is no conflict and is not recorded twice.
: >"$work/conflicts"
: >"$work/others"
: >"$work/installed"
if [ -f "$installed" ]; then
  plain <"$installed" >"$work/keys"
  owner=
  while IFS= read -r line <&3 && IFS= read -r key <&4; do
    case $line in
    '# Provider: '*) owner=${line#'# Provider: '} ;;
    esac
    case $owner in
    "'$id' "*) continue ;;
    esac
    say "$line" >>"$work/installed"
    case $line in
    *==*) say "$key $line $owner" >>"$work/others" ;;
    esac
  done 3<"$installed" 4<"$work/keys"
fi
plain <"$work/packages" >"$work/keys"
while IFS= read -r line <&3 && IFS= read -r key <&4; do
  while IFS=' ' read -r other other_line owner; do
    if [ "${other%%==*}" = "${key%%==*}" ] && [ "$other" != "$key" ]; then
      say "ERROR: Cannot install $line of provider '$id' (image: $image)" \
        "because provider $owner installed $other_line" >>"$work/conflicts"
    fi
  done <"$work/others"
done 3<"$work/packages" 4<"$work/keys"
if [ -s "$work/conflicts" ]; then
  conflict "$work/conflicts"
fi

say 'Installing provider packages...'
TMPDIR=$work/tmp
PIP_ROOT_USER_ACTION=ignore
export TMPDIR PIP_ROOT_USER_ACTION
if ! pip install "$@" --target "$work/python-packages" --no-index --find-links "$package/packages" \
  --no-cache-dir --disable-pip-version-check 2>"$work/pip-errors"; then
  if grep -q -e ResolutionImpossible -e 'conflicting dependencies' "$work/pip-errors"; then
    conflict "$work/pip-errors"
  fi
  {
    say "ERROR: Cannot install provider '$id'" ''
    say "Provider: $id" "Image: $image" "Init Container: $container" ''
    say 'Pip installation failed with:'
    cat "$work/pip-errors"
    say '' 'Resolution: Check wheel compatibility: the wheels must be for the Python version and the platform of the server, and /lls-provider/packages/ must hold every dependency.'
  } >&2
  exit 1
fi
cat "$work/pip-errors" >&2

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
mkdir -p "$shared/metadata/$id"
cp "$package/lls-provider-spec.yaml" "$shared/metadata/$id/lls-provider-spec.yaml"
chmod 0664 "$shared/metadata/$id/lls-provider-spec.yaml"
{
  say '{' "  \"providerId\": \"$id\"," "  \"api\": \"$api\","
  if [ -n "${LLS_PROVIDER_CONFIG+set}" ]; then say "  \"config\": $LLS_PROVIDER_CONFIG,"; fi
  say "  \"order\": $order," "  \"image\": \"$quoted\"" '}'
} >"$shared/metadata/$id/crd-config.yaml"
{
  say "# Provider: '$id' (image: $image)"
  cat "$work/packages"
} >>"$work/installed"
mv -f "$work/installed" "$installed"

say "Successfully installed provider: $id"

#!/bin/sh
# Joins this Linode to its cluster. cloud-init runs this script at each boot, so that a machine whose power is cut
# before it has joined joins at the next boot. No value is in here: they are in files of YAML.
set -eu
umask 077
PATH="$PATH:/usr/local/bin"
export LC_ALL=C

run=/run/lkeplan # in memory: its files do not survive a reboot
ca=/etc/lkeplan/ca.crt
id='' endpoint='' token='' secret='' said='' reported='' reports=0 died='' doing='wrote to /run'
trap ended EXIT
mkdir -p "$run/none"
: >"$run/hide"

now() {
  read -r up _ </proc/uptime # the time of day may jump while a machine boots
  echo "${up%%.*}"
}

say() {
  printf 'lkeplan: %s\n' "$*"
  printf 'lkeplan: %s\n' "$*" 2>/dev/null >/dev/console || :
}

# explain TEXT: says why this machine has not joined, and reports it to the API server; each text once.
explain() {
  text=$(printf '%s\n' "$*" | tr '\n\t' '  ' | sed -f "$run/hide" -e 's/[^ -~]/?/g' -e 's/ *$//' | cut -c1-800)
  key=$(printf '%s\n' "$text" | sed 's/[0-9][0-9.]*//g') # the same error with another time is no other error
  case $said in *"<$key>"*) ;; *)
    say "$text"
    said="$said<$key>"
    ;;
  esac
  case $reported in *"<$key>"*) return 0 ;; esac
  if [ "$reports" -lt 10 ] && report "$text"; then
    reported="$reported<$key>" reports=$((reports + 1))
  fi
}

die() {
  died=yes
  explain "$* - this machine does not join"
  exit 1
}

# ended: a command that fails ends the script, and what it was at is all that can be said. A full disk is such a case.
ended() {
  status=$?
  set +e
  [ "$status" -eq 0 ] || [ -n "$died" ] || explain "the script ended with status $status while it $doing;" \
    "is the disk full or read-only? - this machine does not join"
  rm -rf "$run"
}

bounded() {
  if command -v timeout >/dev/null; then timeout "$@"; else shift && "$@"; fi
}

# report TEXT: makes a request for a certificate that carries the text, and is never granted: a machine that joins may
# make requests, and needs no further right for that. The token goes to a server that the cluster's CA has signed, and to no other, and is
# no argument of a program, which other programs could read.
report() {
  [ -n "$token" ] && [ -s "$ca" ] || return 1
  printf '{"apiVersion":"certificates.k8s.io/v1","kind":"CertificateSigningRequest","metadata":{%s,"annotations":{"%s":"%s"}},"spec":{"signerName":"%s","usages":["client auth"],"request":"%s"}}\n' \
    '"generateName":"lkeplan-report-"' lkeplan.dev/join-failure "$(printf '%s\n' "$1" | sed 's/[\\"]/\\&/g')" \
    kubernetes.io/kube-apiserver-client-kubelet "$request" >"$run/report"
  url=https://$endpoint/apis/certificates.k8s.io/v1/certificatesigningrequests
  if command -v curl >/dev/null; then
    printf 'header = "Authorization: Bearer %s"\n' "$token" |
      curl -qgsSf --noproxy '*' --max-time 20 --cacert "$ca" --capath "$run/none" -K - -o /dev/null \
        -H 'Content-Type: application/json' --data-binary "@$run/report" "$url"
  elif command -v wget >/dev/null; then
    printf 'header = Authorization: Bearer %s\n' "$token" >"$run/wgetrc"
    (
      export SSL_CERT_FILE="$ca" SSL_CERT_DIR="$run/none"
      bounded 20 wget -nv -O /dev/null --config "$run/wgetrc" --no-proxy --tries 1 --timeout 10 --max-redirect 0 \
        --ca-certificate "$ca" --ca-directory "$run/none" --header 'Content-Type: application/json' \
        --post-file "$run/report" "$url"
    )
  else
    return 1
  fi
}

# The text of every report goes with this constant request, whose key is thrown away. It is for CN lkeplan:join-report.
request=LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlIWU1JR0FBZ0VBTUI0eEhEQWFCZ05WQkFNTUUyeHJaWEJzWVc0NmFtOXBiaTF5WlhCdmNuUXdXVEFUQmdjcQpoa2pPUFFJQkJnZ3Foa2pPUFFNQkJ3TkNBQVI5NVg1ZVM0d1ZZaEVoY3VWSXM5RVlMZEJ3aktjVHczZ1dNSXR3CkJGWmEzR2RRYWFFMG8yaGlpdXdPZDZQVWY1dGxwRncxTkliREpBMG9DeVJITW1sZG9BQXdDZ1lJS29aSXpqMEUKQXdJRFJ3QXdSQUlnYWlQV21ZTEgvUlVqUHp2bnBiZVpSLzBkZE5NTTREa1MvT1J0UnBFMjJHOENJRWpsUm1mLwpPOXIzVWdFN0J3U0Fwa1Job2VMWWFSVE9TNVZxZlRBVkpxdU0KLS0tLS1FTkQgQ0VSVElGSUNBVEUgUkVRVUVTVC0tLS0tCg==

# value KEY FILE prints the value of the first line with the key.
value() {
  sed -n "/^ *$1: /{s/^ *$1: *//;s/[\"']//g;p;q;}" "$2"
}

# know ENDPOINT TOKEN: where reports go, by which token, and what must not be shown or left on the disk.
know() {
  endpoint=$1 token=$2 secret=${2#*.}
  case $secret in 0000000000000000 | *[!a-z0-9]*) token='' ;; esac
  [ -n "$token" ] && [ "${#secret}" -eq 16 ] || token='' secret=''
  [ -z "$secret" ] || printf '%s\n' "$secret" >"$run/secret"
  [ -z "$secret" ] || printf 's/%s/(secret)/g\n' "$secret" >"$run/hide"
}

# forget DIR...: overwrites the token's secret in the files below. cloud-init keeps copies of the user data, one of them
# in a pickle, so no file may change its length.
forget() {
  [ -n "$secret" ] || return 0
  grep -rlFf "$run/secret" "$@" 2>/dev/null | while IFS= read -r file; do
    grep -aboFf "$run/secret" "$file" 2>/dev/null | while IFS=: read -r at _; do
      printf 0000000000000000 | dd of="$file" bs=1 seek="$at" conv=notrunc 2>/dev/null
    done
  done || :
  left=$(grep -rlFf "$run/secret" "$@" 2>/dev/null | tr '\n' ' ') || :
  [ -z "$left" ] || say "the secret of the token of this machine is still in $left"
}

# journal UNIT [ARGUMENT]...: what a unit has written since the machine has booted.
journal() {
  journalctl -b -o cat --no-pager -n 1000 -u "$@" 2>/dev/null || :
}

# ask METHOD HEADER URL: one request, for half a minute at most.
ask() {
  if command -v curl >/dev/null; then
    curl -qsf --noproxy '*' --max-time 10 -X "$1" -H "$2" "$3"
  else
    bounded 20 wget -q -O - --no-proxy --tries 1 --timeout 10 --method "$1" --header "$2" "$3"
  fi
}

# linode prints the id of this Linode.
linode() {
  pass=$(ask PUT "Metadata-Token-Expiry-Seconds: 600" http://169.254.169.254/v1/token) || return 1
  ask GET "Metadata-Token: $pass" http://169.254.169.254/v1/instance | sed -n '/^id: *[0-9]/{s/^id: *\([0-9]*\).*/\1/p;q;}'
}

# identify waits until the Metadata service says which Linode this is.
identify() {
  command -v curl >/dev/null || command -v wget >/dev/null || die "neither curl nor wget is in this image"
  end=$(($(now) + 300))
  until id=$(linode) && [ -n "$id" ]; do
    [ "$(now)" -lt "$end" ] || die "the Metadata service, 169.254.169.254, does not return the ID of this Linode"
    sleep 5
  done
}

# fill FILE: puts the id where @LINODE_ID@ is. The file is the old or the new one whenever the power is cut.
fill() {
  doing="wrote $1"
  sed "s/@LINODE_ID@/$id/g" "$1" >"$1.new"
  sync
  mv "$1.new" "$1"
  sync
}


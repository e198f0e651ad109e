#!/bin/sh
# Has this Linode join its cluster. No value is in here: they are in files of YAML.
set -eu
umask 077
PATH="$PATH:/usr/local/bin"

say() {
  echo "lkeplan: $*"
  echo "lkeplan: $*" 2>/dev/null >/dev/console || :
}

die() {
  say "$* - this machine does not join"
  exit 1
}

# ask METHOD HEADER PATH: one request to the Metadata service.
ask() {
  if command -v curl >/dev/null; then
    curl -sf --noproxy '*' --max-time 10 -X "$1" -H "$2" "http://169.254.169.254/v1/$3"
  else
    wget -q -O - --no-proxy --timeout 10 --method "$1" --header "$2" "http://169.254.169.254/v1/$3"
  fi
}

# linode prints the id of this Linode.
linode() {
  token=$(ask PUT "Metadata-Token-Expiry-Seconds: 600" token) || return 1
  ask GET "Metadata-Token: $token" instance | sed -n '/^id: *[0-9]/{s/^id: *\([0-9]*\).*/\1/p;q;}'
}

# fill FILE: puts the id where @LINODE_ID@ is.
fill() {
  command -v curl >/dev/null || command -v wget >/dev/null || die "neither curl nor wget is in this image"
  n=0
  until id=$(linode) && [ -n "$id" ]; do
    n=$((n + 1))
    [ "$n" -lt 60 ] || die "the Metadata service, 169.254.169.254, does not tell the id of this Linode"
    sleep 5
  done
  sed "s/@LINODE_ID@/$id/g" "$1" >"$1.new"
  mv "$1.new" "$1"
}


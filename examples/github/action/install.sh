#!/usr/bin/env bash
# Finds the program $BINARY, or installs $VERSION of
# lkeplan, and writes its path to the output "binary".
set -euo pipefail

fail() {
  echo "::error title=lkeplan::$1"
  exit 1
}

if [[ -n ${BINARY:-} ]]; then
  found=$(command -v -- "$BINARY") || fail 'the input "binary" names no program'
  echo "binary=$found" >> "$GITHUB_OUTPUT"
  exit
fi

# One version, which Go's checksum database protects from changes.
# No branch and no "latest", which can be another version tomorrow.
[[ ${VERSION:-} =~ ^(v[0-9]+\.[0-9]+\.[0-9]+(-[0-9A-Za-z.-]+)?|[0-9a-f]{40})$ ]] ||
  fail 'the input "version" must be a commit of 40 digits or a release; or name a program in "binary"'

bin=$RUNNER_TEMP/lkeplan-bin
cd "$RUNNER_TEMP" # here no file of the pull request can affect the build
GOBIN=$bin GOTOOLCHAIN=auto go install "github.com/lkeplan/lkeplan/cmd/lkeplan@$VERSION"
echo "binary=$bin/lkeplan" >> "$GITHUB_OUTPUT"

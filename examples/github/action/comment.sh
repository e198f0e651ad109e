#!/usr/bin/env bash
# Writes each FILE as a comment of pull request $PULL_REQUEST, or edits the
# existing comment of $AUTHOR with the same marker. The marker is the first line.
# A comment of another author is never edited, even if it quotes the marker.
set -euo pipefail

fail() {
  echo "::error title=lkeplan::$1"
  exit 1
}

[[ $PULL_REQUEST =~ ^[1-9][0-9]{0,9}$ ]] || fail "this is no pull request: there is no number to comment on"

for file in "$@"; do
  [[ -s $file ]] || continue
  (($(wc -c < "$file") <= 262144)) || fail "the comment is too long"
  MARKER=$(head -n 1 "$file")
  export AUTHOR MARKER
  [[ $MARKER =~ ^'<!-- lkeplan:'[A-Za-z0-9/._%-]{1,300}':v1 -->'$ ]] || fail "the comment has no marker in its first line"

  # sed reads to the end, so that gh never writes into a closed pipe.
  id=$(gh api --paginate "repos/$GITHUB_REPOSITORY/issues/$PULL_REQUEST/comments?per_page=100" \
    --jq '.[] | select(.user.login == env.AUTHOR and (.body | startswith(env.MARKER))) | .id' | sed -n 1p)
  if [[ -n $id ]]; then
    gh api --silent --method PATCH "repos/$GITHUB_REPOSITORY/issues/comments/$id" --field "body=@$file"
  elif [[ $(sed -n 2p "$file") != '### lkeplan: no changes' ]]; then
    gh api --silent --method POST "repos/$GITHUB_REPOSITORY/issues/$PULL_REQUEST/comments" --field "body=@$file"
  fi
done

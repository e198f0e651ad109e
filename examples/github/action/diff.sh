#!/usr/bin/env bash
# Compares $DIRECTORY with $BASE, or all clusters below it if $RECURSIVE is
# true, and writes the reports into a directory that the output "reports"
# names. The script always exits with 0: the output "exit_code" has the result.
set -euo pipefail

reports=$(mktemp -d "$RUNNER_TEMP/lkeplan.XXXXXX")
arguments=(-o github --out "markdown=$GITHUB_STEP_SUMMARY" --out github-output)
arguments+=(--out "markdown=$reports/comment.md" --out "json=$reports/plan.json" --out "text=$reports/plan.txt" --out "html=$reports/plan.html")
check=(validate -o github)
if [[ $RECURSIVE == true ]]; then
  arguments+=(--recursive --affected)
  check+=(--recursive)
fi
if [[ -n $BASE ]]; then arguments+=(--base "$BASE"); fi
if [[ -n $SNAPSHOT ]]; then arguments+=(--nodes "snapshot:$SNAPSHOT"); fi
if [[ ${SIMULATE:-} == true ]]; then arguments+=(--simulate); fi
while IFS= read -r path; do
  if [[ -n $path ]]; then arguments+=(--workloads "$path"); fi
done <<< "${WORKLOADS:-}"
while IFS= read -r permission; do
  if [[ -n $permission ]]; then arguments+=(--allow "$permission"); fi
done <<< "$ALLOW"

code=0
"$LKEPLAN" diff "${arguments[@]}" -- "$DIRECTORY" 2> "$reports/errors.txt" || code=$?

# The plan for people, and errors with their lines. Both have text of other
# authors, which is escaped so that none of it is a command to the runner.
token=$(od -An -N16 -tx1 /dev/urandom | tr -d ' \n')
echo "::stop-commands::$token"
for file in plan.txt errors.txt; do
  if [[ -s $reports/$file ]]; then cat "$reports/$file"; fi
done
echo "::$token::"

# Without a plan the comment reports that. Otherwise the plan of
# an earlier commit would be mistaken for the plan of this one.
if [[ ! -s $reports/comment.md ]]; then
  "$LKEPLAN" "${check[@]}" -- "$DIRECTORY" || true
  echo "exit_code=$code" >> "$GITHUB_OUTPUT"
  run=$GITHUB_SERVER_URL/$GITHUB_REPOSITORY/actions/runs/$GITHUB_RUN_ID
  if [[ $DIRECTORY =~ ^[A-Za-z0-9/._-]+$ && $DIRECTORY != *--* ]]; then
    printf '<!-- lkeplan:%s:v1 -->\n### lkeplan: 🛑 no plan\n\nThe directory `%s` cannot be planned; the errors are in [the log](%s).\n' \
      "$DIRECTORY" "$DIRECTORY" "$run" > "$reports/comment.md"
  fi
fi
echo "reports=$reports" >> "$GITHUB_OUTPUT"

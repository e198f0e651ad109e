#!/usr/bin/env bash
# The steps of the demo, each carried out as a user would, and verified. Repositories in the
# directory $1 are served at the URL $2. It runs in the root of a checkout of lkeplan, with
# bin/ built, and in the environment of a sandbox.
set -euo pipefail

dir=$1 repository=$1/platform url=$2/platform
: "${LINODE_URL:?Run this as: make demo}"
controller="" title="" number=0 last="nothing"

# ended ends the controller, and says what has failed if a step has.
ended() {
  local status=$?
  [[ -z $controller ]] || kill "$controller" 2> /dev/null || true
  if ((status)); then
    printf '%2d. %-52s FAILED\n\ndemo: %s; last seen: %s\n' "$number" "$title" "$(tail -n 5 "$dir/said" 2> /dev/null)" "$last"
    echo "The controller's log is $dir/controller.log."
  else
    wait # for the controller, which may still write
    rm -rf "$dir"
  fi
}
trap ended EXIT

# step carries out a function, which leaves in $seen what was seen, in a few words.
step() {
  local began=$SECONDS
  number=$((number + 1)) title=$1 seen=""
  "$2"
  printf '%2d. %-52s ok %4ds  %s\n' "$number" "$title" $((SECONDS - began)) "$seen"
}

# quietly runs a command and keeps what it says, for when it fails.
quietly() { "$@" > "$dir/said" 2>&1; }

# look sees what there is at a moment. A line of $nodes is the name, plan type, readiness and
# team of a node.
look() {
  nodes=$(kubectl get nodes -o jsonpath='{range .items[*]}{.metadata.name} {.metadata.labels.node\.kubernetes\.io/instance-type} {.status.conditions[?(@.type=="Ready")].status} {.metadata.labels.example\.com/team}{"\n"}{end}')
  count=$(grep -c . <<< "$nodes" || true)
  claims=$(kubectl get nodeclaims -o name | wc -l)
  running=$(kubectl get pods -l app=inflate -o \
    jsonpath='{range .items[?(@.status.phase=="Running")]}{.metadata.name} {.metadata.deletionTimestamp}{"\n"}{end}' | awk 'NF == 1' | wc -l)
  stats=$(kubectl get --server "$LINODE_URL" --raw /simulator/stats || true)
  last="$count nodes, $((claims)) NodeClaims, $(stat slots) slots at LKE, $((running)) pods running"
}

# stat is a number of the simulator's.
stat() { sed -n "s/^ *\"$1\": \"\{0,1\}\([0-9.]*\).*/\1/p" <<< "$stats"; }

# within waits up to some seconds for a condition, with the controller running.
within() {
  local deadline=$((SECONDS + $1))
  shift
  until "$@"; do
    if ((SECONDS > deadline)); then
      echo "timed out" > "$dir/said"
      return 1
    fi
    if [[ -n $controller ]] && ! kill -0 "$controller"; then
      echo "the controller ended" > "$dir/said"
      return 1
    fi
    sleep 0.2
  done
}

# whole tells whether each machine has its claim and its ready node, and a condition holds.
whole() {
  look
  ((count == claims && claims == $(stat slots))) && ! grep -q ' False\| Unknown' <<< "$nodes" && "$@"
}

five() { ((running == 5 && count > 0)); }

# on_nodes says what the nodes are that there are.
on_nodes() {
  local plans
  plans=$(awk '{print $2}' <<< "$nodes" | sort | paste -s -d , - | sed 's/,/, /g')
  if ((count == 1)); then echo "1 node: $plans"; else echo "$count nodes: $plans"; fi
}

commit() {
  quietly git -C "$repository" add -A
  quietly git -C "$repository" -c user.name=demo -c user.email=demo@example.com -c commit.gpgsign=false commit -qm "$1"
  seen="commit $(git -C "$repository" rev-parse --short HEAD)"
}

install() {
  quietly kubectl apply -f schemas/crd
  within 20 quietly kubectl get nodeclaims
}

first_commit() {
  cp -R examples/quickstart "$repository"
  quietly git init -q -b main "$repository"
  commit "Provide nodes for everybody"
}

# A forge would be asked less often.
start_controller() {
  bin/controller --metrics-bind-address 0 --health-probe-bind-address 0 > "$dir/controller.log" 2>&1 &
  controller=$!
  quietly kubectl apply -f - << YAML
apiVersion: source.toolkit.fluxcd.io/v1
kind: GitRepository
metadata: {name: platform, namespace: default}
spec: {interval: 1s, url: "$url", ref: {branch: main}}
---
apiVersion: lkeplan.dev/v1alpha1
kind: NodePlan
metadata: {name: platform, namespace: default}
spec:
  interval: 10m
  retryInterval: 1s
  sourceRef: {kind: GitRepository, name: platform}
YAML
  within 30 quietly kubectl wait nodepool/general --for=condition=Ready --timeout=0
  seen="NodePool general is ready"
}

scale_up() {
  quietly kubectl apply -f examples/quickstart/pods.yaml
  within 60 whole five
  seen="5 pods run on $(on_nodes)"
}

rolled() {
  five && ! grep -qv ' platform$' <<< "$nodes" && ! grep -qF "$(awk '{print $1}' <<< "$before")" <<< "$nodes"
}

roll_out() {
  before=$nodes
  sed -i.before -e 's/consolidate_after = "30s"/consolidate_after = "1s"/' \
    -e 's|^  limits = { cpu = 1000 }$|&\n\n  labels = { "example.com/team" = "platform" }|' "$repository/main.lke.hcl"
  rm "$repository/main.lke.hcl.before"
  commit "Label the nodes; give idle ones back sooner"
  within 90 whole rolled
  seen="$seen; 5 pods run on $(on_nodes)"
}

replaced() { five && ! grep -q "^$victim " <<< "$nodes" && (($(stat instances_deleted) > deleted)); }

delete_node() {
  victim=${nodes%% *} deleted=$(stat instances_deleted)
  quietly kubectl delete node "$victim"
  within 60 whole replaced
  seen="$victim is gone; 5 pods run on $(on_nodes)"
}

nothing() { ((count + claims + $(stat instances_live) + $(stat pools) == 0)); }

scale_down() {
  quietly kubectl delete deployment inflate
  within 90 whole nothing
  seen="no node, no NodeClaim, no Linode"
}

step "kubectl apply -f schemas/crd/" install
step "git commit: examples/quickstart becomes a repository" first_commit
step "kubectl apply GitRepository, NodePlan: it is applied" start_controller
step "kubectl apply -f examples/quickstart/pods.yaml" scale_up
step "git commit: the pool gets a label; its nodes roll" roll_out
step "kubectl delete node: drained, its Linode deleted" delete_node
step "kubectl delete deployment inflate: nodes go" scale_down

cat << SUMMARY

  nodes made           $(stat instances_made)
  Linode calls         $(stat calls), of which $(stat writes) changed something
  money at the peak    \$$(stat hourly_cost_peak) an hour
  left over            nothing
  all in all           $SECONDS seconds
SUMMARY

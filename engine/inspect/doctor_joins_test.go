package inspect

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"
)

// deployment is the one that creates nodes, with the fields of its container.
func deployment(container string) string {
	return `{metadata: {namespace: a, name: lkeplan-controller, labels: {app.kubernetes.io/part-of: lkeplan}},
		spec: {template: {spec: {containers: [{` + container + `}]}}}}`
}

var noon = time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)

// unjoinedEvent is about the machine of a NodeClaim that cannot join.
func unjoinedEvent(name, uid, says, at string) string {
	return `{metadata: {name: e, namespace: default}, reason: MachineCannotJoin, type: Warning, message: ` + says +
		`, lastTimestamp: "2026-11-26T` + at + `:00Z", involvedObject: {kind: NodeClaim, name: ` + name + `, uid: ` + uid + `}}`
}

// TestJoinChecks run in instance mode, whether the flag or the Deployment sets it, with the settings of both.
func TestJoinChecks(t *testing.T) {
	good := ward{"Deployment": {deployment(`env: [{name: KARPENTER_MODE, value: instance}, {name: CLUSTER_NAME, value: prod},
			{name: LINODE_REGION, value: us-ord}]`)}}
	with := func(kind string, objects ...string) ward {
		changed := ward{kind: objects}
		if kind != "Deployment" {
			changed["Deployment"] = good["Deployment"]
		}
		return changed
	}
	own := Installation{Instances: true, Name: "prod", Region: "us-ord"}
	tests := map[string]struct {
		given Installation
		in    ward
		want  []string
	}{
		"the Deployment says it": {in: good, want: []string{"ok: {prod  us-ord }"}},
		"it runs outside":        {given: own, in: with("Deployment"), want: []string{"ok: {prod  us-ord }"}},
		"a cluster of LKE":       {in: with("Deployment", deployment(`env: [{name: LKE_CLUSTER_ID, value: "77"}]`)), want: nil},
		"nothing is known of it": {in: with("Deployment"), want: nil},
		"flags say it": {in: with("Deployment", deployment(`args: ["--mode=instance", "--region", us-ord, "--cluster-name=prod"]`)),
			want: []string{"ok: {prod  us-ord }"}},
		"another name, and an address": {given: Installation{Name: "dev", Endpoint: "https://a"}, in: good,
			want: []string{"ok: {dev  us-ord https://a}"}},
		"a number of LKE's": {in: with("Deployment", deployment(`env: [{name: KARPENTER_MODE, value: instance},
			{name: CLUSTER_NAME, value: prod}, {name: LINODE_REGION, value: us-ord}, {name: LKE_CLUSTER_ID, value: "77"}]`)),
			want: []string{"ok: {prod 77 us-ord }"}},
		"a machine does not join": {in: with("Event", unjoinedEvent("web-1", "u1", "swap", "11:20"), unjoinedEvent("web-2", "u2", "clock", "11:30")),
			want: []string{"ok: {prod  us-ord }", "warn: NodeClaim web-2, at 11:30 UTC: clock"}},
		"a machine has not joined, and its NodeClaim is deleted": {in: with("Event", unjoinedEvent("web-1", "u1", "swap", "11:20")),
			want: []string{"ok: {prod  us-ord }", "warn: NodeClaim web-1, at 11:20 UTC: swap"}},
		"it was long ago": {in: with("Event", unjoinedEvent("web-1", "u1", "swap", "10:59")), want: []string{"ok: {prod  us-ord }"}},
		"it has joined since": {in: ward{
			"Deployment": good["Deployment"], "Event": {unjoinedEvent("web-1", "u1", "swap", "11:20")},
			"NodeClaim": {`{metadata: {name: web-1, uid: u1}, status: {conditions: [{type: Registered, status: "True"}]}}`}},
			want: []string{"ok: {prod  us-ord }"}},
	}
	for name, tt := range tests {
		tt.given.Cluster, tt.given.Now = examined{ward: tt.in}, func() time.Time { return noon }
		tt.given.Joining.Needs = func(_ context.Context, s Settings) []Finding {
			return []Finding{{LevelOK, "instance mode", fmt.Sprint(s), ""}}
		}
		var got []string
		for _, f := range tt.given.joins(t.Context()) {
			got = append(got, f.Level+": "+f.Text)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

package v1alpha1

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
)

// A value for each field, as manifests have it. A field that is not here fails the test.
var fields = map[string]string{
	"tags": `["web"]`, "firewallID": `7`, "diskEncryption": `"enabled"`, "lkeK8sVersion": `"1.33"`,
	"authorizedKeys": `["ssh-ed25519 A"]`, "authorizedUsers": `["ana"]`, "image": `"linode/debian12"`,
	"backupsEnabled": `true`, "osDisk": `{"size":"20Gi"}`, "dataDisks": `{"sdc":{"size":"20Gi"}}`,
	"configuration": `{"kernel":"linode/latest-64bit"}`, "placementGroup": `{"id":3}`, "vpcID": `4`, "subnetID": `5`,
	"ipv6Options": `{"enableSLAAC":true}`, "swap_size": `0`, "swapSize": `0`, "kubelet": `{"maxPods":50}`,
	"replaceBeforeMaintenance": `"24h"`, "consolidation": `{"beforePaidHourEnds":"10m"}`, "select": `{"firewall":"web"}`, "bootstrap": `{"kind":"k3s"}`,
}

// TestWhatReplacesNodesIsAnotherThingInEachMode: what is set in place or has no effect does not.
func TestWhatReplacesNodesIsAnotherThingInEachMode(t *testing.T) {
	lke := map[string]bool{"firewallID": true, "diskEncryption": true}
	never := map[string]bool{"tags": true, "lkeK8sVersion": true, "dataDisks": true, "replaceBeforeMaintenance": true, "consolidation": true}
	spec := reflect.TypeFor[LinodeNodeClassSpec]()
	for i := range spec.NumField() {
		name, _, _ := strings.Cut(spec.Field(i).Tag.Get("json"), ",")
		value, ok := fields[name]
		if !ok {
			t.Errorf("no value for spec.%s: write one", name)
			continue
		}
		if got := changes(t, "", name, value); got != lke[name] {
			t.Errorf("on LKE a change of %s replaces nodes: %v", name, got)
		}
		if got := changes(t, ModeInstance, name, value); got == never[name] {
			t.Errorf("in instance mode a change of %s replaces nodes: %v", name, got)
		}
	}
}

func TestHashHeedsValuesAndNotHowTheyAreWritten(t *testing.T) {
	for _, tc := range []struct {
		a, b string
		same bool
	}{
		{`{"osDisk":{"size":"20Gi"}}`, `{"osDisk":{"size":"20480Mi"}}`, true},
		{`{"osDisk":{"size":"20Gi"}}`, `{"osDisk":{"size":"21Gi"}}`, false},
		{`{"authorizedKeys":["b","a"]}`, `{"authorizedKeys":["a","b"]}`, true},
		{`{"swap_size":0}`, `{}`, false}, // both are no swap; nodes are stamped with a hash of each
		{`{"swap_size":512}`, `{"swapSize":512}`, true},
		{`{"swap_size":512}`, `{"swapSize":512,"swap_size":512}`, true},
		{`{"kubelet":{"kubeReserved":{"cpu":"1"}}}`, `{"kubelet":{"kubeReserved":{"cpu":"2"}}}`, false},
	} {
		if same := hash(t, ModeInstance, tc.a) == hash(t, ModeInstance, tc.b); same != tc.same {
			t.Errorf("%s and %s: same is %v", tc.a, tc.b, same)
		}
	}
}

func changes(t *testing.T, mode, field, value string) bool {
	return hash(t, mode, `{}`) != hash(t, mode, `{"`+field+`":`+value+`}`)
}

func hash(t *testing.T, mode, spec string) string {
	t.Helper()
	class := &LinodeNodeClass{}
	if err := json.Unmarshal([]byte(spec), &class.Spec); err != nil {
		t.Fatal(err)
	}
	class.Annotations = map[string]string{AnnotationMode: mode}
	return class.Hash()
}

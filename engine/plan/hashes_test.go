package plan_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/engine/plan"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// TestHashesAreAsRecorded: what Karpenter and the provider compare nodes by, for recorded
// files, stays the same. Otherwise an upgrade of the controller replaces every node of every
// cluster, without a commit.
func TestHashesAreAsRecorded(t *testing.T) {
	const recorded = "testdata/hashes/recorded.txt"
	document, err := os.ReadFile("testdata/hashes/main.lke.hcl")
	if err != nil {
		t.Fatal(err)
	}
	var got strings.Builder
	fmt.Fprintf(&got, "NodePool %s, LinodeNodeClass %s\n", karpv1.NodePoolHashVersion, linodev1alpha1.HashVersion)
	head := compiledDir(t, fstest.MapFS{"head/main.lke.hcl": {Data: document}}, "head")
	for _, o := range head.Objects {
		hash, err := plan.TemplateHash(o.Defaulted)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&got, "%s %s\n", o.Addr, hash)
		requirements, _ := manifest.Lookup(o.Defaulted, "spec", "template", "spec", "requirements")
		list, _ := requirements.([]any)
		for _, r := range list {
			fmt.Fprintf(&got, "  %v\n", r)
		}
	}
	want, err := os.ReadFile(recorded)
	if err != nil {
		t.Fatalf("%v; it would be:\n%s", err, got.String())
	}
	if diff := cmp.Diff(string(want), got.String()); diff != "" {
		t.Errorf("an upgrade would replace nodes (-recorded +now):\n%s\nWhere a hash has to change, give it "+
			"another version (linodev1alpha1.HashVersion), so that the controller writes the new one on the NodeClaims, and "+
			"record it in %s. A requirement that is added to every NodePool cannot be mended so: NodeClaims that lack its "+
			"label are replaced.", diff, recorded)
	}
}

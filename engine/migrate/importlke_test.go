package migrate

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

var update = flag.Bool("update", false, "rewrite what the archives want")

// TestNodePoolsBecomePools: each archive in testdata has what Terraform shows, the HCL that
// is made of it, and what that does not say.
func TestNodePoolsBecomePools(t *testing.T) {
	names, _ := filepath.Glob("testdata/importlke/*.txtar")
	if len(names) == 0 {
		t.Fatal("no archives")
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			got := []txtar.File{archive.Files[0]}
			clusters, err := FromTerraform(archive.Files[0].Data)
			if err != nil {
				got = append(got, txtar.File{Name: "error", Data: []byte(err.Error() + "\n")})
			}
			for _, c := range clusters {
				got = append(got, written(t, c)...)
			}
			if *update {
				archive.Files = got
				if err := os.WriteFile(name, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			if diff := cmp.Diff(archive.Files, got); diff != "" {
				t.Errorf("-want +got, -update rewrites it:\n%s", diff)
			}
		})
	}
}

func written(t *testing.T, c LKECluster) []txtar.File {
	t.Helper()
	plans, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	moved := ImportLKE(c, plans, func(map[string]any) bool { return false })
	made, err := Write(t.Context(), moved.Objects, config.Cluster{Name: c.Label, Region: c.Region, Tier: c.Tier}, "")
	if err != nil {
		t.Fatal(err)
	}
	if !made.Exact() {
		t.Errorf("it compiles to something else: %v %v", made.Remainder, made.Diags)
	}
	var hcl strings.Builder
	for _, f := range made.Files {
		hcl.Write(f.Data)
	}
	return []txtar.File{
		{Name: c.Label + ".lke.hcl", Data: []byte(hcl.String())},
		{Name: c.Label + ".txt", Data: []byte(strings.Join(moved.Steps(c), "\n") + "\n")},
	}
}

// TestNamesOfOthersAreLeft: an apply would change what has the name already, and replace its
// nodes.
func TestNamesOfOthersAreLeft(t *testing.T) {
	plans, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	pools := []LKEPool{{Pool: api.Pool{ID: 1, Type: "g6-standard-2", Count: 1}},
		{Pool: api.Pool{ID: 2, Type: "g6-standard-2", Count: 1, FirewallID: new(7)}}}
	for name, tt := range map[string]struct{ there, names, left []string }{
		"nothing is there": {nil, []string{"LinodeNodeClass default", "NodePool g6-standard-2", "LinodeNodeClass g6-standard-2-2",
			"NodePool g6-standard-2-2"}, nil},
		"a class": {[]string{"LinodeNodeClass default"}, []string{"LinodeNodeClass default-2", "NodePool g6-standard-2",
			"LinodeNodeClass g6-standard-2-2", "NodePool g6-standard-2-2"}, []string{"LinodeNodeClass default"}},
		"two, and a pool": {[]string{"LinodeNodeClass default", "LinodeNodeClass default-2", "NodePool g6-standard-2-2"},
			[]string{"LinodeNodeClass default-3", "NodePool g6-standard-2", "LinodeNodeClass g6-standard-2-3",
				"NodePool g6-standard-2-3"},
			[]string{"LinodeNodeClass default", "LinodeNodeClass default-2", "NodePool g6-standard-2-2"}},
	} {
		t.Run(name, func(t *testing.T) {
			moved := ImportLKE(LKECluster{Cluster: api.Cluster{Label: "dev"}, Pools: pools}, plans, func(obj map[string]any) bool {
				return slices.Contains(tt.there, manifest.KeyOf(obj).String())
			})
			var names []string
			for _, obj := range moved.Objects {
				names = append(names, manifest.KeyOf(obj).String())
			}
			if diff := cmp.Diff(tt.names, names); diff != "" {
				t.Errorf("objects, -want +got:\n%s", diff)
			}
			if diff := cmp.Diff(tt.left, moved.Left); diff != "" {
				t.Errorf("left, -want +got:\n%s", diff)
			}
		})
	}
}

// TestStepsOnEnterpriseKeepThePoolOfTheController: LKE refuses to delete the last pool on the standard tier only.
func TestStepsOnEnterpriseKeepThePoolOfTheController(t *testing.T) {
	plans, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for tier, want := range map[string]bool{"": false, "standard": false, "enterprise": true} {
		c := LKECluster{Cluster: api.Cluster{Label: "dev", Tier: tier}, Pools: []LKEPool{{Pool: api.Pool{ID: 1, Type: "g6-standard-2", Count: 1}}}}
		steps := strings.Join(ImportLKE(c, plans, func(map[string]any) bool { return false }).Steps(c), "\n")
		if !strings.Contains(steps, "Keep the LKE pool") || strings.Contains(steps, "does not keep a last pool") != want {
			t.Errorf("%q:\n%s", tier, steps)
		}
	}
}

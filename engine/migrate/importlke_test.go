package migrate

import (
	"encoding/binary"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf16"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"
	corev1 "k8s.io/api/core/v1"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

var update = flag.Bool("update", false, "rewrite what the archives want")

// TestNodePoolsBecomePools: each archive in testdata has the output of Terraform, the resulting HCL, and
// the notes. The file pools is written by hand: it has the expected pools, with their
// numbers.
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
			clusters, notes, err := FromTerraform(archive.Files[0].Data)
			if len(notes) > 0 {
				got = append(got, txtar.File{Name: "notes", Data: []byte(strings.Join(notes, "\n") + "\n")})
			}
			if err != nil {
				got = append(got, txtar.File{Name: "error", Data: []byte(err.Error() + "\n")})
			}
			var pools []string
			for _, c := range clusters {
				files, compiled := written(t, c)
				got = append(got, files...)
				pools = append(pools, poolLines(t, compiled, len(clusters) > 1)...)
			}
			if archive.Files[1].Name == "pools" {
				got = slices.Insert(got, 1, archive.Files[1])
				if diff := cmp.Diff(strings.Split(strings.TrimSuffix(string(archive.Files[1].Data), "\n"), "\n"), strings.Split(strings.Join(pools, "\n"), "\n")); diff != "" {
					t.Errorf("pools, -want +got:\n%s", diff)
				}
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

// poolLines are the pools of a compiled cluster, a line each.
func poolLines(t *testing.T, compiled compile.Result, several bool) (lines []string) {
	t.Helper()
	classes := map[string]*linodev1alpha1.LinodeNodeClass{}
	for _, o := range compiled.Objects {
		if o.Kind() == schemas.NodeClass.Object.Kind {
			class, err := manifest.As[linodev1alpha1.LinodeNodeClass](o.Manifest)
			if err != nil {
				t.Fatal(err)
			}
			classes[o.Name()] = class
		}
	}
	for _, o := range compiled.Objects {
		if o.Kind() != schemas.Pool.Object.Kind {
			continue
		}
		pool, err := manifest.As[karpv1.NodePool](o.Manifest)
		if err != nil {
			t.Fatal(err)
		}
		template := pool.Spec.Template
		line := o.Name()
		if several {
			line = compiled.Cluster.Name + ": " + line
		}
		for _, r := range template.Spec.Requirements {
			if r.Key == "node.kubernetes.io/instance-type" {
				line += " " + strings.Join(r.Values, ",")
			}
		}
		add := func(key string, values ...string) {
			if text := strings.Join(values, ","); text != "" {
				line += " " + key + "=" + text
			}
		}
		for _, key := range []corev1.ResourceName{"nodes", "cpu"} {
			if amount, there := pool.Spec.Limits[key]; there {
				add(string(key), amount.String())
			}
		}
		class := classes[template.Spec.NodeClassRef.Name]
		add("class", template.Spec.NodeClassRef.Name)
		var labels, taints []string
		for _, key := range slices.Sorted(maps.Keys(template.Labels)) {
			labels = append(labels, key+"="+template.Labels[key])
		}
		for _, taint := range template.Spec.Taints {
			taints = append(taints, taint.ToString())
		}
		add("labels", labels...)
		add("taints", taints...)
		add("encryption", class.Spec.DiskEncryption)
		add("tags", class.Spec.Tags...)
		if class.Spec.FirewallID != nil {
			add("firewall", fmt.Sprint(*class.Spec.FirewallID))
		}
		if class.Spec.LKEK8sVersion != nil {
			add("version", *class.Spec.LKEK8sVersion)
		}
		lines = append(lines, line)
	}
	slices.Sort(lines)
	return lines
}

func written(t *testing.T, c LKECluster) ([]txtar.File, compile.Result) {
	t.Helper()
	plans, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	moved := ImportLKE(c, plans, func(map[string]any) bool { return false })
	made, err := Write(t.Context(), moved.Objects, config.Cluster{Name: c.Label, Region: c.Region, Tier: c.Tier})
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
	}, made.Compiled
}

// TestTerraformInAnyEncoding: Windows PowerShell writes UTF-16 and byte order marks.
func TestTerraformInAnyEncoding(t *testing.T) {
	names, _ := filepath.Glob("testdata/importlke/*.txtar")
	for _, name := range names {
		archive, err := txtar.ParseFile(name)
		if err != nil {
			t.Fatal(err)
		}
		plain := archive.Files[0].Data
		encoded := map[string][]byte{"UTF-8 with a mark": append([]byte("\ufeff"), plain...), "lines of DOS": []byte(strings.ReplaceAll(string(plain), "\n", "\r\n"))}
		units := utf16.Encode([]rune("\ufeff" + string(plain)))
		for order, as := range map[string]binary.AppendByteOrder{"UTF-16LE": binary.LittleEndian, "UTF-16BE": binary.BigEndian} {
			for _, unit := range units {
				encoded[order] = as.AppendUint16(encoded[order], unit)
			}
		}
		type result struct {
			Clusters []LKECluster
			Notes    []string
			Err      string
		}
		read := func(data []byte) (r result) {
			var err error
			if r.Clusters, r.Notes, err = FromTerraform(data); err != nil {
				r.Err = err.Error()
			}
			return r
		}
		for encoding, data := range encoded {
			if diff := cmp.Diff(read(plain), read(data)); diff != "" {
				t.Errorf("%s in %s (-plain +encoded)\n%s", name, encoding, diff)
			}
		}
	}
}

// TestImportAvoidsExistingNames: an apply would change the object with that name, and replace its
// nodes.
func TestImportAvoidsExistingNames(t *testing.T) {
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

// TestStepsOnEnterpriseKeepThePoolOfTheController: only the standard tier of LKE refuses to delete the last pool.
func TestStepsOnEnterpriseKeepThePoolOfTheController(t *testing.T) {
	plans, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	for tier, want := range map[string]bool{"": false, "standard": false, "enterprise": true} {
		c := LKECluster{Cluster: api.Cluster{Label: "dev", Tier: tier}, Pools: []LKEPool{{Pool: api.Pool{ID: 1, Type: "g6-standard-2", Count: 1}}}}
		steps := strings.Join(ImportLKE(c, plans, func(map[string]any) bool { return false }).Steps(c), "\n")
		if !strings.Contains(steps, "Keep the LKE pool") || strings.Contains(steps, "can be without LKE pools") != want {
			t.Errorf("%q:\n%s", tier, steps)
		}
	}
}

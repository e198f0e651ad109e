package inspect_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/costs"
	"github.com/lkeplan/lkeplan/engine/inspect"
	"github.com/lkeplan/lkeplan/linode/catalog"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
	"github.com/lkeplan/lkeplan/testdata/golden"
)

// now is the time of all tests.
var now = time.Date(2026, 11, 2, 14, 30, 0, 0, time.UTC)

// TestStatusOfClusters writes the status of each cluster of testdata, as text and, where the
// archive has a file for it, as JSON, whole or of one pool. "screen.txt without Pods" is for
// a user who cannot list them.
func TestStatusOfClusters(t *testing.T) {
	files, err := filepath.Glob("testdata/status/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			if err != nil {
				t.Fatal(err)
			}
			for i, want := range archive.Files[1:] {
				name, without, _ := strings.Cut(want.Name, " without ")
				got := statusScreen(t, listsOf(t, archive.Files[0].Data, strings.Fields(without)...), name)
				if golden.Updating() {
					archive.Files[i+1].Data = []byte(got)
				} else if diff := cmp.Diff(string(want.Data), got); diff != "" {
					t.Errorf("%s (-want +got):\n%s", want.Name, diff)
				}
			}
			if golden.Updating() {
				if err := os.WriteFile(file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// statusScreen is a status in the form that the name of a file has: screen, a pool, namespace or team for costs by one, or screen80 or screen40
// for a terminal of 80 or 40 columns; .txt or .json.
func statusScreen(t *testing.T, lists cluster.Snapshot, name string) string {
	t.Helper()
	given := inspect.Given{Place: "lke.example", Catalog: prices(t), Now: now}
	stem, extension, _ := strings.Cut(name, ".")
	view := inspect.StatusView{Width: 120}
	switch stem {
	case "screen":
	case "screen80":
		view.Width = 80
	case "screen40":
		view.Width = 40
	case "namespace":
		given.CostBy = &costs.By{}
	case "team":
		given.CostBy = &costs.By{Label: "team"}
	default:
		given.Pool = stem
	}
	got, err := inspect.NewStatus(lists, given)
	if err != nil {
		t.Fatal(err)
	}
	if extension == "json" {
		var out bytes.Buffer
		enc := json.NewEncoder(&out)
		enc.SetIndent("", "  ")
		enc.SetEscapeHTML(false)
		if err := enc.Encode(got); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	text := got.Text(view)
	for line := range strings.Lines(text) {
		if n := len([]rune(strings.TrimSuffix(line, "\n"))); n > view.Width {
			t.Errorf("%d columns: %s", n, line)
		}
	}
	return text
}

func prices(t testing.TB) *catalog.Catalog {
	t.Helper()
	list, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// TestOneClassDoesNotMakeAClusterEnterprise: it can name a version that the cluster does not have.
func TestOneClassDoesNotMakeAClusterEnterprise(t *testing.T) {
	class := func(version string) *linodev1alpha1.LinodeNodeClass {
		c := &linodev1alpha1.LinodeNodeClass{}
		c.Status.KubernetesVersion = version
		return c
	}
	none, good, odd := class(""), class("1.35"), class("v1.33.4+lke2")
	for _, tt := range []struct {
		classes []*linodev1alpha1.LinodeNodeClass
		want    catalog.Tier
	}{
		{nil, catalog.Standard}, {[]*linodev1alpha1.LinodeNodeClass{odd, none, good}, catalog.Standard},
		{[]*linodev1alpha1.LinodeNodeClass{good, odd}, catalog.Standard},
		{[]*linodev1alpha1.LinodeNodeClass{none, odd}, catalog.Enterprise},
	} {
		if _, got := (cluster.Snapshot{Classes: tt.classes}).Region(); got != tt.want {
			t.Errorf("tier %q, want %q", got, tt.want)
		}
	}
}

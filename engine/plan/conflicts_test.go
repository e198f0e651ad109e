package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/schemas/manifest"
)

func TestFieldsAreTakenBackByName(t *testing.T) {
	web, api := manifest.Key{Kind: "NodePool", Name: "web"}, manifest.Key{Kind: "NodePool", Name: "api"}
	weight, cpu := Conflict{Path: "spec.weight", Owner: "jane"}, Conflict{Path: "spec.limits.cpu", Owner: "joe"}
	for name, tt := range map[string]struct {
		names []string
		taken map[manifest.Key][]Conflict
		left  int
		err   string
	}{
		"none":                         {nil, map[manifest.Key][]Conflict{}, 3, ""},
		"one of an object":             {[]string{"pool.web:spec.weight"}, map[manifest.Key][]Conflict{web: {weight}}, 2, ""},
		"in any object":                {[]string{"spec.weight"}, map[manifest.Key][]Conflict{web: {weight}, api: {weight}}, 1, ""},
		"all":                          {[]string{"spec.weight", "pool.web:spec.limits.cpu"}, map[manifest.Key][]Conflict{web: {weight, cpu}, api: {weight}}, 0, ""},
		"a field without a conflict":   {[]string{"pool.web:spec.weight", "spec.replicas"}, nil, 3, "--force-conflicts spec.replicas: this field is not in conflict; fields in conflict: pool.api:spec.weight, pool.web:spec.weight, pool.web:spec.limits.cpu"},
		"an object without a conflict": {[]string{"pool.none:spec.weight"}, nil, 3, "this field is not in conflict"},
		"a part of a path":             {[]string{"weight"}, nil, 3, "this field is not in conflict"},
		"an object of a NodePlan":      {[]string{"pool.kept:metadata.labels[x]"}, nil, 3, "the NodePlan default/fleet manages NodePool kept"},
	} {
		p := Plan{Changes: []Change{
			{Addr: "pool.api", Kind: "NodePool", Name: "api", Conflicts: []Conflict{weight}},
			{Addr: "pool.web", Kind: "NodePool", Name: "web", Conflicts: []Conflict{weight, cpu}},
		}}
		if strings.Contains(name, "NodePlan") {
			p.Changes = append(p.Changes, Change{
				Addr: "pool.kept", Kind: "NodePool", Name: "kept",
				Conflicts: []Conflict{{Path: "metadata.labels[x]", Owner: "NodePlan default.fleet", Holder: "default/fleet"}},
			})
			tt.left++
		}
		taken, err := p.TakeBack(tt.names)
		if got := p.Summary().Conflicts; got != tt.left {
			t.Errorf("%s: %d conflicts are left, want %d", name, got, tt.left)
		}
		if diff := cmp.Diff(tt.taken, taken); diff != "" {
			t.Errorf("%s: taken (-want +got)\n%s", name, diff)
		}
		if (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%s: error %v, want %q", name, err, tt.err)
		}
	}
}

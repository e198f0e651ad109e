package plan_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

const migrationCluster = "cluster {\n  name = \"dev\"\n  region = \"us-ord\"\n}\nnode_class \"default\" {}\n"

// TestMigrations: which pools become others, and that each step compiles to what
// its title says.
func TestMigrations(t *testing.T) {
	pool := func(label, more string) string {
		return "pool \"" + label + "\" {\n  node_class = node_class.default\n" + more + "\n}\n"
	}
	tests := []struct {
		name, base, head string
		want             string // "FROM → TO" of each
		steps            []string
	}{
		{"another name at the same address", pool("a", ""), pool("a", "name = \"b\""), "pool.a → pool.a",
			[]string{"a,b weight 1", "a limit 0 moved-to b"}},
		{"another address and name", pool("a", "weight = 7"), pool("b", "weight = 3"), "pool.a → pool.b",
			[]string{"a weight 7,b weight 8", "a weight 7 limit 0 moved-to b"}},
		{"the largest weight", pool("a", "weight = 100"), pool("b", "weight = 100"), "pool.a → pool.b",
			[]string{"a weight 99,b weight 100", "a weight 99 limit 0 moved-to b"}},
		{"static", pool("a", ""), pool("a", "replicas = 2"), "pool.a → pool.a_static",
			[]string{"a,a-static replicas 2", "a limit 0 moved-to a-static"}},
		{"dynamic", pool("a", "replicas = 2"), pool("a", ""), "pool.a → pool.a_dynamic",
			[]string{"a replicas 2,a-dynamic", "a replicas 0"}},
		{"moved, with the name that it had", pool("a", ""), pool("b", "") + "moved {\n from = pool.a\n to = pool.b\n}\n", "",
			nil},
		{"moved, with an explicit name", pool("a", ""), pool("c", "name = \"b\"\nlabels = { x = \"y\" }") +
			"moved {\n from = pool.a\n to = pool.c\n}\n", "pool.a → pool.c", nil},
		{"two of the same kind", pool("a", "name = \"b\"") + pool("z", ""), pool("a", "name = \"d\"") + pool("y", ""),
			"pool.a → pool.a, pool.z → pool.y", nil},
		{"other nodes", pool("a", ""), pool("b", "labels = { x = \"y\" }"), "", nil},
		{"other requirements", pool("a", "requirements = { cpu = 4 }"), pool("b", "requirements = { cpu = 8 }"), "", nil},
		{"fewer", pool("a", "replicas = 2"), pool("a", "replicas = 1"), "", nil},
		{"a new one next to it", pool("a", ""), pool("a", "") + pool("b", ""), "", nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := diffOf(t, tt.base, tt.head)
			var got []string
			for _, m := range p.Migrations {
				got = append(got, m.From+" → "+m.To)
			}
			if strings.Join(got, ", ") != tt.want {
				t.Fatalf("%v, want %s", got, tt.want)
			}
			for i, want := range tt.steps {
				if got := describe(t, p.Migrations[0].Steps[i].HCL); got != want {
					t.Errorf("step %d is %q, want %q:\n%s", i+1, got, want, p.Migrations[0].Steps[i].HCL)
				}
			}
			if len(tt.steps) > 0 {
				removes(t, p.Migrations[0].Steps[3].HCL)
			}
		})
	}
}

// TestPoolThatGoesIntoModuleKeepsItsNodes: the block that is proposed compiles, and nothing but the address changes.
func TestPoolThatGoesIntoModuleKeepsItsNodes(t *testing.T) {
	const (
		root    = "pool \"batch\" {\n node_class = { kind = \"LinodeNodeClass\", name = \"default\" }\n}\n"
		jobs    = "module \"jobs\" {\n source = \"./jobs\"\n}\n"
		each    = "module \"jobs\" {\n source = \"./jobs\"\n for_each = toset([\"a\"])\n}\n"
		renamed = "pool \"batch\" {\n name = \"x\"\n node_class = { kind = \"LinodeNodeClass\", name = \"default\" }\n}\n"
	)
	for name, tt := range map[string]struct{ base, head, from, to string }{
		"into a module":          {root, jobs, "pool.batch", "module.jobs.pool.batch"},
		"out of a module":        {jobs, root, "module.jobs.pool.batch", "pool.batch"},
		"into a module for each": {root, each, "pool.batch", `module.jobs["a"].pool.batch`},
		"a module for each":      {jobs, each, "module.jobs.pool.batch", `module.jobs["a"].pool.batch`},
		"with an explicit name":  {renamed, jobs, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			migrations := diffOf(t, tt.base, tt.head).Migrations
			if len(migrations) != 1 {
				t.Fatalf("%+v", migrations)
			}
			m := migrations[0]
			if tt.from == "" {
				if m.Moved != "" || len(m.Steps) != 4 || describe(t, m.Steps[0].HCL) != "jobs-batch weight 1,x" {
					t.Fatalf("%+v", m)
				}
				return
			}
			if m.From != tt.from || m.To != tt.to || len(m.Steps) > 0 {
				t.Errorf("%+v", m)
			}
			p := diffOf(t, tt.base, tt.head+m.Moved)
			if s := p.Summary(); s.Create+s.Update+s.Delete > 0 || s.Move != 1 || len(p.Migrations) > 0 {
				t.Errorf("%+v after\n%s", s, m.Moved)
			}
		})
	}
}

func compiled(t *testing.T, src string) compile.Result {
	t.Helper()
	c, diags := compile.Dir(t.Context(), fstest.MapFS{
		"main.lke.hcl":      {Data: []byte(migrationCluster + src)},
		"jobs/main.lke.hcl": {Data: []byte("pool \"batch\" {\n node_class = { kind = \"LinodeNodeClass\", name = \"default\" }\n}\n")},
	}, compile.Options{})
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, src)
	}
	return c
}

func diffOf(t *testing.T, base, head string) plan.Plan {
	t.Helper()
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	p, err := compare.Revisions(compiled(t, base), compiled(t, head), prices, time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// describe says of each pool of a step what matters for the migration.
func describe(t *testing.T, src string) string {
	t.Helper()
	var pools []string
	for _, r := range compiled(t, src).Objects {
		if r.Kind() != "NodePool" {
			continue
		}
		text := r.Name()
		spec := r.Manifest["spec"].(map[string]any)
		for _, field := range []string{"weight", "replicas"} {
			if v, ok := spec[field]; ok {
				text += fmt.Sprintf(" %s %v", field, v)
			}
		}
		if limits, ok := spec["limits"].(map[string]any); ok {
			text += fmt.Sprintf(" limit %v", limits["nodes"])
		}
		metadata, _ := spec["template"].(map[string]any)["metadata"].(map[string]any)
		if annotations, ok := metadata["annotations"].(map[string]any); ok {
			text += fmt.Sprintf(" moved-to %v", annotations["lkeplan.dev/moved-to"])
		}
		pools = append(pools, text)
	}
	slices.Sort(pools)
	return strings.Join(pools, ",")
}

// removes fails the test where a step does not delete the pool a.
func removes(t *testing.T, src string) {
	t.Helper()
	removed := compiled(t, src).Removed
	if len(removed) != 1 || removed[0].Name != "a" || !removed[0].Delete || (removed[0].Addr == config.Addr{}) {
		t.Errorf("the last step removes %+v:\n%s", removed, src)
	}
}

package compare

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/engine/plan"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas/manifest"
)

// TestADirectoryOwnsWhatItApplied: another directory of the cluster, whose objects have the
// same label, neither deletes nor takes them. Objects that were applied before directories
// had names are claimed by the directory that declares them.
func TestADirectoryOwnsWhatItApplied(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	const (
		class = "node_class \"default\" {}\n"
		web   = "pool \"web\" {\n  node_class   = node_class.default\n  requirements = { cpu = 4 }\n}\n"
		adopt = "import {\n  to = pool.web\n  id = \"web\"\n}\n"
	)
	release := func(more string) string { return "removed {\n  from = pool.web\n" + more + "}\n" }
	for _, tt := range []struct {
		name          string
		dir           string // the directory that compares; "": b
		label, origin string // of the pool that is there; no label: none is there
		head          string // in addition to the class
		before        string // what the base calls the directory; "": as head, "-": it does not have it
		nodePlan      string // that compares
		want          string // deleted, forgotten, conflict, handed over, or nothing
		note          string
	}{
		{name: "its own, declared", label: "dev", origin: "b", head: web, want: "nothing"},
		{name: "its own, not declared", label: "dev", origin: "b", want: "deleted"},
		{name: "of another directory, not declared", label: "dev", origin: "a", want: "nothing"},
		{name: "of another directory, declared", label: "dev", origin: "a", head: web, want: "conflict",
			note: `This directory is b, and some of its objects (1) were applied from the directory a. If the directory was ` +
				`renamed, or if its repository was replaced, set directory = "a" in its lkeplan block. `},
		{name: "of another directory, imported", label: "dev", origin: "a", head: web + adopt, want: "handed over"},
		{name: "of another directory, imported with other values", label: "dev", origin: "a",
			head: strings.Replace(web, "= 4", "= 8", 1) + adopt, want: "conflict", note: "with its current values"},
		{name: "of another directory, imported by a directory that the base does not have", label: "dev", origin: "a",
			head: web + adopt, before: "-", want: "conflict", note: "The base does not have this directory"},
		{name: "of another directory, removed here", label: "dev", origin: "a", head: release("  delete = true\n"), want: "nothing"},
		{name: "of another directory, let go of here", label: "dev", origin: "a", head: release(""), want: "nothing"},
		{name: "of the directory around it", label: "dev", origin: ".", want: "nothing"},
		{name: "of a directory below it", label: "dev", origin: "b/c", want: "nothing"},
		{name: "of no known directory, declared", label: "dev", head: web, want: "nothing"},
		{name: "of no known directory, not declared", label: "dev", want: "nothing"},
		{name: "of no known directory, removed", label: "dev", head: release("  delete = true\n"), want: "nothing"},
		{name: "its own, let go of", label: "dev", origin: "b", head: release(""), want: "forgotten"},
		{name: "without an owner", label: "-", origin: "", want: "nothing"},
		{name: "of another cluster's directory of that name", label: "prod", origin: "b", want: "nothing"},
		{name: "of a NodePlan, with what an older apply has left", label: "nodeplan.x.y", origin: "a", head: web, want: "conflict",
			note: "NodePlan x/y applies objects of this directory, and only it can change them."},
		{name: "of a NodePlan, declared with other values", label: "nodeplan.x.y", head: strings.Replace(web, "= 4", "= 8", 1),
			want: "conflict", note: "lkeplan nodeplan diff -n x y DIR"},
		{name: "of a NodePlan", label: "nodeplan.x.y", origin: "", want: "nothing"},
		{name: "for a NodePlan, of a directory", nodePlan: "nodeplan.x.y", label: "dev", origin: "a", head: web, want: "handed over"},
		{name: "for a NodePlan, of another directory, not declared", nodePlan: "nodeplan.x.y", label: "dev", origin: "a", want: "nothing"},
		{name: "of the same path in another repository, declared", dir: "b@1", label: "dev", origin: "b@2", head: web, want: "conflict",
			note: `This directory is b@1, and some of its objects (1) were applied from the directory b@2. If the directory was ` +
				`renamed, or if its repository was replaced, set directory = "b@2" in its lkeplan block. `},
		{name: "of the same path in another repository, not declared", dir: "b@1", label: "dev", origin: "b@2", want: "nothing"},
		{name: "of the same repository, not declared", dir: "b@1", label: "dev", origin: "b@1", want: "deleted"},
		{name: "of an unknown repository, declared", dir: "b@1", label: "dev", origin: "b", head: web, want: "handed over"},
		{name: "of an unknown repository, not declared", dir: "b@1", label: "dev", origin: "b", want: "nothing",
			note: "it is unknown whether this directory, b@1, is the same one; it stays"},
		{name: "of a repository, declared in a shallow clone", label: "dev", origin: "b@1", head: web, want: "nothing"},
		{name: "of a repository, not declared in a shallow clone", label: "dev", origin: "b@1", want: "nothing",
			note: "it is unknown whether this directory, b, is the same one; it stays"},
		{name: "renamed by the change", label: "dev", origin: "b", before: "c", want: "nothing",
			note: "The change renames this directory to b; it was c"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			pool := asApplied(t, compiled(t, class+web))["NodePool"]
			metadata := manifest.Map(pool, "metadata")
			metadata["labels"] = map[string]any{kube.InventoryLabel: tt.label}
			metadata["annotations"] = map[string]any{kube.OriginAnnotation: tt.origin}
			if tt.origin == "" {
				delete(metadata, "annotations")
			}
			head := compiled(t, class+tt.head)
			head.Directory, head.Inventory = "b", tt.nodePlan
			if tt.dir != "" {
				head.Directory = tt.dir
			}
			base := head
			if tt.before != "" {
				base.Directory = strings.Trim(tt.before, "-")
			}
			found, err := Live(t.Context(), head, LiveView(cluster{"NodePool": {textOf(t, pool)}}),
				LiveOptions{Base: base, Prices: prices, Prune: true})
			if err != nil {
				t.Fatal(err)
			}
			if got := fateOf(found.Plan, "web"); got != tt.want {
				t.Errorf("the pool is %s, want %s: %+v", got, tt.want, found.Plan.Changes)
			}
			if notes := strings.Join(found.Plan.Notes, "\n"); !strings.Contains(notes, tt.note) ||
				tt.note == "" && strings.Contains(notes, "directory") {
				t.Errorf("notes %q, want %q", notes, tt.note)
			}
			if err := (Comparison{Plan: found.Plan, Targets: found.Targets, Condemned: found.Condemned}).Judged(); err != nil {
				t.Error(err)
			}
			for _, target := range found.Targets {
				got := manifest.Text(target.Desired, "metadata", "annotations", kube.OriginAnnotation)
				want := head.Origin()
				if strings.HasPrefix(tt.origin, want+"@") && target.Live != nil {
					want = tt.origin // it is known more exactly
				}
				if tt.head != "" && strings.HasPrefix(tt.label, "nodeplan.") {
					want = "" // as the NodePlan applies it
				}
				if got != want || (tt.nodePlan == "" && want != "") != strings.HasPrefix(want, "b") {
					t.Errorf("%s is applied as of %q", manifest.KeyOf(target.Desired), got)
				}
			}
		})
	}
}

// TestAReleasedPoolKeepsItsValues when a directory declares it anew: the guards of the one
// that had it are gone.
func TestAReleasedPoolKeepsItsValues(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	const class = "node_class \"default\" {}\n"
	web := func(label string) string {
		return "pool \"web\" {\n  node_class   = node_class.default\n  requirements = { cpu = 4 }\n  labels = { l = \"" + label + "\" }\n}\n"
	}
	for name, tt := range map[string]struct{ base, head, want string }{
		"with the values that it has":    {class, class + web("one"), "nothing"},
		"with others":                    {class, class + web("two"), "conflict"},
		"with others, by an import":      {class, class + web("two") + "import {\n  to = pool.web\n  id = \"web\"\n}\n", "conflict"},
		"with others, once it has it":    {class + web("one"), class + web("two"), "handed over"},
		"it is not declared by any more": {class, class, "nothing"},
	} {
		pool := asApplied(t, compiled(t, class+web("one")))["NodePool"]
		metadata := manifest.Map(pool, "metadata")
		delete(metadata, "labels")
		delete(metadata, "annotations")
		base, head := compiled(t, tt.base), compiled(t, tt.head)
		base.Directory, head.Directory = "b", "b"
		found, err := Live(t.Context(), head, LiveView(cluster{"NodePool": {textOf(t, pool)}}), LiveOptions{Base: base, Prices: prices})
		if err != nil {
			t.Fatal(err)
		}
		notes := strings.Join(found.Plan.Notes, "\n")
		if told := strings.Contains(notes, "NodePool web is in the cluster"); told != (tt.want == "conflict") {
			t.Errorf("%s: notes %q", name, notes)
		}
		if got := fateOf(found.Plan, "web"); got != tt.want {
			t.Errorf("%s: the pool is %s, want %s: %+v", name, got, tt.want, found.Plan.Changes)
		}
	}
}

// fateOf says what a plan does to a pool.
func fateOf(p plan.Plan, name string) string {
	for _, c := range p.Changes {
		switch {
		case c.Kind != "NodePool" || c.Name != name:
		case len(c.Conflicts) > 0:
			return "conflict"
		case c.Action == plan.Delete:
			return "deleted"
		case c.Action == plan.Forget:
			return "forgotten"
		case c.Action == plan.Update:
			return "handed over"
		default:
			return fmt.Sprint(c.Action)
		}
	}
	return "nothing"
}

// TestTwoDirectoriesShareACluster takes turns: what either declares is there in the end, and
// what it no longer declares is deleted, in any order of the applies.
func TestTwoDirectoriesShareACluster(t *testing.T) {
	prices, err := catalog.Embedded()
	if err != nil {
		t.Fatal(err)
	}
	pools := func(names string) string {
		text := "node_class \"CLASS\" {}\n"
		for name := range strings.FieldsSeq(names) {
			text += "pool \"" + name + "\" {\n  node_class   = node_class.CLASS\n  requirements = { cpu = 4 }\n}\n"
		}
		return text
	}
	live := map[string]map[string]any{}
	for i, step := range []struct{ directory, pools, want string }{
		{"a", "web red", "a:class a:red a:web"},
		{"b", "batch", "a:class a:red a:web b:batch b:class"},
		{"a", "web", "a:class a:web b:batch b:class"},
		{"b", "", "a:class a:web b:class"},
		{"b", "red", "a:class a:web b:class b:red"},
		{"a", "web", "a:class a:web b:class b:red"},
		{"a", "", "a:class b:class b:red"},
	} {
		head := compiled(t, strings.ReplaceAll(pools(step.pools), "CLASS", "class-"+step.directory))
		head.Directory = step.directory
		view := cluster{}
		for _, obj := range live {
			view[manifest.Kind(obj)] = append(view[manifest.Kind(obj)], textOf(t, obj))
		}
		found, err := Live(t.Context(), head, LiveView(view), LiveOptions{Base: head, Prices: prices, Prune: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, target := range found.Targets {
			obj := target.stored
			live[manifest.Name(obj)] = obj
		}
		for _, c := range found.Plan.Changes {
			if c.Action == plan.Delete {
				delete(live, c.Name)
			}
		}
		var got []string
		for _, obj := range live {
			name, _, _ := strings.Cut(manifest.Name(obj), "-")
			got = append(got, manifest.Text(obj, "metadata", "annotations", kube.OriginAnnotation)+":"+name)
		}
		if diff := cmp.Diff(strings.Fields(step.want), slices.Sorted(slices.Values(got))); diff != "" {
			t.Errorf("step %d (-want +got):\n%s", i+1, diff)
		}
	}
}

package revision

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/load"
	"github.com/lkeplan/lkeplan/engine/compile"
)

// repository is three clusters, two of which call a module that calls another and reads
// a file.
func repositoryOf() fstest.MapFS {
	cluster := func(name, more string) string {
		return fmt.Sprintf("cluster {\n  name   = %q\n  region = \"us-ord\"\n}\n\nnode_class \"default\" {}\n%s", name, more)
	}
	const calls = "\nmodule \"team\" {\n  source     = \"../../modules/team\"\n  node_class = node_class.default\n}\n"
	files := map[string]string{
		"README.md":                       "Clusters.\n",
		"clusters/prod/main.lke.hcl":      cluster("prod", calls),
		"clusters/prod/README.md":         "What runs here.\n",
		"clusters/dev/main.lke.hcl":       cluster("dev", calls+"\nvariable \"size\" {\n  type    = number\n  default = 1\n}\n"),
		"clusters/dev/x.auto.lkevars.hcl": "size = 2\n",
		"clusters/alone/main.lke.hcl":     cluster("alone", "\nlocals {\n  names = try(yamldecode(file(\"../../shared/names.yaml\")), [])\n}\n"),
		"clusters/alone/more.lke.json":    `{"locals": {"a": 1}}`,
		"modules/team/main.lke.hcl":       "variable \"node_class\" {}\n\nlocals {\n  text = file(\"notes.txt\")\n}\n\nmodule \"inner\" {\n  source     = \"../inner\"\n  node_class = var.node_class\n}\n",
		"modules/team/notes.txt":          "Notes.\n",
		"modules/team/other.txt":          "Not read.\n",
		"modules/inner/main.lke.hcl":      "variable \"node_class\" {}\n\npool \"web\" {\n  node_class   = var.node_class\n  requirements = { cpu = 4 }\n}\n",
		"modules/unused/main.lke.hcl":     "locals {\n  a = 1\n}\n",
		"shared/names.yaml":               "[a, b]\n",
		"shared/others.yaml":              "[c]\n",
		".github/x.lke.hcl":               cluster("hidden", ""),
	}
	fsys := fstest.MapFS{}
	for name, text := range files {
		fsys[name] = &fstest.MapFile{Data: []byte(text)}
	}
	return fsys
}

var clusters = []string{"clusters/alone", "clusters/dev", "clusters/prod"}

func TestFindClusters(t *testing.T) {
	fsys := repositoryOf()
	fsys["clusters/broken/main.lke.hcl"] = &fstest.MapFile{Data: []byte("pool {{{\n")}
	for below, want := range map[string][]string{
		".": {"clusters/alone", "clusters/broken", "clusters/dev", "clusters/prod"}, "clusters/dev": {"clusters/dev"},
		"modules": nil, "clusters/prod/README.md": nil, "nowhere": nil,
	} {
		got, err := FindClusters(fsys, below)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("below %s (-want +got)\n%s", below, diff)
		}
	}
}

// TestReaches, and nothing else.
func TestReaches(t *testing.T) {
	edit := func(name string) func(fstest.MapFS) {
		return func(fsys fstest.MapFS) {
			fsys[name] = &fstest.MapFile{Data: append([]byte("\n"), fsys[name].Data...)}
		}
	}
	add := func(name, text string) func(fstest.MapFS) {
		return func(fsys fstest.MapFS) { fsys[name] = &fstest.MapFile{Data: []byte(text)} }
	}
	remove := func(name string) func(fstest.MapFS) {
		return func(fsys fstest.MapFS) { delete(fsys, name) }
	}
	computed := add("clusters/alone/main.lke.hcl", "cluster {\n  name = \"alone\"\n}\n\nlocals {\n  n = \"names\"\n  a = file(\"../../shared/${local.n}.yaml\")\n}\n")
	for name, tt := range map[string]struct {
		before, change func(fstest.MapFS)
		want           []string
	}{
		"nothing":                          {change: func(fstest.MapFS) {}},
		"a file of a cluster":              {change: edit("clusters/prod/main.lke.hcl"), want: []string{"clusters/prod"}},
		"a new file of a cluster":          {change: add("clusters/prod/x.lke.hcl", "locals {}\n"), want: []string{"clusters/prod"}},
		"a new file of values":             {change: add("clusters/prod/x.auto.lkevars.json", "{}"), want: []string{"clusters/prod"}},
		"a file of values":                 {change: edit("clusters/dev/x.auto.lkevars.hcl"), want: []string{"clusters/dev"}},
		"a file that goes":                 {change: remove("clusters/alone/more.lke.json"), want: []string{"clusters/alone"}},
		"a page next to the files":         {change: edit("clusters/prod/README.md")},
		"a page of the repository":         {change: edit("README.md")},
		"an editor's file":                 {change: add("clusters/prod/#main.lke.hcl", "x")},
		"a module":                         {change: edit("modules/team/main.lke.hcl"), want: []string{"clusters/dev", "clusters/prod"}},
		"a module that a module calls":     {change: edit("modules/inner/main.lke.hcl"), want: []string{"clusters/dev", "clusters/prod"}},
		"a new file of a module":           {change: add("modules/inner/b.lke.hcl", "locals {}\n"), want: []string{"clusters/dev", "clusters/prod"}},
		"an unused module":                 {change: edit("modules/unused/main.lke.hcl")},
		"a file that a module reads":       {change: edit("modules/team/notes.txt"), want: []string{"clusters/dev", "clusters/prod"}},
		"a file beside it":                 {change: edit("modules/team/other.txt")},
		"a shared file":                    {change: edit("shared/names.yaml"), want: []string{"clusters/alone"}},
		"a shared file that goes":          {change: remove("shared/names.yaml"), want: []string{"clusters/alone"}},
		"an unused shared file":            {change: edit("shared/others.yaml")},
		"a shared file that came":          {before: remove("shared/names.yaml"), change: add("shared/names.yaml", "[]"), want: []string{"clusters/alone"}},
		"a file whose name is worked out":  {before: computed, change: edit("shared/others.yaml"), want: []string{"clusters/alone"}},
		"anything, where a template reads": {before: edit("README.md"), change: add("clusters/alone/t.lke.hcl", "locals {\n  t = templatestring(\"x\", {})\n}\n"), want: []string{"clusters/alone"}},
		"an error":                         {change: add("clusters/dev/bad.lke.hcl", "pool {{{\n"), want: []string{"clusters/dev"}},
	} {
		base, head := repositoryOf(), repositoryOf()
		if tt.before != nil {
			tt.before(base)
			tt.before(head)
		}
		tt.change(head)
		var got []string
		for _, dir := range clusters {
			reached, err := Reaches(base, head, dir, config.Options{})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if reached {
				got = append(got, dir)
			}
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", name, diff)
		}
	}
}

// recorder is a file system that notes what is read of it.
type recorder struct {
	fs.FS
	mu   *sync.Mutex
	read map[string]bool
}

func (r recorder) Open(name string) (fs.File, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.read[name] = true
	return r.FS.Open(name)
}

// TestReachesReadsOnlyNeededFiles: what the compiler reads of the examples, and of the
// repository above, is what the reach says.
func TestReachesReadsOnlyNeededFiles(t *testing.T) {
	compiled := 0
	for root, fsys := range map[string]fs.FS{"examples": os.DirFS("../../examples"), "fixture": repositoryOf()} {
		dirs, err := load.Directories(fsys, ".")
		if err != nil {
			t.Fatal(err)
		}
		for _, dir := range dirs {
			module, diags := config.Load(fsys, config.Options{Dir: dir})
			if !module.IsCluster() || diags.HasErrors() {
				continue
			}
			compiled++
			reach := module.Reach()
			reach.Files = append(reach.Files, compile.CatalogFiles(dir)...) // as Reaches does
			r := recorder{fsys, &sync.Mutex{}, map[string]bool{}}
			compile.Dir(t.Context(), r, compile.Options{Options: config.Options{Dir: dir}})
			for _, name := range slices.Sorted(maps.Keys(r.read)) {
				known := slices.Contains(reach.Directories, name) || slices.Contains(reach.Files, name) ||
					slices.Contains(reach.Directories, path.Dir(name)) && load.Belongs(path.Base(name))
				if !known && !reach.Open {
					t.Errorf("%s: %s reads %s, and its reach is %s", root, dir, name, strings.Join(append(reach.Directories, reach.Files...), ", "))
				}
			}
		}
	}
	if compiled < 10 {
		t.Errorf("only %d clusters were compiled", compiled)
	}
}

// Package podsource is the flags that say which pods are looked at, and reads them: from
// a few characters, manifests, a cluster or a snapshot of one.
//
// It simulates nothing.
package podsource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/lkeplan/lkeplan/cmd/lkeplan/flags"
	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/engine/manifests"
	"github.com/lkeplan/lkeplan/engine/revision"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/simulate/workload"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Flags are the flags as they were given.
type Flags struct {
	pods      []string
	workloads []string
	Live      bool
	Snapshot  string
	Most      bool // autoscalers at their upper bound
	lke       bool // LKE's own DaemonSets count without being given
	implied   bool
}

// Add adds the flags.
func (f *Flags) Add(cmd *cobra.Command) {
	cmd.Flags().StringArrayVar(&f.pods, "pods", nil,
		"take so many pods that ask for so much: `NxCPU,MEMORY`, such as 200x1cpu,2Gi or 4x2cpu,8Gi,gpu=1; may "+
			"be repeated")
	cmd.Flags().StringArrayVar(&f.workloads, "workloads", nil,
		"take the pods of the manifests in `PATH`: a file, a directory of such files and all below it, or - for "+
			"standard input; may be repeated")
	cmd.Flags().BoolVar(&f.Live, "live", false, "take the pods that the cluster has, which is only read")
	flags.Once(cmd, &f.Snapshot, "snapshot",
		"take the pods that a cluster had when \"lkeplan snapshot\" wrote `FILE`")
	cmd.Flags().BoolVar(&f.lke, "lke-daemonsets", true,
		"take LKE's own DaemonSets as they were seen, unless manifests, the cluster or the snapshot have them")
	cmd.MarkFlagsMutuallyExclusive("live", "snapshot")
}

// Effects are those of the flags, where they have one when something holds.
func (f *Flags) Effects(when func([]string) bool, instead string) flags.Effects {
	effects := flags.Effects{}
	for _, name := range []string{"pods", "workloads", "live", "snapshot"} {
		effects[name] = flags.Effect{When: when, Else: instead}
	}
	effects["lke-daemonsets"] = flags.Effect{
		When: func(args []string) bool {
			return when(args) && len(f.pods)+len(f.workloads) > 0 && !f.Live && f.Snapshot == ""
		},
		Else: "is for --pods and --workloads: a cluster and its snapshot have the DaemonSets that they have",
	}
	return effects
}

// Manifests reports whether pods of manifests are taken, which may have autoscalers.
func (f *Flags) Manifests() bool { return len(f.workloads) > 0 }

// Idle is an error where a cluster is named, and none is asked.
func (f *Flags) Idle(cmd *cobra.Command) error {
	for _, name := range []string{"context", "kubeconfig", "request-timeout"} {
		if cmd.Flags().Changed(name) && !f.Live {
			return fmt.Errorf("--%s is for --live: without it no cluster is asked", name)
		}
	}
	return nil
}

// Given reports whether the flags name pods.
func (f *Flags) Given() bool { return len(f.pods)+len(f.workloads) > 0 || f.Live || f.Snapshot != "" }

// Pods are what the flags name.
type Pods struct {
	found    workload.Found
	live     *workload.Shapes
	snapshot *compare.Snapshot
	Notes    []string // what of it does not count
	lke      bool
	Missing  []string // what may have pods and could not be read; the notes have it, too
}

// Read reads the pods.
func (f *Flags) Read(ctx context.Context, stdin io.Reader, access kube.Access) (p Pods, err error) {
	if !f.Given() {
		return p, errNone
	}
	p.lke = f.lke && !f.Live && f.Snapshot == ""
	var objects []manifests.Object
	for _, name := range f.workloads {
		found, err := p.manifests(name, stdin)
		if err != nil {
			return p, fmt.Errorf("--workloads %s: %w", name, err)
		}
		objects = append(objects, found...)
	}
	if p.found, err = workload.Read(objects, f.Most); err != nil {
		return p, fmt.Errorf("--workloads %w", err)
	}
	for _, text := range f.pods {
		load, err := workload.ParsePods(text)
		if err != nil {
			return p, fmt.Errorf("--pods %w", err)
		}
		p.found.Workloads = append(p.found.Workloads, load)
	}
	p.Missing = append(p.Missing, p.found.Missing...)
	for _, missing := range p.Missing {
		p.Notes = append(p.Notes, "Warning: pods may be missing: "+missing+".")
	}
	p.Notes = append(p.Notes, p.found.Notes...)
	if err := f.cluster(ctx, access, &p); err != nil {
		return p, err
	}
	return p, f.empty(&p)
}

// empty is an error where files have no pods: they are not those that somebody meant. Where
// a cluster has none, or they are scaled to none, it is noted.
func (f *Flags) empty(p *Pods) error {
	pods, sets := 0, len(p.found.DaemonSets)
	for _, load := range p.found.Workloads {
		pods, sets = pods+load.Pods, sets+1
	}
	set := p.live
	if p.snapshot != nil {
		set = p.snapshot.Shapes
	}
	if set != nil {
		for _, s := range set.Pods {
			pods += s.Count
		}
		sets += len(set.Pods) + len(set.DaemonSets)
	}
	switch {
	case pods > 0:
	case sets > 0 || f.Live || f.implied:
		p.Notes = append(p.Notes, fmt.Sprintf("There are no pods in %s; those of DaemonSets do not count.", f.where()))
	default:
		return fmt.Errorf("%s: there are no pods in it. %s", f.where(), strings.Join(p.Notes, " "))
	}
	return nil
}

// where says where pods were looked for.
func (f *Flags) where() string {
	var places []string
	for _, name := range f.workloads {
		places = append(places, "--workloads "+name)
	}
	switch {
	case f.Live:
		places = append(places, "the cluster")
	case f.Snapshot != "":
		places = append(places, "the snapshot "+f.Snapshot)
	}
	return strings.Join(places, ", ")
}

// Implied are the flags of the pods of a snapshot that is read anyway: it may have none.
func Implied(snapshot string) Flags { return Flags{Snapshot: snapshot, implied: true} }

// cluster reads the pods of a cluster.
func (f *Flags) cluster(ctx context.Context, access kube.Access, p *Pods) error {
	switch {
	case f.Live:
		cluster, err := kube.Connect(access)
		if err != nil {
			return err
		}
		set, err := compare.Shapes(ctx, compare.LiveView(cluster))
		if err != nil {
			return fmt.Errorf("--live: %w", err)
		}
		p.live = &set
		p.Notes = append(append(p.Notes, fmt.Sprintf("The pods are those that %s has now.", cluster.Place())), set.Notes...)
	case f.Snapshot != "":
		snapshot, err := revision.SavedSnapshot(f.Snapshot, time.Now())
		if err != nil {
			return err
		}
		if _, err = snapshot.PodShapes(nil); err != nil {
			return fmt.Errorf("snapshot %s: %w", f.Snapshot, err)
		}
		p.snapshot = &snapshot
		of := snapshot.Taken.UTC().Format(time.RFC3339)
		if snapshot.Cluster != "" {
			of = fmt.Sprintf("the cluster %s at %s", snapshot.Cluster, of)
		}
		p.Notes = append(append(p.Notes, fmt.Sprintf("The pods are those of the snapshot %s, of %s.", f.Snapshot, of)),
			snapshot.Shapes.Notes...)
	}
	return nil
}

// NotesFor is what of the pods does not count, and whether they are of another cluster than
// the one that a configuration is for.
func (p Pods) NotesFor(c config.Cluster) (notes []string) {
	all := slices.Clone(p.Notes)
	if p.snapshot != nil {
		id, label, _ := strings.Cut(p.snapshot.Cluster, "/")
		switch {
		case p.snapshot.Cluster == "":
		case c.ID != 0 && id != fmt.Sprint(c.ID), c.ID == 0 && c.Name != "" && label != c.Name:
			all = append(all, fmt.Sprintf("Warning: the snapshot is of the cluster %s, and the directory is for %s.",
				p.snapshot.Cluster, c.Name))
		}
		if was := p.snapshot.Region; was != "" && c.Region != "" && was != c.Region {
			all = append(all, fmt.Sprintf("Warning: the nodes of the snapshot are in %s, and the pools make theirs in %s.", was,
				c.Region))
		}
	}
	for _, note := range all {
		notes = append(notes, diag.Harmless(diag.OneLine(note)))
	}
	return notes
}

// Input adds a configuration to pods. In those of a snapshot the words are read that the
// configuration has.
func (p Pods) Input(compiled compile.Result, prices *catalog.Catalog) (simulate.Input, error) {
	in := compare.SimulationOf(compiled, prices)
	in.Pods, in.AssumeLKE = p.found.Pods, p.lke
	var found workload.Found
	switch {
	case p.snapshot != nil:
		var err error
		if found, err = p.snapshot.PodsFor(in); err != nil {
			return in, err
		}
	case p.live != nil:
		found = workload.FromShapes(*p.live)
	}
	in.Workloads = append(found.Workloads, in.Workloads...)
	in.DaemonSets = append(found.DaemonSets, in.DaemonSets...)
	in.Budgets = append(found.Budgets, in.Budgets...)
	return in, nil
}

var errNone = errors.New("there are no pods to simulate: " + strings.Join([]string{
	"write some, --pods 200x1cpu,2Gi", "name manifests with --workloads PATH", "take those of the cluster with --live",
	"or of a snapshot with --snapshot FILE"}, ", "))

// manifests reads a file, the files of a directory and of those below it, or for "-"
// standard input.
func (p *Pods) manifests(name string, stdin io.Reader) ([]manifests.Object, error) {
	if name == "-" {
		return manifests.Read("standard input", stdin)
	}
	info, err := os.Stat(name)
	switch {
	case err != nil:
		return nil, files.Cause(err)
	case info.IsDir():
		found, err := manifests.Directory{FS: os.DirFS(name), Root: ".", Shown: name, Kinds: workload.Kinds(), Links: true}.Read()
		notes, missing := found.Notes()
		p.Notes, p.Missing = append(p.Notes, notes...), append(p.Missing, missing...)
		return found.Objects, files.Cause(err)
	case !info.Mode().IsRegular() && info.Mode()&fs.ModeNamedPipe == 0: // who names a pipe means "<(kubectl get pods -o yaml)"
		return nil, errors.New("it is no file")
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, files.Cause(err)
	}
	defer file.Close()
	return manifests.Read(name, file)
}

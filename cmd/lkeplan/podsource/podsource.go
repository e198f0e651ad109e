// Package podsource has the flags that name pods, and reads the pods: from a few characters, manifests, a cluster or a
// snapshot of a cluster.
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
	"github.com/lkeplan/lkeplan/schemas"
)

// Flags are the flags as they were given.
type Flags struct {
	pods      []string
	workloads []string // paths, live or snapshot:FILE
	Most      bool     // autoscalers at their upper bound
	lke       bool     // add LKE's own DaemonSets if no source has them
	implied   bool     // the command reads the cluster or snapshot for another purpose, too
}

// Sources of --workloads that are not paths.
const (
	sourceLive     = "live"
	sourceSnapshot = "snapshot:"
)

// Add adds the flags. They "use" pods: in the help of apply, "add pods" would read as if apply created them. Only, such
// as "only with --simulate", is when the command accepts the flags; "" if it always does.
func (f *Flags) Add(cmd *cobra.Command, only string) {
	if only != "" {
		only = "; " + only
	}
	cmd.Flags().StringArrayVar(&f.pods, "pods", nil,
		"use N pods with these requests: `NxCPU,MEMORY`, such as 200x1cpu,2Gi or 4x2cpu,8Gi,gpu=1"+only+"; may be repeated")
	cmd.Flags().StringArrayVar(&f.workloads, "workloads", nil,
		"use the pods in `SOURCE`: a manifest, a directory of manifests, \"-\" (standard input), \"live\" (the cluster), or "+
			"snapshot:FILE"+only+"; may be repeated")
	cmd.Flags().BoolVar(&f.lke, "lke-daemonsets", true,
		"also use the DaemonSets that LKE installs on each node, unless --workloads contains them"+only+
			"; --lke-daemonsets=false leaves them out")
	_ = cmd.RegisterFlagCompletionFunc("workloads", completeSource) // fails only for an unknown flag
}

// completeSource completes the sources that are not paths, next to the names of files.
func completeSource(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{sourceLive, sourceSnapshot}, cobra.ShellCompDirectiveDefault
}

// Live are the flags of the pods of the cluster.
func Live() Flags { return Flags{workloads: []string{sourceLive}, implied: true} }

// Implied are the flags of the pods of a snapshot that the command reads anyway: it may have none.
func Implied(snapshot string) Flags {
	return Flags{workloads: []string{sourceSnapshot + snapshot}, implied: true}
}

// Live reports whether the flags name the pods of the cluster.
func (f *Flags) Live() bool { return slices.Contains(f.workloads, sourceLive) }

// snapshots are the files of snapshots that the flags name.
func (f *Flags) snapshots() (names []string) {
	for _, source := range f.workloads {
		if name, ok := strings.CutPrefix(source, sourceSnapshot); ok {
			names = append(names, name)
		}
	}
	return names
}

// paths are the manifests and directories that the flags name.
func (f *Flags) paths() []string {
	return slices.DeleteFunc(slices.Clone(f.workloads), func(source string) bool {
		return source == sourceLive || strings.HasPrefix(source, sourceSnapshot)
	})
}

// ofCluster reports whether the pods are those of a cluster: now, or when a snapshot was taken.
func (f *Flags) ofCluster() bool { return f.Live() || len(f.snapshots()) > 0 }

// check reports sources that exclude each other or can be read in two ways.
func (f *Flags) check() error {
	_, err := os.Lstat(sourceLive)
	switch snapshots := f.snapshots(); {
	case f.Live() && !f.implied && err == nil:
		return errors.New("--workloads live is the cluster, and there is a file of that name: write ./live for the file; " +
			"for the cluster, run lkeplan in another directory")
	case f.Live() && len(snapshots) > 0:
		return errors.New("--workloads: write live or snapshot:FILE, not both: both have all pods of a cluster")
	case len(snapshots) > 1:
		return fmt.Errorf("--workloads names two snapshots, %s and %s; name one", snapshots[0], snapshots[1])
	case len(snapshots) == 1 && snapshots[0] == "":
		return errors.New("--workloads snapshot: needs the name of a file: snapshot:FILE")
	}
	return nil
}

// Use says when --lke-daemonsets has an effect.
func (f *Flags) Use() flags.Use {
	return flags.Use{
		Flags: "lke-daemonsets", If: func() bool { return f.Given() && !f.ofCluster() },
		Else: "is for --pods and manifests: a cluster and its snapshot have their own DaemonSets",
	}
}

// Manifests reports whether the flags name manifests, which can have autoscalers.
func (f *Flags) Manifests() bool { return len(f.paths()) > 0 }

// Given reports whether the flags name pods.
func (f *Flags) Given() bool { return len(f.pods)+len(f.workloads) > 0 }

// Pods are what the flags name.
type Pods struct {
	found    workload.Found
	live     *workload.Shapes
	view     compare.View // of the live cluster
	snapshot *compare.Snapshot
	Notes    []string // what does not count
	lke      bool
	Missing  []string // what can have pods and could not be read; it is in the notes, too
}

// Read reads the pods.
func (f *Flags) Read(ctx context.Context, stdin io.Reader, access kube.Access) (p Pods, err error) {
	if !f.Given() {
		return p, errNone
	}
	if err := f.check(); err != nil {
		return p, err
	}
	p.lke = f.lke && !f.ofCluster()
	var given []manifests.Object
	for _, name := range f.paths() {
		found, err := p.manifests(name, stdin)
		if err != nil {
			return p, fmt.Errorf("--workloads %s: %w", name, err)
		}
		given = append(given, found...)
	}
	if p.found, err = workload.Read(given, f.Most); err != nil {
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
		p.Notes = append(p.Notes, "Warning: pods may be missing or differ: "+missing+".")
	}
	p.Notes = append(p.Notes, p.found.Notes...)
	if err := f.cluster(ctx, access, &p); err != nil {
		return p, err
	}
	groups := len(p.found.Workloads) + len(p.found.DaemonSets)
	if p.snapshot != nil {
		groups += len(p.snapshot.Shapes.Pods) + len(p.snapshot.Shapes.DaemonSets)
	}
	if groups == 0 && !f.Live() && !f.implied { // the wrong files
		return p, fmt.Errorf("--workloads %s: there are no pods in it. %s", strings.Join(f.workloads, ", "), strings.Join(p.Notes, " "))
	}
	return p, nil
}

// cluster reads the pods of a cluster.
func (f *Flags) cluster(ctx context.Context, access kube.Access, p *Pods) error {
	switch snapshots := f.snapshots(); {
	case f.Live():
		cluster, err := kube.Connect(access)
		if err != nil {
			return err
		}
		p.view = compare.LiveView(cluster)
		set, err := compare.Shapes(ctx, p.view)
		if err != nil {
			return fmt.Errorf("--workloads live: %w", err)
		}
		p.live = &set
		p.Notes = append(append(p.Notes, fmt.Sprintf("The pods are those that %s has now.", cluster.Place())), set.Notes...)
	case len(snapshots) > 0:
		file := snapshots[0]
		snapshot, err := revision.SavedSnapshot(file, time.Now())
		if err != nil {
			return err
		}
		if _, err = snapshot.PodShapes(nil); err != nil {
			return fmt.Errorf("snapshot %s: %w", file, err)
		}
		p.snapshot = &snapshot
		of := snapshot.Taken.UTC().Format(time.RFC3339)
		if snapshot.Cluster != "" {
			of = fmt.Sprintf("the cluster %s at %s", snapshot.Cluster, of)
		}
		p.Notes = append(append(p.Notes, fmt.Sprintf("The pods are those of the snapshot %s, of %s.", file, of)),
			snapshot.Shapes.Notes...)
	}
	return nil
}

// AddTemplates reads the objects of the cluster to which the buffers among some objects refer, with the pods again.
func (p *Pods) AddTemplates(ctx context.Context, objects []config.Object) error {
	var buffers []map[string]any
	for _, o := range objects {
		if o.Kind() == schemas.Buffer.Object.Kind {
			buffers = append(buffers, o.Defaulted)
		}
	}
	if p.view == nil || len(buffers) == 0 {
		return nil
	}
	set, err := compare.Shapes(ctx, p.view, buffers...)
	if err != nil {
		return fmt.Errorf("--workloads live: %w", err)
	}
	p.live = &set
	return nil
}

// NotesFor lists the pods that do not count, and warns if the pods are of another cluster than the configuration.
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

// Input adds a configuration to pods. In the pods of a snapshot, the words of the configuration are read: others are hashes.
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
	in.Templates = append(found.Templates, in.Templates...)
	return in, nil
}

var errNone = errors.New("there are no pods to simulate: " + strings.Join([]string{
	"add some with --pods 200x1cpu,2Gi", "or read them with --workloads PATH, --workloads live for the cluster",
	"or --workloads snapshot:FILE"}, ", "))

// manifests reads a file, the files of a directory and of the directories below it, or for "-" standard input.
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
	case !info.Mode().IsRegular() && info.Mode()&fs.ModeNamedPipe == 0: // a pipe is "<(kubectl get pods -o yaml)"
		return nil, errors.New("it is not a file")
	}
	file, err := os.Open(name)
	if err != nil {
		return nil, files.Cause(err)
	}
	defer file.Close()
	return manifests.Read(name, file)
}

// Package podsource reads the pods for a simulation from the sources of a command line: a short text such as
// 200x1cpu,2Gi, manifests, a cluster, or a snapshot of a cluster.
//
// It does not simulate; package simulate does.
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

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/cluster"
	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/costs"
	"github.com/lkeplan/lkeplan/engine/files"
	"github.com/lkeplan/lkeplan/engine/manifests"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/simulate/workload"
	"github.com/lkeplan/lkeplan/kube"
	"github.com/lkeplan/lkeplan/linode/catalog"
	"github.com/lkeplan/lkeplan/schemas"
)

// Sources name pods.
type Sources struct {
	Pods      []string  // of --pods
	Workloads []string  // of --workloads: paths, live or snapshot:FILE
	Most      bool      // autoscalers at their upper bound
	LKE       bool      // add LKE's own DaemonSets if no source has them
	CostBy    *costs.By // what costs are split by; nil for the default of the command
	implied   bool      // the command reads the cluster or snapshot for another purpose, too
}

// The workloads that are not paths.
const (
	Live     = "live" // the pods of the cluster
	Snapshot = "snapshot:"
)

// OfCluster returns the pods of the cluster.
func OfCluster() Sources { return Sources{Workloads: []string{Live}, implied: true} }

// OfSnapshot returns the pods of a snapshot that the command reads for another purpose. It is no error if the snapshot
// has none.
func OfSnapshot(file string) Sources {
	return Sources{Workloads: []string{Snapshot + file}, implied: true}
}

// Live reports whether the pods of the cluster are named.
func (s *Sources) Live() bool { return slices.Contains(s.Workloads, Live) }

// snapshots returns the files of the snapshots.
func (s *Sources) snapshots() (names []string) {
	for _, source := range s.Workloads {
		if name, ok := strings.CutPrefix(source, Snapshot); ok {
			names = append(names, name)
		}
	}
	return names
}

// paths returns the manifests and directories.
func (s *Sources) paths() []string {
	return slices.DeleteFunc(slices.Clone(s.Workloads), func(source string) bool {
		return source == Live || strings.HasPrefix(source, Snapshot)
	})
}

// OfCluster reports whether the pods are those of a cluster: now, or when a snapshot was taken.
func (s *Sources) OfCluster() bool { return s.Live() || len(s.snapshots()) > 0 }

// check reports sources that exclude each other or can be read in two ways.
func (s *Sources) check() error {
	_, err := os.Lstat(Live)
	switch snapshots := s.snapshots(); {
	case s.Live() && !s.implied && err == nil:
		return errors.New("--workloads live is the cluster, and there is a file of that name: write ./live for the file; " +
			"for the cluster, run lkeplan in another directory")
	case s.Live() && len(snapshots) > 0:
		return errors.New("--workloads: write live or snapshot:FILE, not both: both have all pods of a cluster")
	case len(snapshots) > 1:
		return fmt.Errorf("--workloads names two snapshots, %s and %s; name one", snapshots[0], snapshots[1])
	case len(snapshots) == 1 && snapshots[0] == "":
		return errors.New("--workloads snapshot: needs the name of a file: snapshot:FILE")
	case s.OfCluster() && s.CostBy != nil && s.CostBy.Label != "":
		return fmt.Errorf("--cost-by %s is for manifests: pods of a cluster and its snapshot have only the labels that the scheduler "+
			"reads; write --cost-by namespace, or run lkeplan status --cost-by %[1]s", s.CostBy)
	}
	return nil
}

// Manifests reports whether manifests are named, which can have autoscalers.
func (s *Sources) Manifests() bool { return len(s.paths()) > 0 }

// Given reports whether pods are named.
func (s *Sources) Given() bool { return len(s.Pods)+len(s.Workloads) > 0 }

// Pods are the pods of all sources.
type Pods struct {
	found    workload.Found
	live     *workload.Shapes
	view     compare.View // of the live cluster
	snapshot *compare.Snapshot
	Notes    []string // what does not count
	lke      bool
	costBy   *costs.By
	Missing  []string // what can have pods and could not be read; it is in the notes, too
}

// Read reads the pods.
func (s *Sources) Read(ctx context.Context, stdin io.Reader, access kube.Access) (p Pods, err error) {
	if !s.Given() {
		return p, errNone
	}
	if err := s.check(); err != nil {
		return p, err
	}
	p.lke, p.costBy = s.LKE && !s.OfCluster(), s.CostBy
	var given []manifests.Object
	for _, name := range s.paths() {
		found, err := p.manifests(name, stdin)
		if err != nil {
			return p, fmt.Errorf("--workloads %s: %w", name, err)
		}
		given = append(given, found...)
	}
	if p.found, err = workload.Read(given, s.Most); err != nil {
		return p, fmt.Errorf("--workloads %w", err)
	}
	for _, text := range s.Pods {
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
	if err := s.cluster(ctx, access, &p); err != nil {
		return p, err
	}
	groups := len(p.found.Workloads) + len(p.found.DaemonSets)
	if p.snapshot != nil {
		groups += len(p.snapshot.Shapes.Pods) + len(p.snapshot.Shapes.DaemonSets)
	}
	if groups == 0 && !s.Live() && !s.implied { // the wrong files
		return p, fmt.Errorf("--workloads %s: there are no pods in it. %s", strings.Join(s.Workloads, ", "), strings.Join(p.Notes, " "))
	}
	return p, nil
}

// cluster reads the pods of a cluster.
func (s *Sources) cluster(ctx context.Context, access kube.Access, p *Pods) error {
	switch snapshots := s.snapshots(); {
	case s.Live():
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
		snapshot, err := compare.ReadSavedSnapshot(file, time.Now())
		if err != nil {
			return err
		}
		if _, err = snapshot.PodShapes(nil); err != nil {
			return fmt.Errorf("snapshot %s: %w", file, err)
		}
		if s.CostBy != nil && snapshot.Shapes.Namespaces == nil {
			return fmt.Errorf("--cost-by %s: the snapshot %s has hashes instead of namespaces; take it with lkeplan snapshot "+
				"--namespaces", s.CostBy, file)
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
	var buffers []client.Object
	for _, o := range objects {
		if o.Kind() == schemas.Buffer.Object.Kind {
			buffer, err := cluster.Decode(o.Defaulted)
			if err != nil {
				return err
			}
			buffers = append(buffers, buffer)
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

// SplitCosts splits costs by the namespace if the user has not said by what, and namespaces are known.
func (p *Pods) SplitCosts() {
	if p.costBy == nil && (p.snapshot == nil || p.snapshot.Shapes.Namespaces != nil) {
		p.costBy = &costs.By{}
	}
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

// Input adds a configuration to pods. In the pods of a snapshot, the words of the configuration are read: others are
// hashes.
func (p Pods) Input(compiled compile.Result, prices *catalog.Catalog) (simulate.Input, error) {
	in, err := compare.SimulationOf(compiled, prices)
	if err != nil {
		return in, err
	}
	in.Pods, in.AssumeLKE, in.CostBy = p.found.Pods, p.lke, p.costBy
	var found workload.Found
	switch {
	case p.snapshot != nil:
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

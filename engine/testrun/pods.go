package testrun

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/engine/compare"
	"github.com/lkeplan/lkeplan/engine/compile"
	"github.com/lkeplan/lkeplan/engine/migrate"
	"github.com/lkeplan/lkeplan/engine/simulate"
	"github.com/lkeplan/lkeplan/engine/simulate/workload"
)

// maxManifests bounds the files that one path of workloads stands for.
const maxManifests = 1000

// named reports whether the run names pods, and not only a snapshot that has some.
func (t *trying) named() bool { return len(t.run.Pods)+len(t.run.Workloads) > 0 }

// simulate simulates the pods of the run with a configuration.
func (t *trying) simulate(ctx context.Context, with compile.Result) (simulate.Result, error) {
	in := compare.SimulationOf(with, t.prices)
	found, err := t.pods(in)
	if err != nil {
		return simulate.Result{}, err
	}
	for _, note := range found.Notes {
		if !slices.Contains(t.outcome.Notes, note) { // the base has the same pods
			t.outcome.Notes = append(t.outcome.Notes, note)
		}
	}
	in.Pods = found.Pods
	if len(in.Workloads) == 0 {
		return simulate.Result{}, errors.New("there are no pods in what the run names, so that it would say nothing")
	}
	return simulate.Run(ctx, in)
}

// pods are those that the run names, or else those of its snapshot.
func (t *trying) pods(in simulate.Input) (found workload.Found, err error) {
	if !t.named() {
		if found, err = t.snapshot.PodsFor(in); err != nil {
			err = fmt.Errorf("snapshot %s: %w", t.run.Snapshot, err)
		}
		return found, err
	}
	var objects []workload.Object
	for _, name := range t.run.Workloads {
		some, err := t.manifests(name)
		if err != nil {
			return found, fmt.Errorf("workloads %s: %w", name, err)
		}
		objects = append(objects, some...)
	}
	if found, err = workload.Read(objects, false); err != nil {
		return found, fmt.Errorf("workloads %w", err)
	}
	for _, text := range t.run.Pods {
		load, err := workload.ParsePods(text)
		if err != nil {
			return found, fmt.Errorf("pods %w", err)
		}
		found.Workloads = append(found.Workloads, load)
	}
	return found, nil
}

// path is a path of the run in the file system.
func (t *trying) path(name string) (string, error) {
	full := path.Join(t.Options.Dir, name)
	if path.IsAbs(name) || !fs.ValidPath(full) {
		return "", fmt.Errorf("%q leads out of the repository, and nothing outside of it is read", name)
	}
	return full, nil
}

// manifests reads a file, or the files of a directory and of those below it.
func (t *trying) manifests(name string) (objects []workload.Object, err error) {
	root, err := t.path(name)
	if err != nil {
		return nil, err
	}
	read := 0
	err = fs.WalkDir(t.FS, root, func(file string, entry fs.DirEntry, err error) error {
		base := path.Base(file)
		switch {
		case err != nil && file != root:
			return fmt.Errorf("%s: %w", file, cause(err))
		case err != nil:
			return err
		case entry.IsDir() && file != root && strings.HasPrefix(base, "."):
			return fs.SkipDir
		case entry.IsDir(), file != root && !slices.Contains([]string{".yaml", ".yml", ".json"}, path.Ext(base)):
			return nil
		case strings.TrimSuffix(base, path.Ext(base)) == "kustomization":
			return fmt.Errorf("%s: name what kustomize builds of it", file)
		case !entry.Type().IsRegular():
			return fmt.Errorf("%s: not a file", file)
		}
		if read++; read > maxManifests {
			return fmt.Errorf("there are more than %d files", maxManifests)
		}
		opened, err := t.FS.Open(file)
		if err != nil {
			return fmt.Errorf("%s: %w", file, cause(err))
		}
		defer opened.Close()
		found, err := migrate.ReadDocuments(opened)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		for _, m := range found {
			objects = append(objects, workload.Object{File: file, Document: m.Document, Fields: m.Fields})
		}
		return nil
	})
	return objects, cause(err)
}

// cause is an error without the operation and the path that a file system adds.
func cause(err error) error {
	var pathError *fs.PathError
	if errors.As(err, &pathError) {
		return pathError.Err
	}
	return err
}

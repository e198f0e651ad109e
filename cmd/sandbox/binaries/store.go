package binaries

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
)

// Store is the directory where built programs are kept. Several sandboxes, even of
// different versions, can use it at the same time.
type Store struct {
	Dir string
	// Prebuilt is a directory whose programs are used instead of building them
	// (KUBEBUILDER_ASSETS); empty means none.
	Prebuilt string
	// Say reports progress, a line at a time.
	Say func(format string, args ...any)
}

// Installed is a program that is ready to run.
type Installed struct {
	Path    string `json:"path"`
	Version string `json:"version"`
}

// Set is everything a sandbox runs.
type Set struct {
	Programs map[string]Installed
	// Assets maps an asset's name to its path.
	Assets map[string]string
}

// Dirs returns the directories the programs are in, for PATH.
func (s Set) Dirs() []string {
	var dirs []string
	for _, p := range s.Programs {
		dirs = append(dirs, filepath.Dir(p.Path))
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// Ensure returns the programs of the modules and builds what is missing.
func (s Store) Ensure(ctx context.Context, modules []Module) (Set, error) {
	set := Set{Programs: map[string]Installed{}, Assets: map[string]string{}}
	var jobs []job
	missing := 0
	for _, m := range modules {
		j, err := s.plan(ctx, m, &set)
		if err != nil {
			return Set{}, err
		}
		jobs = append(jobs, j)
		if len(j.missing) > 0 {
			missing++
		}
	}
	done := 0
	for _, j := range jobs {
		if err := j.build(ctx, func() string { done++; return fmt.Sprintf("%d of %d", done, missing) }); err != nil {
			return Set{}, err
		}
	}
	return set, nil
}

// plan returns where everything of a module is, or will be, and what is missing.
func (s Store) plan(ctx context.Context, m Module, set *Set) (job, error) {
	digest, err := m.digest(toolchain())
	if err != nil {
		return job{}, err
	}
	j := job{module: m, dir: filepath.Join(s.Dir, m.Name+"-"+digest), say: s.Say}
	for _, p := range m.Programs {
		installed, err := s.find(ctx, j, p)
		if err != nil {
			return job{}, err
		}
		set.Programs[p.Name] = installed
		if !exists(installed.Path) {
			j.missing = append(j.missing, p)
		}
	}
	for _, a := range m.Assets {
		set.Assets[a.Name] = j.asset(a)
	}
	return j, nil
}

// find returns where a program is, or will be once it is built.
func (s Store) find(ctx context.Context, j job, p Program) (Installed, error) {
	version, err := j.module.Version(p)
	if err != nil {
		return Installed{}, err
	}
	if s.Prebuilt == "" || !exists(filepath.Join(s.Prebuilt, p.Name)) {
		return Installed{Path: j.program(p), Version: version}, nil
	}
	path := filepath.Join(s.Prebuilt, p.Name)
	found, err := askVersion(ctx, path)
	if err != nil {
		return Installed{}, fmt.Errorf("ask the %s of KUBEBUILDER_ASSETS for its version: %w", p.Name, err)
	}
	if minor(found) != minor(version) {
		s.Say("note: %s %s comes from KUBEBUILDER_ASSETS; this sandbox was tested with %s", p.Name, found, version)
	}
	return Installed{Path: path, Version: found}, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

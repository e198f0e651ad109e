package binaries

import (
	"context"
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

// Set has the programs and assets of a sandbox: their paths by their names.
type Set struct {
	Programs, Assets map[string]string
}

// Dirs returns the directories of the programs, for PATH.
func (s Set) Dirs() []string {
	var dirs []string
	for _, path := range s.Programs {
		dirs = append(dirs, filepath.Dir(path))
	}
	slices.Sort(dirs)
	return slices.Compact(dirs)
}

// Ensure returns the programs of the modules, and builds those that are missing.
func (s Store) Ensure(ctx context.Context, modules []Module) (Set, error) {
	set := Set{Programs: map[string]string{}, Assets: map[string]string{}}
	for _, m := range modules {
		digest, err := m.digest(toolchain())
		if err != nil {
			return Set{}, err
		}
		j := job{module: m, dir: filepath.Join(s.Dir, m.Name+"-"+digest), say: s.Say}
		for _, p := range m.Programs {
			path := filepath.Join(s.Prebuilt, p.Name)
			if s.Prebuilt == "" || !exists(path) {
				path = j.program(p)
				j.programs = append(j.programs, p)
			}
			set.Programs[p.Name] = path
		}
		for _, a := range m.Assets {
			set.Assets[a.Name] = j.asset(a)
		}
		if err := j.build(ctx); err != nil {
			return Set{}, err
		}
	}
	return set, nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

//go:build linux

package machine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

const (
	cgroupRoot = "/sys/fs/cgroup"
	// prefix is the start of the names of machines' cgroups. The id of the process that made them follows.
	prefix = "lkeplan-"
)

// hierarchies returns the host's hierarchies of cgroups, each with its mount point. In cgroup v2 there is one; in
// v1 there is one for each controller, and one of v2 without controllers.
func hierarchies() ([]Cgroup, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return nil, err
	}
	all, controllers := parseHierarchies(string(mounts)), ""
	for _, g := range all {
		controllers += "," + g.Controllers
	}
	if len(all) == 1 && all[0].Controllers == "" {
		raw, err := os.ReadFile(filepath.Join(all[0].Dir, "cgroup.controllers"))
		if err != nil {
			return nil, err
		}
		controllers = strings.Join(strings.Fields(string(raw)), ",")
	}
	for _, needed := range []string{"cpu", "cpuset", "memory", "pids"} {
		if !slices.Contains(strings.Split(controllers, ","), needed) {
			return nil, fmt.Errorf("machines need the cgroup controller %s, which is not below %s", needed, cgroupRoot)
		}
	}
	return all, nil
}

// parseHierarchies reads /proc/self/mountinfo.
func parseHierarchies(mounts string) (all []Cgroup) {
	for line := range strings.Lines(mounts) {
		before, after, _ := strings.Cut(line, " - ")
		where, what := strings.Fields(before), strings.Fields(after)
		if len(where) < 5 || len(what) < 3 || !strings.HasPrefix(where[4], cgroupRoot) {
			continue
		}
		g := Cgroup{Name: filepath.Base(where[4]), Dir: where[4]}
		switch what[0] {
		case "cgroup2":
		case "cgroup":
			options := slices.DeleteFunc(strings.Split(what[2], ","), func(o string) bool { return o == "rw" || o == "ro" })
			if slices.ContainsFunc(options, func(o string) bool { return strings.HasPrefix(o, "name=") }) {
				options = append([]string{"none"}, options...)
			}
			g.Controllers = strings.Join(options, ",")
		default:
			continue
		}
		all = append(all, g)
	}
	return all
}

// makeCgroups creates a cgroup for a machine in each hierarchy.
func makeCgroups(name string) ([]Cgroup, error) {
	all, err := hierarchies()
	if err != nil {
		return nil, err
	}
	for i, g := range all {
		all[i].Dir = filepath.Join(g.Dir, fmt.Sprintf("%s%d-%s", prefix, os.Getpid(), name))
		if len(all) == 1 { // cgroup v2: the controllers that the parent delegates
			controllers, err := os.ReadFile(filepath.Join(g.Dir, "cgroup.controllers"))
			if err != nil {
				return nil, err
			}
			for _, c := range strings.Fields(string(controllers)) {
				// Some controllers cannot be delegated, and are not needed: hierarchies has checked those that are.
				_ = os.WriteFile(filepath.Join(g.Dir, "cgroup.subtree_control"), []byte("+"+c), 0)
			}
		}
		if err := os.Mkdir(all[i].Dir, 0o755); err != nil && !errors.Is(err, fs.ErrExist) {
			return nil, fmt.Errorf("make a cgroup for machine %s: %w", name, err)
		}
		if strings.Contains(g.Controllers, "cpuset") { // a cgroup without processors cannot have processes
			for _, file := range []string{"cpuset.cpus", "cpuset.mems"} {
				value, err := os.ReadFile(filepath.Join(g.Dir, file))
				if err == nil {
					err = os.WriteFile(filepath.Join(all[i].Dir, file), value, 0)
				}
				if err != nil {
					return nil, err
				}
			}
			if err := os.WriteFile(filepath.Join(all[i].Dir, "cgroup.clone_children"), []byte("1"), 0); err != nil {
				return nil, err
			}
		}
	}
	return all, nil
}

// removeCgroups removes the cgroups of a machine that is off. A process that has just ended may block this for a
// moment.
func removeCgroups(all []Cgroup) {
	for _, g := range all {
		for try := 0; try < 100 && !removeCgroup(g.Dir); try++ {
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// removeCgroup removes a cgroup with everything below it, and reports whether it is gone.
func removeCgroup(dir string) bool {
	var dirs []string
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() {
			dirs = append(dirs, path)
		}
		return nil
	})
	slices.Reverse(dirs)
	for _, dir := range dirs {
		_ = syscall.Rmdir(dir)
	}
	_, err := os.Stat(dir)
	return err != nil
}

// removeLeftCgroups removes the cgroups of processes that were killed.
func removeLeftCgroups() error {
	all, err := hierarchies()
	if err != nil {
		return err
	}
	for _, g := range all {
		left, err := filepath.Glob(filepath.Join(g.Dir, prefix+"*"))
		if err != nil {
			return err
		}
		for _, dir := range left {
			process, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(dir), prefix), "-")
			if _, err := os.Stat(filepath.Join("/proc", process)); err != nil {
				removeCgroup(dir)
			}
		}
	}
	return nil
}

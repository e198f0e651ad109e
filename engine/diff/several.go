package diff

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"

	"github.com/lkeplan/lkeplan/config"
	"github.com/lkeplan/lkeplan/engine/revision"
	"github.com/lkeplan/lkeplan/schemas/manifest"
	"github.com/lkeplan/lkeplan/schemas/task"
)

// A Branch is the comparison of one of several directories, with its result.
type Branch struct {
	revision.Member
	Comparison
	Found Compared
	Err   error
}

// A Selection selects the directories of a command.
type Selection struct {
	Recursive bool
	Affected  bool // only those that the change can affect
}

// Several reports whether several directories are accepted, even if only one is found.
func (s Selection) Several(dirs []string) bool { return s.Recursive || s.Affected || len(dirs) > 1 }

// Several compares several directories. It returns the result of each in their order, and the directories that the
// change does not affect. Prepare sets where each reports its diagnostics; the comparisons run at the same time.
func (d *Comparison) Several(ctx context.Context, s Selection, prepare func(*Branch)) (all []*Branch, unreached []string, err error) {
	if err := d.suits(s); err != nil {
		return nil, nil, err
	}
	_, ref, _ := strings.Cut(d.Base, ":")
	members, err := revision.Members(ctx, d.Source, revision.Selection{
		Arguments: d.Dirs, Recursive: s.Recursive, Compare: d.InGit(), Ref: ref, Getenv: d.Getenv,
	})
	if err != nil {
		return nil, nil, err
	}
	allowed, err := d.permissions(members)
	if err != nil {
		return nil, nil, err
	}
	reached := make([]bool, len(members))
	errs := task.Each(slog.Default(), runtime.GOMAXPROCS(0), members, func(i int, m revision.Member) (err error) {
		reached[i] = true
		if s.Affected {
			reached[i], err = m.Reached()
		}
		return err
	})
	for i, m := range members {
		switch {
		case errs[i] != nil:
			return nil, nil, fmt.Errorf("%s: %w", m.Dir, errs[i])
		case reached[i]:
			b := &Branch{Member: m, Comparison: *d}
			b.Dirs, b.Allow, b.Comparison.member = []string{m.Dir}, allowed[m.Dir], &b.Member
			prepare(b)
			all = append(all, b)
		default:
			unreached = append(unreached, m.Dir)
		}
	}
	errs = task.Each(slog.Default(), runtime.GOMAXPROCS(0), all, func(_ int, b *Branch) (err error) {
		b.Found, err = b.Run(ctx)
		return err
	})
	for i, b := range all {
		b.Err = errs[i]
	}
	all = withoutRenamed(all)
	declaredTwice(all)
	return all, unreached, ctx.Err()
}

// declaredTwice fails directories that declare an object that another directory declares for the
// same cluster.
func declaredTwice(all []*Branch) {
	type object struct {
		cluster config.Cluster
		key     manifest.Key
	}
	declared := map[object]string{}
	for _, b := range all {
		if b.Err != nil {
			continue
		}
		of := b.Found.Head.Cluster
		of.KubernetesVersion = ""
		for _, o := range b.Found.Head.Objects {
			if other, twice := declared[object{of, o.Key()}]; twice {
				b.Err = fmt.Errorf("%s is also declared in %s, for the same cluster, %s: remove it from one of the two, or "+
					"correct the name of the cluster", o.Addr, other, of.Name)
				break
			}
			declared[object{of, o.Key()}] = b.Member.Dir
		}
	}
}

// suits refuses flags that are for one directory only.
func (d *Comparison) suits(s Selection) error {
	switch {
	case s.Affected && !d.InGit():
		return errors.New("--affected is for a base in Git: it compares files")
	case KindOf(d.Base) == "plan":
		return errors.New("--base plan:FILE is for one directory")
	case d.Access.Context != "":
		return errors.New("--context is for one directory: each of several uses the context with the name of its cluster")
	}
	return nil
}

// permissions groups --allow by the directories at the start of its values.
func (d *Comparison) permissions(members []revision.Member) (map[string][]string, error) {
	allowed := map[string][]string{}
	for _, permission := range d.Allow {
		i := slices.IndexFunc(members, func(m revision.Member) bool { return strings.HasPrefix(permission, m.Dir+":") })
		if i < 0 {
			return nil, fmt.Errorf("--allow %s: with several directories write DIRECTORY:GUARD:ADDRESS, as in "+
				"%s:max_deleted_pools:pool.web", permission, members[0].Dir)
		}
		dir := members[i].Dir
		allowed[dir] = append(allowed[dir], strings.TrimPrefix(permission, dir+":"))
	}
	return allowed, nil
}

// withoutRenamed drops removed directories that have another name now: the directory with the
// new name is compared with them.
func withoutRenamed(all []*Branch) []*Branch {
	return slices.DeleteFunc(all, func(gone *Branch) bool {
		return gone.Gone && slices.ContainsFunc(all, func(b *Branch) bool {
			return b.Root == gone.Root && b.Found.renamed == gone.Below
		})
	})
}

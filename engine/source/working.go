package source

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/lkeplan/lkeplan/config/diag"
	"github.com/lkeplan/lkeplan/engine/files"
)

// Working returns the working tree of the repository around a directory as git would commit it: git adds
// all of it to a copy of the index, with its new objects in a temporary directory. So it has the same form
// as commits, without line ends, keywords and encodings that a checkout has changed, and with the files
// that a sparse checkout omits. It contains files that are in no commit; of ignored files, only those of
// the configuration. The error is ErrNoRepository for a plain directory, and if git is not installed.
func Working(ctx context.Context, dir string) (fs.FS, error) {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	s := &Source{getenv: os.Getenv}
	err = s.open(ctx, abs)
	if errors.Is(err, errNone) || errors.Is(err, errNoProgram) {
		return nil, ErrNoRepository
	}
	if err != nil {
		return nil, err
	}
	t, err := s.stage()
	if err != nil {
		return nil, fmt.Errorf("read the working tree %s: %w", s.top, err)
	}
	return t, nil
}

// ofConfiguration are the names of files that are read even if Git ignores them.
var ofConfiguration = []string{"*.lke.hcl", "*.lke.json", "*.lketest.hcl", "lkeplan.catalog"}

// stage returns the tree of the working tree. It runs no program that the repository names.
func (s *Source) stage() (t treeFS, err error) {
	dir, err := os.MkdirTemp("", "lkeplan-")
	if err != nil {
		return t, err
	}
	defer os.RemoveAll(dir)
	index, objects := filepath.Join(dir, "index"), filepath.Join(dir, "objects")
	if err := copyIndex(s.index, index); err != nil {
		return t, err
	}
	if err := os.Mkdir(objects, 0o700); err != nil {
		return t, err
	}
	git := &program{ctx: s.ctx, path: s.path, dir: s.top, known: map[string]object{},
		env: append(slices.Clip(s.env), "GIT_INDEX_FILE="+index, "GIT_OBJECT_DIRECTORY="+objects,
			"GIT_ALTERNATE_OBJECT_DIRECTORIES="+directoryForGit(s.objects), "GIT_LITERAL_PATHSPECS=0")}
	if err := git.disableFilters(); err != nil {
		return t, err
	}
	unmerged, err := git.names("diff", "--name-only", "-z", "--diff-filter=U")
	if err != nil {
		return t, err
	}
	if len(unmerged) > 0 {
		return t, files.Unreadable{Name: unmerged[0], Why: "has a merge conflict", Do: "resolve it, and type",
			Type: "git add " + diag.ShellLine(unmerged[0])}
	}
	if err := s.readMarked(git); err != nil {
		return t, err
	}
	// The times in the index show each edit only with that of the inode. Sharing it would write to the repository.
	add := []string{"-c", "core.trustctime=true", "-c", "core.checkStat=default", "-c", "core.safecrlf=false",
		"-c", "core.splitIndex=false", "-c", "advice.addEmbeddedRepo=false", "add", "--sparse"}
	if _, err := git.run(append(add, "--all")...); err != nil {
		return t, err
	}
	ignored, err := git.names(append([]string{"ls-files", "-z", "--others", "--ignored", "--exclude-standard", "--"}, ofConfiguration...)...)
	if err != nil {
		return t, err
	}
	if len(ignored) > 0 {
		ignored = append(append(add, "--force", "--"), ignored...)
		if _, err := git.run(append([]string{"--literal-pathspecs"}, ignored...)...); err != nil {
			return t, err
		}
	}
	if err := s.keepCommitted(git); err != nil {
		return t, err
	}
	id, err := git.run("write-tree", "--missing-ok")
	if err != nil {
		return t, err
	}
	if t, err = git.tree(strings.TrimSpace(id)); err != nil {
		return t, err
	}
	t.program = s.program // which lasts longer than the directory
	if t.refused, err = git.filtered(); err != nil {
		return t, err
	}
	return t, s.keep(git, objects)
}

// readMarked takes the marks skip-worktree and assume-unchanged off the files that exist, so that git reads
// their edits, which it does not show: what is validated and applied is what the author sees. Files that a
// sparse checkout omits keep their mark.
func (s *Source) readMarked(git *program) error {
	entries, err := git.names("ls-files", "-v", "-z")
	if err != nil {
		return err
	}
	var marked []string
	for _, entry := range entries {
		tag, name, _ := strings.Cut(entry, " ") // git prints S for skip-worktree, and small letters for assume-unchanged
		if tag != "S" && tag == strings.ToUpper(tag) {
			continue
		}
		if _, err := os.Lstat(filepath.Join(s.top, filepath.FromSlash(name))); err == nil {
			marked = append(marked, name)
		}
	}
	for _, mark := range []string{"--no-skip-worktree", "--no-assume-unchanged"} {
		if len(marked) == 0 {
			break
		}
		if _, err := git.run(append([]string{"update-index", mark, "--"}, marked...)...); err != nil {
			return err
		}
	}
	return nil
}

// copyIndex copies an index with its time, which tells git what may have changed since. A repository
// without an index has no files in it.
func copyIndex(from, to string) error {
	info, err := os.Stat(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	data, err := os.ReadFile(from)
	if err != nil {
		return err
	}
	if err := os.WriteFile(to, data, 0o600); err != nil {
		return err
	}
	return os.Chtimes(to, info.ModTime(), info.ModTime())
}

// names lists what git prints with the option -z.
func (p *program) names(args ...string) ([]string, error) {
	out, err := p.run(args...)
	return strings.FieldsFunc(out, func(r rune) bool { return r == 0 }), err
}

// disableFilters replaces the filters in the configuration, programs that would convert files, by none.
func (p *program) disableFilters() error {
	keys, err := p.names("config", "-z", "--name-only", "--get-regexp", `^filter\.`)
	if err != nil && !meansNo(err) {
		return err
	}
	n := 0
	for _, pair := range p.env { // the last one counts
		if value, ok := strings.CutPrefix(pair, "GIT_CONFIG_COUNT="); ok {
			n, _ = strconv.Atoi(value) // git refuses any other value
		}
	}
	for _, key := range keys {
		name := key[:strings.LastIndex(key, ".")]
		for _, set := range [][2]string{{".clean", ""}, {".process", ""}, {".required", "false"}} {
			p.env = append(p.env, fmt.Sprintf("GIT_CONFIG_KEY_%d=%s%s", n, name, set[0]), fmt.Sprintf("GIT_CONFIG_VALUE_%d=%s", n, set[1]))
			n++
		}
	}
	p.env = append(p.env, fmt.Sprintf("GIT_CONFIG_COUNT=%d", n))
	return nil
}

// keepCommitted takes back what git has added for files that are as a checkout of HEAD writes them. A commit
// can have line ends and keywords that git would convert, and its controller reads the commit.
func (s *Source) keepCommitted(git *program) error {
	if _, err := s.commit("HEAD"); err != nil {
		return nil // nothing is committed
	}
	list, err := git.names("diff-index", "--cached", "--raw", "-z", "--no-renames", "--no-abbrev", "--diff-filter=M", "HEAD")
	if err != nil {
		return err
	}
	var same []string
	for i := 0; i+1 < len(list); i += 2 { // the modes and IDs, then the name
		name, fields := list[i+1], strings.Fields(list[i])
		if len(fields) != 5 {
			return fmt.Errorf("git answers %q", list[i])
		}
		o, err := s.object(fields[2])
		if err != nil || !bytes.Contains(o.data, []byte("\r\n")) && !bytes.Contains(o.data, []byte("$Id:")) {
			continue // a checkout does not convert it, or it is a submodule
		}
		out, err := git.run("cat-file", "--filters", "--path="+name, fields[2])
		if err != nil {
			return err
		}
		data, err := os.ReadFile(filepath.Join(s.top, filepath.FromSlash(name)))
		if err != nil {
			return err
		}
		if string(data) == out {
			same = append(same, name)
		}
	}
	if len(same) == 0 {
		return nil
	}
	_, err = git.run(append([]string{"--literal-pathspecs", "reset", "--quiet", "HEAD", "--"}, same...)...)
	return err
}

// filtered returns the files that have a filter according to .gitattributes: the commit contains the output
// of a program.
func (p *program) filtered() (map[string]error, error) {
	refused := map[string]error{}
	names, err := p.names("ls-files", "-z", "--", ":(top,exclude,attr:!filter)", ":(top,exclude,attr:-filter)", ":(top,exclude,attr:filter)")
	if err != nil || len(names) == 0 {
		return refused, err
	}
	lfs, err := p.names("ls-files", "-z", "--", ":(top,attr:filter=lfs)")
	for _, name := range names {
		refused[name] = files.Unreadable{Name: name, Why: "has a filter, a program that lkeplan does not run",
			Do: "exclude it from the pattern in .gitattributes, as with \"" + name + " -filter\""}
	}
	for _, name := range lfs {
		refused[name] = files.Pointer(name)
	}
	return refused, err
}

// keep reads the objects of a temporary directory that is removed.
func (s *Source) keep(git *program, objects string) error {
	return filepath.WalkDir(objects, func(name string, d fs.DirEntry, err error) error {
		id := filepath.Base(filepath.Dir(name)) + d.Name()
		if err != nil || d.IsDir() || strings.Trim(id, "0123456789abcdef") != "" || len(id) < 40 {
			return err
		}
		o, err := git.object(id)
		if err != nil {
			return fmt.Errorf("read what git has added: %w", err)
		}
		s.known[id] = o
		return nil
	})
}

// directoryForGit writes a directory for a list of directories for git.
func directoryForGit(dir string) string {
	if !strings.ContainsRune(dir, os.PathListSeparator) && !strings.HasPrefix(dir, `"`) {
		return dir
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(dir) + `"`
}

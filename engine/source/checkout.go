package source

import (
	"bytes"
	"cmp"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/go-git/go-git/v5/plumbing/filemode"
)

// index implements checkout. It reads the index, and no files: that would run filters, and the times
// in the index may be wrong.
func (p *program) index() (all []tracked, err error) {
	out, err := p.run("ls-files", "-z", "-s", "-v")
	if err != nil {
		return nil, err
	}
	for line := range strings.SplitSeq(strings.TrimSuffix(out, "\x00"), "\x00") {
		if line == "" {
			continue
		}
		about, name, found := strings.Cut(line, "\t")
		fields := strings.Fields(about)
		if !found || len(fields) != 4 {
			return nil, fmt.Errorf("git answers %q", line)
		}
		all = append(all, tracked{path: name, mode: fields[1], id: fields[2], skip: strings.EqualFold(fields[0], "S"),
			assume: fields[0] == strings.ToLower(fields[0]), unmerged: fields[3] != "0"})
	}
	return all, nil
}

func (p *program) option(name string, otherwise bool) (bool, error) {
	out, err := p.run("config", "--type=bool", "--get", name)
	if none(err) {
		return otherwise, nil
	}
	return strings.TrimSpace(out) == "true", err
}

func (p *program) attributes(name string) (filter, encoding string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.attrs == nil {
		if p.attrs, err = p.start("check-attr", "-z", "--stdin", "filter", "working-tree-encoding"); err != nil {
			return "", "", err
		}
	}
	if p.nameless == nil {
		if p.nameless, err = p.namelessFilters(); err != nil {
			return "", "", err
		}
	}
	values := map[string]string{}
	_, err = io.WriteString(p.attrs.in, name+"\x00")
	for range 2 {
		var fields [3]string // the file, the attribute and its value
		for i := range fields {
			if err == nil {
				fields[i], err = p.attrs.out.ReadString(0)
			}
		}
		attribute, value := strings.TrimSuffix(fields[1], "\x00"), strings.TrimSuffix(fields[2], "\x00")
		switch value {
		case "unspecified", "unset", "set", "": // the file has none, unless a filter has this name
			if attribute == "filter" && p.nameless[value] {
				values[attribute] = cmp.Or(value, "(without a name)")
			}
		default:
			values[attribute] = value
		}
	}
	if err != nil {
		p.attrs = nil
		return "", "", fmt.Errorf("read the Git attributes of %s: %w", name, err)
	}
	return values["filter"], values["working-tree-encoding"], nil
}

// namelessFilters are filters in the configuration with the names that git prints for a file without a
// filter: such a filter would run for a file that seems to have none.
func (p *program) namelessFilters() (map[string]bool, error) {
	out, err := p.run("config", "-z", "--name-only", "--get-regexp", `^filter\.(set|unset|unspecified)?\.`)
	found := map[string]bool{}
	for key := range strings.SplitSeq(out, "\x00") {
		if name, ok := strings.CutPrefix(key, "filter."); ok {
			found[name[:strings.LastIndex(name, ".")]] = true
		}
	}
	if none(err) {
		err = nil
	}
	return found, err
}

// clean lets git store the file in a temporary directory.
func (p *program) clean(name string, data []byte) ([]byte, error) {
	dir, err := os.MkdirTemp("", "lkeplan-")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithTimeout(p.ctx, answerTimeout)
	defer cancel()
	cmd, said := p.command(ctx, "-c", "core.safecrlf=false", "hash-object", "-w", "--stdin", "--path="+name)
	cmd.Stdin = bytes.NewReader(data)
	cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], "GIT_OBJECT_DIRECTORY="+dir,
		"GIT_ALTERNATE_OBJECT_DIRECTORIES="+listed(p.objects))
	out, err := cmd.Output()
	id := strings.TrimSpace(string(out))
	if err != nil || len(id) < 40 {
		return nil, fmt.Errorf("convert %s with git: %w", name, complaint(err, said.String()))
	}
	file, err := os.Open(filepath.Join(dir, id[:2], id[2:]))
	if errors.Is(err, os.ErrNotExist) { // the repository has it
		o, err := p.object(id)
		return o.data, err
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	plain, err := zlib.NewReader(file)
	if err != nil {
		return nil, fmt.Errorf("read the conversion of %s by git: %w", name, err)
	}
	whole, err := io.ReadAll(io.LimitReader(plain, 2*maxObject))
	_, stored, found := bytes.Cut(whole, []byte{0})
	if err != nil || !found || sum(id, stored) != id {
		return nil, fmt.Errorf("read the conversion of %s by git: it is incomplete: %w", name, err)
	}
	return stored, nil
}

func (p *program) checkedOut(name, id string) ([]byte, error) {
	out, err := p.run("cat-file", "--filters", "--path="+name, id)
	if err != nil {
		return nil, fmt.Errorf("convert %s with git: %w", name, err)
	}
	return []byte(out), nil
}

// listed writes a directory for a list of directories for git.
func listed(dir string) string {
	if !strings.ContainsRune(dir, os.PathListSeparator) && !strings.HasPrefix(dir, `"`) {
		return dir
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(dir) + `"`
}

func (l library) index() (all []tracked, err error) {
	found, err := l.repo.Storer.Index()
	if err != nil {
		return nil, l.unknown(err)
	}
	for _, e := range found.Entries {
		mode := modeFile
		switch e.Mode {
		case filemode.Symlink:
			mode = modeLink
		case filemode.Submodule:
			mode = modeSubmodule
		}
		all = append(all, tracked{path: e.Name, mode: mode, id: e.Hash.String(), skip: e.SkipWorktree,
			unmerged: e.Stage != 0})
	}
	return all, nil
}

func (l library) option(name string, otherwise bool) (bool, error) {
	section, key, _ := strings.Cut(name, ".")
	c, err := l.repo.Config()
	if err != nil {
		return false, l.unknown(err)
	}
	if !c.Raw.HasSection(section) || !c.Raw.Section(section).HasOption(key) {
		return otherwise, nil
	}
	return strings.EqualFold(c.Raw.Section(section).Option(key), "true"), nil
}

// attributes returns none if no .gitattributes contains a filter or an encoding, and otherwise an
// error. Unlike Git, it does not read the attributes of the user.
func (l library) attributes(name string) (filter, encoding string, err error) {
	tree, err := l.repo.Worktree()
	if err != nil {
		return "", "", err
	}
	for dir := path.Dir(name); ; dir = path.Dir(dir) {
		text, err := os.ReadFile(filepath.Join(tree.Filesystem.Root(), filepath.FromSlash(dir), ".gitattributes"))
		if err == nil && (bytes.Contains(text, []byte("filter")) || bytes.Contains(text, []byte("encoding"))) {
			return "", "", l.unknown(fmt.Errorf("%s may have a filter or an encoding according to %s", name,
				path.Join(dir, ".gitattributes")))
		}
		if dir == "." {
			return "", "", nil
		}
	}
}

func (l library) clean(name string, _ []byte) ([]byte, error) {
	return nil, l.unknown(fmt.Errorf("%s has line ends or keywords that Git may convert", name))
}

func (l library) object(id string) (object, error) {
	return object{}, l.unknown(fmt.Errorf("read %.12s", id))
}

func (l library) checkedOut(name, _ string) ([]byte, error) { return l.clean(name, nil) }

// unknown adds what to do about something that the library cannot determine.
func (l library) unknown(err error) error {
	if l.owner != nil {
		return fmt.Errorf("%w: %w", err, l.owner)
	}
	return fmt.Errorf("%w%s", err, noGit)
}

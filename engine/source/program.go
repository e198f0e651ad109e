package source

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// program is a repository that the program git reads.
type program struct {
	ctx  context.Context // of the command: nothing of git outlives it
	path string          // of git
	dir  string
	env  []string
	ends bool // it is shallow

	objects string // the directory

	mu    sync.Mutex
	batch *batch // nil before the first question, and after one that ended it
	attrs *batch // as batch, for attributes

	nameless map[string]bool // of namelessFilters; nil before the first question
	known    map[string]object
	size     int64 // of what is known
}

// open finds the repository around a directory. If GIT_DIR names one, as in the hooks of git,
// it has to be the same. The error is ErrNoRepository for a plain directory, and errNoProgram
// if git is not installed.
func (s *Source) open(ctx context.Context, abs string) error {
	if linked, err := filepath.EvalSymlinks(abs); err == nil {
		abs = linked
	}
	around, asked := dotGit(abs), s.getenv("GIT_DIR")
	if around == "" && asked == "" {
		return ErrNoRepository
	}
	path, err := exec.LookPath("git")
	if err != nil {
		return fmt.Errorf("read the Git repository of %s: %w", abs, errNoProgram)
	}
	p := &program{ctx: ctx, path: path, dir: abs, env: environment(os.Environ()), known: map[string]object{}}
	if around == "" {
		tree := s.getenv("GIT_WORK_TREE")
		for name, value := range map[string]string{"GIT_DIR": asked, "GIT_WORK_TREE": tree} {
			value, err := filepath.Abs(value) // the working directory, for no GIT_WORK_TREE
			if err != nil {
				return err
			}
			p.env = append(p.env, name+"="+value)
		}
	}
	out, err := p.run("rev-parse", "--show-toplevel", "--absolute-git-dir", "--is-shallow-repository",
		"--git-path", "objects")
	if err != nil {
		return fmt.Errorf("read the Git repository of %s: %w", abs, err)
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != 4 {
		return fmt.Errorf("read the Git repository of %s: git is too old, or answers %q", abs, out)
	}
	s.top, p.ends, p.objects = lines[0], lines[2] == "true", lines[3]
	if !filepath.IsAbs(p.objects) {
		p.objects = filepath.Join(p.dir, p.objects)
	}
	s.program, s.submodule = p, strings.Contains(filepath.ToSlash(lines[1]), "/.git/modules/")
	if around != "" && asked != "" && !samePlace(asked, lines[1]) {
		return advise(fmt.Errorf("GIT_DIR names another repository, %s, than the one that %s is in, %s", asked, abs,
			lines[1]), "unset GIT_DIR GIT_WORK_TREE")
	}
	return nil
}

func samePlace(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// environment is what git is started with: what the user has set, without what leads
// it to another repository, and with what keeps the configuration of a hostile
// repository from running programs. Reading objects starts none, but for a partial
// clone, which fetches what it lacks: by any program that its configuration names.
func environment(user []string) []string {
	kept := slices.DeleteFunc(slices.Clone(user), func(pair string) bool {
		ours := func(prefix string) bool { return strings.HasPrefix(pair, prefix) }
		return ours("GIT_") && !ours("GIT_CONFIG") && !ours("GIT_CEILING_") && !ours("GIT_DISCOVERY_") && !ours("GIT_TEST_")
	})
	return append(kept, "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_GRAFT_FILE="+os.DevNull, "LC_ALL=C")
}

// patience bounds one answer of git.
const patience = time.Minute

// command is a call of git. It runs no hook and no monitor of files.
func (p *program) command(ctx context.Context, args ...string) (*exec.Cmd, *bytes.Buffer) {
	args = append([]string{"--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}, args...)
	cmd := exec.CommandContext(ctx, p.path, args...)
	cmd.Dir, cmd.Env = p.dir, p.env
	said := &bytes.Buffer{}
	cmd.Stderr = said
	return cmd, said
}

// run returns what git prints.
func (p *program) run(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	cmd, said := p.command(ctx, args...)
	out, err := cmd.Output()
	if err != nil {
		return string(out), complaint(err, said.String())
	}
	return string(out), nil
}

// errOwner says why git reads nothing of a repository.
var errOwner = errors.New("it belongs to another user, so Git does not read it; if you trust it")

// errNone says that there is a .git, and that Git finds no repository there.
var errNone = errors.New("not a git repository")

// complaint words what git says of an error.
func complaint(err error, said string) error {
	said = strings.TrimSpace(said)
	if strings.Contains(said, "dubious ownership") {
		for line := range strings.Lines(said) {
			if line = strings.TrimSpace(line); strings.HasPrefix(line, "git config ") {
				return advise(errOwner, line)
			}
		}
	}
	if said == "" {
		return fmt.Errorf("git: %w", err)
	}
	first, _, _ := strings.Cut(said, "\n")
	if strings.Contains(first, errNone.Error()) {
		return fmt.Errorf("git says: %s: %w", strings.TrimPrefix(first, "fatal: "), errNone)
	}
	return fmt.Errorf("git says: %s: %w", strings.TrimPrefix(first, "fatal: "), err)
}

// none reports whether git says no by its exit code, which is no error.
func none(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && exit.ExitCode() == 1
}

func (p *program) shallow() bool { return p.ends }

func (p *program) mergeBases(a, b string) ([]string, error) {
	out, err := p.run("merge-base", "--all", a, b)
	if none(err) {
		return nil, nil
	}
	return strings.Fields(out), err
}

func (p *program) cut(a, b, base string) (bool, error) {
	if !p.ends {
		return false, nil
	}
	file, err := p.run("rev-parse", "--git-path", "shallow")
	if err != nil {
		return false, err
	}
	file = strings.TrimSpace(file)
	if !filepath.IsAbs(file) {
		file = filepath.Join(p.dir, file)
	}
	ends, err := os.ReadFile(file)
	if err != nil {
		return false, fmt.Errorf("read where the shallow clone ends: %w", err)
	}
	between, err := p.run("rev-list", a, b, "^"+base)
	boundary := strings.Fields(string(ends))
	return slices.ContainsFunc(strings.Fields(between), func(id string) bool { return slices.Contains(boundary, id) }), err
}

func (p *program) symbolic(name string) (string, error) {
	out, err := p.run("symbolic-ref", "--quiet", name)
	if none(err) {
		return "", nil
	}
	return strings.TrimSpace(out), err
}

func (p *program) branches() ([]string, error) {
	out, err := p.run("for-each-ref", "--format=%(refname)", "refs/heads")
	names := strings.Fields(out)
	for i, name := range names {
		names[i] = strings.TrimPrefix(name, "refs/heads/")
	}
	return names, err
}

func (p *program) remotes() ([]string, error) {
	out, err := p.run("remote")
	return strings.Fields(out), err
}

// maxKnown bounds the objects that are kept because they are often read again, in bytes.
const maxKnown = 64 << 20

func (p *program) object(name string) (o object, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if o, ok := p.known[name]; ok {
		return o, nil
	}
	if p.batch == nil {
		if p.batch, err = p.start("cat-file", "--batch"); err != nil {
			return o, err
		}
	}
	o, err = p.batch.ask(name)
	if errors.Is(err, errGone) {
		err = p.batch.reason()
		p.batch = nil
	}
	if err == nil && o.id == name && p.size+int64(len(o.data)) <= maxKnown {
		p.known[name] = o
		p.size += int64(len(o.data))
	}
	return o, err
}

// batch is a git that answers one question after the other. It ends with the context of the
// program, or with this process.
type batch struct {
	in    io.Writer
	out   *bufio.Reader
	said  *bytes.Buffer
	ended chan error
}

// errGone says that git has ended and answers no more.
var errGone = errors.New("git has ended")

func (p *program) start(args ...string) (*batch, error) {
	cmd, said := p.command(p.ctx, args...)
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	cmd.Stdout = w
	err = cmd.Start()
	w.Close()
	if err != nil {
		out.Close()
		return nil, fmt.Errorf("start git: %w", err)
	}
	b := &batch{in, bufio.NewReader(out), said, make(chan error, 1)}
	go func() {
		b.ended <- cmd.Wait()
		out.Close()
	}()
	return b, nil
}

func (b *batch) ask(name string) (object, error) {
	if _, err := fmt.Fprintln(b.in, name); err != nil {
		return object{}, errGone
	}
	header, err := b.out.ReadString('\n')
	if err != nil {
		return object{}, errGone
	}
	header = strings.TrimSuffix(header, "\n")
	if answer, ok := strings.CutPrefix(header, name+" "); ok {
		switch answer {
		case "missing":
			return object{}, errMissing
		case "ambiguous":
			return object{}, fmt.Errorf("more than one object is called %s; write more of its name", name)
		}
	}
	fields := strings.Fields(header)
	if len(fields) != 3 {
		return object{}, fmt.Errorf("git answers %q", header)
	}
	o := object{id: fields[0], kind: fields[1]}
	if o.size, err = strconv.ParseInt(fields[2], 10, 64); err != nil {
		return object{}, fmt.Errorf("git answers %q", header)
	}
	if o.size > maxObject {
		_, err = io.CopyN(io.Discard, b.out, o.size+1)
		return o, err
	}
	data := make([]byte, o.size+1) // a line feed follows
	if _, err := io.ReadFull(b.out, data); err != nil {
		return object{}, errGone
	}
	o.data = data[:o.size]
	return o, nil
}

// reason says why git has ended. Where it could not fetch what a partial clone lacks,
// that is missing.
func (b *batch) reason() error {
	err := <-b.ended
	if said := b.said.String(); err != nil && !strings.Contains(said, "promisor remote") {
		return complaint(err, said)
	}
	return errMissing
}

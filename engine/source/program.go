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

// program reads a repository with the program git.
type program struct {
	ctx     context.Context // of the command: no git process outlives it
	path    string          // of git
	dir     string
	env     []string
	shallow bool

	objects  string // the directory
	boundary string // the file with the oldest commits of a shallow clone
	index    string // the file

	mu    sync.Mutex
	batch *batch // nil before the first question, and after it has ended

	remotes func() ([]string, error) // their names

	known map[string]object
	size  int64 // of the known objects
}

// open finds the repository around a directory. The variables of a hook, such as GIT_DIR, may be about
// another one, and do not count. The error is ErrNoRepository for a plain directory, and errNoProgram if git
// is not installed.
func (s *Source) open(ctx context.Context, abs string) error {
	if linked, err := filepath.EvalSymlinks(abs); err == nil {
		abs = linked
	}
	if DotGit(abs) == "" {
		return ErrNoRepository
	}
	path, err := exec.LookPath("git")
	if err != nil {
		return fmt.Errorf("read the Git repository of %s: %w", abs, errNoProgram)
	}
	p := &program{ctx: ctx, path: path, dir: abs, env: gitEnvironment(os.Environ()), known: map[string]object{}}
	p.remotes = sync.OnceValues(func() ([]string, error) {
		out, err := p.run("remote")
		return strings.Fields(out), err
	})
	out, err := p.run("rev-parse", "--show-toplevel", "--absolute-git-dir", "--is-shallow-repository",
		"--git-path", "objects", "--git-path", "shallow", "--git-path", "index")
	if err != nil {
		return fmt.Errorf("read the Git repository of %s: %w", abs, err)
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	if len(lines) != 6 {
		return fmt.Errorf("read the Git repository of %s: unexpected answer from git, which may be too old: %q", abs, out)
	}
	s.top, p.shallow, p.objects, p.boundary = lines[0], lines[2] == "true", p.absolute(lines[3]), p.absolute(lines[4])
	p.index = p.absolute(lines[5])
	s.program, s.submodule = p, strings.Contains(filepath.ToSlash(lines[1]), "/.git/modules/")
	return nil
}

// absolute returns the path of a file that git names.
func (p *program) absolute(name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(p.dir, name)
}

// gitEnvironment returns the environment of git: that of the user, without variables that select another
// repository, and with variables that prevent the configuration of a hostile repository from running
// programs. Reading objects usually starts none. But a partial clone fetches missing objects, with any
// program in its configuration.
func gitEnvironment(user []string) []string {
	kept := slices.DeleteFunc(slices.Clone(user), func(pair string) bool {
		ours := func(prefix string) bool { return strings.HasPrefix(pair, prefix) }
		return ours("GIT_") && !ours("GIT_CONFIG") && !ours("GIT_CEILING_") && !ours("GIT_DISCOVERY_") && !ours("GIT_TEST_")
	})
	return append(kept, "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0",
		"GIT_NO_REPLACE_OBJECTS=1", "GIT_GRAFT_FILE="+os.DevNull, "LC_ALL=C")
}

// answerTimeout is the time limit for one answer of git.
const answerTimeout = time.Minute

// command returns a call of git. It runs neither hooks nor a file system monitor.
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
	ctx, cancel := context.WithTimeout(p.ctx, answerTimeout)
	defer cancel()
	cmd, said := p.command(ctx, args...)
	out, err := cmd.Output()
	if err != nil {
		return string(out), withGitOutput(err, said.String())
	}
	return string(out), nil
}

// errOwner is why git refuses to read a repository.
var errOwner = errors.New("it belongs to another user, so Git does not read it; if you trust it")

// errNone is the error of a .git that is not a repository.
var errNone = errors.New("not a git repository")

// withGitOutput adds the error output of git to an error.
func withGitOutput(err error, output string) error {
	output = strings.TrimSpace(output)
	if strings.Contains(output, "dubious ownership") {
		for line := range strings.Lines(output) {
			line = strings.TrimSpace(line)
			if strings.HasPrefix(line, "git config ") {
				return withAdvice(errOwner, line)
			}
		}
	}
	if output == "" {
		return fmt.Errorf("git: %w", err)
	}
	first, _, _ := strings.Cut(output, "\n")
	if strings.Contains(first, errNone.Error()) {
		return fmt.Errorf("git says: %s: %w", strings.TrimPrefix(first, "fatal: "), errNone)
	}
	return fmt.Errorf("git says: %s: %w", strings.TrimPrefix(first, "fatal: "), err)
}

// meansNo reports whether the exit code of git means no, which is not an error.
func meansNo(err error) bool {
	exit, ok := errors.AsType[*exec.ExitError](err)
	return ok && exit.ExitCode() == 1
}

func (p *program) mergeBases(a, b string) ([]string, error) {
	if a == b {
		return []string{a}, nil
	}
	out, err := p.run("merge-base", "--all", a, b)
	if meansNo(err) {
		return nil, nil
	}
	return strings.Fields(out), err
}

func (p *program) cut(a, b, base string) (bool, error) {
	if !p.shallow {
		return false, nil
	}
	ends, err := os.ReadFile(p.boundary)
	if err != nil {
		return false, fmt.Errorf("read the boundary of the shallow clone: %w", err)
	}
	between, err := p.run("rev-list", a, b, "^"+base)
	boundary := strings.Fields(string(ends))
	return slices.ContainsFunc(strings.Fields(between), func(id string) bool { return slices.Contains(boundary, id) }), err
}

func (p *program) symbolic(name string) (string, error) {
	out, err := p.run("symbolic-ref", "--quiet", name)
	if meansNo(err) {
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

// maxKnown is the maximum size of the cache of objects, in bytes.
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

// batch is a git process that answers one question after the other. It ends with the context of the
// program, or with this process.
type batch struct {
	in    io.Writer
	out   *bufio.Reader
	said  *bytes.Buffer
	ended chan error
}

// errGone is the error if the git process has ended.
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
			return object{}, fmt.Errorf("more than one object starts with %s; write more of its hash", name)
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

// reason returns why git has ended. If git tried to fetch what a partial clone lacks, it is errMissing.
func (b *batch) reason() error {
	err := <-b.ended
	if said := b.said.String(); err != nil && !strings.Contains(said, "promisor remote") {
		return withGitOutput(err, said)
	}
	return errMissing
}

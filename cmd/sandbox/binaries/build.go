package binaries

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/lkeplan/lkeplan/cmd/sandbox/process"
)

// stillEvery is how often a long build reports that it continues.
const stillEvery = 30 * time.Second

// job builds the missing programs of one module, in this directory:
//
//	go.mod, go.sum   the embedded module
//	bin/             the programs, each complete or absent
//	assets/          the files copied from the sources
//	build.log        the last output of the go command
type job struct {
	module  Module
	dir     string
	missing []Program
	say     func(format string, args ...any)
}

func (j job) program(p Program) string { return filepath.Join(j.dir, "bin", p.Name) }
func (j job) asset(a Asset) string     { return filepath.Join(j.dir, "assets", a.Name) }
func (j job) log() string              { return filepath.Join(j.dir, "build.log") }

func (j job) done() bool {
	for _, a := range j.module.Assets {
		if !exists(j.asset(a)) {
			return false
		}
	}
	return len(j.missing) == 0
}

// build builds what is missing; place returns "2 of 5" for messages. One process at a time works in a
// directory; others wait and find the result.
func (j job) build(ctx context.Context, place func() string) error {
	if j.done() {
		return nil
	}
	goCommand, err := exec.LookPath("go")
	if err != nil {
		return fmt.Errorf("build %s: no go command in PATH: install Go, or point KUBEBUILDER_ASSETS at ready-made binaries",
			j.module.Name)
	}
	if err := j.furnish(); err != nil {
		return fmt.Errorf("build %s: %w", j.module.Name, err)
	}
	waiting := func() { j.say("another sandbox is building %s; waiting for it", j.module.Name) }
	unlock, err := process.Lock(ctx, j.dir+".lock", waiting)
	if err != nil {
		return fmt.Errorf("build %s: %w", j.module.Name, err)
	}
	defer unlock()
	if err := j.buildPrograms(ctx, goCommand, place); err != nil {
		return fmt.Errorf("build %s: %w", j.module.Name, err)
	}
	for _, a := range j.module.Assets {
		if err := j.copyAsset(ctx, goCommand, a); err != nil {
			return fmt.Errorf("copy %s of %s: %w", a.Path, a.Module, err)
		}
	}
	return nil
}

// furnish writes the module's files. The directory's name is a digest of them, so
// another process that writes them writes the same.
func (j job) furnish() error {
	mod, sum, err := j.module.source()
	if err != nil {
		return err
	}
	for _, dir := range []string{"bin", "assets"} {
		if err := os.MkdirAll(filepath.Join(j.dir, dir), 0o755); err != nil {
			return err
		}
	}
	if err := replaceFile(filepath.Join(j.dir, "go.sum"), bytes.NewReader(sum)); err != nil {
		return err
	}
	return replaceFile(filepath.Join(j.dir, "go.mod"), bytes.NewReader(mod))
}

// buildPrograms builds all that is missing in one run of the go command, which links some
// while it compiles others.
func (j job) buildPrograms(ctx context.Context, goCommand string, place func() string) error {
	missing := slices.DeleteFunc(slices.Clone(j.missing), func(p Program) bool { return exists(j.program(p)) })
	if len(missing) == 0 {
		return nil // another process was faster
	}
	flags, err := j.module.buildFlags()
	if err != nil {
		return err
	}
	// Under the lock no other process uses this name; a leftover is overwritten.
	unfinished := filepath.Join(j.dir, "unfinished") + string(filepath.Separator)
	if err := os.MkdirAll(unfinished, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(unfinished)
	began := time.Now()
	if err := j.announce(missing, place()); err != nil {
		return err
	}
	stop := j.reassure(began)
	verb, packages := []string{"build"}, []string{}
	for _, p := range missing {
		if packages = append(packages, p.Package); p.Test {
			verb = []string{"test", "-c"}
		}
	}
	err = j.run(ctx, io.Discard, goCommand, slices.Concat(verb, flags, []string{"-o", unfinished}, packages)...)
	stop()
	if err != nil {
		return err
	}
	for _, p := range missing {
		if err := os.Rename(filepath.Join(unfinished, p.output()), j.program(p)); err != nil {
			return err
		}
	}
	j.say("built %s in %s", j.module.Name, time.Since(began).Round(100*time.Millisecond))
	return nil
}

// announce says what is built now, and how long that takes.
func (j job) announce(missing []Program, place string) error {
	var names []string
	var usual time.Duration
	for _, p := range missing {
		version, err := j.module.Version(p)
		if err != nil {
			return err
		}
		names = append(names, p.Name+" "+version)
		usual += p.Usual
	}
	j.say("building %s (%s; usually takes about %s the first time on two cores)", strings.Join(names, ", "), place,
		roughly(usual))
	return nil
}

// output is what the go command calls the program.
func (p Program) output() string {
	name := path.Base(p.Package)
	if strings.HasPrefix(name, "v") && strings.Trim(name[1:], "0123456789") == "" { // the major version of a module
		name = path.Base(path.Dir(p.Package))
	}
	if p.Test {
		name += ".test"
	}
	return name
}

// reassure reports now and then that a build continues, until the returned function is
// called.
func (j job) reassure(began time.Time) (stop func()) {
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		ticker := time.NewTicker(stillEvery)
		defer ticker.Stop()
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				j.say("still building %s, %s so far", j.module.Name, time.Since(began).Round(time.Second))
			}
		}
	}()
	return func() {
		close(done)
		<-stopped
	}
}

// copyAsset takes a file from the source of a module that the build has fetched.
func (j job) copyAsset(ctx context.Context, goCommand string, a Asset) error {
	if exists(j.asset(a)) {
		return nil
	}
	// If the program was prebuilt, nothing has fetched the source yet.
	if err := j.run(ctx, io.Discard, goCommand, "mod", "download", a.Module); err != nil {
		return err
	}
	var out bytes.Buffer
	if err := j.run(ctx, &out, goCommand, "list", "-m", "-f", "{{.Dir}}", a.Module); err != nil {
		return err
	}
	file, err := os.Open(filepath.Join(string(bytes.TrimSpace(out.Bytes())), filepath.FromSlash(a.Path)))
	if err != nil {
		return err
	}
	defer file.Close()
	return replaceFile(j.asset(a), file)
}

// run runs the go command in the job's directory. Its errors go to the log.
func (j job) run(ctx context.Context, stdout io.Writer, goCommand string, args ...string) error {
	log, err := os.Create(j.log())
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.CommandContext(ctx, goCommand, args...)
	cmd.Dir = j.dir
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Stdout, cmd.Stderr = stdout, log
	// The go command has compilers as children; a cancelled build ends them all.
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGTERM) }
	cmd.WaitDelay = 5 * time.Second
	err = cmd.Run()
	if ctx.Err() != nil {
		return fmt.Errorf("stopped: %w", context.Cause(ctx))
	}
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return fmt.Errorf("go %s: %w; its log is %s and ends with:\n%s", args[0], exit, j.log(), process.Tail(j.log(), 15))
	}
	return err
}

// replaceFile puts a file in its place in one step.
func replaceFile(path string, content io.Reader) error {
	file, err := os.CreateTemp(filepath.Dir(path), ".new-*")
	if err != nil {
		return err
	}
	defer os.Remove(file.Name())
	_, err = io.Copy(file, content)
	if err := errors.Join(err, file.Chmod(0o644), file.Close()); err != nil {
		return err
	}
	return os.Rename(file.Name(), path)
}

// roughly formats a duration in round numbers.
func roughly(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d seconds", int(d.Seconds()))
	case d < 2*time.Minute:
		return "a minute"
	}
	return fmt.Sprintf("%d minutes", int(d.Minutes()))
}

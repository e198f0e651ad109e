package binaries

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/lkeplan/lkeplan/cmd/sandbox/process"
)

// job builds the programs of one module that are missing, in this directory:
//
//	go.mod, go.sum   the embedded module
//	bin/             the programs, each complete or absent
//	assets/          the files copied from the sources
//	build.log        the last output of the go command
type job struct {
	module   Module
	dir      string
	programs []Program // without those that are prebuilt
	say      func(format string, args ...any)
}

func (j job) program(p Program) string { return filepath.Join(j.dir, "bin", p.Name) }
func (j job) asset(a Asset) string     { return filepath.Join(j.dir, "assets", a.Name) }
func (j job) log() string              { return filepath.Join(j.dir, "build.log") }

// missing returns the programs and assets that do not exist yet.
func (j job) missing() (programs []Program, assets []Asset) {
	return slices.DeleteFunc(slices.Clone(j.programs), func(p Program) bool { return exists(j.program(p)) }),
		slices.DeleteFunc(slices.Clone(j.module.Assets), func(a Asset) bool { return exists(j.asset(a)) })
}

// build builds what is missing. One process at a time works in a directory; others wait and find the result.
func (j job) build(ctx context.Context) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("build %s: %w", j.module.Name, err)
		}
	}()
	if programs, assets := j.missing(); len(programs)+len(assets) == 0 {
		return nil
	}
	goCommand, err := exec.LookPath("go")
	if err != nil {
		return errors.New("no go command in PATH: install Go, or point KUBEBUILDER_ASSETS at ready-made binaries")
	}
	if err := j.furnish(); err != nil {
		return err
	}
	waiting := func() { j.say("another sandbox is building %s; waiting for it", j.module.Name) }
	unlock, err := process.Lock(ctx, j.dir+".lock", waiting)
	if err != nil {
		return err
	}
	defer unlock()
	programs, assets := j.missing()
	if len(programs) > 0 {
		if err := j.buildPrograms(ctx, goCommand, programs); err != nil {
			return err
		}
	}
	for _, a := range assets {
		if err := j.copyAsset(ctx, goCommand, a); err != nil {
			return fmt.Errorf("copy %s of %s: %w", a.Path, a.Module, err)
		}
	}
	return nil
}

// furnish writes the module's files. The directory's name is a digest of them, so if another process writes the
// files, they are the same.
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

// buildPrograms builds programs in one run of the go command, which links some while it compiles others.
func (j job) buildPrograms(ctx context.Context, goCommand string, programs []Program) error {
	flags, err := j.module.buildFlags()
	if err != nil {
		return err
	}
	// No other process uses this name, because of the lock, so a leftover can be overwritten.
	unfinished := filepath.Join(j.dir, "unfinished") + string(filepath.Separator)
	if err := os.MkdirAll(unfinished, 0o755); err != nil {
		return err
	}
	defer os.RemoveAll(unfinished)
	verb, names, packages := []string{"build"}, []string{}, []string{}
	for _, p := range programs {
		names, packages = append(names, p.Name), append(packages, p.Package)
		if p.Test {
			verb = []string{"test", "-c"}
		}
	}
	began := time.Now()
	j.say("building %s, which takes minutes the first time", strings.Join(names, ", "))
	err = j.run(ctx, io.Discard, goCommand, slices.Concat(verb, flags, []string{"-o", unfinished}, packages)...)
	if err != nil {
		return err
	}
	for _, p := range programs {
		if err := os.Rename(filepath.Join(unfinished, cmp.Or(p.Output, p.Name)), j.program(p)); err != nil {
			return err
		}
	}
	j.say("built %s in %s", j.module.Name, time.Since(began).Round(100*time.Millisecond))
	return nil
}

// copyAsset copies a file from the source of a module that the build has fetched.
func (j job) copyAsset(ctx context.Context, goCommand string, a Asset) error {
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
	// The toolchain that built the sandbox, which the digest names, has compiled what these programs share with it.
	cmd.Env = append(os.Environ(), "GOWORK=off", "GOTOOLCHAIN="+goVersion())
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

// Command image builds the image of the controller from the commit that is checked out, as an
// OCI layout, without a container engine, and pushes nothing.
//
// Two builds of a commit, by the same Go, have the same bytes.
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("image: ")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

// commit is the commit from which the image is built.
type commit struct {
	root    string // of the repository
	version string // without the v
	made    time.Time
}

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("image", flag.ContinueOnError)
	root := flags.String("repository", ".", "`directory` of the repository")
	dir := flags.String("out", "bin/image", "`directory` to write to, which is emptied")
	only := flags.String("architectures", "amd64,arm64", "the `architectures` of the image")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c, err := read(ctx, *root)
	if err != nil {
		return err
	}
	if !filepath.IsAbs(*dir) {
		*dir = filepath.Join(c.root, *dir)
	}
	if err := errors.Join(os.RemoveAll(*dir), os.MkdirAll(*dir, 0o755)); err != nil {
		return err
	}
	return c.image(ctx, *dir, strings.Split(*only, ","))
}

// read reads the commit that is checked out.
func read(ctx context.Context, root string) (*commit, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	c := &commit{root: root}
	tag, err := c.run(ctx, nil, "git", "describe", "--tags", "--always", "--dirty", "--match", "v[0-9]*")
	if err != nil {
		return nil, err
	}
	version, tagged := strings.CutPrefix(tag, "v")
	c.version = version
	if !tagged {
		c.version = "0.0.0-g" + tag // for a commit before the first tag
	}
	seconds, err := c.run(ctx, nil, "git", "log", "-1", "--format=%ct")
	if err != nil {
		return nil, err
	}
	var unix int64
	if _, err := fmt.Sscan(cmp.Or(os.Getenv("SOURCE_DATE_EPOCH"), seconds), &unix); err != nil {
		return nil, fmt.Errorf("read the time of the commit: %w", err)
	}
	c.made = time.Unix(unix, 0).UTC()
	return c, nil
}

// build builds the controller into a file. It uses no C, and the program contains neither the build directory nor
// symbols.
func (c *commit) build(ctx context.Context, architecture, file string) error {
	_, err := c.run(ctx, []string{"CGO_ENABLED=0", "GOOS=linux", "GOARCH=" + architecture, "GOFLAGS="},
		"go", "build", "-trimpath", "-buildvcs=true", "-ldflags=-s -w -buildid=", "-o", file, "./cmd/controller")
	if err != nil {
		return fmt.Errorf("build the controller for %s: %w", architecture, err)
	}
	return nil
}

// run runs a program in the repository.
func (c *commit) run(ctx context.Context, env []string, name string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Dir, cmd.Env = c.root, append(os.Environ(), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("%s %s: %w\n%s", name, strings.Join(args, " "), err, &stderr)
	}
	return strings.TrimSpace(string(out)), nil
}

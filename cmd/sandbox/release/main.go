// Command release builds what a release publishes, into a directory, from the commit that
// is checked out: programs with archives, checksums and bills of materials, the image of
// the controller, the charts, and manifests for krew and Homebrew. It uploads nothing, and needs no
// container engine.
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
	"os/signal"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("release: ")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:]); err != nil {
		log.Fatal(err)
	}
}

// release is one release of a working tree.
type release struct {
	root    string    // of the repository
	dir     string    // that it is written to
	version string    // without v
	made    time.Time // of the commit
}

// platform is an operating system on an architecture.
type platform struct{ os, arch string }

func (p platform) String() string { return p.os + "/" + p.arch }

func run(ctx context.Context, args []string) error {
	flags := flag.NewFlagSet("release", flag.ContinueOnError)
	root := flags.String("repository", ".", "`directory` of the repository")
	dir := flags.String("out", "bin/release", "`directory` to write to, which is emptied")
	only := flags.String("platforms", "", "the CLI for these only, such as linux/amd64,darwin/arm64")
	if err := flags.Parse(args); err != nil {
		return err
	}
	what := flags.Args()
	if len(what) == 0 {
		what = []string{"cli", "image", "charts"}
	}
	r, err := prepare(ctx, *root, *dir)
	if err != nil {
		return err
	}
	for _, part := range what {
		switch part {
		case "cli":
			var list []platform
			if list, err = platforms(*only); err == nil {
				err = r.cli(ctx, list)
			}
		case "image":
			err = r.image(ctx, []platform{{"linux", "amd64"}, {"linux", "arm64"}})
		case "local-image": // for this machine's architecture
			err = r.image(ctx, []platform{{"linux", runtime.GOARCH}})
		case "charts":
			err = r.charts(ctx)
		default:
			err = fmt.Errorf("%q is nothing to build; there are cli, image, local-image and charts", part)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// platforms are those of the CLI, or some of them.
func platforms(only string) (list []platform, err error) {
	if only == "" {
		for _, os := range []string{"linux", "darwin", "windows"} {
			list = append(list, platform{os, "amd64"}, platform{os, "arm64"})
		}
		return list, nil
	}
	for text := range strings.SplitSeq(only, ",") {
		os, arch, ok := strings.Cut(text, "/")
		if !ok {
			return nil, fmt.Errorf("-platforms: %q is not like linux/amd64", text)
		}
		list = append(list, platform{os, arch})
	}
	return list, nil
}

// prepare finds out what is released, and empties the directory.
func prepare(ctx context.Context, root, dir string) (*release, error) {
	root, err := filepath.Abs(root)
	if err != nil {
		return nil, err
	}
	r := &release{root: root, dir: filepath.Join(root, dir)}
	if filepath.IsAbs(dir) {
		r.dir = dir
	}
	tag, err := r.git(ctx, "describe", "--tags", "--always", "--dirty", "--match", "v[0-9]*")
	if err != nil {
		return nil, err
	}
	version, tagged := strings.CutPrefix(tag, "v")
	if r.version = version; !tagged {
		r.version = "0.0.0-g" + tag // of a commit before the first release
	}
	seconds, err := r.git(ctx, "log", "-1", "--format=%ct")
	if err != nil {
		return nil, err
	}
	var unix int64
	if _, err := fmt.Sscan(cmp.Or(os.Getenv("SOURCE_DATE_EPOCH"), seconds), &unix); err != nil {
		return nil, fmt.Errorf("read the time of the commit: %w", err)
	}
	r.made = time.Unix(unix, 0).UTC()
	return r, errors.Join(os.RemoveAll(r.dir), os.MkdirAll(r.dir, 0o755))
}

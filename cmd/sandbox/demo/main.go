// Command demo shows the whole path in a sandbox: HCL in a Git repository, a
// commit, pending pods, LKE capacity, running pods, and nothing left at the
// end. Each step is carried out as a user would, and verified.
//
//	bin/sandbox run --cluster-name quickstart -- bin/demo
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// run is the whole program and returns its exit status: 0 when every step was
// verified.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("demo", flag.ContinueOnError)
	flags.SetOutput(stderr)
	root := flags.String("root", ".", "the checkout of lkeplan, with bin/ built")
	if err := flags.Parse(args); err != nil {
		return 1
	}
	d, err := newDemo(*root, stdout)
	if err != nil {
		fmt.Fprintf(stderr, "demo: %v\n", err)
		return 1
	}
	err = d.play(ctx)
	d.controller.stop()
	if d.forge != nil {
		d.forge()
	}
	if err != nil {
		fmt.Fprintf(stderr, "\ndemo: %v\n", err)
		fmt.Fprintf(stderr, "The controller's log is %s.\n", d.controller.log)
		return 1
	}
	os.RemoveAll(d.dir)
	return 0
}

// demo is one run of it.
type demo struct {
	out        io.Writer
	root       string // the checkout
	dir        string // of the Git repository and the log
	repo       repository
	cluster    *cluster
	linode     linode
	controller *controller
	forge      func() error // ends the server of the repository; nil before it runs
	started    time.Time
}

func newDemo(root string, out io.Writer) (*demo, error) {
	for _, need := range []string{"bin/controller", "examples/quickstart", "schemas/crd"} {
		if _, err := os.Stat(filepath.Join(root, need)); err != nil {
			return nil, fmt.Errorf("%s is not here; run `make demo` in a checkout of lkeplan", need)
		}
	}
	c, err := connect(os.Getenv("KUBECONFIG"))
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "lkeplan-demo-")
	if err != nil {
		return nil, err
	}
	return &demo{
		out:        out,
		root:       root,
		dir:        dir,
		repo:       repository{dir: filepath.Join(dir, "platform")},
		cluster:    c,
		linode:     linode{url: os.Getenv("LINODE_URL")},
		controller: &controller{bin: filepath.Join(root, "bin/controller"), log: filepath.Join(dir, "controller.log")},
		started:    time.Now(),
	}, nil
}

// step is one act of the demo. It returns what was seen, in a few words.
type step struct {
	title string
	do    func(context.Context) (seen string, err error)
}

// play goes through all steps and ends at the first that fails.
func (d *demo) play(ctx context.Context) error {
	for i, s := range d.steps() {
		start := time.Now()
		seen, err := s.do(ctx)
		took := time.Since(start).Seconds()
		if err != nil {
			fmt.Fprintf(d.out, "%2d. %-52s FAILED %6.1fs\n", i+1, s.title, took)
			return fmt.Errorf("step %d, %s: %w", i+1, s.title, err)
		}
		fmt.Fprintf(d.out, "%2d. %-52s ok %6.1fs  %s\n", i+1, s.title, took, seen)
	}
	return d.summary(ctx)
}

// summary prints the totals, and fails if something is left over.
func (d *demo) summary(ctx context.Context) error {
	stats, err := d.linode.stats(ctx)
	if err != nil {
		return err
	}
	left := fmt.Sprintf("%d nodes, %d Linodes, %d node pools", len(d.cluster.nodesSeen), stats.Live, stats.Pools)
	clean := stats.Live+stats.Pools+len(d.cluster.nodesSeen) == 0
	if clean {
		left = "nothing"
	}
	fmt.Fprintf(d.out, "\n  nodes made           %d\n", stats.Made)
	fmt.Fprintf(d.out, "  Linode calls         %d, of which %d changed something\n", stats.Calls, stats.Writes)
	fmt.Fprintf(d.out, "  money at the peak    $%s an hour, $%s a month\n", stats.PeakHourlyCost, stats.PeakMonthlyCost)
	fmt.Fprintf(d.out, "  left over            %s\n", left)
	fmt.Fprintf(d.out, "  all in all           %.0f seconds\n", time.Since(d.started).Seconds())
	if !clean {
		return fmt.Errorf("left over: %s", left)
	}
	return nil
}

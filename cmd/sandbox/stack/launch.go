package stack

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lkeplan/lkeplan/cmd/sandbox/binaries"
	"github.com/lkeplan/lkeplan/cmd/sandbox/process"
)

// portAttempts is how often a component is started on another port if a process has taken the first one.
const portAttempts = 5

// launch is one attempt to start a stack.
type launch struct {
	config Config
	users  users
	began  time.Time

	// fail ends the launch if a component that was ready has ended.
	fail context.CancelCauseFunc

	// mu guards the stack and its state, because several components start at the same time.
	mu    sync.Mutex
	stack *Stack
	check *componentChecker
}

func newLaunch(c Config, s *Stack) *launch {
	l := &launch{config: c, users: newUsers(), began: time.Now(), stack: s}
	l.check = &componentChecker{dir: layout(s.Dir), port: l.port, cluster: c.Cluster}
	return l
}

func (l *launch) port(component, name string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stack.port(component, name)
}

// run starts all components in the order of their dependencies.
func (l *launch) run(ctx context.Context) error {
	if err := l.config.furnish(layout(l.stack.Dir), l.users); err != nil {
		return fmt.Errorf("furnish the directory: %w", err)
	}
	ctx, l.fail = context.WithCancelCause(ctx)
	defer l.fail(nil)
	for _, name := range []string{etcd, apiServer} {
		if err := l.start(ctx, name); err != nil {
			return err
		}
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return l.start(ctx, scheduler) })
	group.Go(func() error { return l.startControllerManager(ctx) })
	group.Go(func() error { return l.start(ctx, kwok) })
	group.Go(func() error { return l.start(ctx, linode) })
	group.Go(func() error { return l.await(ctx, apiServer, "take the rules of joining", l.check.letJoin) })
	if l.config.DaemonSets {
		group.Go(func() error { return l.await(ctx, apiServer, "take LKE's DaemonSets", l.check.runDaemonSets) })
	}
	if l.config.Flux {
		group.Go(func() error { return l.startFlux(ctx) })
	}
	if err := group.Wait(); err != nil {
		return err
	}
	// The API server waits for this connection when it stops.
	l.check.kube.CloseIdleConnections()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.stack.ReadySeconds = time.Since(l.began).Seconds()
	return l.stack.save()
}

func (l *launch) startControllerManager(ctx context.Context) error {
	if err := l.start(ctx, controllerManager); err != nil {
		return err
	}
	return l.await(ctx, controllerManager, "serve accounts", l.check.accounts)
}

// start starts one component and waits until it works.
func (l *launch) start(ctx context.Context, name string) error {
	all := components()
	c := all[slices.IndexFunc(all, func(c component) bool { return c.name == name })]
	for attempt := 1; ; attempt++ {
		if err := l.spawn(c); err != nil {
			return fmt.Errorf("start %s: %w", name, err)
		}
		err := l.await(ctx, name, "start", func(ctx context.Context) error { return l.check.check(ctx, name) })
		if err == nil {
			l.watch(ctx, name)
			l.config.Say("%s is ready (%.1fs)", name, time.Since(l.began).Seconds())
			return nil
		}
		taken := errors.Is(err, errExited) && saysPortTaken(process.Tail(layout(l.stack.Dir).log(name), 50))
		if !taken || attempt == portAttempts || ctx.Err() != nil {
			return err
		}
		l.config.Say("another process took the port of %s; starting it on another port", name)
	}
}

// spawn starts the component's process and records it in the state.
func (l *launch) spawn(c component) error {
	ports, err := c.choosePorts()
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	where := layout(l.stack.Dir)
	entry := Component{Name: c.name, Ports: ports, Log: where.log(c.name)}
	l.stack.put(entry)
	if c.name == apiServer {
		if err := l.introduce(where, ports["api"]); err != nil {
			return err
		}
	}
	w := wiring{layout: where, port: l.stack.port, audit: l.config.Audit,
		stages: append(l.assets(binaries.Stages()), where.podReadyAgain())}
	// Components do not inherit the user's environment, above all not its proxies. A sandbox is short-lived, so
	// memory is cheaper than garbage collection. source-controller has no flag for its kubeconfig.
	env := []string{"HOME=" + where.home(), "TMPDIR=" + where.home(), "PATH=/usr/bin:/bin", "GOGC=400",
		"KUBECONFIG=" + where.configOf(c.name)}
	p, err := l.launcher()(process.Command{
		Path: l.program(c),
		Args: c.args(w),
		Env:  env,
		Dir:  where.home(),
		Log:  entry.Log,
	})
	if err != nil {
		return err
	}
	entry.Identity = p.Identity
	l.stack.processes[c.name] = p
	l.stack.put(entry)
	return l.stack.save()
}

// introduce writes the kubeconfigs, once the API server's port is known. No other component is checked at that
// time, so the checker can be changed.
func (l *launch) introduce(where layout, port int) error {
	if err := writeKubeconfigs(where, l.users, l.config.Cluster.Name, port); err != nil {
		return err
	}
	return l.check.connect()
}

func (l *launch) launcher() func(process.Command) (*process.Process, error) {
	if l.config.Guard != nil {
		return l.config.Guard.Start
	}
	return process.Start
}

// program returns the path of the component's program. The simulator is this binary.
func (l *launch) program(c component) string {
	if c.program == "" {
		return l.config.Self
	}
	return l.config.Programs.Programs[c.program]
}

// assets returns the paths of files that are installed with the programs.
func (l *launch) assets(names []string) []string {
	var paths []string
	for _, name := range names {
		paths = append(paths, l.config.Programs.Assets[name])
	}
	return paths
}

// watch ends the launch if the component ends although it was ready.
func (l *launch) watch(ctx context.Context, name string) {
	p := l.process(name)
	go func() {
		select {
		case <-ctx.Done():
		case <-p.Exited():
			l.fail(l.blame(name, "stay up", fmt.Errorf("%w (%s)", errExited, ending(p))))
		}
	}()
}

// await polls ready as long as the component's process runs. what completes the error "NAME did not ...".
func (l *launch) await(ctx context.Context, name, what string, ready func(context.Context) error) error {
	p := l.process(name)
	err := poll(ctx, p.Exited(), ready)
	if err == nil {
		return nil
	}
	if errors.Is(ctx.Err(), context.Canceled) {
		// The context has ended, or another component has failed, so the error is not this component's.
		return context.Cause(ctx)
	}
	if errors.Is(err, errExited) {
		err = fmt.Errorf("%w (%s)", err, ending(p))
	}
	return l.blame(name, what, err)
}

// blame returns the error that a component did not do something, with the end of its log.
func (l *launch) blame(name, what string, err error) error {
	log := layout(l.stack.Dir).log(name)
	return fmt.Errorf("%s did not %s: %w\nits log %s ends with:\n%s", name, what, err, filepath.Base(log),
		process.Tail(log, 8))
}

func (l *launch) process(name string) *process.Process {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.stack.processes[name]
}

func ending(p *process.Process) string {
	if err := p.Err(); err != nil {
		return err.Error()
	}
	return "exit status 0"
}

// choosePorts finds a free port for each of the component's ports, in their order.
func (c component) choosePorts() (map[string]int, error) {
	ports := map[string]int{}
	for _, name := range c.ports {
		port, err := freePort()
		if err != nil {
			return nil, err
		}
		ports[name] = port
	}
	return ports, nil
}

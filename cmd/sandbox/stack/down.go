package stack

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/lkeplan/lkeplan/cmd/sandbox/process"
)

// stopOrder returns the components in the order in which they end, in groups that end together: users of a
// component end before it.
func stopOrder() [][]string {
	return [][]string{Names()[2:], {apiServer}, {etcd}}
}

// Open returns the sandbox in dir, which another process may have started.
func Open(dir string) (*Stack, error) {
	s, err := Load(dir)
	return &Stack{State: s}, err
}

// Down ends the processes of the sandbox, waits until they are gone, and removes its files. A process that reuses
// one of its pids is not touched.
func (s *Stack) Down(ctx context.Context) error {
	unlock, err := process.Lock(ctx, layout(s.Dir).lock(), func() {})
	if errors.Is(err, fs.ErrNotExist) {
		return nil // another process stopped it
	}
	if err != nil {
		return err
	}
	defer unlock()
	if err := s.end(ctx); err != nil {
		return err
	}
	if err := layout(s.Dir).remove(); err != nil {
		return fmt.Errorf("remove the sandbox's directory: %w", err)
	}
	return nil
}

// end ends the processes in that order.
func (s *Stack) end(ctx context.Context) error {
	for _, rank := range stopOrder() {
		var group errgroup.Group
		for _, name := range rank {
			c, started := s.Component(name)
			if !started {
				continue
			}
			group.Go(func() error { return s.endOne(ctx, c) })
		}
		if err := group.Wait(); err != nil {
			return err
		}
	}
	return nil
}

// grace is how long a component may take to stop before it is killed. It can be short, because what a component
// would still write is removed anyway; only its children have to end.
const grace = 300 * time.Millisecond

func (s *Stack) endOne(ctx context.Context, c Component) error {
	if err := c.End(ctx, grace); err != nil {
		return fmt.Errorf("end %s: %w", c.Name, err)
	}
	// A child process is gone only after it has been waited for.
	if p, ours := s.processes[c.Name]; ours {
		<-p.Exited()
	}
	return nil
}

// Watch calls say if a component ends unexpectedly, until the context ends. It sees only components that this
// process has started.
func (s *Stack) Watch(ctx context.Context, say func(format string, args ...any)) {
	for name, p := range s.processes {
		go func() {
			select {
			case <-ctx.Done():
			case <-p.Exited():
				if ctx.Err() == nil {
					say("%s ended unexpectedly: %s; its log ends with:\n%s", name, ending(p), process.Tail(layout(s.Dir).log(name), 8))
				}
			}
		}()
	}
}

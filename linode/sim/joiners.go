package sim

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// Dial makes a client of an API server, with exactly those credentials.
type Dial func(*rest.Config) (kubernetes.Interface, error)

// RunMachines plays the Linodes that are in no LKE pool, until ctx ends; then it returns nil. Those that have booted
// join whichever cluster their user data name, with the rights that the user data give them: dial makes their clients,
// and nil makes real ones. With c, whose rights no machine gets, it plays the cloud controller manager that completes
// their Nodes and deletes those of Linodes that are gone. log may be nil.
func (s *Simulator) RunMachines(ctx context.Context, c kubernetes.Interface, dial Dial, log *slog.Logger) error {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error {
		j := &joiners{sim: s, dial: dial, log: log, alive: map[int]*joiner{}}
		j.run(ctx)
		return nil
	})
	group.Go(func() error {
		cloud := &cloudController{sim: s, client: c, log: log, seen: map[string]time.Time{}}
		return cloud.run(ctx)
	})
	return group.Wait()
}

// joiners holds the kubelets of the Linodes that run.
type joiners struct {
	sim   *Simulator
	dial  Dial
	log   *slog.Logger
	alive map[int]*joiner // by the Linode's id
	ended sync.WaitGroup
}

// joiner is the kubelet of one Linode. It shares nothing with the state.
type joiner struct {
	stop     context.CancelFunc
	restarts chan struct{}
	done     int // restarts that were passed on
}

func (j *joiners) run(ctx context.Context) {
	changes, end := j.sim.watch()
	defer end()
	defer j.ended.Wait()
	for ctx.Err() == nil {
		sleep(ctx, j.pass(ctx), changes)
	}
}

// pass starts and stops kubelets as Linodes come and go, and returns when the next is due.
func (j *joiners) pass(ctx context.Context) (next time.Time) {
	var run []Linode
	var version string
	j.sim.settled(func(st *state, now time.Time) {
		version, next = kubeletVersion(st.cfg.KubernetesVersion), st.agenda.next()
		for _, l := range byID(st.linodes) {
			if l.Boots(now) {
				run = append(run, *l)
			} else if l.Runs.After(now) {
				next = earlier(next, l.Runs)
			}
		}
	})
	running := map[int]bool{}
	for _, l := range run {
		running[l.ID] = true
		if j.alive[l.ID] == nil && !l.Idle {
			j.alive[l.ID] = j.start(ctx, l, version)
		}
		j.alive[l.ID].restart(l.Restarts)
	}
	for id, one := range j.alive {
		if !running[id] {
			one.stop()
			delete(j.alive, id)
		}
	}
	return next
}

func (j *joiners) start(ctx context.Context, l Linode, version string) *joiner {
	ctx, stop := context.WithCancel(ctx)
	one := &joiner{stop: stop, restarts: make(chan struct{}, 1), done: l.Restarts}
	k := &Kubelet{
		KubeletMachine: KubeletMachine{
			Linode: l.ID, Has: l.Plan.Reported().Capacity, Address: l.Address(), MachineID: machineID(l.ID), Version: version,
			UserData: l.UserData, ForgetsKey: l.ForgetsKey, PosesAs: l.PosesAs,
		},
		Dial:   j.dial,
		Report: func(status JoinStatus) { j.report(l.ID, l.Label, status) },
	}
	j.ended.Go(func() { k.Run(ctx, one.restarts) })
	return one
}

// machineID has a letter first: tools that write it into YAML without quotes could take digits for a number.
func machineID(linode int) string { return fmt.Sprintf("c%031x", linode) }

// restart passes on that the kubelet is to start again. It does nothing for none.
func (one *joiner) restart(asked int) {
	if one == nil || one.done == asked {
		return
	}
	one.done = asked
	select {
	case one.restarts <- struct{}{}:
	default: // it has not begun with the last one
	}
}

// report remembers how far a machine has come.
func (j *joiners) report(id int, label string, status JoinStatus) {
	if status.Step == Joined {
		j.log.Info("machine joined", "node", status.Node, "linode", label, "id", id)
	} else if status.Problem != "" {
		j.log.Info("machine does not join", "linode", label, "id", id, "step", status.Step, "problem", status.Problem)
	}
	j.sim.settled(func(st *state, _ time.Time) {
		if l := st.linodes[id]; l != nil {
			l.Join = status
		}
	})
}

// RestartKubelet starts the kubelet of a Linode again, which is in no LKE pool. It says whether there is such a Linode.
func (s *Simulator) RestartKubelet(id int) (found bool) {
	s.settled(func(st *state, _ time.Time) {
		if l := st.linodes[id]; l != nil {
			l.Restarts++
			found = true
		}
	})
	s.changed()
	return found
}

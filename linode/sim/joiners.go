package sim

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
)

// joiners has the kubelets of running Linodes.
type joiners struct {
	sim   *Simulator
	dial  Dial
	log   *slog.Logger
	alive map[int]*joiner // by the Linode's id
	ended sync.WaitGroup
}

// joiner is the kubelet of one Linode. It shares nothing with the state.
type joiner struct {
	kubelet  *Kubelet
	restarts int    // restarts of the Linode when the kubelet was started; -1 before its first start
	stop     func() // stops the kubelet and waits for its end
}

// pass starts and stops kubelets as Linodes start and stop, and returns when the next one is due.
func (j *joiners) pass(ctx context.Context) (next time.Time, _ error) {
	var run []Linode
	var version string
	j.sim.update(func(st *state, now time.Time) {
		version, next = kubeletVersion(st.cfg.KubernetesVersion), st.agenda.next()
		for _, l := range st.own() {
			// A machine that has joined keeps its certificate while it is off; hosts stops its lease.
			if l.Boots(now) && (!l.Down || l.Join.Step == Joined) {
				run = append(run, l.Linode)
			} else if l.Runs.After(now) {
				next = earlierTime(next, l.Runs)
			}
		}
	})
	running := map[int]bool{}
	for _, l := range run {
		running[l.ID] = true
		if l.Idle {
			continue
		}
		if j.alive[l.ID] == nil {
			j.alive[l.ID] = j.joiner(l, version)
		}
		if one := j.alive[l.ID]; one.restarts != l.Restarts {
			one.stop()
			one.restarts = l.Restarts
			j.start(ctx, one)
		}
	}
	for id, one := range j.alive {
		if !running[id] {
			one.stop()
			delete(j.alive, id)
		}
	}
	return next, nil
}

func (j *joiners) joiner(l Linode, version string) *joiner {
	return &joiner{restarts: -1, stop: func() {}, kubelet: &Kubelet{
		Linode: l.ID, Has: l.resources(), Address: l.Address(), MachineID: machineID(l.ID), Version: version,
		UserData: l.UserData, Swap: l.SwapSize, RegisterAs: l.RegisterAs, Dial: j.dial,
		Report: func(status JoinStatus) { j.report(l.ID, l.Label, status) },
	}}
}

func (j *joiners) start(ctx context.Context, one *joiner) {
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	j.ended.Go(func() {
		defer close(ended)
		one.kubelet.Run(ctx)
	})
	one.stop = func() {
		cancel()
		<-ended
	}
}

// machineID begins with a letter, because tools that write it into YAML without quotes could turn digits into a
// number.
func machineID(linode int) string { return fmt.Sprintf("c%031x", linode) }

// report stores the progress of a machine.
func (j *joiners) report(id int, label string, status JoinStatus) {
	if status.Step == Joined {
		j.log.Info("machine joined", "node", status.Node, "linode", label, "id", id)
	} else if status.Problem != "" {
		j.log.Info("machine does not join", "linode", label, "id", id, "step", status.Step, "problem", status.Problem)
	}
	j.sim.update(func(st *state, _ time.Time) {
		if l := st.ownLinode(id); l != nil {
			l.Join = status
		}
	})
}

// RestartKubelet restarts the kubelet of a Linode outside of LKE pools. It reports whether the Linode exists.
func (s *Simulator) RestartKubelet(id int) (found bool) {
	s.update(func(st *state, _ time.Time) {
		if l := st.ownLinode(id); l != nil {
			l.Restarts++
			found = true
		}
	})
	s.changed()
	return found
}

// cloudController simulates the cloud controller manager: it completes Nodes, and deletes those of Linodes that are
// gone. It finds their Linodes by provider id, and for Nodes of pools, whose provider id it sets, by the name of
// the machine. It ignores all other Nodes. (The real one finds a Linode by the Node's name if the Node has no
// provider id.)
type cloudController struct {
	sim    *Simulator
	client kubernetes.Interface
	log    *slog.Logger
	lister corelisters.NodeLister
	seen   map[string]time.Time // since when there are Nodes that are not complete, or whose Linode was never seen
}

// pass does what is due and returns when the next task is due.
func (c *cloudController) pass(ctx context.Context) (time.Time, error) {
	now := time.Now()
	all, err := c.lister.List(labels.Everything())
	tasks, next := c.due(all, now)
	_, failed := eachMachine(tasks, func(do func(context.Context) error) (time.Time, error) { return time.Time{}, do(ctx) })
	return next, errors.Join(err, failed)
}

// due returns the tasks for Nodes that are due, and when the next one is.
func (c *cloudController) due(nodes []*corev1.Node, now time.Time) (tasks []func(context.Context) error, next time.Time) {
	seen := map[string]time.Time{}
	c.sim.update(func(st *state, _ time.Time) {
		next = st.agenda.next()
		pooled := map[string]*instance{}
		for _, i := range st.instances {
			if i.slot != nil {
				pooled[i.machineID] = i
			}
		}
		for _, node := range nodes {
			l := cmp.Or(st.ownLinode(linodeOf(node)), pooled[node.Status.NodeInfo.SystemUUID])
			task, at := c.wants(st, node, l, now, seen)
			if task == nil {
				continue
			}
			if at.After(now) {
				next = earlierTime(next, at)
			} else {
				tasks = append(tasks, task)
			}
		}
	})
	c.seen = seen
	return tasks, next
}

// wants returns the task for a Node, whose Linode may not exist, and when it is due. It notes in seen since when
// the Node has needed it.
func (c *cloudController) wants(
	st *state, node *corev1.Node, l *instance, now time.Time, seen map[string]time.Time,
) (task func(context.Context) error, at time.Time) {
	since := func(key string) time.Time {
		seen[key] = earlierTime(c.seen[key], now)
		return seen[key]
	}
	if l != nil {
		m, pooled := &machine{Linode: l.Linode}, l.slot != nil
		if m.completed(node) && (!pooled || node.Labels[csiRegionLabel] != "") {
			return nil, at
		}
		joined := since(string(node.UID))
		if pooled {
			joined = cmp.Or(l.registered, joined) // the kubelet may not have received its answer yet
		}
		return func(ctx context.Context) error { return c.complete(ctx, node, m, pooled) }, joined.Add(l.CCM)
	}
	gone, was := st.left[linodeOf(node)]
	if ours := strings.HasPrefix(node.Name, fmt.Sprintf("lke%d-", c.sim.first)); !was && ours { // as after a restart
		gone, was = since(node.Name+" "+node.Status.NodeInfo.SystemUUID), true
	}
	if !was || node.DeletionTimestamp != nil {
		return nil, at
	}
	return func(ctx context.Context) error { return c.remove(ctx, node) }, gone.Add(st.cfg.NodeGoneDelay)
}

// linodeOf returns the id of the Linode in a Node's provider id; 0 if there is none.
func linodeOf(node *corev1.Node) int {
	text, _ := strings.CutPrefix(node.Spec.ProviderID, "linode://")
	id, _ := strconv.Atoi(text)
	return id
}

// complete sets the labels on a new Node, and removes the taint that keeps all pods away. A Node outside of pools
// also gets addresses, and an annotation; a Node of a pool is then updated by the storage driver.
func (c *cloudController) complete(ctx context.Context, node *corev1.Node, m *machine, pooled bool) (err error) {
	nodes := c.client.CoreV1().Nodes()
	if !pooled {
		node = node.DeepCopy()
		node.Status.Addresses = m.Addresses()
		node, err = nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{})
		if apierrors.IsConflict(err) || apierrors.IsNotFound(err) { // the next pass sees the change
			return nil
		}
	}
	if err == nil {
		node, err = updateNode(ctx, nodes, node, func(n *corev1.Node) {
			m.complete(n)
			if !pooled {
				metav1.SetMetaDataAnnotation(&n.ObjectMeta, "node.k8s.linode.com/public-ipv6", m.IPv6())
			}
		})
	}
	if err == nil && pooled {
		node, err = updateNode(ctx, nodes, node, m.attachVolumes)
	}
	if err != nil {
		return fmt.Errorf("node %s: complete it: %w", m.Label, err)
	}
	if node != nil {
		c.log.Info("node completed", "node", node.Name, "linode", m.ID)
	}
	return nil
}

// remove deletes the Node of a Linode that is gone, but not a newer Node with the same name. (The real one first
// waits until the Node is not ready; here it is the configured delay.)
func (c *cloudController) remove(ctx context.Context, node *corev1.Node) error {
	options := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(node.UID))}
	err := c.client.CoreV1().Nodes().Delete(ctx, node.Name, options)
	switch {
	case err == nil:
		c.log.Info("node removed, its Linode is gone", "node", node.Name)
	case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
		return fmt.Errorf("delete node %s: %w", node.Name, err)
	}
	return nil
}

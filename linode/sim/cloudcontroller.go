package sim

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	typedcorev1 "k8s.io/client-go/kubernetes/typed/core/v1"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/tools/cache"
)

// cloudController plays the cloud controller manager for the Nodes of Linodes that are in no LKE pool. It knows them by
// their provider id only, and leaves all other Nodes alone. (The real one also finds a Linode by the Node's name where
// the Node names none.)
type cloudController struct {
	sim    *Simulator
	client kubernetes.Interface
	log    *slog.Logger

	nodes corelisters.NodeLister
	seen  map[string]time.Time // since when there are Nodes that are not complete
	retry time.Duration        // after errors; 0 after a good pass
}

// run reconciles all Nodes whenever one of them or a Linode changes, until ctx ends.
func (c *cloudController) run(ctx context.Context) error {
	changes, end := c.sim.watch()
	defer end()
	poke := func() {
		select {
		case changes <- struct{}{}:
		default:
		}
	}
	factory := informers.NewSharedInformerFactory(c.client, 0)
	defer factory.Shutdown()
	nodes := factory.Core().V1().Nodes()
	c.nodes = nodes.Lister()
	if _, err := nodes.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { poke() }, UpdateFunc: func(any, any) { poke() }, DeleteFunc: func(any) { poke() },
	}); err != nil {
		return fmt.Errorf("watch nodes: %w", err)
	}
	factory.Start(ctx.Done())
	factory.WaitForCacheSync(ctx.Done())
	for ctx.Err() == nil {
		sleep(ctx, c.pass(ctx), changes)
	}
	return nil
}

// pass does what is due and returns when there is something to do again.
func (c *cloudController) pass(ctx context.Context) time.Time {
	now := time.Now()
	all, err := c.nodes.List(labels.Everything())
	tasks, next := c.due(all, now)
	_, failed := each(tasks, func(do func(context.Context) error) (time.Time, error) { return time.Time{}, do(ctx) })
	if err = errors.Join(err, failed); err != nil && ctx.Err() == nil {
		c.retry = min(max(2*c.retry, firstRetry), lastRetry)
		c.log.Warn("playing the cloud controller", "error", err, "retry_in", c.retry)
		return now.Add(c.retry)
	}
	c.retry = 0
	return next
}

// due returns what is to be done by now for Nodes, and when there is more.
func (c *cloudController) due(nodes []*corev1.Node, now time.Time) (tasks []func(context.Context) error, next time.Time) {
	seen := map[string]time.Time{}
	c.sim.settled(func(st *state, _ time.Time) {
		next = st.agenda.next()
		for _, node := range nodes {
			task, at := c.wants(st, node, now, seen)
			if task == nil {
				continue
			}
			if at.After(now) {
				next = earlier(next, at)
			} else {
				tasks = append(tasks, task)
			}
		}
	})
	c.seen = seen
	return tasks, next
}

// wants returns what a Node wants of it, and from when on. It notes in seen since when the Node has been incomplete.
func (c *cloudController) wants(
	st *state, node *corev1.Node, now time.Time, seen map[string]time.Time,
) (task func(context.Context) error, at time.Time) {
	id := linodeOf(node)
	if l := st.linodes[id]; l != nil {
		m := &machine{instance: l.ID, plan: l.Plan, region: l.Region, hostUUID: l.HostUUID}
		if m.completed(node) {
			return nil, at
		}
		seen[string(node.UID)] = earlier(c.seen[string(node.UID)], now)
		addresses := l.Addresses()
		return func(ctx context.Context) error { return c.complete(ctx, node, m, addresses) }, seen[string(node.UID)].Add(l.CCM)
	}
	gone, was := st.left[id]
	if !was || node.DeletionTimestamp != nil {
		return nil, at
	}
	return func(ctx context.Context) error { return c.bury(ctx, node) }, gone.Add(st.cfg.NodeGoneDelay)
}

// linodeOf is the id of the Linode that a Node names; 0 where it names none.
func linodeOf(node *corev1.Node) int {
	text, _ := strings.CutPrefix(node.Spec.ProviderID, "linode://")
	id, _ := strconv.Atoi(text)
	return id
}

// complete is what the cloud controller writes on a new Node: the addresses, then the labels, and without the taint that
// has kept all pods away.
func (c *cloudController) complete(
	ctx context.Context, node *corev1.Node, m *machine, addresses []corev1.NodeAddress,
) error {
	nodes := c.client.CoreV1().Nodes()
	next := node.DeepCopy()
	next.Status.Addresses = addresses
	next, err := nodes.UpdateStatus(ctx, next, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) { // the next pass sees what somebody has made of it
		return nil
	}
	if err == nil {
		next, err = updateNode(ctx, nodes, next, m.complete)
	}
	if err != nil {
		return fmt.Errorf("node %s: complete it: %w", node.Name, err)
	}
	if next != nil {
		c.log.Info("node completed", "node", node.Name, "linode", m.instance)
	}
	return nil
}

// bury deletes the Node of a Linode that is gone. (The real one waits for the Node to be not ready first; here it is
// the configured delay.)
func (c *cloudController) bury(ctx context.Context, node *corev1.Node) error {
	return deleteNode(ctx, c.client.CoreV1().Nodes(), node, c.log)
}

// deleteNode removes exactly that Node, not one that has come to its name since.
func deleteNode(ctx context.Context, client typedcorev1.NodeInterface, node *corev1.Node, log *slog.Logger) error {
	options := metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions(string(node.UID))}
	err := client.Delete(ctx, node.Name, options)
	switch {
	case err == nil:
		log.Info("node removed, its Linode is gone", "node", node.Name)
	case !apierrors.IsNotFound(err) && !apierrors.IsConflict(err):
		return fmt.Errorf("delete node %s: %w", node.Name, err)
	}
	return nil
}

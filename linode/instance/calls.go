package instance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/instance/decide"
	"github.com/lkeplan/lkeplan/schemas/task"
)

// callTimeout limits a call, including its wait for the rate limit. It must be shorter than Policy.Late: a call
// that is not sent by then was not carried out.
const callTimeout = time.Minute

// carryOut starts everything that a decision contains.
func (c *syncer) carryOut(ctx context.Context, view decide.View, d decide.Decision) {
	claims := map[string]decide.Claim{}
	for _, claim := range view.Claims {
		claims[claim.UID] = claim
	}
	for _, order := range d.Creates {
		c.start(ctx, c.makes, func(ctx context.Context) { c.create(ctx, claims[order.UID], order) })
	}
	for _, b := range d.Binds {
		c.start(ctx, c.others, func(ctx context.Context) { c.bind(ctx, b) })
	}
	for _, order := range d.Deletes {
		c.start(ctx, c.others, func(ctx context.Context) { c.delete(ctx, order) })
	}
	for _, l := range d.Looks {
		c.start(ctx, c.others, func(ctx context.Context) { c.find(ctx, l) })
	}
	for _, drain := range d.Drains {
		c.once(ctx, "drain Node "+drain.Node, func(ctx context.Context) error { return c.drain(ctx, drain) })
	}
	c.end(ctx, d.Lost, Lost)
	c.end(ctx, d.Taken, Taken)
	c.end(ctx, d.OutOfStock, OutOfStock)
	for _, machine := range d.Kept {
		c.cfg.Cluster.Keep(machine)
	}
}

func (c *syncer) end(ctx context.Context, uids []string, why Reason) {
	for _, uid := range uids {
		c.once(ctx, "delete claim "+uid, func(ctx context.Context) error { return c.cfg.Cluster.End(ctx, uid, why) })
	}
}

// drain drains the Node of an orphan. If its claim has come back, as after a restore, the Node stays; therefore the
// claims are read live. The name of the Node is the label of the machine.
func (c *syncer) drain(ctx context.Context, d decide.Drain) error {
	if owned, _, err := c.cfg.Cluster.InUse(ctx, d.Machine, d.Node); err != nil || owned {
		return err
	}
	return c.cfg.Cluster.Drain(ctx, d)
}

// start makes a call as soon as a slot is free, and then wakes the syncer. The call starts even if ctx has
// ended, because the Memory counts it as in progress.
func (c *syncer) start(ctx context.Context, room chan struct{}, work func(context.Context)) {
	c.loop.Go(func() {
		room <- struct{}{}
		defer func() { <-room }()
		ctx, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		_ = c.loop.Try(func() error { work(ctx); return nil })
		c.loop.Wake()
	})
}

// once starts a call that the Memory does not track, unless it is in progress.
func (c *syncer) once(ctx context.Context, what string, work func(context.Context) error) {
	if _, already := c.underway.LoadOrStore(what, true); already {
		return
	}
	c.start(ctx, c.others, func(ctx context.Context) {
		defer c.underway.Delete(what)
		if err := c.loop.Try(func() error { return work(ctx) }); err != nil {
			c.cfg.Log.Warn("cannot "+what, "error", err)
		}
	})
}

func (c *syncer) create(ctx context.Context, claim decide.Claim, order decide.Create) {
	id, outcome, err := c.createMachine(ctx, order)
	defer c.loop.Do(func(m *decide.Memory, now time.Time) { m.Made(claim, id, outcome, c.cfg.Policy, now) })
	if err != nil {
		c.cfg.Log.Warn("machine not made", "label", order.Label, "claim", order.UID, "error", err)
		c.cfg.Cluster.Refused(ctx, order.UID, err)
	} else {
		c.cfg.Log.Info("machine made", "id", id, "label", order.Label, "claim", order.UID)
	}
}

// createMachine creates a machine, or finds it if it is there already.
func (c *syncer) createMachine(ctx context.Context, order decide.Create) (id int, o decide.Outcome, err error) {
	o = decide.Refused
	defer task.Catch(c.cfg.Log, &err)
	spec, err := c.cfg.Cluster.Spec(ctx, order.UID)
	if err != nil {
		return 0, decide.Refused, fmt.Errorf("say what Linode %s is made from: %w", order.Label, err)
	}
	spec.Label, spec.Tags = order.Label, append(slices.Clone(spec.Tags), c.cfg.Tag)
	o = decide.Unknown // the machine may exist from here on
	made, err := c.cfg.Linode.CreateInstance(ctx, spec)
	switch api.ClassOf(err) {
	case api.ClassNone:
		return made.ID, decide.Done, nil
	case api.ClassLabelTaken:
		return c.findByLabel(ctx, order.Label, err)
	}
	return 0, outcomeOf(err), err
}

// findByLabel finds the machine that already has a label. If there is none, it may have just been deleted, or the list
// lacks it, and the call is sent again later.
func (c *syncer) findByLabel(ctx context.Context, label string, taken error) (int, decide.Outcome, error) {
	i, found, err := c.cfg.Linode.InstanceLabelled(ctx, label)
	switch {
	case err != nil:
		return 0, decide.Unknown, err
	case !found:
		return 0, decide.Unknown, taken
	case !api.Tagged(i, c.cfg.Tag):
		return 0, decide.Taken, taken
	}
	return i.ID, decide.Done, nil
}

// outcomeOf classifies the error of a call. A refused token is an error of all calls.
func outcomeOf(err error) decide.Outcome {
	switch api.ClassOf(err) {
	case api.ClassNone:
		return decide.Done
	case api.ClassNoCapacity, api.ClassPlanClosed:
		return decide.NoStock
	case api.ClassAccountLimit:
		return decide.NoRoom
	case api.ClassBusy, api.ClassAuth:
		return decide.Busy
	case api.ClassUnknown:
		return decide.Unknown
	default:
		return decide.Refused
	}
}

func (c *syncer) bind(ctx context.Context, b decide.Bind) {
	if err := c.loop.Try(func() error { return c.cfg.Cluster.Bind(ctx, b) }); err != nil {
		c.cfg.Log.Warn("machine not stored on its claim", "id", b.Machine, "claim", b.UID, "error", err)
	}
	c.loop.Do(func(m *decide.Memory, now time.Time) { m.Bound(b, now) })
}

func (c *syncer) find(ctx context.Context, l decide.Look) {
	var there, known bool
	_ = c.loop.Try(func() error { there, known = c.machineExists(ctx, l); return nil })
	c.loop.Do(func(m *decide.Memory, now time.Time) { m.Looked(l, there, known, now) })
}

func (c *syncer) machineExists(ctx context.Context, l decide.Look) (there, known bool) {
	if l.Label != "" {
		i, found, err := c.cfg.Linode.InstanceLabelled(ctx, l.Label)
		return found && api.Tagged(i, c.cfg.Tag), err == nil
	}
	_, err := c.cfg.Linode.Instance(ctx, l.Machine)
	class := api.ClassOf(err)
	return class == api.ClassNone, class == api.ClassNone || class == api.ClassNotFound
}

func (c *syncer) delete(ctx context.Context, order decide.Delete) {
	outcome, err := c.deleteMachine(ctx, order)
	defer c.loop.Do(func(m *decide.Memory, now time.Time) { m.Deleted(order, outcome, now) })
	if err != nil {
		c.cfg.Log.Warn("machine not deleted", "id", order.Machine, "label", order.Label, "error", err)
		c.cfg.Cluster.Undeleted(ctx, order, err)
	}
}

// errChanged is why a Linode does not count as the one that was created.
var errChanged = errors.New("its label and its tag were changed after it was created")

// deleteMachine deletes a machine, if its id still belongs to the machine of the order. The outcome is Done only
// when Linode does not have it any more, not when Linode has accepted the deletion; the decision repeats the call
// until then.
func (c *syncer) deleteMachine(ctx context.Context, order decide.Delete) (outcome decide.Outcome, err error) {
	outcome = decide.Unknown
	defer task.Catch(c.cfg.Log, &err)
	i, err := c.cfg.Linode.Instance(ctx, order.Machine)
	tagged := api.Tagged(i, c.cfg.Tag)
	switch {
	case api.ClassOf(err) == api.ClassNotFound:
		return decide.Done, nil
	case err != nil:
		return decide.Busy, err
	case i.Label != order.Label && !tagged, order.UID == "" && (i.Label != order.Label || !tagged):
		return decide.Refused, fmt.Errorf("%w: it has the label %s and the tags %v; give it the label %s or the tag %s "+
			"again, or delete "+
			"it", errChanged, i.Label, i.Tags, order.Label, c.cfg.Tag)
	case i.Status == api.InstanceDeleting:
		return decide.Unknown, nil
	}
	if order.UID == "" {
		owned, inhabited, err := c.cfg.Cluster.InUse(ctx, order.Machine, order.Label)
		if err != nil || owned || inhabited {
			return decide.Refused, err
		}
	}
	if err := c.cfg.Linode.DeleteInstance(ctx, order.Machine); err != nil {
		return outcomeOf(err), err
	}
	c.cfg.Log.Info("machine deleted", "id", order.Machine, "label", order.Label, "orphan", order.UID == "")
	return decide.Unknown, nil
}

package instance

import (
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/sets"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	"github.com/lkeplan/lkeplan/schemas/task"
)

// syncTags updates the tags of the Linodes of claims in place to those of their classes.
func (i *Machines) syncTags(ctx context.Context, all []karpv1.NodeClaim) {
	if !i.tagging.TryLock() {
		return // the changes after the last list are still pending
	}
	defer i.tagging.Unlock()
	var tags map[string][]string
	err := task.Try(i.cfg.Log, func() (err error) { tags, err = nodeclaim.ClassTags(ctx, i.cfg.Client); return err })
	if err != nil {
		i.cfg.Log.Error("could not read the tags of classes", "error", err)
		return
	}
	shown, _ := i.list.Last()
	for k := range all {
		err := task.Try(i.cfg.Log, func() error { return i.tag(ctx, &all[k], shown, tags) })
		if err != nil {
			i.cfg.Log.Warn("tags not set", "nodeclaim", all[k].Name, "error", err)
		}
	}
}

// tag updates the tags of the Linode of one claim, if they differ.
func (i *Machines) tag(ctx context.Context, nc *karpv1.NodeClaim, shown []api.Instance, tags map[string][]string) error {
	one := byID(shown, nodeclaim.InstanceOf(nc.Status.ProviderID))
	if one == nil || !nodeclaim.Managed(nc) || !api.Tagged(*one, i.cfg.Identity.Tag()) {
		return nil
	}
	of, ready := tags[nc.Spec.NodeClassRef.Name]
	want := append(slices.Clone(of), i.cfg.Identity.Tag(), i.cfg.Identity.NameTag())
	if !ready || sameTags(one.Tags, want) {
		return nil
	}
	if err := i.cfg.API.TagInstance(api.LowPriority(ctx), one.ID, want); err != nil {
		return err
	}
	i.cfg.Log.Info("tags set", "instance", one.ID, "tags", want)
	return nil
}

// sameTags compares tags as sets. The API ignores their case.
func sameTags(a, b []string) bool { return foldTags(a).Equal(foldTags(b)) }

func foldTags(tags []string) sets.Set[string] {
	all := sets.New[string]()
	for _, t := range tags {
		all.Insert(strings.ToLower(t))
	}
	return all
}

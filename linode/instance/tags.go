package instance

import (
	"context"
	"slices"
	"strings"

	"github.com/awslabs/operatorpkg/status"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/loop"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// syncTags gives the Linodes of claims the tags that their classes have now, in place.
func (i *Machines) syncTags(ctx context.Context, all []karpv1.NodeClaim) {
	if !i.tagging.TryLock() {
		return // the last list's changes are under way
	}
	defer i.tagging.Unlock()
	var tags map[string][]string
	err := loop.Try(i.cfg.Log, func() (err error) { tags, err = i.classTags(ctx); return err })
	if err != nil {
		i.cfg.Log.Error("could not list the LinodeNodeClasses for their tags", "error", err)
		return
	}
	shown, _ := i.list.Last()
	for k := range all {
		err := loop.Try(i.cfg.Log, func() error { return i.tag(ctx, &all[k], shown, tags) })
		if err != nil {
			i.cfg.Log.Warn("tags not set", "nodeclaim", all[k].Name, "error", err)
		}
	}
}

// classTags are the tags that the Linodes of each class are to have.
func (i *Machines) classTags(ctx context.Context) (map[string][]string, error) {
	var classes linodev1alpha1.LinodeNodeClassList
	if err := i.cfg.Client.List(ctx, &classes); err != nil {
		return nil, err
	}
	tags := map[string][]string{}
	for _, class := range classes.Items {
		if class.StatusConditions().Get(status.ConditionReady).IsTrue() {
			tags[class.Name] = append(slices.Clone(class.Spec.Tags), i.cfg.Identity.Tag(), i.cfg.Identity.NameTag())
		}
	}
	return tags, nil
}

// tag gives the Linode of one claim its tags, if it has others.
func (i *Machines) tag(ctx context.Context, nc *karpv1.NodeClaim, shown []api.Instance, tags map[string][]string) error {
	one := byID(shown, nodeclaim.InstanceOf(nc.Status.ProviderID))
	if one == nil || !nodeclaim.Managed(nc) || !api.Tagged(*one, i.cfg.Identity.Tag()) {
		return nil
	}
	want, ready := tags[nc.Spec.NodeClassRef.Name]
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
func sameTags(a, b []string) bool { return slices.Equal(folded(a), folded(b)) }

func folded(tags []string) []string {
	out := make([]string, len(tags))
	for k, t := range tags {
		out[k] = strings.ToLower(t)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

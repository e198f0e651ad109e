package instance

import (
	"context"
	"slices"
	"strings"

	"github.com/awslabs/operatorpkg/status"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/nodeclaim"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// syncTags gives the Linodes of claims the tags that their classes have now, in place.
func (i *Machines) syncTags(ctx context.Context, all []karpv1.NodeClaim) {
	var classes linodev1alpha1.LinodeNodeClassList
	if err := i.cfg.Client.List(ctx, &classes); err != nil {
		i.cfg.Log.Error("could not list the LinodeNodeClasses for their tags", "error", err)
		return
	}
	tags := map[string][]string{}
	for _, class := range classes.Items {
		if class.StatusConditions().Get(status.ConditionReady).IsTrue() {
			tags[class.Name] = append(slices.Clone(class.Spec.Tags), i.cfg.Identity.Tag(), i.cfg.Identity.NameTag())
		}
	}
	if !i.tagging.TryLock() {
		return // the last list's changes are under way
	}
	defer i.tagging.Unlock()
	shown, _ := i.list.Last()
	for k := range all {
		one := byID(shown, nodeclaim.InstanceOf(all[k].Status.ProviderID))
		want, ready := tags[all[k].Spec.NodeClassRef.Name]
		if one == nil || !ready || !nodeclaim.Managed(&all[k]) || sameTags(one.Tags, want) ||
			!api.Tagged(*one, i.cfg.Identity.Tag()) {
			continue
		}
		if err := i.cfg.API.TagInstance(api.LowPriority(ctx), one.ID, want); err != nil {
			i.cfg.Log.Warn("tags not set", "instance", one.ID, "error", err)
			continue
		}
		i.cfg.Log.Info("tags set", "instance", one.ID, "tags", want)
	}
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

package instance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/linode/linodego"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/event"
	karpv1 "sigs.k8s.io/karpenter/pkg/apis/v1"

	"github.com/lkeplan/lkeplan/linode/api"
	linodev1alpha1 "github.com/lkeplan/lkeplan/schemas/linode/v1alpha1"
)

// Account resolves the references of classes; api.Client implements it.
type Account interface {
	Image(ctx context.Context, id string) (api.Image, error)
	PrivateImages(ctx context.Context) ([]api.Image, error)
	Firewall(ctx context.Context, id int) error
	Firewalls(ctx context.Context, label string) ([]int, error)
	VPCs(ctx context.Context) ([]api.VPC, error)
	PlacementGroups(ctx context.Context) ([]api.PlacementGroup, error)
}

// Classes implements linode.Rules for instance mode.
type Classes struct {
	account Account
	region  string
	joins   Joins

	mu      sync.Mutex
	answers map[string]answer // by class
}

// answer has the resolved references of a class, and how long they are kept: the objects change without an event,
// and a class is checked whenever one of its nodes joins.
type answer struct {
	of    string // the references in the class
	until time.Time
	found linodev1alpha1.Selected
	err   error
}

// How long an answer is kept. The classes are checked again a little later without an event.
const (
	foundFor  = 9 * time.Minute
	failedFor = 50 * time.Second
)

// NewClasses returns the rules of a cluster in a region.
func NewClasses(a Account, region string, joins Joins) *Classes {
	return &Classes{account: a, region: region, joins: joins, answers: map[string]answer{}}
}

// Changes implements linode.Rules.
func (*Classes) Changes() <-chan event.GenericEvent { return nil }

// Drifted implements linode.Rules: the hash has had one version so far.
func (*Classes) Drifted(*karpv1.NodeClaim, *linodev1alpha1.LinodeNodeClass) bool { return false }

// Problem implements linode.Rules.
func (c *Classes) Problem(ctx context.Context, class *linodev1alpha1.LinodeNodeClass) string {
	if problem := Problem(class.Spec); problem != "" {
		return problem
	}
	_, err := c.joins.template(ctx, ptr.Deref(class.Spec.Bootstrap, linodev1alpha1.Bootstrap{}))
	if err == nil {
		_, err = c.ask(ctx, class)
	}
	if wrong, ok := errors.AsType[*notThere](err); ok {
		return wrong.Error()
	}
	if err != nil && !referencesResolved(class) {
		return "its references could not be resolved yet: " + err.Error()
	}
	return "" // the last results stay valid while Linode does not answer
}

// referencesResolved reports whether the current references of a class are resolved: a machine that is created from
// earlier references would count as a machine of the new class.
func referencesResolved(class *linodev1alpha1.LinodeNodeClass) bool {
	spec, found := class.Spec, class.Status.Selected
	by := ptr.Deref(spec.Select, linodev1alpha1.Selection{})
	if found == nil || found.By != by || by.Image == "" && found.Image != spec.Image {
		return false
	}
	group := ptr.Deref(spec.PlacementGroup, linodev1alpha1.PlacementGroup{}).ID
	for _, one := range []struct {
		by        string
		is, named int
	}{
		{by.Firewall, found.FirewallID, ptr.Deref(spec.FirewallID, 0)},
		{by.VPC, found.VPCID, ptr.Deref(spec.VPCID, 0)},
		{by.Subnet, found.SubnetID, ptr.Deref(spec.SubnetID, 0)},
		{by.PlacementGroup, found.PlacementGroupID, group},
	} {
		if one.by == "" && one.is != one.named {
			return false
		}
	}
	return true
}

// UpdateStatus implements linode.Rules: it writes the resolved references. While Linode does not answer, earlier
// results stay; a class without results is not used.
func (c *Classes) UpdateStatus(ctx context.Context, class *linodev1alpha1.LinodeNodeClass) error {
	if found, err := c.ask(ctx, class); err == nil {
		class.Status.Selected = &found
	}
	return nil // Problem reports it, and the next check resolves the rest
}

// ask resolves the references of a class and caches the result.
func (c *Classes) ask(ctx context.Context, class *linodev1alpha1.LinodeNodeClass) (linodev1alpha1.Selected, error) {
	raw, err := json.Marshal(class.Spec)
	if err != nil {
		return linodev1alpha1.Selected{}, fmt.Errorf("compare LinodeNodeClass %s with what it said: %w", class.Name, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if a := c.answers[class.Name]; a.of == string(raw) && time.Now().Before(a.until) {
		return a.found, a.err
	}
	found, err := c.find(api.LowPriority(ctx), class)
	counts := foundFor
	if err != nil {
		counts = failedFor
	}
	c.answers[class.Name] = answer{string(raw), time.Now().Add(counts), found, err}
	return found, err
}

// notThere is the error for a reference of a class to an object that the account does not have.
type notThere struct{ field, text string }

func (n *notThere) Error() string { return "spec." + n.field + ": " + n.text }

func missingError(field, format string, args ...any) error {
	return &notThere{field, fmt.Sprintf(format, args...)}
}

// finder resolves the references of a class.
type finder struct {
	*Classes
	spec  linodev1alpha1.LinodeNodeClassSpec
	found linodev1alpha1.Selected
}

// find resolves all references of a class. An object that the same selector matched before stays selected as
// long as it exists.
func (c *Classes) find(ctx context.Context, class *linodev1alpha1.LinodeNodeClass) (linodev1alpha1.Selected, error) {
	by := ptr.Deref(class.Spec.Select, linodev1alpha1.Selection{})
	before := ptr.Deref(class.Status.Selected, linodev1alpha1.Selected{})
	if before.By != by {
		before = linodev1alpha1.Selected{}
	}
	f := finder{c, class.Spec, linodev1alpha1.Selected{By: by, Image: before.Image}}
	for _, find := range []func(context.Context) error{f.image, f.firewall, f.vpc, f.group} {
		if err := find(ctx); err != nil {
			return f.found, err
		}
	}
	return f.found, nil
}

func (f *finder) image(ctx context.Context) error {
	if f.found.By.Image == "" {
		image, err := f.account.Image(ctx, f.spec.Image)
		switch {
		case api.ClassOf(err) == api.ClassNotFound:
			return missingError("image", "image %s does not exist; list the images in Cloud Manager or with GET /v4/images",
				f.spec.Image)
		case err != nil:
			return err
		}
		f.found.Image = f.spec.Image
		return f.bootable("image", image)
	}
	images, err := f.account.PrivateImages(ctx)
	if err != nil {
		return err
	}
	by := f.found.By.Image
	images = slices.DeleteFunc(images, func(i api.Image) bool {
		return i.IsPublic || i.Label != by && !slices.Contains(i.Tags, by) || f.bootable("", i) != nil
	})
	if len(images) == 0 {
		return missingError("select.image", "the account has no private image with the label or tag %q that is available "+
			"in %s and has cloud-init", by, f.region)
	}
	if slices.ContainsFunc(images, func(i api.Image) bool { return i.ID == f.found.Image }) {
		return nil // it stays, so that no node is replaced because a label was moved
	}
	newest := slices.MaxFunc(images, func(a, b api.Image) int {
		return ptr.Deref(a.Created, time.Time{}).Compare(ptr.Deref(b.Created, time.Time{}))
	})
	f.found.Image = newest.ID
	return nil
}

// bootable says why a machine with an image cannot join a cluster; nil if it can.
func (c *Classes) bootable(field string, i api.Image) error {
	here := func(r linodego.ImageRegion) bool { return r.Region == c.region }
	switch {
	case !slices.Contains(i.Capabilities, "cloud-init"):
		return missingError(field, "image %s has no cloud-init, which a machine needs to join", i.ID)
	case i.Status != "available":
		return missingError(field, "image %s is %s, not available", i.ID, i.Status)
	case !i.IsPublic && len(i.Regions) > 0 && !slices.ContainsFunc(i.Regions, here):
		return missingError(field, "image %s is not in %s; replicate it there", i.ID, c.region)
	}
	return nil
}

func (f *finder) firewall(ctx context.Context) error {
	if f.found.By.Firewall == "" {
		f.found.FirewallID = ptr.Deref(f.spec.FirewallID, 0)
		if f.found.FirewallID == 0 {
			return nil
		}
		err := f.account.Firewall(ctx, f.found.FirewallID)
		if api.ClassOf(err) == api.ClassNotFound {
			return missingError("firewallID", "the account has no firewall %d; correct the ID or create the firewall",
				f.found.FirewallID)
		}
		return err
	}
	ids, err := f.account.Firewalls(ctx, f.found.By.Firewall)
	if err != nil {
		return err
	}
	if len(ids) != 1 {
		return missingError("select.firewall", "the account has %d firewalls with the label %q; exactly one is "+
			"required", len(ids), f.found.By.Firewall)
	}
	f.found.FirewallID = ids[0]
	return nil
}

// vpc finds the VPC and the subnet.
func (f *finder) vpc(ctx context.Context) error {
	id, subnet := ptr.Deref(f.spec.VPCID, 0), ptr.Deref(f.spec.SubnetID, 0)
	if id == 0 && f.found.By.VPC == "" {
		return nil
	}
	all, err := f.account.VPCs(ctx)
	if err != nil {
		return err
	}
	for _, v := range all {
		if v.Region != f.region || v.ID != id && (f.found.By.VPC == "" || v.Label != f.found.By.VPC) {
			continue
		}
		for _, s := range v.Subnets {
			if s.ID == subnet || f.found.By.Subnet != "" && s.Label == f.found.By.Subnet {
				f.found.VPCID, f.found.SubnetID = v.ID, s.ID
				return nil
			}
		}
		return missingError("subnetID", "VPC %d (%s) has no subnet %s; it has: %s", v.ID, v.Label,
			oneOf(subnet, f.found.By.Subnet), subnetsOf(v))
	}
	return missingError("vpcID", "the account has no VPC %s in %s", oneOf(id, f.found.By.VPC), f.region)
}

// groupSize is how many Linodes a placement group can have.
//
// Unverified: that it takes five, which is what the documents of Linode say.
const groupSize = 5

// group finds the placement group, and how many Linodes it can have.
func (f *finder) group(ctx context.Context) error {
	id := ptr.Deref(f.spec.PlacementGroup, linodev1alpha1.PlacementGroup{}).ID
	if id == 0 && f.found.By.PlacementGroup == "" {
		return nil
	}
	all, err := f.account.PlacementGroups(ctx)
	if err != nil {
		return err
	}
	for _, g := range all {
		if g.Region == f.region && (g.ID == id || f.found.By.PlacementGroup != "" && g.Label == f.found.By.PlacementGroup) {
			f.found.PlacementGroupID, f.found.PlacementGroupSize = g.ID, groupSize
			return nil
		}
	}
	return missingError("placementGroup", "the account has no placement group %s in %s", oneOf(id, f.found.By.PlacementGroup),
		f.region)
}

func oneOf(id int, label string) string {
	if id != 0 {
		return fmt.Sprint(id)
	}
	return fmt.Sprintf("%q", label)
}

func subnetsOf(v api.VPC) string {
	var names []string
	for _, s := range v.Subnets {
		names = append(names, fmt.Sprintf("%d (%s)", s.ID, s.Label))
	}
	return strings.Join(names, ", ")
}

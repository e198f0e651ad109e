package api

import (
	"cmp"
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"github.com/linode/linodego"
)

// Instance is a Linode. Its status is InstanceDeleting from the call that deletes it until it is gone.
type Instance = linodego.Instance

// InstanceSpec describes a new Linode. Its label is unique in the account.
type InstanceSpec = linodego.InstanceCreateOptions

// InstanceDeleting is the status of a Linode that is being deleted.
const InstanceDeleting = linodego.InstanceDeleting

// Instances returns the Linodes of the account that have a tag.
func (c *Client) Instances(ctx context.Context, tag string) ([]Instance, error) {
	found, err := c.filtered(ctx, fmt.Sprintf("list Linodes with the tag %s", tag), "tags", tag)
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(i Instance) bool { return !Tagged(i, tag) }), nil
}

// InstancesNamed returns the Linodes of the account whose label contains a text.
func (c *Client) InstancesNamed(ctx context.Context, part string) ([]Instance, error) {
	found, err := c.filtered(ctx, fmt.Sprintf("list Linodes with %s in their "+
		"label", part), "label", map[string]string{"+contains": part})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found, func(i Instance) bool { return !strings.Contains(i.Label, part) }), nil
}

// InstanceLabelled returns the Linode that has a label, if there is one.
func (c *Client) InstanceLabelled(ctx context.Context, label string) (Instance, bool, error) {
	found, err := c.filtered(ctx, fmt.Sprintf("find Linode %s", label), "label", label)
	if err != nil {
		return Instance{}, false, err
	}
	k := slices.IndexFunc(found, func(i Instance) bool { return i.Label == label })
	if k < 0 {
		return Instance{}, false, nil
	}
	return found[k], true, nil
}

// filtered lists Linodes by one field. If a Linode is created or deleted between two pages, a Linode may be on
// both pages, which filtered corrects, or on none.
func (c *Client) filtered(ctx context.Context, what, field string, value any) ([]Instance, error) {
	rows, err := getMatching(ctx, what, map[string]any{field: value}, c.api.ListInstances)
	slices.SortFunc(rows, func(a, b Instance) int { return cmp.Compare(a.ID, b.ID) })
	return slices.CompactFunc(rows, func(a, b Instance) bool { return a.ID == b.ID }), err
}

// Tagged reports whether a Linode has a tag. The API ignores the case of tags.
func Tagged(i Instance, tag string) bool {
	return slices.ContainsFunc(i.Tags, func(have string) bool { return strings.EqualFold(have, tag) })
}

// Instance returns the Linode with an id. If the account has none, the error is of class NotFound.
func (c *Client) Instance(ctx context.Context, id int) (Instance, error) {
	return getOne(ctx, fmt.Sprintf("get Linode %d", id), func(ctx context.Context) (*Instance, error) {
		return c.api.GetInstance(ctx, id)
	})
}

// CreateInstance creates a Linode. The request is sent once: after an error of class Unknown the Linode may exist,
// or be created later. The caller can repeat the call with the same label: if the Linode exists, nothing is
// created, and the error is of class LabelTaken.
func (c *Client) CreateInstance(ctx context.Context, spec InstanceSpec) (Instance, error) {
	what := fmt.Sprintf("create Linode %s, a %s in %s", spec.Label, spec.Type, spec.Region)
	made, err := getOne(ctx, what, func(ctx context.Context) (*Instance, error) { return c.api.CreateInstance(ctx, spec) })
	if err == nil && made.ID == 0 {
		err = fmt.Errorf("%s: the answer contains no Linode", what)
	}
	return made, err
}

// DeleteInstance deletes a Linode. One that does not exist is not an error.
func (c *Client) DeleteInstance(ctx context.Context, id int) error {
	return ignoreNotFound(callAPI(ctx, fmt.Sprintf("delete Linode %d", id),
		func(ctx context.Context) error { return c.api.DeleteInstance(ctx, id) }))
}

// MaxUserData is how many bytes of user data the API accepts, before they are encoded.
const MaxUserData = 16 << 10

// UserData encodes the user data for the spec of a Linode. It returns an error if the data is too large.
func UserData(text []byte) (*linodego.InstanceMetadataOptions, error) {
	if len(text) > MaxUserData {
		return nil, fmt.Errorf("user data is %d bytes, and Linode allows at most %d", len(text), MaxUserData)
	}
	return &linodego.InstanceMetadataOptions{UserData: base64.StdEncoding.EncodeToString(text)}, nil
}

package api

import (
	"context"
	"fmt"

	"github.com/linode/linodego"
)

// Objects of the account that Linodes use: images, VPCs, placement groups, firewalls.
type (
	Image          = linodego.Image
	VPC            = linodego.VPC
	PlacementGroup = linodego.PlacementGroup
)

// PlacementGroupSpec describes a new placement group. Its label is unique in the account.
type PlacementGroupSpec = linodego.PlacementGroupCreateOptions

// Image returns an image by its id, such as linode/debian12 or private/123. If the account has none, the error is
// of class NotFound.
func (c *Client) Image(ctx context.Context, id string) (Image, error) {
	return getOne(ctx, "get image "+id, func(ctx context.Context) (*Image, error) { return c.api.GetImage(ctx, id) })
}

// PrivateImages returns the account's own images.
func (c *Client) PrivateImages(ctx context.Context) ([]Image, error) {
	return getMatching(ctx, "list private images", map[string]bool{"is_public": false}, c.api.ListImages)
}

// Firewalls returns the ids of the firewalls that have a label.
func (c *Client) Firewalls(ctx context.Context, label string) (ids []int, err error) {
	what := "find firewalls with the label " + label
	rows, err := getMatching(ctx, what, map[string]string{"label": label}, c.api.ListFirewalls)
	for _, f := range rows {
		if f.Label == label {
			ids = append(ids, f.ID)
		}
	}
	return ids, err
}

// VPCs returns all VPCs with their subnets.
func (c *Client) VPCs(ctx context.Context) ([]VPC, error) {
	return getAll(ctx, "list VPCs", c.api.ListVPCs)
}

// PlacementGroups returns all placement groups with their members.
func (c *Client) PlacementGroups(ctx context.Context) ([]PlacementGroup, error) {
	return getAll(ctx, "list placement groups", c.api.ListPlacementGroups)
}

// CreatePlacementGroup creates a placement group. The request is sent once: after an error of class Unknown the
// group may exist, or be created later.
func (c *Client) CreatePlacementGroup(ctx context.Context, spec PlacementGroupSpec) (PlacementGroup, error) {
	what := fmt.Sprintf("create placement group %s in %s", spec.Label, spec.Region)
	made, err := getOne(ctx, what, func(ctx context.Context) (*PlacementGroup, error) {
		return c.api.CreatePlacementGroup(ctx, spec)
	})
	if err == nil && made.ID == 0 {
		err = fmt.Errorf("%s: the answer contains no group", what)
	}
	return made, err
}

// DeletePlacementGroup deletes a placement group. The API refuses if it has Linodes; if it does not exist, that is
// not an error.
func (c *Client) DeletePlacementGroup(ctx context.Context, id int) error {
	return ignoreNotFound(callAPI(ctx, fmt.Sprintf("delete placement group %d", id),
		func(ctx context.Context) error { return c.api.DeletePlacementGroup(ctx, id) }))
}

// TagInstance replaces the tags of a Linode.
func (c *Client) TagInstance(ctx context.Context, id int, tags []string) error {
	return callAPI(ctx, fmt.Sprintf("set the tags of Linode %d", id), func(ctx context.Context) error {
		_, err := c.api.UpdateInstance(ctx, id, linodego.InstanceUpdateOptions{Tags: &tags})
		return err
	})
}

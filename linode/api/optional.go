package api

import (
	"context"
	"strconv"
	"time"

	"github.com/linode/linodego"
)

// Failure is an event that LKE could not create a node. The API calls its action lke_node_create; created
// nodes have no such event.
type Failure struct {
	ID   int
	Pool int
	At   time.Time // by the API's own clock, in seconds
}

// Failures returns the events since a time, by the API's own clock, that LKE could not create a node of any
// pool of the account. It needs ScopeEvents and is optional: a refusal is of class Auth and does not affect
// the token's Standing.
func (c *Client) Failures(ctx context.Context, since time.Time) ([]Failure, error) {
	ctx = context.WithValue(ctx, optionalKey{}, true)
	events, err := getMatching(ctx, "list the events of nodes that LKE could not create", map[string]any{
		"action":  linodego.ActionLKENodeCreate,
		"created": map[string]string{"+gte": since.UTC().Format("2006-01-02T15:04:05")},
	}, c.api.ListEvents)
	if err != nil {
		return nil, err
	}
	var failures []Failure
	for _, e := range events {
		if e.Action != linodego.ActionLKENodeCreate || e.Entity == nil || e.Entity.Type != linodego.EntityLKENodePool ||
			e.Created == nil || e.Created.Before(since.Truncate(time.Second)) {
			continue
		}
		if pool := idOf(e.Entity.ID); pool != 0 {
			failures = append(failures, Failure{ID: e.ID, Pool: pool, At: *e.Created})
		}
	}
	return failures, nil
}

// idOf reads the id of an entity, which is a number or a text in JSON; 0 if it is neither.
func idOf(id any) int {
	switch id := id.(type) {
	case float64:
		return int(id)
	case string:
		n, err := strconv.Atoi(id)
		if err == nil {
			return n
		}
	}
	return 0
}

// Offline reports for each of these Linodes whether it is offline, without Linodes that the API does not
// list. It needs ScopeReadInstances and is optional, as Failures is.
func (c *Client) Offline(ctx context.Context, ids []int) (map[int]bool, error) {
	var either []map[string]int
	wanted := map[int]bool{}
	for _, id := range ids {
		either, wanted[id] = append(either, map[string]int{"id": id}), true
	}
	ctx = context.WithValue(ctx, optionalKey{}, true)
	rows, err := getMatching(ctx, "check which Linodes are offline", map[string]any{"+or": either}, c.api.ListInstances)
	if err != nil {
		return nil, err
	}
	offline := map[int]bool{}
	for _, i := range rows {
		if wanted[i.ID] {
			offline[i.ID] = i.Status == linodego.InstanceOffline
		}
	}
	return offline, nil
}

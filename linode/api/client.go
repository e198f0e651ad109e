// Package api talks to the Linode API about LKE clusters and their node pools, and
// about Linodes.
// It wraps linodego with a transport that stays within the rate limits that the answers announce. The
// transport repeats no request, except after a 403 just after an object was created. Errors are classified by
// meaning. It makes no decisions and does not depend on Karpenter or Kubernetes.
package api

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/linode/linodego"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// DefaultURL is the URL of the Linode API.
const DefaultURL = "https://api.linode.com"

// version of the API: pools of Enterprise clusters show and take their version,
// firewall and update strategy under v4beta only.
const version = "v4beta"

// Client calls the Linode API with one token. It is safe for concurrent use.
type Client struct {
	api       *linodego.Client
	transport *transport
}

// Options are the optional settings of a Client.
type Options struct {
	// Transport carries the requests; nil means http.DefaultTransport.
	Transport http.RoundTripper
	// Timeout is the time limit of one request; 0 means 30 seconds.
	Timeout time.Duration
	// Gate is called before each request that changes something, after the wait for the rate limit. If it
	// returns an error, nothing is sent. nil allows all requests.
	Gate func() error
	// Observe is called with each completed request. It must be quick and
	// safe for concurrent use.
	Observe func(Call)
}

// Call describes one request that has ended.
type Call struct {
	Method   string
	Route    string        // the path with every number replaced, such as lke/clusters/{}/pools
	Status   int           // 0 if no answer came
	Class    Class         // ClassNone on success
	Err      error         // nil on success
	Waited   time.Duration // for the rate limit, before sending
	Duration time.Duration // of the request itself
	Limit    int           // requests of this kind in a minute; 0 if the answer does not say
	Left     int           // how many of them are left; -1 where the answer does not say
	Asked    time.Duration // after a 429: how long the answer asks to send nothing
	Paused   time.Duration // how long the client waits
	Optional bool          // its result is useful but optional: see Failures
}

type dateKey struct{}

// Dated returns a context in which the first answer stores its time, by the API's own clock, which events use
// too. The time stays zero if no answer has one.
func Dated(ctx context.Context, at *time.Time) context.Context {
	return context.WithValue(ctx, dateKey{}, at)
}

type optionalKey struct{}

// New returns a client for the API at baseURL (DefaultURL if it is empty),
// such as https://api.linode.com. The error says what is wrong with the URL or
// the token; nothing is sent yet.
func New(baseURL, token string, opts Options) (*Client, error) {
	baseURL = cmp.Or(baseURL, DefaultURL)
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("%q is not the URL of a Linode API; it looks like %s", baseURL, DefaultURL)
	}
	if strings.TrimSpace(token) == "" {
		return nil, fmt.Errorf("no Linode API token is set")
	}
	t := &transport{
		base: cmp.Or(opts.Transport, http.DefaultTransport), timeout: cmp.Or(opts.Timeout, 30*time.Second),
		token: newSecret(strings.TrimSpace(token)), limiter: newLimiter(), gate: opts.Gate, observe: opts.Observe,
	}
	return &Client{api: newLinodego(t, baseURL), transport: t}, nil
}

// newLinodego returns linodego's client without its cache, without settings from the environment, and without its
// retries, which would repeat a POST after a 503 and sleep without a context.
func newLinodego(t *transport, baseURL string) *linodego.Client {
	api := linodego.NewClient(&http.Client{Transport: t})
	api.SetBaseURL(Root(baseURL)).SetAPIVersion(version).SetRetryCount(0).SetUserAgent("lkeplan").SetDebug(false)
	api.UseCache(false)
	return &api
}

// Root returns the URL of an API without its version, which some users add. It is DefaultURL if the URL is empty.
func Root(baseURL string) string {
	root := strings.TrimRight(cmp.Or(baseURL, DefaultURL), "/")
	return strings.TrimSuffix(strings.TrimSuffix(root, "/v4"), "/v4beta")
}

// Cluster returns the cluster with an id. If the account has none, the error is of class NotFound.
func (c *Client) Cluster(ctx context.Context, id int) (Cluster, error) {
	return getOne(ctx, fmt.Sprintf("get cluster %d", id), func(ctx context.Context) (*Cluster, error) {
		return c.api.GetLKECluster(ctx, id)
	})
}

// Clusters returns all clusters that the token can see.
func (c *Client) Clusters(ctx context.Context) ([]Cluster, error) {
	return getAll(ctx, "list clusters", c.api.ListLKEClusters)
}

// Versions returns the Kubernetes versions that clusters of a tier can have.
func (c *Client) Versions(ctx context.Context, tier catalog.Tier) ([]string, error) {
	list := func(ctx context.Context, o *linodego.ListOptions) ([]linodego.LKETierVersion, error) {
		return c.api.ListLKETierVersions(ctx, string(tier), o)
	}
	versions, err := getAll(ctx, fmt.Sprintf("list the versions of tier %s", tier), list)
	if err != nil {
		return nil, err
	}
	ids := make([]string, len(versions))
	for i, v := range versions {
		ids[i] = v.ID
	}
	return ids, nil
}

// Firewall checks that the account has a firewall. If it has none with the id, the error is of class NotFound, and
// of class Auth if the token lacks firewall:read_only.
func (c *Client) Firewall(ctx context.Context, id int) error {
	return callAPI(ctx, fmt.Sprintf("get firewall %d", id), func(ctx context.Context) error {
		_, err := c.api.GetFirewall(ctx, id)
		return err
	})
}

// Capabilities returns the capabilities of the account. If the token lacks account:read_only, the error is of class
// Auth.
func (c *Client) Capabilities(ctx context.Context) ([]string, error) {
	account, err := getOne(ctx, "get the account", c.api.GetAccount)
	return account.Capabilities, err
}

// Pools returns all node pools of a cluster with all their slots.
func (c *Client) Pools(ctx context.Context, cluster int) ([]Pool, error) {
	list := func(ctx context.Context, o *linodego.ListOptions) ([]Pool, error) {
		return c.api.ListLKENodePools(ctx, cluster, o)
	}
	return getAll(ctx, fmt.Sprintf("list pools of cluster %d", cluster), list)
}

// CreatePool creates a pool and returns it as LKE answered, with slots that may have no instance yet. The request
// is sent once: after an error of class Unknown the pool may exist.
func (c *Client) CreatePool(ctx context.Context, cluster int, spec PoolSpec) (Pool, error) {
	what := fmt.Sprintf("create pool of %d %s in cluster %d", spec.Count, spec.Type, cluster)
	return c.send(ctx, what, http.MethodPost, fmt.Sprintf("lke/clusters/%d/pools", cluster), specToSend(spec))
}

// GrowPool sets the count of a pool. Callers only ever raise it, because LKE picks the nodes to delete if a count
// is lowered.
func (c *Client) GrowPool(ctx context.Context, cluster, pool, count int) (Pool, error) {
	what := fmt.Sprintf("grow pool %d of cluster %d to %d", pool, cluster, count)
	return getOne(ctx, what, func(ctx context.Context) (*Pool, error) {
		return c.api.UpdateLKENodePool(ctx, cluster, pool, PoolChange{Count: count})
	})
}

// ChangePool changes a pool in place: its nodes stay and get new labels and taints. Fields that the change
// leaves out are not sent; the count is never sent.
func (c *Client) ChangePool(ctx context.Context, cluster, pool int, change PoolChange) error {
	change.Count = 0
	what := fmt.Sprintf("change pool %d of cluster %d", pool, cluster)
	path := fmt.Sprintf("lke/clusters/%d/pools/%d", cluster, pool)
	_, err := c.send(ctx, what, http.MethodPut, path, changeToSend(change))
	return err
}

// send sends a pool with lkeplan's own body; poolSpec explains why.
func (c *Client) send(ctx context.Context, what, method, path string, body any) (pool Pool, err error) {
	err = callAPI(ctx, what, func(ctx context.Context) error {
		_, err := c.api.R(ctx).SetBody(body).SetResult(&pool).Execute(method, path)
		return err
	})
	return pool, err
}

// DeletePool deletes a pool and all its nodes. A pool that does not exist is not an error.
func (c *Client) DeletePool(ctx context.Context, cluster, pool int) error {
	return ignoreNotFound(callAPI(ctx, fmt.Sprintf("delete pool %d of cluster %d", pool, cluster),
		func(ctx context.Context) error { return c.api.DeleteLKENodePool(ctx, cluster, pool) }))
}

// DeleteSlot deletes one slot of a pool, its node and its Linode, and lowers
// the pool's count by one. A slot that does not exist is not an error.
func (c *Client) DeleteSlot(ctx context.Context, cluster int, slot string) error {
	return ignoreNotFound(callAPI(ctx, fmt.Sprintf("delete node %s of cluster %d", slot, cluster),
		func(ctx context.Context) error { return c.api.DeleteLKENodePoolNode(ctx, cluster, slot) }))
}

// Call makes a call that no other method makes, and reads the answer into a pointer, unless that is nil. The filter is
// the header X-Filter.
func (c *Client) Call(ctx context.Context, method, path, filter string, body, into any) error {
	return callAPI(ctx, method+" "+path, func(ctx context.Context) error {
		req := c.api.R(ctx)
		if filter != "" {
			req.SetHeader("X-Filter", filter)
		}
		if body != nil {
			req.SetBody(body)
		}
		if into != nil {
			req.SetResult(into)
		}
		_, err := req.Execute(method, path)
		return err
	})
}

func ignoreNotFound(err error) error {
	if ClassOf(err) == ClassNotFound {
		return nil
	}
	return err
}

func getOne[T any](ctx context.Context, what string, get func(context.Context) (*T, error)) (object T, err error) {
	err = callAPI(ctx, what, func(ctx context.Context) error {
		got, err := get(ctx)
		if err == nil {
			object = *got
		}
		return err
	})
	return object, err
}

// getAll reads all pages of a list, in the largest pages that the API serves.
func getAll[T any](ctx context.Context, what string, list lister[T]) (rows []T, err error) {
	return getMatching(ctx, what, nil, list)
}

// lister is a call of linodego that lists objects.
type lister[T any] func(context.Context, *linodego.ListOptions) ([]T, error)

// getMatching returns all rows that match a filter; nil means no filter. Callers must check the filtered fields
// themselves, because filters of this API have returned other objects.
func getMatching[T any](ctx context.Context, what string, filter any, list lister[T]) (rows []T, err error) {
	options := linodego.ListOptions{PageSize: 500}
	if filter != nil {
		text, err := json.Marshal(filter)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", what, err)
		}
		options.Filter = string(text)
	}
	err = callAPI(ctx, what, func(ctx context.Context) (err error) {
		rows, err = list(ctx, &options)
		return err
	})
	return rows, err
}

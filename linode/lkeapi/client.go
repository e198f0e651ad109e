// Package lkeapi talks to the Linode API about one thing: the node pools of an
// LKE cluster. It sends each request once, tells errors apart by what they
// mean, and keeps inside the rate limits that the answers announce.
//
// It decides nothing: it knows no NodeClaim, no Karpenter and no Kubernetes.
//
// The requests are our own and not linodego's because, at v1.69.1, linodego
// leaves out the value of a taint when it is empty (the API requires it),
// takes a 5xx whose body holds no error list for success, flattens every error
// to a string, and repeats a POST after a 503 with sleeps that no context
// ends.
package lkeapi

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// DefaultURL is where the Linode API is served.
const DefaultURL = "https://api.linode.com"

// pageSize is the largest page the API serves (research: 25 to 500).
const pageSize = 500

// Client calls the Linode API with one token. It is safe for concurrent use.
type Client struct {
	base    string // with the version, without a slash at the end
	token   secret
	scopes  atomic.Pointer[[]string]
	http    *http.Client
	limiter *limiter
	observe func(Call)
}

// Options are what a Client may be given beside URL and token.
type Options struct {
	// Transport carries the requests; nil means http.DefaultTransport.
	Transport http.RoundTripper
	// Timeout bounds one request, 30 seconds where it is zero.
	Timeout time.Duration
	// Observe is told of each request when it has ended. It must be quick and
	// safe for concurrent use.
	Observe func(Call)
}

// Call describes one request that has ended.
type Call struct {
	Method   string
	Route    string        // the path with every number replaced, such as lke/clusters/{}/pools
	Status   int           // 0 where no answer came
	Class    Class         // ClassNone on success
	Waited   time.Duration // for the rate limit, before sending
	Duration time.Duration // of the request itself
	Limit    int           // requests in a minute, of the kind that the request is of; 0 where the answer does not say
	Left     int           // what is left of them; -1 where the answer does not say
}

// New returns a client for the API at baseURL (DefaultURL where it is empty),
// such as https://api.linode.com. The error says what is wrong with the URL or
// the token; nothing is sent yet.
func New(baseURL, token string, opts Options) (*Client, error) {
	if baseURL == "" {
		baseURL = DefaultURL
	}
	u, err := url.Parse(baseURL)
	if err != nil || u.Host == "" || (u.Scheme != "http" && u.Scheme != "https") {
		return nil, fmt.Errorf("%q is not the URL of a Linode API; it looks like %s", baseURL, DefaultURL)
	}
	if strings.TrimSpace(token) == "" {
		return nil, fmt.Errorf("no Linode API token is given")
	}
	if opts.Timeout == 0 {
		opts.Timeout = 30 * time.Second
	}
	return &Client{
		// Pools of Enterprise clusters show and take their version, firewall
		// and update strategy under v4beta only.
		base:    Root(baseURL) + "/v4beta",
		token:   newSecret(strings.TrimSpace(token)),
		http:    &http.Client{Transport: opts.Transport, Timeout: opts.Timeout},
		limiter: newLimiter(),
		observe: opts.Observe,
	}, nil
}

// Root is the URL of an API without its version: some write it with one. It is
// DefaultURL where the URL is empty.
func Root(baseURL string) string {
	if baseURL == "" {
		return DefaultURL
	}
	root := strings.TrimRight(baseURL, "/")
	return strings.TrimSuffix(strings.TrimSuffix(root, "/v4"), "/v4beta")
}

// Cluster returns the cluster with this id. Class NotFound where the account
// has none.
func (c *Client) Cluster(ctx context.Context, id int) (Cluster, error) {
	var cluster Cluster
	if err := c.do(ctx, http.MethodGet, fmt.Sprintf("lke/clusters/%d", id), nil, &cluster); err != nil {
		return Cluster{}, fmt.Errorf("get cluster %d: %w", id, err)
	}
	return cluster, nil
}

// Clusters returns all clusters that the token can see.
func (c *Client) Clusters(ctx context.Context) ([]Cluster, error) {
	clusters, err := list[Cluster](ctx, c, "lke/clusters")
	if err != nil {
		return nil, fmt.Errorf("list clusters: %w", err)
	}
	return clusters, nil
}

// Versions returns the Kubernetes versions that clusters of a tier can have.
func (c *Client) Versions(ctx context.Context, tier catalog.Tier) ([]string, error) {
	rows, err := list[struct {
		ID string `json:"id"`
	}](ctx, c, "lke/tiers/"+url.PathEscape(string(tier))+"/versions")
	if err != nil {
		return nil, fmt.Errorf("list the versions of tier %s: %w", tier, err)
	}
	ids := make([]string, len(rows))
	for i, row := range rows {
		ids[i] = row.ID
	}
	return ids, nil
}

// Firewall returns an error of class NotFound where the account has no firewall
// of that number, and of class Auth where the token lacks firewall:read_only.
func (c *Client) Firewall(ctx context.Context, id int) error {
	if err := c.do(ctx, http.MethodGet, fmt.Sprintf("networking/firewalls/%d", id), nil, nil); err != nil {
		return fmt.Errorf("get firewall %d: %w", id, err)
	}
	return nil
}

// Pools returns all node pools of a cluster with all their slots.
func (c *Client) Pools(ctx context.Context, cluster int) ([]Pool, error) {
	pools, err := list[Pool](ctx, c, fmt.Sprintf("lke/clusters/%d/pools", cluster))
	if err != nil {
		return nil, fmt.Errorf("list pools of cluster %d: %w", cluster, err)
	}
	return pools, nil
}

// CreatePool makes a pool and returns it as LKE answered, with slots that may
// have no instance yet. It is sent once: after an error of class Unknown the
// pool may exist.
func (c *Client) CreatePool(ctx context.Context, cluster int, spec PoolSpec) (Pool, error) {
	var pool Pool
	if err := c.do(ctx, http.MethodPost, fmt.Sprintf("lke/clusters/%d/pools", cluster), spec, &pool); err != nil {
		return Pool{}, fmt.Errorf("create pool of %d %s in cluster %d: %w", spec.Count, spec.Type, cluster, err)
	}
	return pool, nil
}

// GrowPool sets the count of a pool. Callers only ever raise it: of a pool
// whose count is lowered LKE itself picks the nodes that go.
func (c *Client) GrowPool(ctx context.Context, cluster, pool, count int) (Pool, error) {
	var grown Pool
	body := map[string]int{"count": count}
	if err := c.do(ctx, http.MethodPut, fmt.Sprintf("lke/clusters/%d/pools/%d", cluster, pool), body, &grown); err != nil {
		return Pool{}, fmt.Errorf("grow pool %d of cluster %d to %d: %w", pool, cluster, count, err)
	}
	return grown, nil
}

// ChangePool changes a pool in place: its nodes get new labels and taints, and
// stay. What the change leaves out is not sent, the count never.
func (c *Client) ChangePool(ctx context.Context, cluster, pool int, change PoolChange) error {
	if err := c.do(ctx, http.MethodPut, fmt.Sprintf("lke/clusters/%d/pools/%d", cluster, pool), change, nil); err != nil {
		return fmt.Errorf("change pool %d of cluster %d: %w", pool, cluster, err)
	}
	return nil
}

// DeletePool deletes a pool and all its nodes. A pool that is not there is not
// an error: the goal is reached.
func (c *Client) DeletePool(ctx context.Context, cluster, pool int) error {
	err := c.do(ctx, http.MethodDelete, fmt.Sprintf("lke/clusters/%d/pools/%d", cluster, pool), nil, nil)
	if err != nil && ClassOf(err) != ClassNotFound {
		return fmt.Errorf("delete pool %d of cluster %d: %w", pool, cluster, err)
	}
	return nil
}

// DeleteSlot deletes one slot of a pool, its node and its Linode, and lowers
// the pool's count by one. A slot that is not there is not an error.
func (c *Client) DeleteSlot(ctx context.Context, cluster int, slot string) error {
	err := c.do(ctx, http.MethodDelete, fmt.Sprintf("lke/clusters/%d/nodes/%s", cluster, url.PathEscape(slot)), nil, nil)
	if err != nil && ClassOf(err) != ClassNotFound {
		return fmt.Errorf("delete node %s of cluster %d: %w", slot, cluster, err)
	}
	return nil
}

// page is the envelope of every list.
type page[T any] struct {
	Data  []T `json:"data"`
	Pages int `json:"pages"`
}

func list[T any](ctx context.Context, c *Client, path string) ([]T, error) {
	var all []T
	for n := 1; ; n++ {
		var p page[T]
		query := url.Values{"page": {strconv.Itoa(n)}, "page_size": {strconv.Itoa(pageSize)}}
		if err := c.do(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &p); err != nil {
			return nil, err
		}
		all = append(all, p.Data...)
		if n >= p.Pages {
			return all, nil
		}
	}
}

// marshal is apart so that a body that cannot be encoded is seen before
// anything waits for the rate limit.
func marshal(body any) (string, error) {
	if body == nil {
		return "", nil
	}
	raw, err := json.Marshal(body)
	return string(raw), err
}

package probe

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lkeplan/lkeplan/linode/api"
	"github.com/lkeplan/lkeplan/linode/catalog"
)

// Header is the first line of a recording.
type Header struct {
	Date      string       `json:"date"`
	Simulated bool         `json:"simulated,omitempty"` // it is not of Linode's API
	Tier      catalog.Tier `json:"tier"`
	Region    string       `json:"region"`
	Cluster   int          `json:"cluster,omitempty"` // 0: the recording creates it
	Version   string       `json:"version,omitempty"`
}

// Exchange is a call and its answer: a line of a recording. It has no token, no address and no name.
type Exchange struct {
	At      float64         `json:"at"` // seconds since the start
	Method  string          `json:"method"`
	Path    string          `json:"path"`
	Filter  string          `json:"filter,omitempty"`
	Body    json.RawMessage `json:"body,omitempty"`
	Status  int             `json:"status"`
	Needs   string          `json:"needs,omitempty"`   // scopes
	Limited bool            `json:"limited,omitempty"` // the answer has the headers of a rate limit
	Answer  json.RawMessage `json:"answer,omitempty"`
}

// recorder records calls and answers once it is started.
type recorder struct {
	base http.RoundTripper
	out  io.Writer

	mu      sync.Mutex
	started time.Time         // zero until it records
	needs   map[string]string // scopes by call
	err     error
}

func (c *recorder) start(r *run) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.started = time.Now()
	c.write(Header{
		Date: c.started.UTC().Format(time.DateOnly), Simulated: r.URL != api.DefaultURL, Tier: r.Tier, Region: r.Region,
		Cluster: r.Cluster, Version: r.cluster.K8sVersion,
	})
}

func (c *recorder) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.started = time.Time{}
}

func (c *recorder) write(line any) {
	if c.out == nil {
		return
	}
	text, err := json.Marshal(line)
	if err == nil {
		_, err = c.out.Write(append(text, '\n'))
	}
	if c.err == nil {
		c.err = err
	}
}

// numbers replaces the numbers of a path.
func numbers(path string) string {
	path, _, _ = strings.Cut(path, "?")
	parts := strings.Split(path, "/")
	for n, part := range parts {
		if part != "" && strings.Trim(part, "0123456789abcdef-") == "" {
			parts[n] = "{}"
		}
	}
	return strings.Join(parts, "/")
}

// unrecorded are parts of paths that are not recorded: lists that are the same for all accounts, and the account's
// own data.
var unrecorded = []string{"/linode/types", "/regions", "/account", "/kubeconfig", "/networking/firewalls"}

// RoundTrip implements http.RoundTripper.
func (c *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil && req.Body != http.NoBody {
		var err error
		if body, err = io.ReadAll(req.Body); err != nil {
			return nil, err
		}
		req.Body = io.NopCloser(bytes.NewReader(body))
	}
	sent := time.Now()
	resp, err := c.base.RoundTrip(req)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(resp.Body, 16<<20))
	if err != nil {
		return nil, err
	}
	resp.Body = io.NopCloser(bytes.NewReader(answer))
	_, path, _ := strings.Cut(req.URL.RequestURI(), "/v4beta")
	c.mu.Lock()
	defer c.mu.Unlock()
	if scope := resp.Header.Get("X-Accepted-OAuth-Scopes"); scope != "" {
		c.needs[req.Method+" "+numbers(path)] = scope
	}
	if c.started.IsZero() || slices.ContainsFunc(unrecorded, func(part string) bool { return strings.Contains(path, part) }) {
		return resp, nil
	}
	c.write(Exchange{
		At: sent.Sub(c.started).Seconds(), Method: req.Method, Path: path, Filter: req.Header.Get("X-Filter"),
		Body: scrub(body), Status: resp.StatusCode, Needs: resp.Header.Get("X-Accepted-OAuth-Scopes"),
		Limited: resp.Header.Get("X-RateLimit-Limit") != "", Answer: scrub(answer),
	})
	return resp, nil
}

// plain are the keys whose texts are recorded. For all other keys only the type is recorded, so that keys that the
// probe does not know reveal nothing.
var plain = []string{
	"type", "tier", "region", "k8s_version", "disk_encryption", "update_strategy", "key", "value", "effect", "reason", "field",
	"filesystem", "class", "hypervisor", "placement_group_type", "placement_group_policy", "action", "site_type",
	"interface_generation", "image",
}

var (
	slotID  = regexp.MustCompile(`^[0-9]+-[0-9a-f]{8,}$`)
	version = regexp.MustCompile(`^v?[0-9]+\.[0-9.]+(\+lke[0-9]+)?$`)
	address = regexp.MustCompile(`[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+|[0-9a-f]*:[0-9a-f:]+:[0-9a-f]+`)
)

// scrub removes what identifies an account or a person. It returns nothing for a body that is not JSON.
func scrub(text []byte) json.RawMessage {
	var value any
	if json.Unmarshal(text, &value) != nil {
		return nil
	}
	if object, ok := value.(map[string]any); ok {
		if rows, ok := object["data"].([]any); ok { // of an account that may have other users
			object["data"] = slices.DeleteFunc(rows, func(row any) bool {
				object, _ := row.(map[string]any)
				tags, tagged := object["tags"].([]any)
				return tagged && object["lke_cluster_id"] == nil && !slices.Contains(tags, any(Tag))
			})
		}
	}
	clean, _ := json.Marshal(scrubbed("", value))
	return clean
}

func scrubbed(key string, value any) any {
	switch value := value.(type) {
	case map[string]any:
		for key := range value {
			value[key] = scrubbed(key, value[key])
		}
	case []any:
		for n := range value {
			value[n] = scrubbed(key, value[n])
		}
	case string:
		switch {
		case key == "label" && strings.HasPrefix(value, Tag): // needed for a label that is already taken
		case key == "id" && (slotID.MatchString(value) || version.MatchString(value)):
		case key == "tags" && strings.HasPrefix(value, Tag):
		case key == "status" && strings.Trim(value, "abcdefghijklmnopqrstuvwxyz_") == "":
		case slices.Contains(plain, key):
			return address.ReplaceAllString(value, "ADDRESS")
		default:
			return "string"
		}
	}
	return value
}

package sim

import (
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/linode/linodego"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/lkeplan/lkeplan/linode/catalog"
)

// poolSpec is the body of a POST or PUT of a pool; nil means that a field is missing.
type poolSpec struct {
	Count      *int                        `json:"count"`
	Plan       *string                     `json:"type"`
	Label      *string                     `json:"label"`
	Disks      *[]linodego.LKENodePoolDisk `json:"disks"`
	Tags       *[]string                   `json:"tags"`
	Labels     *map[string]string          `json:"labels"`
	Taints     *[]taintSpec                `json:"taints"`
	Autoscaler *autoscalerSpec             `json:"autoscaler"`
	Encryption *string                     `json:"disk_encryption"`
	Version    *string                     `json:"k8s_version"`
	Strategy   *string                     `json:"update_strategy"`
	Firewall   *int                        `json:"firewall_id"`
}

// taintSpec distinguishes an empty value, which is valid, from a missing one, which is not.
type taintSpec struct {
	Key    *string `json:"key"`
	Value  *string `json:"value"`
	Effect *string `json:"effect"`
}

type autoscalerSpec struct {
	Enabled *bool `json:"enabled"`
	Min     *int  `json:"min"`
	Max     *int  `json:"max"`
}

// The limits of LKE: for a pool from the API's specification (standard) and Cloud Manager's constants, and for a
// cluster from Cloud Manager's constants.
const (
	maxPoolStandard    = 100
	maxPoolEnterprise  = 500
	maxClusterStandard = 250
	maxDisks           = 7
)

// check validates what POST and PUT have in common. The rules are those of the API's specification and of Linode's
// validation package; nearly all texts are ours, because few were recorded.
func (s *poolSpec) check(c *requestChecker, cl *cluster, st *state) {
	most := maxPoolStandard
	if cl.Tier == catalog.Enterprise {
		most = maxPoolEnterprise
	}
	if s.Count != nil {
		c.must(*s.Count >= 1 && (*s.Count <= most || st.breaks("pool-size")), "count", "Must be 1-%d", most)
	}
	s.checkNames(c)
	s.checkLabels(c, st)
	s.checkTaints(c, st)
	s.checkDisks(c)
	s.checkAutoscaler(c, most)
	s.checkTier(c, cl, st)
}

// checkNew validates what only a creation has.
func (s *poolSpec) checkNew(c *requestChecker, cl *cluster, cfg Config) {
	c.must(s.Count != nil, "count", "count is required")
	c.must(s.Plan != nil, "type", "type is required")
	if s.Plan == nil {
		return
	}
	cat := cfg.Catalog
	plan, ok := cat.Plan(*s.Plan)
	if !ok || !plan.Sized() {
		c.add("type", "A valid plan type by that ID was not found") // recorded, for instances
		return
	}
	// Unverified: what the API says to a nanode, to a plan that the region does not sell, and to one that needs a
	// capability of the account is not recorded.
	needs := plan.OfAccount()
	closed := PlanClosed
	if cfg.breaks("closed") {
		closed = "Not for this account"
	}
	c.must(needs == "" || slices.Contains(cfg.Capabilities, needs), "", "%s", closed)
	c.must(cat.InStock(*s.Plan, cl.Region), "", "No capacity for plan %s in region %s", *s.Plan, cl.Region)
	// Unverified: whether LKE Enterprise takes a plan with GPUs, which Cloud Manager hides there.
	sold := cat.Sold(*s.Plan, cl.Region, cl.Tier.WithGPUs(!cfg.breaks("gpu"))) ||
		cfg.breaks("plan-512") && plan.MemoryMiB == 512<<10
	c.must(sold, "type", "Plan %s is not available for LKE in region %s", *s.Plan, cl.Region)
}

var poolLabel = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])$`)

func (s *poolSpec) checkNames(c *requestChecker) {
	if s.Label != nil && *s.Label != "" {
		c.must(len(*s.Label) <= 32 && poolLabel.MatchString(*s.Label), "label",
			"Must be up to 32 lower case letters, digits and hyphens, begin and end with a letter or digit")
	}
	if s.Tags != nil {
		checkTags(c, *s.Tags)
	}
}

func checkTags(c *requestChecker, tags []string) {
	for _, tag := range tags {
		c.must(len(tag) >= 3 && len(tag) <= 50, "tags", "Length must be 3-50 characters")
	}
}

func validValue(value string) bool { return len(validation.IsValidLabelValue(value)) == 0 }

func (s *poolSpec) checkLabels(c *requestChecker, st *state) {
	if s.Labels == nil {
		return
	}
	for _, key := range slices.Sorted(maps.Keys(*s.Labels)) {
		checkKey(c, "labels", key, st)
		value := (*s.Labels)[key]
		c.must(validValue(value), "labels", "Invalid value for label %s", key)
	}
}

// checkKey allows 63 characters, or a DNS name, a slash and 62 characters, 128 in all, and rejects keys of Linode
// and Kubernetes. Users have reported that the API rejects the latter, too, and not only Cloud Manager; the text is
// unknown.
func checkKey(c *requestChecker, field, key string, st *state) {
	_, name, _ := strings.Cut(key, "/")
	ok := len(validation.IsQualifiedName(key)) == 0 && len(name) <= 62 && len(key) <= 128
	c.must(ok, field, "Invalid key %q", key)
	c.must(!isReserved(key) || st.breaks("reserved"), field, "Key %q is reserved: kubernetes.io and linode.com cannot be used", key)
}

func isReserved(s string) bool {
	return strings.Contains(s, "kubernetes.io") || strings.Contains(s, "linode.com")
}

var effects = []string{"NoSchedule", "PreferNoSchedule", "NoExecute"}

func (s *poolSpec) checkTaints(c *requestChecker, st *state) {
	if s.Taints == nil {
		return
	}
	for _, t := range *s.Taints {
		if t.Key == nil || t.Value == nil || t.Effect == nil {
			c.add("taints", "key, value and effect are required")
			continue
		}
		checkKey(c, "taints", *t.Key, st)
		value := *t.Value
		c.must(validValue(value) &&
			!isReserved(value), "taints", "Invalid value for taint %s", *t.Key)
		c.must(slices.Contains(effects, *t.Effect), "taints", "Effect must be one of: %s", strings.Join(effects, ", "))
	}
}

func (s *poolSpec) checkDisks(c *requestChecker) {
	if s.Disks == nil {
		return
	}
	c.must(len(*s.Disks) <= maxDisks, "disks", "At most %d disks", maxDisks)
	for _, d := range *s.Disks {
		c.must(d.Size > 0 && (d.Type == "raw" || d.Type == "ext4"), "disks", "A disk needs a size and type raw or ext4")
	}
}

func (s *poolSpec) checkAutoscaler(c *requestChecker, most int) {
	a := s.Autoscaler
	if a == nil {
		return
	}
	c.must((a.Min == nil) == (a.Max == nil), "autoscaler", "min and max require each other")
	if a.Min == nil || a.Max == nil {
		return
	}
	c.must(*a.Min >= 1 && *a.Max <= most &&
		*a.Min <= *a.Max, "autoscaler", "min and max must be 1-%d, min not above max", most)
}

// checkTier rejects fields for Enterprise on the standard tier. (It is unknown whether the API rejects or ignores
// them.)
func (s *poolSpec) checkTier(c *requestChecker, cl *cluster, st *state) {
	if s.Encryption != nil {
		c.must(*s.Encryption == "enabled" || *s.Encryption == "disabled", "disk_encryption", "Must be enabled or disabled")
	}
	if cl.Tier != catalog.Enterprise {
		const only = "Only for LKE Enterprise clusters"
		c.must(s.Version == nil, "k8s_version", only)
		c.must(s.Strategy == nil, "update_strategy", only)
		return // a firewall is accepted, and has no effect
	}
	if s.Version != nil {
		c.must(st.offers(cl, *s.Version) || st.breaks("builds"), "k8s_version", "k8s_version is not valid")
		// A newer build of the same minor version is accepted, because the control plane's own build may not be
		// offered any more.
		c.must(st.cfg.Versions != nil && sameMinor(cl.KubernetesVersion, *s.Version) ||
			catalog.ReachesVersion(cl.KubernetesVersion, *s.Version), "k8s_version",
			"k8s_version must not be newer than that of the cluster")
	}
	if s.Strategy != nil {
		c.must(*s.Strategy == "rolling_update" ||
			*s.Strategy == "on_recycle", "update_strategy", "Must be rolling_update or on_recycle")
	}
	if s.Firewall != nil {
		c.must(*s.Firewall > 0, "firewall_id", "firewall_id is not valid")
	}
}

package kube

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// Access selects a cluster and a user of a kubeconfig.
type Access struct {
	Kubeconfig string // a file, or several as in $KUBECONFIG; "" for the usual places
	Context    string // of the kubeconfig; "" for its current one
	Timeouts
}

// rules are the files of the kubeconfig.
func (to Access) rules() *clientcmd.ClientConfigLoadingRules {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	if to.Kubeconfig != "" {
		rules.Precedence = filepath.SplitList(to.Kubeconfig)
	}
	return rules
}

// Contexts are the names of the contexts in the kubeconfig, sorted; none if it cannot be read.
func Contexts(to Access) []string {
	config, err := to.rules().Load()
	if err != nil {
		return nil
	}
	return slices.Sorted(maps.Keys(config.Contexts))
}

// Connect returns the cluster of a kubeconfig.
func Connect(to Access) (*Cluster, error) {
	rules := to.rules()
	config := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: to.Context})
	raw, rawErr := config.RawConfig()
	name := cmp.Or(to.Context, raw.CurrentContext)
	if rawErr == nil && raw.Contexts[name] == nil && (name != "" || len(raw.Contexts) > 0) {
		missing := fmt.Sprintf("context %q", name)
		if name == "" {
			missing = "current context; select one with --context"
		}
		return nil, fmt.Errorf("the kubeconfig has no %s; it has: %s", missing,
			strings.Join(slices.Sorted(maps.Keys(raw.Contexts)), ", "))
	}
	cfg, err := config.ClientConfig()
	if clientcmd.IsEmptyConfig(err) || errors.Is(err, rest.ErrNotInCluster) {
		places := strings.Join(rules.Precedence, ", ")
		return nil, fmt.Errorf("no cluster: there is no kubeconfig in %s; set KUBECONFIG", places)
	}
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	cluster, err := newCluster(cfg, to.Timeouts)
	if err != nil {
		return nil, err
	}
	if rawErr == nil {
		cluster.context = cmp.Or(to.Context, raw.CurrentContext)
	}
	if cluster.namespace, _, err = config.Namespace(); err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return cluster, nil
}

// Place describes the cluster with its context and its server, as far as the kubeconfig has them.
func (c *Cluster) Place() string {
	if c.context == "" {
		return c.host
	}
	return fmt.Sprintf("context %s, %s", c.context, c.host)
}

// Serves reports whether the API server has a version of a kind.
func Serves(mapper meta.RESTMapper, kind schema.GroupVersionKind) (bool, error) {
	_, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if meta.IsNoMatchError(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask the API server for the kind %s: %w", kind.Kind, err)
	}
	return true, nil
}

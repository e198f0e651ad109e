package lke

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1ac "k8s.io/client-go/applyconfigurations/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lkeplan/lkeplan/linode/api"
)

// Roster lists lkeplan's LKE pools in a ConfigMap for the admission policy in
// kube/deploy/node-admission.yaml: a Node registers without a label, but its name contains
// the id of its pool.
type Roster struct {
	client          client.Client
	cluster         int
	namespace, name string

	written *string // its content; nil where that is not known
}

// NewRoster returns the roster of a cluster, in the ConfigMap of that name.
func NewRoster(c client.Client, cluster int, namespace, name string) *Roster {
	return &Roster{client: c, cluster: cluster, namespace: namespace, name: name}
}

// write stores the ids of the pools where they have changed.
func (r *Roster) write(ctx context.Context, pools []api.Pool) error {
	var ids []string
	for _, p := range pools {
		if GroupOf(p) != "" {
			ids = append(ids, strconv.Itoa(p.ID))
		}
	}
	slices.Sort(ids)
	list := strings.Join(ids, ",")
	if r.written != nil && list == *r.written {
		return nil
	}
	data := map[string]string{"cluster": strconv.Itoa(r.cluster), "pools": list}
	roster := corev1ac.ConfigMap(r.name, r.namespace).WithData(data)
	if err := r.client.Apply(ctx, roster, client.FieldOwner("lkeplan-controller"), client.ForceOwnership); err != nil {
		return fmt.Errorf("write the ConfigMap %s/%s: %w", r.namespace, r.name, err)
	}
	r.written = &list
	return nil
}
